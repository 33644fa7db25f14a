"""What receivers hear of a run that has ended, once its outcome is stored."""

from django_locqueue import signals
from django_locqueue.policies.outcome import Kind
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.executor import Executor

_SIGNALS = {Kind.RETRIED: signals.task_retried, Kind.CANCELLED: signals.task_cancelled}


def tell(executor: Executor, execution: Execution) -> None:
    """Send the signals of an execution whose outcome was written, or refused."""
    outcome, claimed = execution.outcome, execution.claimed
    sender = type(executor.backend_of(claimed))
    if execution.written is None:
        signals.lease_lost.send_robust(sender, claimed=claimed, outcome=outcome)
        return
    executor.finish(execution)
    signals.attempt_ended.send_robust(sender, claimed=claimed, outcome=outcome, seconds=execution.seconds)
    if outcome is not None and (signal := _SIGNALS.get(outcome.kind)):
        signal.send_robust(sender, claimed=claimed, outcome=outcome)
