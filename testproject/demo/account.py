"""What was sent, set against what the database says became of it."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from django.db.models import Count, Max, Q, QuerySet
from django.utils.encoding import repercent_broken_unicode

from django_locqueue.accesslog import hit
from django_locqueue.accesslog.analytics.tasks import count_hours
from django_locqueue.accesslog.models import AccessLog, Location
from django_locqueue.models import FINISHED, State, Task
from testproject.demo import latency
from testproject.demo.client import Exchange
from testproject.demo.traffic import Orders

Key = tuple[str | None, str, str, int]  # address, method, path, status

ONE_TASK_PER_ORDER = ("send_receipt", "settle", "pack")
ONE_TASK_PER_REPORT = "build_report"


@dataclass(frozen=True)
class Mark:
    """Where the tables ended before the run: a database that is used twice has older rows."""

    task_id: int
    log_id: int

    @classmethod
    def now(cls) -> "Mark":
        task_id = Task.objects.aggregate(last=Max("id"))["last"] or 0
        log_id = AccessLog.objects.aggregate(last=Max("id"))["last"] or 0
        return cls(task_id, log_id)

    @property
    def tasks(self) -> "QuerySet[Task]":
        tasks: QuerySet[Task] = Task.objects.filter(id__gt=self.task_id)
        return tasks.exclude(task_path=count_hours.module_path)  # it comes every minute, whatever the visitors do

    @property
    def log(self) -> "QuerySet[AccessLog]":
        return AccessLog.objects.filter(id__gt=self.log_id)

    def tasks_done(self) -> tuple[int, int]:
        """Return how many tasks have ended, of how many."""
        counts = self.tasks.aggregate(ended=Count("id", filter=Q(state__in=FINISHED)), all=Count("id"))
        return counts["ended"], counts["all"]


@dataclass(frozen=True)
class TaskCounts:
    name: str
    successful: int
    failed: int
    cancelled: int
    retried: int
    unfinished: int

    @property
    def total(self) -> int:
        return self.successful + self.failed + self.cancelled + self.unfinished


@dataclass
class Account:
    """The facts of a run. ``missing``: a sentence for each thing that was lost; empty if nothing was."""

    sent: int
    recorded: int
    tasks: list[TaskCounts]
    measured: int  # requests that only compared response times
    networks: dict[str, int]  # by the state of their location
    missing: list[str] = field(default_factory=list)


def draw_up(mark: Mark, exchanges: Iterable[Exchange], orders: Orders) -> Account:
    """Compare every request with the log and every order with its tasks."""
    exchanges = list(exchanges)
    sent = Counter(key_of(exchange) for exchange in exchanges)
    recorded = Counter(mark.log.values_list("ip", "method", "path", "status").iterator())
    measurements = mark.log.filter(ip=latency.VISITOR.address, user_agent=latency.VISITOR.agent)
    tasks = count_tasks(mark)
    networks = count_networks(mark)
    account = Account(
        sent=len(exchanges),
        recorded=recorded.total(),
        tasks=tasks,
        measured=measurements.count(),
        networks=networks,
    )
    say = account.missing.append
    if unanswered := sum(not exchange.status for exchange in exchanges):
        say(f"{unanswered:,} requests got no answer.")
    if lost := sent - recorded:
        say(f"{lost.total():,} requests were not recorded, for example {example(lost)}.")
    if extra := recorded - sent:
        say(f"{extra.total():,} requests were recorded that were not sent so, for example {example(extra)}.")
    if unfinished := sum(counts.unfinished for counts in tasks):
        say(f"{unfinished:,} tasks have not ended.")
    stored = {counts.name: counts.total for counts in tasks}
    for name in ONE_TASK_PER_ORDER:
        if stored.get(name, 0) != orders.placed:
            say(f"{orders.placed:,} orders were placed, but there are {stored.get(name, 0):,} tasks {name}.")
    if stored.get(ONE_TASK_PER_REPORT, 0) != orders.reports:
        say(f"{orders.reports:,} reports were asked for, but there are {stored.get(ONE_TASK_PER_REPORT, 0):,} tasks.")
    if pending := networks.get(Location.State.PENDING, 0):
        say(f"{pending:,} networks were neither located nor marked as unknown.")
    if homeless := mark.log.filter(ip__isnull=False, location__state=None).count():
        say(f"{homeless:,} recorded requests have an address, but their network is not on record.")
    return account


def key_of(exchange: Exchange) -> Key:
    """Return how the access log should have it: the path as Django decodes it, cut to the column."""
    target = exchange.path.partition("?")[0].partition("#")[0]
    path = repercent_broken_unicode(unquote_to_bytes(target)).decode()
    return exchange.address, exchange.method, hit.text(path, hit.PATH_LENGTH), exchange.status


def example(counter: "Counter[Key]") -> str:
    address, method, path, status = next(iter(counter))
    return f"{method} {path} from {address} ({status})"


def count_tasks(mark: Mark) -> list[TaskCounts]:
    # In the order of the fields of TaskCounts.
    rows = mark.tasks.values_list("task_path").annotate(
        successful=Count("id", filter=Q(state=State.SUCCESSFUL)),
        failed=Count("id", filter=Q(state=State.FAILED)),
        cancelled=Count("id", filter=Q(state=State.CANCELLED)),
        retried=Count("id", filter=Q(attempt__gt=1)),
        unfinished=Count("id", filter=~Q(state__in=FINISHED)),
    )
    counts = [TaskCounts(path.rpartition(".")[2], *numbers) for path, *numbers in rows]
    return sorted(counts, key=lambda each: (-each.total, each.name))


def count_networks(mark: Mark) -> dict[str, int]:
    used = mark.log.order_by().values("location")
    rows = Location.objects.filter(pk__in=used).values_list("state").annotate(number=Count("pk"))
    return dict(rows)


QUIET_SECONDS = 60


def wait_until_done(
    mark: Mark,
    requests: int,
    *,
    show: Callable[[int, int], None],
    check: Callable[[], None],
    pause: Callable[[float], object],
    clock: Callable[[], float],
) -> bool:
    """Wait until every request is recorded and every task has ended; False if nothing moves for a minute."""
    before: tuple[int, int, int] | None = None
    moved = clock()
    while True:
        check()
        recorded = mark.log.count()
        ended, total = mark.tasks_done()
        show(ended, total)
        if recorded >= requests and ended == total:
            return True
        if (recorded, ended, total) != before:
            before, moved = (recorded, ended, total), clock()
        elif clock() - moved > QUIET_SECONDS:
            return False
        pause(0.2)
