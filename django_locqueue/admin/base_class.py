"""The class that the project's other pages in admin are made of, and ours too."""

from typing import Any

from django.contrib.admin import ModelAdmin
from django.utils.module_loading import import_string


def model_admin_base(name: Any) -> type[Any]:
    """Return the ModelAdmin of ``LOCQUEUE["ADMIN"]["MODEL_ADMIN_BASE"]``. Raises ValueError if that names none."""
    try:
        found = import_string(name)
    except Exception as error:  # a theme that is not among the installed apps raises its own
        raise ValueError(f"{type(error).__name__}: {error}.") from error
    if not (isinstance(found, type) and issubclass(found, ModelAdmin)):
        raise ValueError(f"{found!r} is none.")
    return found
