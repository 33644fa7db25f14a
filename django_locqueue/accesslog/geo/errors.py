"""Why a provider did not answer. What an answer does not know is no error: it is None (see ``provider.py``)."""


class GeoError(Exception):
    """A provider cannot answer at all: its file or package is missing or broken, or its settings are wrong.

    ``retry_after``: seconds after which it may be asked again; None if the provider did not say.
    No message holds a key.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NotInstalled(GeoError):
    """A package that the provider needs is missing."""

    def __init__(self, what: str, extra: str = "geo") -> None:
        self.what = what
        self.remedy = f"Run: pip install 'django-locqueue[{extra}]'."
        super().__init__(f"{what} {self.remedy}")


class Transient(GeoError):
    """It went wrong this time: no connection, too slow, a fault of the server, an answer that cannot be read."""


class RateLimited(GeoError):
    """Too many calls in a short time. Nothing is wrong with the address: asking waits for ``retry_after``."""


class QuotaExhausted(GeoError):
    """The day's calls are used up. ``retry_after`` is the time to the next midnight where the provider is."""


class ProviderDenied(GeoError):
    """The key or the signature is wrong, or this machine is not on the provider's list. A person must see to it."""
