"""The faults. Each is done again and again while the load goes on; between two of them the workers get a moment."""

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.faults.stage import Stage, signal_all

POSTGRES = ("postgres",)
BOTH = ("postgres", "sqlite")
ONE = ("--threads", "4")
TWO_CHILDREN = ("--processes", "2", "--threads", "3")
LEASE_AND_MORE = 1.8  # seconds; of tests.settings_fast


@dataclass(frozen=True)
class Scenario:
    """``bites``: how often the fault has hurt; 0 means that nothing was shown. ``workers``: the options of each."""

    name: str
    fault: Callable[[Stage], None]
    bites: Callable[[Stage], int]
    databases: Sequence[str] = POSTGRES
    workers: Sequence[Sequence[str]] = (ONE, ONE)
    pause: float = 0.7


SCENARIOS: dict[str, Scenario] = {}


def scenario(bites: Callable[[Stage], int], **options: object) -> Callable[[Callable[[Stage], None]], None]:
    def add(fault: Callable[[Stage], None]) -> None:
        name = fault.__name__.replace("_", "-")
        SCENARIOS[name] = Scenario(name, fault, bites, **options)  # type: ignore[arg-type]

    return add


def runs_were_cut_short(stage: Stage) -> int:
    return stage.cut_short


def work_was_lost(stage: Stage) -> int:
    return stage.said("lease lost")


def services_failed(stage: Stage) -> int:
    return stage.said("failed and goes on trying")


def counted(stage: Stage) -> int:
    return stage.bites


# -- death


@scenario(runs_were_cut_short, databases=BOTH)
def kill_worker(stage: Stage) -> None:
    stage.kill(stage.any_worker())
    stage.start_worker()


@scenario(runs_were_cut_short, databases=BOTH, workers=(TWO_CHILDREN,))
def kill_child(stage: Stage) -> None:
    signal_all(stage.any_worker().children[:1], signal.SIGKILL)


@scenario(runs_were_cut_short, databases=BOTH, workers=(TWO_CHILDREN,), pause=2.0)
def kill_supervisor_and_children(stage: Stage) -> None:
    [supervisor] = stage.workers
    children = supervisor.children
    stage.kill(supervisor)
    signal_all(children, signal.SIGKILL)
    stage.start_worker(TWO_CHILDREN)


@scenario(counted, databases=BOTH, workers=(TWO_CHILDREN,), pause=2.0)
def kill_supervisor(stage: Stage) -> None:
    [supervisor] = stage.workers
    stage.bites += len(supervisor.children)
    stage.kill(supervisor)
    stage.start_worker(TWO_CHILDREN)


@scenario(runs_were_cut_short, databases=BOTH, pause=2.0)
def kill_fleet(stage: Stage) -> None:
    for worker in list(stage.workers):
        stage.kill(worker)
    stage.start_worker()


@scenario(work_was_lost, databases=BOTH)
def stop_and_continue(stage: Stage) -> None:
    victim = stage.any_worker()
    victim.signal(signal.SIGSTOP)
    stage.pause(LEASE_AND_MORE)
    victim.signal(signal.SIGCONT)


# -- the database


@scenario(services_failed, pause=0.3)
def terminate_sessions(stage: Stage) -> None:
    stage.database.terminate_sessions()


@scenario(services_failed, pause=1.5)
def restart_fast(stage: Stage) -> None:
    stage.database.restart(signal.SIGINT)


@scenario(services_failed, pause=1.5)
def restart_immediately(stage: Stage) -> None:
    stage.database.restart(signal.SIGQUIT)


@scenario(services_failed, pause=1.5)
def fail_over(stage: Stage) -> None:
    stage.database.move()


@scenario(services_failed, pause=0.3)
def cut_connections(stage: Stage) -> None:
    stage.database.proxy.cut()


@scenario(services_failed, pause=1.5)
def black_hole(stage: Stage) -> None:
    stage.database.proxy.black_hole()
    stage.pause(LEASE_AND_MORE)
    stage.database.proxy.heal()
    stage.database.proxy.cut()


@scenario(services_failed, pause=1.5)
def read_only(stage: Stage) -> None:
    stage.database.run("ALTER DATABASE queue SET default_transaction_read_only = on")
    stage.database.terminate_sessions()
    stage.pause(LEASE_AND_MORE)
    stage.database.run("ALTER DATABASE queue RESET default_transaction_read_only")


@scenario(services_failed, pause=1.5)
def too_many_clients(stage: Stage) -> None:
    stage.database.run("ALTER ROLE queue_user CONNECTION LIMIT 1")
    stage.database.terminate_sessions()
    stage.pause(LEASE_AND_MORE)
    stage.database.run("ALTER ROLE queue_user CONNECTION LIMIT -1")


@scenario(counted, databases=("sqlite",), pause=2.0)
def locked_for_8_seconds(stage: Stage) -> None:
    with stage.database.lock():
        stage.pause(1)  # what was claimed before is done
        before = len(stage.runs)
        stage.pause(7)
        stage.bites += len(stage.runs) == before
