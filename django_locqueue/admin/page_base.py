"""What all our pages in admin are made of: the project's own ModelAdmin, one guard of all addresses, and one frame."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from django_locqueue import conf
from django_locqueue.admin.permissions import is_read_only
from django_locqueue.admin.strip import Strip
from django_locqueue.store import get_store
from django_locqueue.store.base import repeated

LOOKS = ("GET", "HEAD", "OPTIONS")


def model_admin_base(name: Any) -> type[Any]:
    """Return the ModelAdmin of ``LOCQUEUE["ADMIN"]["MODEL_ADMIN_BASE"]``. Raises ValueError if that names none."""
    try:
        found = import_string(name)
    except Exception as error:  # a theme that is not among the installed apps raises its own
        raise ValueError(f"{type(error).__name__}: {error}.") from error
    if not (isinstance(found, type) and issubclass(found, admin.ModelAdmin)):
        raise ValueError(f"{found!r} is none.")
    return found


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
        """The page's addresses, each guarded: a view cannot forget what holds for all of them."""
        patterns = self.get_urls()
        for pattern in patterns:
            pattern.callback = _guarded(self, pattern.callback)
        return patterns

    def looked_at(self, view: Callable[..., Any]) -> Any:
        """Return a view of this site that answers GET and HEAD."""
        return self.admin_site.admin_view(require_safe(view))

    def posted_to(self, view: Callable[..., Any]) -> Any:
        """Return a view of this site that answers POST."""
        return self.admin_site.admin_view(require_POST(view))

    def list_url(self, model_name: str = "") -> str:
        """Return the address of a list of the queue's: of this page, if none is named."""
        name = f"{self.opts.app_label}_{self.opts.model_name}" if not model_name else f"locqueue_{model_name}"
        return reverse(f"admin:{name}_changelist", current_app=self.admin_site.name)

    def respond(
        self, request: Any, template: str, *, current: str = "", refresh: int | None = None, **context: Any
    ) -> TemplateResponse:
        """Return a page in our frame. ``current``, ``refresh``: see :class:`Strip`."""
        request.current_app = self.admin_site.name
        frame = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "list_url": self.list_url(),
            "list_name": self.opts.verbose_name_plural,
            "lq": Strip(request, self.admin_site, current or self.opts.label_lower, refresh),
        }
        return TemplateResponse(request, template, frame | context)

    def ask(
        self, request: Any, question: Any, form: Any, *, back: str, yes: Any = "", template: str = "", **context: Any
    ) -> TemplateResponse:
        """Ask before what cannot be undone or needs a value, by a page: it needs no script.

        ``back``: where who does not want it goes. ``yes``: the word for the button. ``hidden``: further values that are
        posted with the form. ``template``: one that extends that of all questions.
        """
        context |= {"title": question, "form": form, "back": back, "yes": yes or _("Yes, I’m sure")}
        return self.respond(request, template or "admin/locqueue/confirmation.html", **context)


def button(url: str, label: Any) -> Any:
    """Return a button for a row. A form cannot stand inside the list's: it sends that one to an address of its own."""
    return format_html('<button type="submit" class="button lq-button" formaction="{}">{}</button>', url, label)


def only_shows(view: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a view that is posted to and changes nothing: read-only mode lets it be."""
    view.only_shows = True  # type: ignore[attr-defined]
    return view


def _guarded(page: Any, view: Callable[..., Any]) -> Callable[..., Any]:
    """Return the view for those who may see the page. What changes something is one transaction with its record."""

    @repeated
    def changing(store: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        with store.transaction():
            return view(request, *args, **kwargs)

    @wraps(view)
    def guarded(request: Any, *args: Any, **kwargs: Any) -> Any:
        # Who is not signed in is led there by the view.
        if page.admin_site.has_permission(request) and not page.has_view_permission(request):
            raise PermissionDenied
        if request.method in LOOKS or getattr(view, "only_shows", False):
            return view(request, *args, **kwargs)
        if is_read_only(request):
            raise PermissionDenied(_("Nothing can be changed in read-only mode."))
        return changing(get_store(), request, *args, **kwargs)

    return guarded
