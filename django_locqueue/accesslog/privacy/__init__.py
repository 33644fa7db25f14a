"""What of a visitor leaves the process that answered, what is kept of it, and how it is forgotten."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django_locqueue.accesslog.privacy.forgetting import forget

__all__ = ["forget"]


def __getattr__(name: str) -> object:
    # It needs the models; the middleware, which imports this package too, is imported before they are ready.
    if name == "forget":
        from django_locqueue.accesslog.privacy.forgetting import forget

        return forget
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
