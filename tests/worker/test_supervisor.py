"""What a supervisor remembers, without a process."""

import signal
import time
from types import SimpleNamespace

import pytest

from django_locqueue.worker.supervisor import Supervisor


def test_a_child_that_starts_later_is_told_to_be_quiet_too() -> None:
    supervisor = Supervisor(None, [["worker"], ["worker"]], max_crashes=3, drain=False)  # type: ignore[arg-type]
    sent: list[int] = []
    supervisor.tell(signal.SIGUSR1)
    for child in supervisor.children:
        supervisor._quiet(child)  # has not begun
        child.process = SimpleNamespace(send_signal=sent.append)  # type: ignore[assignment]
        supervisor._quiet(child)  # cannot hear it yet
        child.table.pulse = 1
        supervisor._quiet(child)
        supervisor._quiet(child)
    assert sent == [signal.SIGUSR1] * 2


@pytest.mark.parametrize(("runs", "pause"), [(True, 0.1), (False, 0.4)])
def test_of_young_children_only_those_that_a_task_may_have_killed_are_replaced_at_once(
    runs: bool, pause: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Supervisor, "_rescue", lambda *args: None)
    supervisor = Supervisor(None, [["worker"]], max_crashes=3, drain=False)  # type: ignore[arg-type]
    [child] = supervisor.children
    child.began = time.monotonic()
    child.table.begin(0, (1, 1))
    if not runs:
        child.table.end(0, (1, 1))
    for _ in range(2):
        supervisor._ended(child, 1)
    assert child.pause == pytest.approx(pause)
