"""What a view says about its own line in the log."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

from asgiref.sync import iscoroutinefunction

View = TypeVar("View", bound=Callable[..., Any])

ATTRIBUTE = "locqueue_access_log"  # of the view; decorators that use functools.wraps hand it on


class Marks(NamedTuple):
    """``action``: None for what the settings say."""

    action: str | None = None
    exclude: bool = False
    sensitive: bool = False


UNMARKED = Marks()


def access_log(*, action: str | None = None, exclude: bool = False, sensitive: bool = False) -> Callable[[View], View]:
    """Return a decorator of views: ``@access_log(action="view product")``.

    ``action``: the name of what was done, instead of the URL's name and of what ``ACTION`` says. ``exclude``: requests
    to this view are not recorded. ``sensitive``: they are, but without what says whose they are.

    For a class, decorate what ``as_view()`` returns, or use ``@method_decorator(access_log(…), name="dispatch")``.
    Raises TypeError for what cannot be meant.
    """
    if action is not None and not isinstance(action, str):
        raise TypeError(f"access_log(action=…) must be a text, got {action!r}.")
    if not (action or exclude or sensitive):
        raise TypeError("access_log() needs one of action, exclude and sensitive.")

    def mark(view: View) -> View:
        if isinstance(view, type):
            raise TypeError(
                f"access_log() marks functions, and {view.__name__} is a class: decorate {view.__name__}.as_view(), "
                'or write @method_decorator(access_log(…), name="dispatch") above it.'
            )
        earlier = getattr(view, ATTRIBUTE, UNMARKED)
        marked = _wrapped(view)
        setattr(
            marked,
            ATTRIBUTE,
            Marks(action or earlier.action, exclude or earlier.exclude, sensitive or earlier.sensitive),
        )
        return cast(View, marked)

    return mark


def _wrapped(view: Callable[..., Any]) -> Callable[..., Any]:
    # Not the view itself: urls.py may give one function to two paths, each with a name of its own.
    if iscoroutinefunction(view):

        @wraps(view)
        async def marked(*args: Any, **kwargs: Any) -> Any:
            return await view(*args, **kwargs)

    else:

        @wraps(view)
        def marked(*args: Any, **kwargs: Any) -> Any:
            return view(*args, **kwargs)

    return marked
