"""Which name and which code mean the same country, found out from the providers themselves.

ip2region's version 2 names countries, the registries' lists give codes, and a table of both would be ours to keep. So
places that the one names are looked up in the other, and the majority decides. One address cannot: 7 % of the foreign
networks that ip2region places in one country are registered in another; of Belgium's it is half.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from django_locqueue.accesslog.geo.provider import OfflineProvider
from django_locqueue.accesslog.geo.result import GeoResult, IPAddress

# Addresses that are looked up, once in a process, in two seconds. Half as many named Barbados after another island.
SAMPLE = 120_000
CLEARLY = 1.5  # times as many votes as the next


class Countries:
    """Names by code and codes by name, of the countries where both agree on each other."""

    def __init__(self, named: Iterable[tuple[IPAddress, GeoResult]], coded: OfflineProvider) -> None:
        votes: Counter[tuple[str, str]] = Counter()
        for address, place in named:
            code = place.country_code
            if not code and (found := coded.lookup(address)):
                code = found.country_code
            if code and place.country:
                votes[place.country, code] += 1
        self.names: dict[str, str] = {}
        # The second round is for those like Singapore, most of whose networks are registered in a country that by then
        # has its name. What a third one would find is chance.
        for _ in range(2):
            self.names |= _agreed(votes)
            taken = set(self.names.values())
            votes = Counter(
                {pair: n for pair, n in votes.items() if pair[0] not in taken and pair[1] not in self.names}
            )
        self.codes = {name: code for code, name in self.names.items()}

    def complete(self, place: GeoResult) -> GeoResult:
        """Return the place with the code that its country's name has, or the name that its code has."""
        if place.country and not place.country_code:
            return place.with_country(self.codes.get(place.country, ""), place.country)
        if place.country_code and not place.country:
            return place.with_country(place.country_code, self.names.get(place.country_code, ""))
        return place


def _agreed(votes: Mapping[tuple[str, str], int]) -> dict[str, str]:
    """Return names by code, of those that are each other's clear first choice.

    A small country whose few addresses are registered abroad has no code rather than another country's.
    """
    codes = _clear_firsts(votes)
    names = _clear_firsts({(code, name): number for (name, code), number in votes.items()})
    return {code: name for code, name in names.items() if codes.get(name) == code}


def _clear_firsts(votes: Mapping[tuple[str, str], int]) -> dict[str, str]:
    """Return for each first member the second one that has ``CLEARLY`` more votes than any other."""
    ranked: dict[str, list[tuple[int, str]]] = {}
    for (first, second), number in votes.items():
        ranked.setdefault(first, []).append((number, second))
    found = {}
    for first, choices in ranked.items():
        (most, best), *others = sorted(choices, reverse=True)
        if not others or most >= CLEARLY * others[0][0]:
            found[first] = best
    return found
