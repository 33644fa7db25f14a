"""Plays state machines whose verbs are a database's."""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def live(machine: type[RuleBasedStateMachine], *, lives: int, verbs: int) -> None:
    """Play a machine so many times: others on each database, with each Python, and in each run."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=lives,
            stateful_step_count=verbs,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
