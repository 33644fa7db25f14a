"""Location services that say what a test tells them to, in this process."""

from collections.abc import Sequence
from typing import Any

from django_locqueue.accesslog.geo.provider import Answers, Provider
from django_locqueue.accesslog.geo.result import GeoResult, IPAddress

asked: list[tuple[str, list[str]]] = []  # by whom, and for which addresses: each call
answers: dict[str, list[Any]] = {}  # by name, what the next calls give; the last for all that follow


class Told(Provider):
    """Gives what stands in ``answers``: a result or None for each address, or an error that it raises."""

    offline = False

    def __init__(self, name: str = "told", **attributes: Any) -> None:
        self.name = name
        for attribute, value in attributes.items():
            setattr(self, attribute, value)

    def lookup_many(self, addresses: Sequence[IPAddress]) -> Answers:
        asked.append((self.name, [str(address) for address in addresses]))
        said = answers.get(self.name, [None])
        answer = said.pop(0) if len(said) > 1 else said[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Answers) else Answers(dict.fromkeys(addresses, answer))


class Broken(Told):
    """Cannot be made."""

    def __init__(self, key: str) -> None:
        raise KeyError(key)


def told(name: str = "told", **options: Any) -> dict[str, Any]:
    """Return an entry of ``PROVIDERS``."""
    return {"provider": "tests.accesslog.services.Told", "name": name, **options}


def a_place(provider: str = "told", **fields: Any) -> GeoResult:
    return GeoResult(
        provider, **{"country_code": "CN", "country": "中国", "province": "江苏", "city": "南京", **fields}
    )


def say(*said: Any, name: str = "told") -> None:
    """What the service answers to its next calls."""
    answers[name] = list(said)


def calls(name: str = "told") -> list[list[str]]:
    """Return the addresses of each call of the service."""
    return [addresses for who, addresses in asked if who == name]
