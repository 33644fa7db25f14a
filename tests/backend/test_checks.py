"""System checks: each says what is wrong, and what to write instead."""

import pytest
from django.core import checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection, connections

from django_locqueue import compat, conf, task
from django_locqueue.checks import check_sqlite
from tests import tasks

OURS = "django_locqueue.backend.LocQueueBackend"


def found(databases=None):
    """Return the messages of our checks by id."""
    messages = checks.run_checks(databases=databases)
    return {message.id: message for message in messages if message.id and message.id.startswith("locqueue.")}


@pytest.fixture
def with_options(settings):
    def check(options):
        settings.TASKS = {"default": {"BACKEND": OURS, "QUEUES": [], "OPTIONS": options}}
        return found()

    return check


@pytest.fixture
def with_settings(settings):
    def check(value):
        settings.LOCQUEUE = value
        return found()

    return check


def test_the_defaults_are_right():
    assert found() == {}


def test_every_option_can_be_given(with_options):
    options = {
        "DATABASE": "default",
        "MAX_ATTEMPTS": 5,
        "MAX_CRASHES": 2,
        "BACKOFF": {"BASE": 1, "FACTOR": 3, "MAX": 60, "JITTER": 0},
        "RETENTION": {"SUCCESSFUL": 0, "FAILED": None, "CANCELLED": 0.5},
    }
    assert with_options(options) == {}


@pytest.mark.parametrize("options", ["text", 5, ["MAX_ATTEMPTS"]])
def test_options_must_be_a_dict(with_options, options):
    assert "must be a dict" in with_options(options)["locqueue.E001"].msg


def test_an_unknown_option_is_told_with_the_one_that_was_meant(with_options):
    message = with_options({"MAX_ATEMPTS": 3})["locqueue.E002"]
    assert "'MAX_ATEMPTS'" in message.msg
    assert "MAX_ATTEMPTS" in message.hint


def test_an_option_that_resembles_none_is_told_with_all(with_options):
    hint = with_options({"COLOUR": "red"})["locqueue.E002"].hint
    assert "BACKOFF" in hint
    assert "RETENTION" in hint


@pytest.mark.parametrize("key", ["MAX_ATTEMPTS", "MAX_CRASHES"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "3", None, True, 2**40])
def test_limits_must_be_whole_numbers(with_options, key, value):
    assert repr(value) in with_options({key: value})["locqueue.E003"].msg


@pytest.mark.parametrize("value", [0, -1, "30", True, float("nan")])
def test_a_timeout_must_be_seconds(with_options, value):
    assert repr(value) in with_options({"TIMEOUT": value})["locqueue.E016"].msg


@pytest.mark.parametrize("value", [None, 0.5, 30])
def test_a_timeout_may_be_any_time_or_none(with_options, value):
    assert with_options({"TIMEOUT": value}) == {}


@pytest.mark.parametrize(
    "value",
    [
        5,
        "fast",
        None,
        {"BSE": 1},
        {"BASE": -1},
        {"BASE": "2"},
        {"MAX": float("inf")},
        {"MAX": float("nan")},
        {"MAX": 1e300},
    ],
)
def test_a_backoff_must_be_a_dict_of_numbers(with_options, value):
    assert "BACKOFF" in with_options({"BACKOFF": value})["locqueue.E004"].msg


@pytest.mark.parametrize(
    "value",
    [
        5,
        None,
        {"DONE": 1},
        {"FAILED": -1},
        {"FAILED": "7"},
        {"FAILED": True},
        {"FAILED": 1e12},
        {"FAILED": float("nan")},
    ],
)
def test_a_retention_must_hold_days_by_state(with_options, value):
    assert "RETENTION" in with_options({"RETENTION": value})["locqueue.E005"].msg


def test_a_retention_key_is_told_with_the_one_that_was_meant(with_options):
    assert "'SUCCESSFUL'" in with_options({"RETENTION": {"SUCESSFUL": 1}})["locqueue.E005"].msg


def test_a_database_that_does_not_exist_is_told_with_those_that_do(with_options):
    message = with_options({"DATABASE": "queue"})["locqueue.E006"]
    assert "'queue'" in message.msg
    assert "default" in message.hint


@pytest.mark.django_db
def test_a_database_that_does_not_exist_is_told_by_the_check_of_databases_too(settings):
    settings.TASKS = {"default": {"BACKEND": OURS, "OPTIONS": {"DATABASE": "queue"}}}
    assert "locqueue.E006" in found(databases=["default"])


@pytest.mark.django_db
def test_options_that_are_no_dict_are_told_by_the_check_of_databases_too(settings):
    settings.TASKS = {"default": {"BACKEND": OURS, "OPTIONS": "text"}}
    assert "locqueue.E001" in found(databases=["default"])


@pytest.fixture
def with_entry(settings):
    def check(**entry):
        settings.TASKS = {"default": {"BACKEND": OURS, **entry}}
        return found()

    return check


@pytest.mark.parametrize("key", ["MAX_ATTEMPTS", "DATABASE", "retention"])
def test_an_option_at_the_wrong_level_is_told_where_it_belongs(with_entry, key):
    message = with_entry(**{key: 3})["locqueue.E009"]
    assert f"unknown key '{key}'" in message.msg
    assert message.hint == 'It belongs into TASKS["default"]["OPTIONS"].'


@pytest.mark.parametrize(("key", "meant"), [("OPTION", "OPTIONS"), ("QUEUE", "QUEUES"), ("options", "OPTIONS")])
def test_an_unknown_key_of_an_entry_is_told_with_the_one_that_was_meant(with_entry, key, meant):
    assert f"Did you mean '{meant}'" in with_entry(**{key: {}})["locqueue.E009"].hint


@pytest.mark.parametrize("queues", ["mail", 5, None, {"mail": 1}])
def test_queues_must_be_a_list(with_entry, queues):
    message = with_entry(QUEUES=queues)["locqueue.E015"]
    assert repr(queues) in message.msg
    assert "[]" in message.hint


@pytest.mark.parametrize("name", ["", 5, None, ["mail"], "x" * 129, "two\nlines"])
def test_queues_must_hold_names(with_entry, name):
    assert repr(name) in with_entry(QUEUES=["mail", name])["locqueue.E015"].msg


@pytest.mark.parametrize("queues", ["mail", [["mail"]], None])
def test_queues_that_are_no_list_do_not_allow_every_name(settings, queues):
    settings.TASKS = {"default": {"BACKEND": OURS, "QUEUES": queues}}
    with pytest.raises(compat.InvalidTask, match="default"):
        task(tasks.add.func)


@pytest.mark.parametrize("queues", [["mail"], ("mail",), {"mail"}, []])
def test_queues_may_be_any_kind_of_list(with_entry, queues):
    assert with_entry(QUEUES=queues) == {}


def test_the_middleware_without_its_app_is_told(settings):
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django_locqueue.accesslog"]
    message = found()["locqueue.E008"]
    assert "AccessLogMiddleware" in message.msg
    assert '"django_locqueue.accesslog" to INSTALLED_APPS' in message.hint


def test_neither_the_middleware_nor_its_app_is_needed(settings):
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django_locqueue.accesslog"]
    settings.MIDDLEWARE = settings.MIDDLEWARE[1:]
    settings.LOCQUEUE = {}
    assert found() == {}


@pytest.mark.django_db
def test_the_databases_of_the_tests_are_new_enough():
    assert found(databases=["default"]) == {}


def test_no_backend_of_ours_is_a_warning_with_what_to_write(settings):
    settings.TASKS = {}
    message = found()["locqueue.W001"]
    assert isinstance(message, checks.Warning)
    assert OURS in message.hint


@pytest.mark.parametrize("value", ["text", [], None, 5])
def test_locqueue_must_be_a_dict(with_settings, value):
    assert "LOCQUEUE must be a dict" in with_settings(value)["locqueue.E010"].msg


def test_a_group_must_be_a_dict(with_settings):
    assert "WORKER" in with_settings({"WORKER": 4})["locqueue.E010"].msg


def test_an_unknown_group_is_told_with_the_one_that_was_meant(with_settings):
    assert "did you mean 'WORKER'" in with_settings({"WORKERS": {}})["locqueue.E011"].msg


@pytest.mark.parametrize("name", ["ACCESS_LOG", "ACCESSLOG", "access_log"])
def test_the_group_of_an_app_that_is_not_installed_is_told_with_the_app(settings, monkeypatch, name):
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django_locqueue.accesslog"]
    settings.LOCQUEUE = {name: {}}
    monkeypatch.delitem(conf.Section.registry, "ACCESS_LOG")
    assert '"django_locqueue.accesslog" to INSTALLED_APPS' in found()["locqueue.E011"].hint


def test_a_group_that_has_nothing_to_do_with_an_app_is_told_without_it(with_settings):
    assert with_settings({"WORKERS": {}})["locqueue.E011"].hint is None


def test_an_unknown_key_is_told_with_the_one_that_was_meant(with_settings):
    assert "did you mean 'THREADS'" in with_settings({"WORKER": {"THREAD": 4}})["locqueue.E012"].msg


def test_a_key_that_is_no_text_is_told(with_settings):
    assert "5" in with_settings({"WORKER": {5: 4}})["locqueue.E012"].msg


NUMBERS = ["HEARTBEAT_SECONDS", "LEASE_SECONDS", "GRACE_SECONDS", "TIMEOUT_GRACE_SECONDS", "STOPPED_WORKER_HOURS"]


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize("value", [-1, "4", None, True, float("nan"), float("inf"), 1e300])
def test_a_worker_needs_sensible_numbers(with_settings, key, value):
    message = with_settings({"WORKER": {key: value}})["locqueue.E013"]
    assert f'LOCQUEUE["WORKER"]["{key}"]' in message.msg
    assert repr(value) in message.msg


@pytest.mark.parametrize(("key", "value"), [("LEASE_SECONDS", 0.5), ("HEARTBEAT_SECONDS", 0)])
def test_a_worker_needs_numbers_that_are_not_too_small(with_settings, key, value):
    assert key in with_settings({"WORKER": {key: value}})["locqueue.E013"].msg


@pytest.mark.parametrize(
    "value", [0, -1, 1.5, True, None, "many", "0-4", "16-2", "2-", (2,), (2, 16, 4), (16, 2), (2, "16"), 513, "2-513"]
)
def test_threads_are_a_number_or_a_range(with_settings, value):
    message = with_settings({"WORKER": {"THREADS": value}})["locqueue.E013"]
    assert message.msg == (
        f'LOCQUEUE["WORKER"]["THREADS"] must be a whole number from 1 to 512, or a range such as 2-16, got {value!r}.'
    )


@pytest.mark.parametrize("value", [1, 512, "4", "2-16", " 2 - 16 ", (2, 16), [2, 16]])
def test_threads_can_be_written_in_several_ways(with_settings, value):
    assert "locqueue.E013" not in with_settings({"WORKER": {"THREADS": value}})


@pytest.mark.parametrize("value", [-1, 1.5, True, None, "100", 10_001])
def test_the_concurrency_of_async_tasks_is_a_whole_number(with_settings, value):
    message = with_settings({"WORKER": {"ASYNC_CONCURRENCY": value}})["locqueue.E017"]
    assert repr(value) in message.msg
    assert "100" in message.hint


@pytest.mark.parametrize(("lease", "beat"), [(10, 10), (5, 10)])
def test_a_lease_that_is_not_longer_than_a_beat_is_told_with_what_happens_then(with_settings, lease, beat):
    message = with_settings({"WORKER": {"LEASE_SECONDS": lease, "HEARTBEAT_SECONDS": beat}})["locqueue.W002"]
    assert isinstance(message, checks.Warning)
    assert "every third of the lease" in message.msg


@pytest.mark.parametrize("value", [1, (1,), (2, 1), (0, 1), ("a", "b"), None, (0.1, float("nan")), (0.1, 1e300)])
def test_polling_needs_two_numbers(with_settings, value):
    message = with_settings({"WORKER": {"POLL_SECONDS": value}})["locqueue.E014"]
    assert repr(value) in message.msg
    assert "(0.1, 2)" in message.hint


def test_a_worker_does_not_start_with_wrong_settings(settings):
    settings.LOCQUEUE = {"WORKER": {"THREADS": 0}}
    with pytest.raises(SystemCheckError, match="E013"):
        call_command("runqueue", drain=True, skip_checks=False)


def test_each_backend_is_checked_once(settings):
    settings.TASKS = {"default": {"BACKEND": OURS, "OPTIONS": {"COLOUR": 1}}}
    messages = [message for message in checks.run_checks(databases=[]) if message.id == "locqueue.E002"]
    assert len(messages) == 1
    assert compat.task_backends["default"].alias == "default"


@pytest.mark.parametrize("value", ["no", 0, None])
def test_listen_must_be_true_or_false(with_settings, value):
    assert repr(value) in with_settings({"WORKER": {"LISTEN": value}})["locqueue.E019"].msg


@pytest.mark.parametrize("value", [-1, 1_001, True, "50"])
def test_lines_of_a_log_are_a_number_that_a_row_can_hold(with_settings, value):
    message = with_settings({"WORKER": {"LOG_LINES": value}})["locqueue.E022"]
    assert "must be a whole number from 0 to" in message.msg
    assert repr(value) in message.msg


def test_a_version_of_the_code_that_is_no_text_is_refused(with_settings):
    """As `os.environ.get("GIT_COMMIT")` is, where nobody has set it."""
    assert "None" in with_settings({"WORKER": {"CODE_VERSION": None}})["locqueue.E018"].msg


@pytest.mark.parametrize(("options", "expected"), [({}, ["W006"]), ({"transaction_mode": "IMMEDIATE"}, [])])
def test_sqlite_with_djangos_defaults_is_told(monkeypatch, options, expected):
    told = {**connection.settings_dict, "ENGINE": "django.db.backends.sqlite3", "OPTIONS": options}
    monkeypatch.setattr(connections["default"], "settings_dict", told)
    assert [message.id.removeprefix("locqueue.") for message in check_sqlite()] == expected


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("READ_ONLY", "yes", "a function that takes the request"),
        ("AUTO_REGISTER", 1, "True or False"),
        ("REFRESH", None, "True or False"),
        ("KEYBOARD", "on", "True or False"),
        ("COUNTS_SECONDS", -1, "a number from 0"),
        ("STATEMENT_SECONDS", 0, "a number from 0.1"),
        ("MODEL_ADMIN_BASE", "unfold.admin.Model", "a class of ModelAdmin"),
        ("MODEL_ADMIN_BASE", "django.contrib.admin.AdminSite", "a class of ModelAdmin"),
        ("MODEL_ADMIN_BASE", None, "a class of ModelAdmin"),
    ],
)
def test_a_wrong_setting_of_admin_is_named(with_settings, key, value, expected):
    message = with_settings({"ADMIN": {key: value}})["locqueue.E033"]
    assert f'LOCQUEUE["ADMIN"]["{key}"]' in message.msg
    assert expected in message.msg
    assert repr(value) in message.msg


def test_admin_can_be_read_only_for_some(with_settings):
    assert with_settings({"ADMIN": {"READ_ONLY": lambda request: True}}) == {}
