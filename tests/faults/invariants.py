"""What must hold when a fault is over. Each returns what is wrong, at best nothing."""

import re
import signal
from collections import Counter, defaultdict
from collections.abc import Callable

from django_locqueue.clock import DatabaseNow
from django_locqueue.models import FINISHED, State, Task, Worker
from django_locqueue.observability.stats import capped_counts
from tests.faults import load
from tests.faults.stage import Stage

RECOVERY_SECONDS = 30  # all three for a busy machine
SETTLING_SECONDS = 60
LEAVING_SECONDS = 30

Invariant = Callable[[Stage], list[str]]


def throughput_recovers(stage: Stage) -> list[str]:
    """A task that is enqueued after the fault is done in time, and so is the rest."""
    canary = load.work.using(priority=50).enqueue(str(stage.ledger), 0)
    if not stage.wait_for(Task.objects.finished().filter(pk=int(canary.id)).exists, RECOVERY_SECONDS):
        return [f"the canary was not done in {RECOVERY_SECONDS} s"]
    if not stage.wait_for(lambda: not Task.objects.exclude(state__in=FINISHED).exists(), SETTLING_SECONDS):
        left = Counter(Task.objects.exclude(state__in=FINISHED).values_list("state", flat=True))
        return [f"after {SETTLING_SECONDS} s there are still {dict(left)}"]
    return []


def nothing_is_lost(stage: Stage) -> list[str]:
    """Each committed enqueue is one row, which ends."""
    states = dict(Task.objects.values_list("pk", "state"))
    ids = stage.committed_ids
    doubled = len(ids) - len(set(ids))
    lost = [pk for pk in ids if states.get(pk) not in FINISHED]
    failed = Task.objects.filter(state=State.FAILED).exclude(error_class__endswith="WorkerLost")
    errors = Counter(failed.values_list("error_class", "error_message"))
    return [
        *([] if ids else ["nothing was enqueued"]),
        *([f"{doubled} ids were given twice"] if doubled else []),
        *([f"{len(lost)} of {len(ids)} did not end, as #{lost[0]}"] if lost else []),
        *(f"{times} failed, and no worker died of them: {error}" for error, times in errors.most_common(3)),
    ]


def no_outcome_is_double(stage: Stage) -> list[str]:
    """No claim runs twice; a task runs again only where a loss is recorded; the outcome is that of the last claim."""
    runs = [run for run in stage.runs if run.word == "began"]
    claims_run = Counter((run.task_id, run.claim_no) for run in runs)  # in whichever process
    wrong = [f"claim {claim} ran twice" for claim, times in claims_run.items() if times > 1]
    by_task = defaultdict(list)
    for run in runs:
        by_task[run.task_id].append(run.claim_no)
    for task in Task.objects.exclude(state=State.FAILED).only("pk", "claim_no", "attempt", "crashes", "return_value"):
        claims = by_task[task.pk]
        recorded = task.crashes + task.claim_no - task.attempt  # crashes, and claims that were given back
        if len(claims) > 1 + recorded:
            wrong.append(f"#{task.pk} ran {len(claims)} times, and {recorded} losses are recorded")
        if task.return_value != task.claim_no or task.claim_no not in claims:
            wrong.append(
                f"#{task.pk} has the outcome of claim {task.return_value}, and was last claimed {task.claim_no}"
            )
    return wrong[:5]


def no_task_is_left_running(stage: Stage) -> list[str]:
    return [f"#{pk} runs" for pk in Task.objects.running().values_list("pk", flat=True)[:5]]


def health_tells_the_truth(stage: Stage) -> list[str]:
    """Who is shown as live lives, and who lives is shown; the counts are those of a recount."""

    def is_true() -> bool:
        live = list(Worker.objects.live(DatabaseNow()).values_list("name", flat=True))
        expected = [name for worker in stage.workers for name in names_of(worker.arguments)]
        return sorted(live) == sorted(expected)

    wrong = [] if stage.wait_for(is_true, RECOVERY_SECONDS) else ["the live workers are not those that are shown"]
    recount = Counter(Task.objects.values_list("state", flat=True))
    counts = capped_counts({state: Task.objects.filter(state=state) for state in State.values})
    return wrong + [f"{state}: {count} counted" for state, count in counts.items() if count != recount[state]]


def names_of(arguments: tuple[str, ...]) -> list[str]:
    name = arguments[arguments.index("--worker-id") + 1]
    return [f"{name}/1", f"{name}/2"] if "--processes" in arguments else [name]


def the_log_is_quiet(stage: Stage) -> list[str]:
    """No traceback; and no complaint is repeated more often than there were faults."""
    wrong = []
    for worker in stage.everybody:
        complaints = [line for line in worker.lines if re.search(r" (WARN|ERROR|CRITICAL) ", line)]
        own = [re.sub(r"\d+", "N", line) for line in complaints if "#" not in line]  # not about a task
        wrong += [f"{times} × {line}" for line, times in Counter(own).items() if times > 2 * stage.faults + 2]
        if "Traceback" in worker.output:
            wrong.append(worker.output[worker.output.index("Traceback") :][:2000])
    return wrong


def workers_leave(stage: Stage) -> list[str]:
    """When they are asked to, in order and with 0; and nobody is shown as live then."""
    for worker in stage.workers:
        worker.signal(signal.SIGTERM)
    codes = [worker.wait(LEAVING_SECONDS) for worker in stage.workers]
    live = Worker.objects.live(DatabaseNow()).count()
    return [f"exit code {code}" for code in codes if code] + ([f"{live} are shown as live"] if live else [])


# In this order: the first waits until all is done.
INVARIANTS: tuple[Invariant, ...] = (
    throughput_recovers,
    nothing_is_lost,
    no_outcome_is_double,
    no_task_is_left_running,
    health_tells_the_truth,
    the_log_is_quiet,
    workers_leave,
)
