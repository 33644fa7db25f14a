"""Sample tasks that are unique, each in its own way."""

import time
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group

from django_locqueue import Unique, task
from tests.tasks import write_ledger


@task(unique=Unique("order-{order_id}"))
def ship(order_id: int, note: str = "") -> str:
    return f"{order_id}{note}"


@task(unique=Unique("order-{order_id}", until="finished"), max_attempts=3)
def settle(order_id: int) -> None:
    """Until it has finished."""


@task(unique=Unique("report-{name}", seconds=60))
def report(name: str = "daily") -> None:
    """For a minute."""


@task(unique=Unique("order-{order_id}", on_conflict="raise"))
def invoice(order_id: int) -> None:
    """Refuses a second call."""


@task(unique=Unique("page-{page}", on_conflict="replace"))
def render(page: str, content: str = "") -> str:
    return content


@task(unique=Unique("page-{page}", on_conflict="debounce"))
def index(page: str) -> None:
    """Waits until nobody changes the page."""


@task(unique=Unique("shop-{shop_id}", on_conflict="merge"))
def sync(shop_id: int, item_ids: list[Any]) -> list[Any]:
    return item_ids


@task(unique=Unique("shop-{shop_id}", until="finished", on_conflict="merge"))
def sync_to_the_end(shop_id: int, item_ids: list[Any]) -> list[Any]:
    return item_ids


@task(unique=Unique("shop-{shop_id}", unique_items="item_ids"), max_attempts=3)
def fetch(shop_id: int, item_ids: list[Any], *, fail: bool = False) -> list[Any]:
    if fail:
        raise ValueError("no answer")
    return item_ids


@task(unique=Unique("shop-{shop_id}", unique_items="item_ids"))
async def fetch_async(shop_id: int, item_ids: list[Any]) -> list[Any]:
    return item_ids


@task(unique=Unique("group-{name}"))
def count_groups(name: str) -> int:
    return Group.objects.filter(name=name).count()


@task(unique=Unique("only", until="finished"))
def stay_at_first(ledger: str, seconds: float) -> None:
    """Take long in the first run only."""
    write_ledger(ledger, "start")
    if Path(ledger).read_text().splitlines().count("start") == 1:
        time.sleep(seconds)
    write_ledger(ledger, "end")


@task(
    unique=Unique("shop-{shop_id}", until="finished", on_conflict="merge"),
    concurrency=1,
    concurrency_key="shop-{shop_id}",
)
def sync_one_at_a_time(shop_id: int, item_ids: list[Any]) -> list[Any]:
    return item_ids


@task(unique=Unique("shop-{shop_id}"), concurrency=2, concurrency_key="shop-{shop_id}")
def ship_two_at_once(shop_id: int) -> None:
    """One waits, two run."""


@task(unique=Unique("order-{order_id}", on_conflict="replace"), concurrency=1, concurrency_key="shop-{shop_id}")
def ship_from(order_id: int, shop_id: int) -> None:
    """One per shop runs."""


@task(unique=Unique("{prefix}"), chunk=10, chunk_wait=0)
def locate_many(calls: list[Any]) -> None:
    """Runs for many networks at once."""
