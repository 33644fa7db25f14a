"""What all our pages in admin are made of: the project's own ModelAdmin, and read-only mode."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext as _

from django_locqueue import conf
from django_locqueue.admin.base_class import model_admin_base
from django_locqueue.admin.permissions import is_read_only

LOOKS = ("GET", "HEAD", "OPTIONS")


def _base() -> type[Any]:
    try:
        return model_admin_base(conf.admin.MODEL_ADMIN_BASE)
    except ValueError:  # a system check says what is wrong; an error here would keep it from being run
        return admin.ModelAdmin


if TYPE_CHECKING:
    ModelAdminBase = admin.ModelAdmin[Any]
    OnModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdminBase = _base()
    OnModelAdmin = object


class PageMixin(OnModelAdmin):
    """Stands before the ModelAdmin of a page of ours, whichever that is."""

    @property
    def urls(self) -> list[Any]:
        """The page's addresses, where read-only mode holds for each: a view cannot forget it."""
        patterns = self.get_urls()
        for pattern in patterns:
            pattern.callback = _refusing_changes(pattern.callback)
        return patterns


def only_shows(view: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a view that is posted to and changes nothing: read-only mode lets it be."""
    view.only_shows = True  # type: ignore[attr-defined]
    return view


def _refusing_changes(view: Callable[..., Any]) -> Callable[..., Any]:
    if getattr(view, "only_shows", False):
        return view

    @wraps(view)
    def guarded(request: Any, *args: Any, **kwargs: Any) -> Any:
        if request.method not in LOOKS and is_read_only(request):
            raise PermissionDenied(_("Nothing can be changed in read-only mode."))
        return view(request, *args, **kwargs)

    return guarded
