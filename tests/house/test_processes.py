"""The fixtures for tests with real processes."""

import signal

import pytest

pytestmark = [pytest.mark.processes, pytest.mark.any_vendor]


def test_a_command_works_on_the_test_database(start_process, django_user_model):
    django_user_model.objects.create_user("ada")
    process = start_process("shell", "-c", "from django.contrib.auth.models import User; print(User.objects.get())")
    assert process.wait() == 0
    assert process.output.splitlines()[-1] == "ada"


def test_a_worker_starts_and_ends_on_sigterm(run_worker):
    worker = run_worker()
    worker.signal(signal.SIGTERM)
    assert worker.wait() == 0


def test_a_line_that_never_comes_fails_with_what_was_said(start_process):
    process = start_process("version")
    with pytest.raises(AssertionError, match=r"ended with 0. It said:\n\d"):
        process.wait_for("no such line")


def test_ending_takes_only_what_was_started(run_worker):
    first, second = run_worker(), run_worker()
    first.end()
    assert not first.is_running
    assert second.is_running


def test_a_killed_process_has_the_signal_as_its_code(run_worker):
    worker = run_worker()
    worker.kill()
    assert worker.wait() == -signal.SIGKILL
