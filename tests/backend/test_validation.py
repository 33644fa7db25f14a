"""What is refused when a task is defined or called, and what is said."""

from datetime import date, datetime, timedelta, timezone

import pytest
from django.test import override_settings

from django_locqueue import compat, task
from django_locqueue.backend import LocQueueBackend
from tests import tasks
from tests.running import our_backend


def define(**options):
    return task(tasks.add.func, **options)


def test_a_function_inside_a_function_is_refused():
    def inner():
        pass

    with pytest.raises(compat.InvalidTask, match="module level"):
        task(inner)


@pytest.mark.parametrize(
    "thing", [int, len, lambda: 1, tasks.HostileMapping, tasks.HostileMapping().items, "tests.tasks.add"]
)
def test_only_module_level_functions_can_be_tasks(thing):
    if getattr(thing, "__name__", "") == "<lambda>":
        thing.__qualname__ = "outer.<locals>.<lambda>"
    with pytest.raises(compat.InvalidTask):
        task(thing)


def yields():
    yield 1


async def yields_async():
    yield 1


@pytest.mark.parametrize("function", [yields, yields_async])
def test_a_generator_function_is_refused(function):
    with pytest.raises(compat.InvalidTask, match="has a yield: calling it makes a generator"):
        task(function)


@pytest.mark.parametrize("priority", [-101, 101, 1.5, 10**9, "x", "5", [], float("nan")])
def test_a_priority_out_of_range_is_refused(priority):
    with pytest.raises(compat.InvalidTask, match="priority"):
        define(priority=priority)
    with pytest.raises(compat.InvalidTask, match="priority"):
        tasks.add.using(priority=priority)


@pytest.mark.parametrize("when", [timedelta(hours=1), "tomorrow", 60, date(2090, 1, 1), datetime(2090, 1, 1)])  # noqa: DTZ001
def test_a_time_that_is_no_aware_datetime_is_told_with_what_came(when):
    with pytest.raises(compat.InvalidTask, match="run_after must be an aware datetime, got ") as caught:
        tasks.add.using(run_after=when)
    assert repr(when) in str(caught.value)


@pytest.mark.parametrize(
    "when",
    [
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
    ],
)
@pytest.mark.parametrize("use_tz", [True, False])
def test_a_time_that_is_beyond_all_years_in_utc_is_refused(settings, use_tz, when):
    settings.USE_TZ = use_tz
    with pytest.raises(compat.InvalidTask, match="run_after must be in the years 1 to 9999 of UTC"):
        tasks.add.using(run_after=when)


@override_settings(USE_TZ=False)
def test_a_time_must_be_a_datetime_without_use_tz_too():
    with pytest.raises(compat.InvalidTask, match="run_after must be a datetime, got "):
        tasks.add.using(run_after=timedelta(hours=1))


@pytest.mark.parametrize("priority", [-100, 0, 100])
def test_the_whole_range_of_priorities_is_accepted(priority):
    assert define(priority=priority).priority == priority


@pytest.mark.parametrize("name", ["", "x" * 129, "two\nlines", "nul\x00", "\ud800", "\r", 5])
def test_an_unusable_queue_name_is_refused(name):
    with pytest.raises(compat.InvalidTask, match="queue_name"):
        define(queue_name=name)


@pytest.mark.parametrize("name", ["a", "x" * 128, "邮件", "with space", "a,b"[:1] + "-b"])
def test_a_queue_name_can_be_any_line_of_text(name):
    assert define(queue_name=name).queue_name == name


def test_a_queue_that_is_not_listed_is_refused(settings):
    settings.TASKS = {"default": {**settings.TASKS["default"], "QUEUES": ["default", "mail"]}}
    with pytest.raises(compat.InvalidTask, match="other"):
        define(queue_name="other")
    assert define(queue_name="mail").queue_name == "mail"


def test_a_task_that_takes_context_needs_an_argument_of_that_name():
    with pytest.raises(compat.InvalidTask, match="context"):
        define(takes_context=True)


@pytest.mark.parametrize("number", [0, -1, 1.5, "3", True, 2**31])
def test_max_attempts_must_be_a_whole_number_of_at_least_1(number):
    with pytest.raises(compat.InvalidTask, match="max_attempts"):
        define(max_attempts=number)


@pytest.mark.parametrize("backoff", [-1, float("nan"), float("inf"), "soon", [], {"BASE": -1}, {"BASE": "2"}, True])
def test_a_backoff_that_is_no_time_to_wait_is_refused(backoff):
    with pytest.raises(compat.InvalidTask, match="backoff"):
        define(backoff=backoff)


async def awaited_backoff(error, result):
    return 30.0


@pytest.mark.parametrize(
    ("backoff", "problem"),
    [
        (awaited_backoff, "must not be a coroutine function"),
        (lambda: 30.0, r"function\(error, result\)\. This one takes \(\)"),
        (lambda error: 30.0, r"This one takes \(error\)"),
        (lambda error, result, more: 30.0, "is called with the error and the task's result"),
    ],
)
def test_a_backoff_function_that_cannot_be_called_is_refused(backoff, problem):
    with pytest.raises(compat.InvalidTask, match=f"backoff .*{problem}"):
        define(backoff=backoff)


@pytest.mark.parametrize("backoff", [lambda error, result: 1.0, lambda *args: 1.0, lambda error, result, x=1: 1.0, max])
def test_a_backoff_function_that_takes_both_is_taken(backoff):
    assert define(backoff=backoff).backoff is backoff


def test_a_wrong_key_of_a_backoff_is_told_with_the_right_one():
    with pytest.raises(compat.InvalidTask, match="FACTOR"):
        define(backoff={"FACTER": 2})


@pytest.mark.parametrize("errors", [ValueError(), (int,), ("OSError",), OSError.__name__])
def test_retry_on_must_hold_exception_classes(errors):
    with pytest.raises(compat.InvalidTask, match="retry_on"):
        define(retry_on=errors)


def test_retry_on_may_be_one_class():
    assert define(retry_on=OSError).retry_on == (OSError,)


@pytest.mark.parametrize("metadata", [5, "text", {"a": object()}, {1: 2}, {"a": float("nan")}])
def test_metadata_must_be_a_dict_that_json_can_hold(metadata):
    with pytest.raises(compat.InvalidTask, match="metadata"):
        define(metadata=metadata)
    with pytest.raises(compat.InvalidTask, match="metadata"):
        tasks.add.using(metadata=metadata)


def test_an_unknown_option_is_told_with_the_known_ones():
    with pytest.raises(TypeError, match=r"max_attemts.*max_attempts"):
        define(max_attemts=3)


def test_a_time_cannot_belong_to_a_definition():
    with pytest.raises(TypeError, match="using"):
        define(run_after=None)


def test_a_path_too_long_to_store_is_refused():
    def function():
        pass

    function.__qualname__ = "f" * 300
    with pytest.raises(compat.InvalidTask, match="longer than 255"):
        task(function)


def test_a_definition_is_checked_again_when_it_is_called(settings):
    definition = define(queue_name="late")
    settings.TASKS = {"default": {**settings.TASKS["default"], "QUEUES": ["default"]}}
    with pytest.raises(compat.InvalidTask, match="late"):
        definition.enqueue(1)
    with pytest.raises(compat.InvalidTask, match="late"):
        definition.enqueue_many([((1,), {})])


def test_a_coroutine_function_is_a_task_like_any_other():
    our_backend().validate_task(tasks.echo_async)


def test_the_backend_says_what_it_supports():
    backend = our_backend()
    supported = (
        backend.supports_defer,
        backend.supports_async_task,
        backend.supports_get_result,
        backend.supports_priority,
    )
    assert supported == (True, True, True, True)


def test_definitions_of_both_decorators_are_of_our_class():
    assert type(tasks.add) is type(tasks.plain) is LocQueueBackend.task_class


def test_a_definition_still_leads_to_its_function():
    assert tasks.add.func(1, b=2) == 3


@override_settings(TASKS={"default": {"BACKEND": "django_locqueue.backend.LocQueueBackend"}})
def test_without_queues_in_the_settings_only_the_default_queue_is_allowed():
    # Django's rule: QUEUES is ["default"] unless it says otherwise; an empty list allows any name.
    with pytest.raises(compat.InvalidTask):
        define(queue_name="mail")


def test_a_queue_that_the_settings_do_not_allow_is_told_with_those_that_they_do(settings):
    settings.TASKS = {"default": {"BACKEND": "django_locqueue.backend.LocQueueBackend", "QUEUES": ["mail", "default"]}}
    with pytest.raises(compat.InvalidTask) as refused:
        tasks.add.using(queue_name="reports")
    allowed, wanted = str(refused.value).split(", and ")
    assert allowed == 'TASKS["default"]["QUEUES"] allows default, mail'
    assert wanted == "'reports' is not among them. Add it, or write [] for any."
