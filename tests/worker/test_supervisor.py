"""What a supervisor remembers, without a process."""

import signal
from types import SimpleNamespace

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
