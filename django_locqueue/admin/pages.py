"""Which pages there are, and the admin sites on which they stand."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from django.apps import apps
from django.contrib import admin

from django_locqueue import conf

PageClass = TypeVar("PageClass", bound=type[Any])

PAGES: dict[type[Any], type[Any]] = {}  # by model, in the order in which they were defined


def page(model: type[Any]) -> Callable[[PageClass], PageClass]:
    """Decorate the admin class of one of our models: it stands on every site of ours."""

    def add(page_class: PageClass) -> PageClass:
        PAGES[model] = page_class
        if conf.admin.AUTO_REGISTER:
            admin.site.register(model, page_class)
        return page_class

    return add


def list_of(listing: str) -> str:
    """Return the name of the list that shows a listing, by which a state may be meant too; by default that of all."""
    shown = {tab.listing: model._meta.model_name for model, each in PAGES.items() for tab in getattr(each, "tabs", ())}
    return shown.get(listing) or "task"


def register(site: admin.AdminSite) -> None:
    """Put all our pages on a site of the project's own, those of the access log too if it is installed.

    Beside ``LOCQUEUE["ADMIN"]["AUTO_REGISTER"] = False``, or in addition to the default site. Raises AlreadyRegistered
    for a site on which they stand.
    """
    for app in apps.get_app_configs():
        if app.name.partition(".")[0] == __name__.partition(".")[0]:
            import_module(f"{app.name}.admin")  # whoever calls this may be loaded earlier
    for model, page_class in PAGES.items():
        site.register(model, page_class)
