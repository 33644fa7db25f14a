"""What visitors do in the shop, and several of them at once."""

import itertools
import queue
import random
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from testproject.demo.client import Client, Exchange, Visitor

THREADS = 4

PRODUCTS = ["green-tea", "desk-lamp", "atlas", "go-board", "camera", "tent", "noodle-bowl", "kite", "keyboard"]
SEARCHES = ["tea", "lamp", "book", "paper", "nothing+like+this", "%E8%8C%B6"]
AGENTS = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
    "Mozilla/5.0 (compatible; ExampleBot/1.0; +http://example.com/bot)",
]
# Networks of the address plans of a few providers: eleven of China's provinces, some countries, two of IPv6, and two
# that are nobody's (documentation) or everybody's (private).
NETWORKS = [
    *("49.65.250", "115.28.217", "114.80.166", "122.92.218", "218.28.191", "218.12.41"),
    *("221.239.16", "59.108.49", "124.117.66", "218.21.128", "116.52.147"),
    *("8.8.8", "1.1.1", "81.2.69", "193.99.144", "133.11.0", "200.160.2", "103.21.244"),
    *("2400:3200::", "2001:4860:4860::"),
    *("192.0.2", "10.1.2"),
]

Visit = Callable[[Client], None]


@dataclass
class Orders:
    """How many orders the shop took: what its tasks must add up to."""

    placed: int = 0
    reports: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, *, placed: int = 0, reports: int = 0) -> None:
        with self._lock:
            self.placed += placed
            self.reports += reports


def visitors(seed: int = 2026) -> Iterator[Visitor]:
    """Yield the same visitors in every run: from all networks, each with an address of its own."""
    chance = random.Random(seed)
    for number in itertools.count():
        network = NETWORKS[number % len(NETWORKS)]
        separator = "" if ":" in network else "."
        last = 1 + (number * 7) % 250
        yield Visitor(f"{network}{separator}{last:x}" if ":" in network else f"{network}.{last}", chance.choice(AGENTS))


def browse(visitor: Visitor, number: int) -> Visit:
    """Look around: five requests, one of them for something that is not there."""

    def visit(client: Client) -> None:
        slug = PRODUCTS[number % len(PRODUCTS)]
        client.request(visitor, "/", referrer="https://search.example/?q=corner+shop")
        client.request(visitor, f"/search/?q={SEARCHES[number % len(SEARCHES)]}")
        client.request(visitor, f"/products/{slug}/")
        client.request(visitor, f"/old-page-{number % 5}/")
        client.request(visitor, "/about/", method="HEAD")

    return visit


def buy(visitor: Visitor, number: int, orders: Orders) -> Visit:
    """Put something into the cart, order it, and follow the order: eight requests and three tasks."""

    def visit(client: Client) -> None:
        slug = PRODUCTS[number % len(PRODUCTS)]
        page = client.request(visitor, f"/products/{slug}/")
        for _ in range(2 if slug == "camera" else 1):  # two cameras are more than the card takes
            client.request(visitor, f"/cart/add/{slug}/", method="POST", form={"csrfmiddlewaretoken": page.token})
        cart = client.request(visitor, "/cart/")
        form = {"csrfmiddlewaretoken": cart.token, "email": f"customer{number}@example.com"}
        done = client.request(visitor, "/checkout/", method="POST", form=form)
        if done.location.startswith("/orders/"):
            orders.count(placed=1)
            client.request(visitor, done.location)
            for _ in range(3):
                client.request(visitor, f"/api{done.location}")

    return visit


def ask_for_report(visitor: Visitor, username: str, password: str, orders: Orders) -> Visit:
    """Log in, and have the sales report built: four requests and a task."""

    def visit(client: Client) -> None:
        page = client.request(visitor, "/login/")
        form = {"csrfmiddlewaretoken": page.token, "username": username, "password": password}
        client.request(visitor, "/login/", method="POST", form=form)
        page = client.request(visitor, "/")
        done = client.request(visitor, "/report/", method="POST", form={"csrfmiddlewaretoken": page.token})
        if done.location == "/":
            orders.count(reports=1)

    return visit


def shop_visits(number: int, login: tuple[str, str], orders: Orders) -> list[Visit]:
    """Return ``number`` visits: every third one buys, every fiftieth one asks for the report."""
    visits: list[Visit] = []
    for index, visitor in zip(range(number), visitors(), strict=False):
        if index % 50 == 49:
            visits.append(ask_for_report(visitor, *login, orders))
        elif index % 3 == 2:
            visits.append(buy(visitor, index // 3, orders))
        else:
            visits.append(browse(visitor, index))
    return visits


def send(
    visits: Iterable[Visit], port: int, *, visited: Callable[[], None], check: Callable[[], None]
) -> list[Exchange]:
    """Make the visits with a few threads. ``visited`` is called after each; ``check`` may raise to stop it all."""
    waiting: queue.SimpleQueue[Visit] = queue.SimpleQueue()
    for visit in visits:
        waiting.put(visit)
    clients = [Client(port) for _ in range(THREADS)]
    stopped = threading.Event()
    faults: list[BaseException] = []

    def make_visits(client: Client) -> None:
        while not stopped.is_set():
            try:
                visit = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                visit(client)
            except BaseException as fault:
                faults.append(fault)
                return
            finally:
                client.forget()
            visited()

    threads = [threading.Thread(target=make_visits, args=[client], daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    try:
        while any(thread.is_alive() for thread in threads):
            threads[0].join(0.2) if threads[0].is_alive() else threads.pop(0)
            check()
    finally:
        stopped.set()
        for client in clients:
            client.close()
    if faults:
        raise faults[0]
    return [exchange for client in clients for exchange in client.exchanges]
