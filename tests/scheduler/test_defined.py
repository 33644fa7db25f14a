"""Schedules that stand in code: what is refused, and how they become rows."""

import pytest
from django.core import checks

from django_locqueue import schedule, task
from django_locqueue.exceptions import InvalidSchedule
from django_locqueue.models import Schedule
from django_locqueue.scheduler import defined
from django_locqueue.scheduler.sync import sync
from tests import tasks
from tests.running import our_backend
from tests.scheduler.conftest import fresh, minutes_ago, now


def in_settings(settings, **entries):
    settings.LOCQUEUE = {"SCHEDULES": entries}


def found(settings, **entries):
    in_settings(settings, **entries)
    return {
        message.id: message for message in checks.run_checks(databases=[]) if str(message.id).startswith("locqueue")
    }


ENTRY = {"task": "tests.tasks.add", "cron": "0 3 * * *", "args": [1]}


class TestDecorator:
    def test_a_task_with_a_schedule_is_the_same_task(self):
        assert schedule("0 3 * * *", args=[1])(tasks.add) is tasks.add

    def test_it_is_called_by_the_task_s_path(self):
        schedule("0 3 * * *", args=[1])(tasks.add)
        [made] = defined.defined_schedules()
        assert made.name == "tests.tasks.add"

    @pytest.mark.parametrize(
        ("arguments", "options", "said"),
        [
            (["0 0 31 4 *"], {"args": [1]}, "cron never matches a date"),
            ([], {"args": [1]}, "cron is missing"),
            ([], {"every": 0, "args": [1]}, "every must be a whole number of seconds"),
            (["* * * * *"], {"args": [1], "timezone": "Mars"}, "timezone “Mars” is not the name"),
            (["* * * * *"], {"args": [1], "missed": "twice"}, "missed must be one of once, skip, all, got 'twice'"),
            (["* * * * *"], {}, r"args do not fit add\(a: int, b: int = 0\).*missing a required argument: 'a'"),
            (["* * * * *"], {"args": [{1}]}, "args cannot be stored as JSON: Argument a is of type set"),
            (["* * * * *"], {"args": 5}, "args must be a list, got 5"),
            (["* * * * *"], {"kwargs": [1]}, "kwargs must be a dict"),
            (["* * * * *"], {"args": [1], "name": "x" * 129}, "name must be 1 to 128 printable characters"),
        ],
    )
    def test_what_could_never_run_is_refused_where_it_stands(self, arguments, options, said):
        with pytest.raises(InvalidSchedule, match=said):
            schedule(*arguments, **options)(tasks.add)
        assert defined.defined_schedules() == []

    def test_a_function_that_is_no_task_is_refused(self):
        with pytest.raises(TypeError, match="@schedule stands above @task"):
            schedule("0 3 * * *")(len)

    def test_a_second_schedule_of_a_task_needs_a_name(self):
        schedule("0 3 * * *", args=[1])(tasks.add)
        with pytest.raises(InvalidSchedule, match="used twice"):
            schedule("0 4 * * *", args=[1])(tasks.add)
        schedule("0 4 * * *", args=[1], name="later")(tasks.add)
        assert len(defined.defined_schedules()) == 2

    def test_a_module_that_is_loaded_again_brings_the_same_schedule(self):
        for cron in ("0 3 * * *", "0 4 * * *"):
            schedule(cron, args=[1], name="mine")(task(len_of))
        [made] = defined.defined_schedules()
        assert made.cron == "0 4 * * *"


def len_of(value):
    return len(value)


class TestChecks:
    def test_a_right_entry_says_nothing(self, settings):
        every = {"task": "tests.tasks.add", "every": 10, "args": [1], "kwargs": {"b": 2}, "missed": "skip"}
        assert found(settings, nightly={**ENTRY, "timezone": "Asia/Shanghai"}, often=every) == {}

    @pytest.mark.parametrize(
        ("changes", "id", "said"),
        [
            ({"cron": "0 0 30 2 *"}, "E042", '["nightly"]["cron"] never matches a date'),
            ({"cron": "60 * * * *"}, "E042", "is malformed: “60 * * * *”. Look at the minute."),
            ({"every": 10}, "E042", "is given beside every"),
            ({"timezone": "Asia/Shanghia"}, "E043", "One is “Asia/Shanghai”"),
            ({"task": "tests.tasks.ad"}, "E041", "Did you mean 'tests.tasks.add'?"),
            ({"task": "os.system"}, "E041", "os.system is not a task"),
            ({"task": None}, "E041", "must be the path of a task"),
            ({"args": []}, "E044", "missing a required argument: 'a'"),
            ({"args": [1.5, float("nan")]}, "E044", "Argument b is nan, which JSON cannot hold"),
            ({"missed": "twice"}, "E045", "must be one of once, skip, all"),
            ({"crom": "* * * * *"}, "E040", "has the unknown key 'crom'; did you mean 'cron'?"),
        ],
    )
    def test_what_is_wrong_is_told_with_its_place(self, settings, changes, id, said):
        message = found(settings, nightly={**ENTRY, **changes})[f"locqueue.{id}"]
        assert 'LOCQUEUE["SCHEDULES"]["nightly"]' in message.msg
        assert said in message.msg

    @pytest.mark.parametrize("entry", ["0 3 * * *", None, []])
    def test_an_entry_must_be_a_dict(self, settings, entry):
        assert "must be a dict such as" in found(settings, nightly=entry)["locqueue.E040"].msg

    def test_a_task_of_a_backend_that_is_not_ours_is_told(self, settings, monkeypatch):
        object.__setattr__(tasks.echo, "backend", "elsewhere")
        try:
            assert "never runs" in found(settings, a={"task": "tests.tasks.echo", "every": 5})["locqueue.W040"].msg
        finally:
            object.__setattr__(tasks.echo, "backend", "default")


@pytest.mark.django_db
class TestRows:
    def sync(self):
        return sync(our_backend().store)

    def test_what_stands_in_code_becomes_rows(self, settings):
        in_settings(settings, nightly={**ENTRY, "timezone": "Asia/Shanghai"})
        schedule(every=10, args=[1])(tasks.add)
        assert sorted(self.sync().added) == ["nightly", "tests.tasks.add"]
        row = Schedule.objects.get(name="nightly")
        assert (row.source, row.enabled, row.timezone, row.args_kwargs) == (
            "code",
            True,
            "Asia/Shanghai",
            {"args": [1], "kwargs": {}},
        )
        assert row.next_at > now()

    def test_the_second_time_nothing_changes(self, settings, django_assert_num_queries):
        in_settings(settings, nightly=ENTRY)
        self.sync()
        with django_assert_num_queries(2):  # the time, and the rows
            assert self.sync() == ([], [], [])

    def test_a_new_rule_has_its_own_next_time(self, settings):
        in_settings(settings, nightly=ENTRY)
        self.sync()
        in_settings(settings, nightly={**ENTRY, "cron": "* * * * *"})
        assert self.sync().changed == ["nightly"]
        assert (Schedule.objects.get().next_at - now()).total_seconds() <= 60

    def test_new_arguments_lose_no_slot_that_is_due(self, settings):
        in_settings(settings, nightly=ENTRY)
        self.sync()
        due = minutes_ago(5)
        Schedule.objects.update(next_at=due)
        in_settings(settings, nightly={**ENTRY, "args": [2]})
        self.sync()
        row = Schedule.objects.get()
        assert (row.next_at, row.args_kwargs["args"]) == (due, [2])

    def test_one_that_was_removed_from_code_is_shown_as_such_and_does_not_run(self, settings, scheduler):
        in_settings(settings, nightly=ENTRY)
        self.sync()
        Schedule.objects.update(next_at=minutes_ago(5))
        in_settings(settings)
        assert self.sync().removed == ["nightly"]
        assert self.sync().removed == []
        scheduler.run_once()
        row = Schedule.objects.get()
        assert (row.enabled, row.removed_at is None, row.last_at) == (False, False, None)

    def test_one_that_comes_back_runs_again(self, settings):
        in_settings(settings, nightly=ENTRY)
        self.sync()
        in_settings(settings)
        self.sync()
        in_settings(settings, nightly=ENTRY)
        assert self.sync().changed == ["nightly"]
        row = Schedule.objects.get()
        assert (row.enabled, row.removed_at) == (True, None)

    def test_what_a_person_switched_off_stays_off_until_its_definition_changes(self, settings):
        in_settings(settings, nightly=ENTRY)
        self.sync()
        Schedule.objects.update(enabled=False, next_at=None)
        self.sync()
        assert not Schedule.objects.get().enabled
        in_settings(settings, nightly={**ENTRY, "missed": "skip"})
        self.sync()
        assert Schedule.objects.get().enabled

    def test_one_that_a_person_made_is_left_alone(self, settings, make_schedule):
        mine = make_schedule("mine")
        in_settings(settings, nightly=ENTRY)
        self.sync()
        assert (fresh(mine).enabled, fresh(mine).source) == (True, "admin")

    def test_code_takes_over_a_name(self, settings, make_schedule):
        mine = make_schedule("nightly")
        in_settings(settings, nightly=ENTRY)
        self.sync()
        assert (fresh(mine).source, fresh(mine).cron) == ("code", "0 3 * * *")

    def test_a_wrong_entry_keeps_back_no_other(self, settings):
        in_settings(settings, bad={**ENTRY, "cron": "0 0 31 4 *"}, good=ENTRY)
        assert self.sync().added == ["good"]

    def test_the_project_s_time_zone_is_written_out(self, settings):
        settings.TIME_ZONE = "America/Bogota"
        in_settings(settings, nightly=ENTRY)
        self.sync()
        assert Schedule.objects.get().timezone == "America/Bogota"
