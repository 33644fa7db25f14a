"""The listener: what it hears, and what it does when it hears nothing. PostgreSQL only."""

from queue import SimpleQueue

import pytest
from django.db import connection

from django_locqueue.store.notify import LISTENER
from django_locqueue.worker import listener as listening
from django_locqueue.worker.listener import DEAF_SECONDS, Listener
from tests import tasks
from tests.processes import wait_until
from tests.running import our_backend

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def store(monkeypatch):
    if connection.vendor != "postgresql":
        pytest.skip("LISTEN is PostgreSQL's")
    store = our_backend().store
    monkeypatch.setattr(store.notifier, "send", lambda payloads: [notify(store, each) for each in payloads])
    return store


def notify(store, payload):
    store.fetch("SELECT pg_notify('locqueue', %s)", [payload])


@pytest.fixture
def start(store):
    """Return a function that starts a listener and waits until its first ping has come back."""
    begun = []

    def start():
        heard = SimpleQueue()
        listener = Listener(store, heard.put)
        listener.heard = heard
        begun.append(listener)
        listener.start()
        wait_until(lambda: listener.is_heard)
        return listener

    yield start
    for listener in begun:
        listener.stop(10)


def listeners():
    """Return the server processes of the connections that listen."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE application_name = %s", [LISTENER])
        return [pid for (pid,) in cursor.fetchall()]


def test_it_hears_the_queue_of_a_new_task(start):
    listener = start()
    tasks.configured.enqueue()
    assert listener.heard.get(timeout=10) == "mail"


def test_its_pings_wake_nobody_not_even_another(store, start):
    first, second = start(), start()
    first._ping_at = second._ping_at = 0.0
    first.wake()
    second.wake()
    wait_until(lambda: first._ping_at > 0 and second._ping_at > 0)
    notify(store, "after")
    assert first.heard.get(timeout=10) == second.heard.get(timeout=10) == "after"


def test_it_has_one_connection_and_none_when_it_has_stopped(start):
    listener = start()
    assert len(listeners()) == 1
    listener.stop(10)
    assert not listener.is_alive
    wait_until(lambda: not listeners())


def test_it_stops_while_it_waits_for_the_database(start):
    listener = start()
    listener.stop(5)
    listener.stop(5)
    assert not listener.is_alive


def test_it_comes_back_when_its_connection_was_terminated(store, start, caplog):
    listener = start()
    [pid] = listeners()
    store.fetch("SELECT pg_terminate_backend(%s)", [pid])
    wait_until(lambda: listener.is_heard and listeners() not in ([], [pid]))
    notify(store, "mail")
    assert listener.heard.get(timeout=10) == "mail"
    assert "The listener failed and goes on trying: OperationalError" in caplog.text
    assert "Traceback" not in caplog.text


def test_a_connection_that_was_cut_without_a_word_is_replaced(store, start, monkeypatch):
    monkeypatch.setattr(listening, "ANSWER_SECONDS", 0.3)
    listener = start()
    [pid] = listeners()
    # As if packets were dropped: it listens to nothing more, and no error tells.
    deaf = listener._connection
    own, listener._own_channel = listener._own_channel, f"{listener._own_channel}_unheard"
    listener._ping_at = 0.0
    listener.wake()
    wait_until(lambda: listener._connection is not deaf and listener.is_heard)
    assert listeners() != [pid]
    assert own != listener._own_channel


@pytest.fixture
def unheard(store, monkeypatch):
    """A listener to which nothing is ever delivered."""
    monkeypatch.setattr(listening, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(store, "ping", lambda channel: None)
    listener = Listener(store, lambda queue_name: None)
    yield listener
    listener._close()


def test_where_nothing_arrives_it_rests_for_minutes_and_says_so_once(unheard, caplog):
    assert unheard.run_once() == DEAF_SECONDS
    assert unheard.run_once() == DEAF_SECONDS
    [record] = caplog.records
    assert record.getMessage().startswith("New tasks are found by polling alone: LISTEN does not work here")


def test_a_deaf_listener_keeps_no_connection(unheard):
    unheard.run_once()
    assert unheard._connection is None
    wait_until(lambda: not listeners())


def test_a_deaf_listener_that_hears_again_would_say_so_the_next_time(store, unheard, monkeypatch, caplog):
    unheard.run_once()
    monkeypatch.undo()
    unheard.run_once()
    assert unheard.is_heard
    unheard._close()
    monkeypatch.setattr(listening, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(store, "ping", lambda channel: None)
    unheard.run_once()
    assert caplog.text.count("LISTEN does not work here") == 2


def test_a_server_that_refuses_listen_costs_one_line(store, monkeypatch, caplog):
    listener = Listener(store, lambda queue_name: None)
    monkeypatch.setattr(listening, "CHANNEL", 'no"channel')
    assert listener.run_once() == DEAF_SECONDS
    assert listener.run_once() == DEAF_SECONDS
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "LISTEN does not work here (ProgrammingError: syntax error" in caplog.text


def test_its_wait_is_not_broken_off_as_a_database_that_is_silent(start):
    listener = start()
    wait_until(lambda: listener._pass_began is None)
    listener.break_off_after(0)
    assert listener._broken_off == 0
    assert listener.is_heard
