"""What a task sets in the session of its connection is gone for the next (E5), and a cut connection is not met (B4)."""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from django_locqueue import compat
from django_locqueue.connections import _is_cut
from django_locqueue.sessions import changes_session, watch_this_thread
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.executor import Executor
from tests import tasks, unruly_tasks
from tests.processes import wait_until
from tests.running import claim_next, in_thread, our_backend, perform, run_next

pytestmark = pytest.mark.django_db(transaction=True)

SUCCESSFUL = compat.TaskResultStatus.SUCCESSFUL

LEFT: dict[str, list[Any]] = {
    "postgresql": [
        ("SET statement_timeout = 12345", "SHOW statement_timeout", "0"),
        ("SET search_path TO pg_catalog", "SELECT count(*) >= 0 FROM auth_group", True),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "SHOW transaction_read_only", "off"),
        ("SET ROLE pg_monitor", "SELECT current_user = session_user", True),
        ("SET TIME ZONE 'Asia/Tokyo'", "SHOW TIME ZONE", "UTC"),
        ("SELECT set_config('app.tenant', 'acme', false)", "SELECT current_setting('app.tenant', true)", None),
        ("CREATE TEMP TABLE left_behind (id int)", "SELECT to_regclass('left_behind')", None),
        ("SELECT pg_advisory_lock(4711)", "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", 0),
        ("LISTEN left_behind", "SELECT pg_listening_channels()", None),
    ],
    "mysql": [
        ("SET SESSION max_execution_time = 5", "SELECT 1", 1),
        ("SET @left = 3", "SELECT @left", None),
        ("SET SESSION sql_mode = ''", "SELECT @@sql_mode <> ''", 1),
        ("CREATE TEMPORARY TABLE left_behind (id int)", None, None),
        ("SELECT GET_LOCK('left', 0)", "SELECT IS_USED_LOCK('left')", None),
    ],
    "sqlite": [
        ("PRAGMA foreign_keys = OFF", "PRAGMA foreign_keys", 1),
        ("CREATE TEMP TABLE left_behind (id int)", "SELECT count(*) FROM sqlite_temp_master", 0),
    ],
}
CASES = [(vendor, *case) for vendor, cases in LEFT.items() for case in cases if case[1]]


def for_this_database(vendor):
    if connection.vendor != vendor:
        pytest.skip(f"{vendor} only")


@pytest.mark.parametrize(("vendor", "statement", "query", "default"), CASES, ids=[case[1] for case in CASES])
def test_what_a_task_sets_in_its_session_is_not_met_by_the_next(vendor, statement, query, default):
    for_this_database(vendor)
    unruly_tasks.execute.enqueue(statement)
    result = unruly_tasks.ask.enqueue(query)
    run_next(2)
    result.refresh()
    assert (result.status, result.return_value) == (SUCCESSFUL, default)


def sessions_of(*definitions_and_arguments):
    """Run tasks on one thread; return the sessions that they had."""
    results = [definition.enqueue(*arguments) for definition, *arguments in definitions_and_arguments]
    run_next(len(results))
    for result in results:
        result.refresh()
        assert result.status == SUCCESSFUL, result.errors
    return [result.return_value for result in results]


def test_tasks_that_set_nothing_share_a_connection():
    first, second, third = sessions_of(
        (unruly_tasks.execute, "SELECT 1"), (unruly_tasks.which_session,), (unruly_tasks.which_session,)
    )
    assert first == second == third


def test_what_ends_with_its_transaction_costs_no_connection():
    for_this_database("postgresql")
    local = ("BEGIN", "SET LOCAL statement_timeout = 5000", "SELECT set_config('app.tenant', 'acme', true)", "COMMIT")
    first, second = sessions_of((unruly_tasks.execute, *local), (unruly_tasks.which_session,))
    assert first == second


@pytest.mark.parametrize(
    ("vendor", "statement", "changes"),
    [
        ("postgresql", "  set role none", True),
        ("postgresql", "SET\nLOCAL role none", False),
        ("postgresql", "SET CONSTRAINTS ALL DEFERRED", False),
        ("postgresql", "SETTLE", False),
        ("postgresql", "SELECT pg_try_advisory_lock(1)", True),
        ("postgresql", "SELECT pg_advisory_xact_lock(1)", False),
        ("postgresql", "CREATE TABLE t (id int)", False),
        ("postgresql", "SAVEPOINT set", False),
        ("postgresql", "PREPARE TRANSACTION 'a'", False),
        ("postgresql", b"SET role none", True),
        ("mysql", "SET TRANSACTION READ ONLY", False),
        ("mysql", "SET STATEMENT max_statement_time=1 FOR SELECT 1", False),
        ("mysql", "LOCK TABLES t WRITE", True),
        ("sqlite", "PRAGMA table_info(t)", False),
        ("sqlite", "ATTACH 'x' AS y", True),
        ("oracle", "ALTER SESSION SET x = y", False),
    ],
)
def test_a_statement_says_whether_it_changes_its_session(vendor, statement, changes):
    assert changes_session(vendor, statement) is changes


def test_a_composed_statement_is_read_too():
    sql = pytest.importorskip("psycopg.sql")
    assert changes_session("postgresql", sql.SQL("SET {} = 1").format(sql.Identifier("statement_timeout")))
    assert not changes_session("postgresql", sql.SQL("SELECT 1"))


def test_wrappers_and_debug_cursors_are_taken_away(settings):
    unruly_tasks.leave_a_wrapper_and_a_debug_cursor.enqueue()
    result = unruly_tasks.look_at_the_connection.enqueue()
    run_next(2)
    result.refresh()
    assert result.return_value == [False, False, 0]


KILL = {"postgresql": "SELECT pg_terminate_backend(%s)", "mysql": "KILL %s"}


def test_a_connection_that_was_cut_between_two_tasks_is_not_met_by_the_second():
    if connection.vendor not in KILL:
        pytest.skip("a file cannot be cut off")
    before = unruly_tasks.which_session.enqueue()
    after = tasks.create_group.enqueue("after the cut")

    def run():
        watch_this_thread()
        first, second = Execution(claim_next()), Execution(claim_next())
        perform([first])
        in_thread(lambda: cut(int(first.outcome.return_value)))
        wait_until(lambda: _is_cut(connection.connection))  # what was sent has arrived
        Executor(our_backend()).run(second)
        our_backend().store.ack([(second.claimed, second.outcome)])

    def cut(session):
        with connection.cursor() as cursor:
            cursor.execute(KILL[connection.vendor], [session])

    in_thread(run)
    for result in (before, after):
        result.refresh()
        assert result.status == SUCCESSFUL, result.errors
    assert Group.objects.filter(name="after the cut").exists()
