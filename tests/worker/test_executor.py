"""How one run ends: each kind of outcome, whatever the task does."""

from contextlib import contextmanager

import pytest
from django.db import InterfaceError, OperationalError, connection, connections
from django.db.backends.utils import CursorWrapper

from django_locqueue import compat
from django_locqueue.models import State, Task, TaskAttempt
from django_locqueue.policies.outcome import Kind
from django_locqueue.store.serve import Owner
from django_locqueue.worker.execution import Execution, StopReason
from django_locqueue.worker.executor import Executor
from tests import retried_tasks, tasks
from tests.running import claim_next, in_thread, our_backend, row, run_next, run_one

pytestmark = pytest.mark.django_db(transaction=True)


def outcome_of(definition, *args):
    definition.enqueue(*args)
    return run_next()[0].outcome


def test_a_task_that_returns_is_successful():
    outcome = outcome_of(tasks.add, 1, 2)
    assert (outcome.kind, outcome.return_value, outcome.exception) == (Kind.SUCCESSFUL, "3", None)


def test_a_task_that_raises_is_failed():
    outcome = outcome_of(tasks.fail, "the reason")
    assert outcome.kind is Kind.FAILED
    assert (outcome.error.class_path, outcome.error.message) == ("builtins.ValueError", "the reason")


def test_a_task_with_attempts_left_is_retried():
    assert outcome_of(retried_tasks.fail_and_wait_30).kind is Kind.RETRIED


def test_a_task_that_snoozes_is_charged_no_attempt():
    result = retried_tasks.snooze.enqueue(60)
    assert run_next()[0].outcome.kind is Kind.SNOOZED
    stored = row(result)
    assert (stored.state, stored.attempt, stored.worker_ids) == (State.SCHEDULED, 0, "")


def test_a_task_that_gives_up_is_cancelled_and_failed_for_django():
    result = run_one(retried_tasks.give_up.enqueue("the order is gone"))
    assert row(result).state == State.CANCELLED
    assert result.status == compat.TaskResultStatus.FAILED
    assert "the order is gone" in result.errors[0].traceback


@pytest.mark.parametrize(
    ("name", "args", "class_path"),
    [
        ("exit_with", (), "builtins.SystemExit"),
        ("exit_with", (0,), "builtins.SystemExit"),
        ("exit_with", (3,), "builtins.SystemExit"),
        ("exit_with", ("in words",), "builtins.SystemExit"),
        ("exit_async", (3,), "builtins.SystemExit"),
        ("call_exit", (), "builtins.SystemExit"),
        ("interrupt", (), "builtins.KeyboardInterrupt"),
        ("close_generator", (), "builtins.GeneratorExit"),
        ("recurse", (), "builtins.RecursionError"),
        ("cancel_itself", (), "asyncio.exceptions.CancelledError"),
        ("ask_for_too_much_memory", (), "builtins.MemoryError"),
        ("misuse_argparse", (), "builtins.SystemExit"),
        ("set_a_signal_handler", (), "builtins.ValueError"),
        ("raise_group_of_exits", (), "builtins.BaseExceptionGroup"),
    ],
)
def test_f4_what_would_end_a_process_ends_the_task_alone(name, args, class_path):
    first = getattr(tasks, name).enqueue(*args)
    canary = tasks.add.enqueue(1)
    run_next(2)
    first.refresh()
    canary.refresh()
    assert first.status == compat.TaskResultStatus.FAILED
    assert first.errors[0].exception_class_path == class_path
    assert canary.status == compat.TaskResultStatus.SUCCESSFUL


@pytest.mark.parametrize(("code", "text"), [(3, "3"), ("in words", "in words")])
def test_the_code_of_an_exit_is_in_the_text(code, text):
    assert outcome_of(tasks.exit_with, code).error.message == text


def test_an_exit_is_not_tried_again():
    tasks.exit_with.enqueue(1)
    Task.objects.update(max_attempts=5)
    assert run_next()[0].outcome.kind is Kind.FAILED


@pytest.mark.parametrize("kind", ["object", "set", "nan", "bytes", "key", "date", "self", "hostile", "endless"])
def test_a_return_value_that_is_not_json_fails_the_task(kind):
    result = run_one(tasks.return_unstorable.enqueue(kind))
    assert result.status == compat.TaskResultStatus.FAILED
    assert "return value cannot be stored as JSON" in result.errors[0].traceback


@pytest.mark.parametrize(
    "kind",
    [
        "two arguments",
        "unprintable",
        "no text",
        "local class",
        "holds a lock",
        "group",
        "circular",
        "deep chain",
        "huge text",
        "control characters",
        "cannot be pickled",
    ],
)
def test_d4_any_exception_leaves_a_readable_entry(kind):
    result = tasks.raise_hostile.enqueue(kind)
    canary = tasks.add.enqueue(1)
    run_next(2)
    result.refresh()
    canary.refresh()
    assert result.status == compat.TaskResultStatus.FAILED
    assert result.errors[0].traceback
    assert len(result.errors[0].traceback) < 200_000
    assert "." in result.errors[0].exception_class_path
    assert canary.status == compat.TaskResultStatus.SUCCESSFUL


@pytest.mark.parametrize(
    "path", ["no.such.module.task", "tests.tasks.removed", "tests.tasks.Path", "tests.tasks.write_ledger", "", "nodots"]
)
def test_d5_a_path_that_leads_to_no_task_fails_that_task_alone(path, settings):
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": {"UNKNOWN_TASK_SECONDS": 0}}
    result, canary = tasks.add.enqueue(1), tasks.add.enqueue(2)
    Task.objects.filter(pk=int(result.id)).update(task_path=path)
    run_next(2)
    found = our_backend().get_result(result.id)
    canary.refresh()
    assert found.status == compat.TaskResultStatus.FAILED
    assert found.errors[0].exception_class_path == "django_locqueue.exceptions.UnknownTask"
    assert canary.status == compat.TaskResultStatus.SUCCESSFUL


@pytest.mark.parametrize("code", ["raise SystemExit(1)", "raise KeyboardInterrupt", "import nowhere", "def (", "1/0"])
def test_d5_a_module_that_breaks_at_import_fails_that_task_alone(code, tmp_path, monkeypatch, settings):
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": {"UNKNOWN_TASK_SECONDS": 0}}
    (tmp_path / "broken_tasks.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    result = tasks.add.enqueue(1)
    Task.objects.update(task_path="broken_tasks.f")
    run_next()
    found = our_backend().get_result(result.id)
    assert found.status == compat.TaskResultStatus.FAILED
    assert "broken_tasks.f cannot be imported" in found.errors[0].traceback


@pytest.mark.parametrize("text", ["", "null", "[]", "{", '{"args": 5}', '"text"', "[" * 100_000])
def test_a_damaged_payload_fails_that_task_alone(text):
    result, canary = tasks.add.enqueue(1), tasks.add.enqueue(2)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE locqueue_task SET args_kwargs = %s WHERE id = %s", [text, int(result.id)])
    run_next(2)
    result.refresh()
    canary.refresh()
    assert result.status == compat.TaskResultStatus.FAILED
    assert result.errors[0].exception_class_path == "django_locqueue.exceptions.InvalidPayload"
    assert canary.status == compat.TaskResultStatus.SUCCESSFUL


def test_arguments_that_the_function_does_not_take_any_more_fail_the_task():
    result = tasks.add.enqueue(1)
    Task.objects.update(args_kwargs={"args": [], "kwargs": {"nonsense": 1}})
    result = run_one(result)
    assert result.errors[0].exception_class is TypeError


def test_damaged_metadata_fails_that_task_alone():
    result = tasks.describe_context.enqueue()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE locqueue_task SET metadata = '{'")
    assert run_one(result).status == compat.TaskResultStatus.FAILED


def run_with(reason, definition, *args, before=False):
    """Run a task that is asked to stop when its first line has run, or before."""
    definition.enqueue(*args)
    execution = Execution(in_thread(claim_next))

    def ask(sender, **kwargs):
        execution.stop_reason = reason

    if before:
        execution.stop_reason = reason
    compat.task_started.connect(ask)
    try:
        in_thread(lambda: Executor(our_backend()).run(execution))
    finally:
        compat.task_started.disconnect(ask)
    return execution.outcome


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (StopReason.SHUTDOWN, Kind.RELEASED),
        (StopReason.LEASE_LOST, Kind.RELEASED),
        (StopReason.CANCELLED, Kind.CANCELLED),
    ],
)
def test_a_task_that_stops_as_asked_is_put_back_or_cancelled(reason, kind):
    assert run_with(reason, tasks.run_until_asked_to_stop).kind is kind


@pytest.mark.parametrize(
    ("reason", "kind"), [(StopReason.SHUTDOWN, Kind.RELEASED), (StopReason.CANCELLED, Kind.CANCELLED)]
)
def test_a_task_that_waited_for_a_thread_until_it_was_too_late_is_not_begun(reason, kind):
    assert run_with(reason, tasks.add, 1, before=True).kind is kind


def test_a_task_that_ends_although_it_was_asked_to_stop_is_successful():
    assert run_with(StopReason.SHUTDOWN, tasks.add, 1).kind is Kind.SUCCESSFUL


def test_the_context_says_whether_to_stop():
    outcome = run_with(StopReason.SHUTDOWN, tasks.describe_context)
    assert '"should_stop":true' in outcome.return_value


@contextmanager
def heard(signal):
    """Somebody hears of it, so that its result has to be made."""

    def receiver(**kwargs):
        pass

    signal.connect(receiver)
    yield
    signal.disconnect(receiver)


@pytest.mark.parametrize("error", [OperationalError("the database is away"), InterfaceError("connection is closed")])
def test_a_database_that_fails_before_the_task_begins_charges_no_attempt(monkeypatch, tmp_path, error):
    # The second try reads the errors of the first; the database is away just then.
    result = retried_tasks.fail_until.enqueue(str(tmp_path / "ledger"), 2)
    run_next()

    def away(*args, **kwargs):
        raise error

    def run():
        execution = Execution(claim_next())
        with monkeypatch.context() as patch, heard(compat.task_started):
            patch.setattr(type(TaskAttempt.objects), "get_queryset", away)
            Executor(our_backend()).run(execution)
        assert execution.outcome.kind is Kind.RELEASED
        our_backend().store.ack([(execution.claimed, execution.outcome)])

    in_thread(run)
    assert row(result).attempt == 1
    assert row(result).state in (State.READY, State.SCHEDULED)


def test_a_worker_takes_tasks_of_all_backends_of_its_database(settings):
    ours = settings.TASKS["default"]
    settings.TASKS = {"default": ours, "slow": {**ours, "OPTIONS": {"MAX_ATTEMPTS": 9}}}
    assert run_one(tasks.add.using(backend="slow").enqueue(1)).return_value == 1


def test_a_claim_names_its_worker():
    tasks.add.enqueue(1)
    worker = our_backend().store.register_worker("w:1", lease=60)
    [claimed] = our_backend().store.claim(Owner(worker.pk, worker.name), 1)
    assert claimed.worker_name == "w:1"


# -- an atomic task whose transaction the database gives up

BUSY = {"sqlite": OperationalError("database is locked"), "mysql": OperationalError(1213, "Deadlock found")}


def gave_up():
    """Return the error by which the database asks to repeat a transaction."""
    error = BUSY.get(connection.vendor, OperationalError("deadlock detected"))
    error.__cause__ = type("Deadlock", (Exception,), {"sqlstate": "40P01"})()
    return error


def raising(error):
    def fail(*args, **kwargs):
        raise error

    return fail


@pytest.fixture
def on_default_options(monkeypatch):
    """SQLite as a new project has it: transactions begin by reading, unless somebody asks for more."""
    if connection.vendor != "sqlite":
        pytest.skip("SQLite only")
    monkeypatch.setitem(connections.settings["default"], "OPTIONS", {})


def test_an_atomic_task_on_default_options_has_the_write_lock_from_its_start(on_default_options):
    tasks.read_and_write_atomically.enqueue("mine")
    assert run_next()[0].outcome.kind is Kind.SUCCESSFUL


def test_an_atomic_task_whose_outcome_the_database_gave_up_is_released_for_a_moment(monkeypatch):
    result = tasks.create_group_atomically.enqueue("later")
    with monkeypatch.context() as patch:
        patch.setattr(type(our_backend().store), "_ack_successful", raising(gave_up()))
        [execution] = run_next()
    assert (execution.outcome.kind, execution.outcome.delay > 0.1) == (Kind.RELEASED, True)
    assert (row(result).state, row(result).attempt) == (State.SCHEDULED, 0)


def test_an_atomic_task_whose_commit_the_database_gave_up_is_released(monkeypatch):
    tasks.create_group_atomically.enqueue("later")

    def run():
        execution = Execution(claim_next())
        with monkeypatch.context() as patch:
            patch.setattr(connection, "_commit", raising(gave_up()))
            Executor(our_backend()).run(execution)
        return execution.outcome

    assert in_thread(run).kind is Kind.RELEASED


def test_an_atomic_task_whose_statement_the_database_gave_up_is_released(monkeypatch):
    tasks.create_group_atomically.enqueue("later")

    execute = CursorWrapper._execute

    def give_up(cursor, sql, *args):
        if "auth_group" in sql:
            raise gave_up()
        return execute(cursor, sql, *args)

    with monkeypatch.context() as patch:
        patch.setattr(CursorWrapper, "_execute", give_up)
        [execution] = run_next()
    assert execution.outcome.kind is Kind.RELEASED


@pytest.mark.parametrize(("step", "where"), [("begin", "_start_transaction_under_autocommit"), ("commit", "_commit")])
def test_an_atomic_task_is_not_charged_for_a_database_that_is_away_when_it_begins_or_commits(monkeypatch, step, where):
    result = tasks.create_group_atomically.enqueue("later")

    def run():
        execution = Execution(claim_next())
        with monkeypatch.context() as patch:
            if step == "begin":
                patch.setattr(type(our_backend().store), "transaction", raising(OperationalError("refused")))
            else:
                patch.setattr(connection, where, raising(OperationalError("the connection is lost")))
            Executor(our_backend()).run(execution)
        return execution.outcome

    assert in_thread(run).kind is Kind.RELEASED
    assert row(result).error_class == ""


def test_an_error_that_an_atomic_task_made_up_fails_it():
    assert outcome_of(tasks.raise_what_a_database_says, "database is locked").kind is Kind.FAILED


def test_an_error_that_is_no_reason_to_repeat_fails_an_atomic_task(monkeypatch):
    tasks.create_group_atomically.enqueue("never")
    with monkeypatch.context() as patch:
        patch.setattr(type(our_backend().store), "_ack_successful", raising(OperationalError("disk full")))
        [execution] = run_next()
    assert execution.outcome.kind is Kind.FAILED


@pytest.mark.parametrize(
    ("most", "crashes", "is_suspect"), [(3, 0, False), (3, 1, False), (3, 2, True), (2, 1, True), (1, 0, False)]
)
def test_a_suspect_is_a_task_that_one_crash_more_would_fail(settings, most, crashes, is_suspect):
    settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": {"MAX_CRASHES": most}}}
    tasks.add.enqueue(1)
    assert Executor(our_backend()).is_suspect(claim_next()._replace(crashes=crashes)) is is_suspect
