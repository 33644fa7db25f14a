"""Claims of tasks that wait for their turn: whose it is, how many get it, and when it comes."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_locqueue.models import Limit, Task
from django_locqueue.policies.outcome import Kind
from django_locqueue.policies.ratelimit import Rate
from django_locqueue.store import Store
from django_locqueue.store import limits as module
from django_locqueue.store.lines import Line
from django_locqueue.store.serve import Owner
from tests.store.limited import blocked, blocked_many
from tests.store.rows import NOW, ago, later, outcome, put, put_many, state

SLOW = ("amap", 1, 60.0)  # one start a minute


def claim(store: Store, owner: Owner, limit: int = 10, **options: Any) -> list[int]:
    return [task.id for task in store.claim_limited(owner, limit, **{"now": NOW, **options}).tasks]


# -- concurrency


def test_no_more_run_under_a_key_than_it_allows(store: Store, owner: Owner, other: Owner):
    first, second, third = (blocked("shop", concurrency=2) for _ in range(3))
    assert claim(store, owner) == [first, second]
    assert claim(store, other) == []
    assert [state(each) for each in (first, second, third)] == ["running", "running", "blocked"]


@pytest.mark.parametrize("kind", list(Kind))
def test_a_task_that_ends_in_any_way_makes_room_for_the_next(store: Store, owner: Owner, kind: Kind):
    _, second = blocked("shop"), blocked("shop")
    claimed = store.claim_limited(owner, 1, now=NOW)
    store.ack([(claimed.tasks[0], outcome(kind, delay=3600))], now=NOW)
    assert claim(store, owner) == [second]


def test_a_limited_task_that_fails_asks_for_no_items(store: Store, owner: Owner):
    blocked("shop")
    [task] = store.claim_limited(owner, 1, now=NOW).tasks
    with CaptureQueriesContext(connection) as queries:
        store.ack([(task, outcome(Kind.FAILED))], now=NOW)
    assert not [query["sql"] for query in queries if "locqueue_uniqueitem" in query["sql"]]


def test_under_a_limit_of_one_tasks_run_in_strict_order(store: Store, owner: Owner):
    early = blocked("shop", run_after=ago(minutes=3))
    late = blocked("shop", run_after=ago(minutes=2))
    urgent = blocked("shop", priority=1)
    ran = []
    for _ in range(3):
        [task] = store.claim_limited(owner, 5, now=NOW).tasks
        ran.append(task.id)
        store.ack([(task, outcome(Kind.SUCCESSFUL))])
    assert ran == [urgent, early, late]


def test_keys_do_not_wait_for_each_other(store: Store, owner: Owner):
    shops = [blocked(f"shop-{number}") for number in range(5) for _ in range(2)]
    assert claim(store, owner) == shops[::2]


def test_a_crash_gives_its_slot_back_with_the_rescue(store: Store, new_owner: Callable[..., Owner], owner: Owner):
    first, second = blocked("shop"), blocked("shop")
    assert claim(store, new_owner("dying", lease=10), 1) == [first]
    assert claim(store, owner) == []
    store.rescue(max_crashes=3, now=later(seconds=11))
    assert state(first) == "blocked"
    assert claim(store, owner, now=later(seconds=11)) == [first]
    assert state(second) == "blocked"


def test_what_a_worker_of_another_queue_runs_under_the_key_counts(store: Store, owner: Owner):
    mail, default = blocked("shop", queue_name="mail"), blocked("shop")
    assert claim(store, owner, queues=["mail"]) == [mail]
    assert claim(store, owner, queues=["default"]) == []
    assert state(default) == "blocked"


# -- rates


def test_a_rate_gives_one_task_at_a_time_and_says_when_the_next_may_start(store: Store, owner: Owner):
    first, second = blocked(rate=SLOW), blocked(rate=SLOW)
    turn = store.claim_limited(owner, 10, now=NOW)
    assert [task.id for task in turn.tasks] == [first]
    interval = Rate(1, 60.0).interval
    assert turn.next_seconds == interval.total_seconds()
    assert claim(store, owner, now=NOW + interval - timedelta(milliseconds=1)) == []
    assert claim(store, owner, now=NOW + interval) == [second]


def test_a_fast_rate_gives_several_at_once(store: Store, owner: Owner):
    blocked_many(300, rate=("api", 1000, 1.0))
    assert len(claim(store, owner, 300)) == Rate(1000, 1.0).burst == 50


def test_a_rate_is_one_for_all_queues_and_definitions(store: Store, owner: Owner):
    blocked(rate=SLOW, queue_name="a", task_path="shop.one")
    blocked(rate=SLOW, queue_name="b", task_path="shop.two")
    assert len(claim(store, owner)) == 1


def test_what_runs_under_a_rate_is_not_counted(store: Store, owner: Owner):
    put_many(3, "running", limit_key="r:amap")
    blocked(rate=SLOW)
    assert [line.running for line in store.lines("default", "", 10)] == [0]
    with CaptureQueriesContext(connection) as queries:
        assert len(claim(store, owner)) == 1
    assert not [query["sql"] for query in queries if query["sql"].startswith("SELECT COUNT")]


def test_a_task_can_be_under_a_rate_and_a_number_at_once(store: Store, owner: Owner):
    fast = ("amap", 100, 1.0)
    tasks = [blocked(f"shop-{number % 2}", rate=fast) for number in range(4)]
    turn = store.claim_limited(owner, 10, now=NOW)
    assert [task.id for task in turn.tasks] == tasks[:2]
    store.ack([(task, outcome(Kind.SUCCESSFUL)) for task in turn.tasks])
    assert claim(store, owner) == tasks[2:]
    blocked_many(5, "shop-3", rate=fast, concurrency=5)
    assert len(claim(store, owner)) == 1  # of the five tokens


def test_lines_under_an_empty_rate_are_not_tried_one_by_one(store: Store, owner: Owner):
    for number in range(20):
        blocked(f"shop-{number}", rate=SLOW)
    assert len(claim(store, owner)) == 1
    tried = Limit.objects.filter(key__startswith="c:").count()
    assert tried == 2  # the first, and the one that met the empty bucket
    assert claim(store, owner, now=later(seconds=1)) == []
    assert Limit.objects.filter(key__startswith="c:").count() <= tried + 1


def test_a_limited_task_says_until_when_it_may_start(store: Store, owner: Owner):
    rated, plain = blocked(rate=SLOW), blocked("shop")
    turn = store.claim_limited(owner, 10, now=NOW)
    assert {task.id for task in turn.tasks} == {rated, plain}
    assert [id for id, _ in turn.start_by] == [rated]


def test_no_period_holds_more_starts_than_the_limit_whoever_claims(store: Store, owner: Owner, other: Owner):
    random = Random(4)
    blocked_many(200, rate=("api", 20, 2.0))
    starts, now = [], NOW
    while now < later(seconds=12):
        waits = []
        for worker in (owner, other):
            turn = store.claim_limited(worker, 7, now=now)
            starts += [now] * turn.count
            waits.append(turn.next_seconds or 0.0)
        now += timedelta(seconds=max(*waits) + random.uniform(0, 0.02))  # nobody wakes to the moment
    period = timedelta(seconds=2)
    assert max(sum(first <= each < first + period for each in starts) for first in starts) <= 20
    assert len(starts) >= 0.8 * 120


def test_retry_after_pauses_the_rate(store: Store, owner: Owner):
    fast = ("amap", 1000, 1.0)
    blocked_many(5, rate=fast)
    [task] = store.claim_limited(owner, 1, now=NOW).tasks
    store.pause_rate(task, 60, now=NOW)
    turn = store.claim_limited(owner, 10, now=later(seconds=1))
    assert turn.tasks == []
    assert turn.next_seconds == 59
    assert len(claim(store, owner, now=later(seconds=60))) == 4


def test_a_shorter_pause_does_not_end_a_longer_one(store: Store, owner: Owner):
    blocked_many(2, rate=SLOW)
    [task] = store.claim_limited(owner, 1, now=NOW).tasks
    store.pause_rate(task, 3600, now=NOW)
    store.pause_rate(task, 1, now=NOW)
    assert claim(store, owner, now=later(seconds=3599)) == []


def test_a_pause_holds_for_what_waits_under_another_key_as_well(store: Store, owner: Owner):
    blocked("shop-1", rate=SLOW)
    blocked("shop-2", rate=SLOW)
    [task] = store.claim_limited(owner, 1, now=NOW).tasks
    store.pause_rate(task, 3600, now=NOW)
    assert claim(store, owner, now=later(seconds=3599)) == []
    assert len(claim(store, owner, now=later(seconds=3600))) == 1


def test_a_pause_that_is_ended_is_over_for_what_waits_under_another_key_as_well(store: Store, owner: Owner):
    fast = ("amap", 1000, 1.0)
    for key in ("shop-1", "shop-2"):
        blocked(key, rate=fast)
    [task] = store.claim_limited(owner, 1, now=NOW).tasks
    store.pause_rate(task, 3600, now=NOW)
    assert claim(store, owner, now=later(seconds=1)) == []
    assert store.resume_rate("r:amap", now=later(seconds=1))
    assert len(claim(store, owner, now=later(seconds=1))) == 1


def test_a_rate_that_is_not_paused_is_not_resumed(store: Store, owner: Owner):
    Limit.objects.create(key="r:amap", paused_until=ago(seconds=1), next_at=later(seconds=9))
    assert not store.resume_rate("r:amap", now=NOW)
    assert Limit.objects.get().next_at == later(seconds=9)


def test_a_token_that_is_given_back_is_there_again(store: Store, owner: Owner):
    first, second = blocked(rate=SLOW), blocked(rate=SLOW)
    [task] = store.claim_limited(owner, 1, now=NOW).tasks
    assert task.id == first
    assert store.return_rate(task, now=later(seconds=1))
    assert claim(store, owner, now=later(seconds=1)) == [second]


def test_a_task_without_a_rate_has_no_token_to_give_back_and_no_rate_to_pause(store: Store, owner: Owner):
    blocked("shop")
    [task] = store.claim_limited(owner, 1, now=NOW).tasks
    assert not store.return_rate(task)
    assert not store.pause_rate(task, 1)


# -- chunks


def test_a_chunk_is_given_when_it_is_whole(store: Store, owner: Owner):
    blocked_many(5, chunk=(3, 3600.0), run_after=NOW)
    turn = store.claim_limited(owner, 4, now=NOW)
    assert [len(chunk.members) for chunk in turn.chunks] == [3]
    assert (turn.tasks, turn.next_seconds) == ([], 3600.0)


def test_a_chunk_that_has_waited_is_given_as_it_is(store: Store, owner: Owner):
    blocked_many(2, chunk=(3, 0.5), run_after=NOW)
    assert store.claim_limited(owner, 4, now=NOW).next_seconds == 0.5
    [chunk] = store.claim_limited(owner, 4, now=later(seconds=0.5)).chunks
    assert len(chunk.members) == 2


@pytest.mark.parametrize("then", [blocked, lambda **terms: None])
def test_a_chunk_whose_line_changes_under_the_look_waits_for_the_next(
    store: Store, owner: Owner, monkeypatch: pytest.MonkeyPatch, then: Callable[..., Any]
):
    blocked_many(3, rate=("api", 100, 1.0), chunk=(3, 0.0), run_after=NOW)
    look = store.waiting_in
    looks = iter([look, lambda *args, **options: _gone_and_then()])

    def _gone_and_then() -> Any:
        Task.objects.update(state="cancelled")
        then(rate=("api", 100, 1.0), chunk=(2, 0.0), run_after=NOW)
        return look(Line("default", "r:api"), 9, now=NOW)

    monkeypatch.setattr(store, "waiting_in", lambda *args, **options: next(looks, look)(*args, **options))
    assert store.claim_limited(owner, 1, now=NOW).chunks == []


def test_a_chunk_costs_one_place(store: Store, owner: Owner):
    blocked_many(9, chunk=(3, 1.0))
    assert [len(chunk.members) for chunk in store.claim_limited(owner, 2, now=NOW).chunks] == [3, 3]


def test_a_chunk_costs_one_token_of_its_rate(store: Store, owner: Owner):
    blocked_many(9, rate=("api", 100, 1.0), chunk=(2, 1.0))
    turn = store.claim_limited(owner, 10, now=NOW)
    assert [len(chunk.members) for chunk in turn.chunks] == [2, 2, 2, 2, 1]
    assert len(turn.start_by) == 9


def test_a_chunk_holds_tasks_of_one_definition(store: Store, owner: Owner):
    for path in ("shop.one", "shop.one", "shop.two"):
        blocked(rate=("api", 100, 1.0), chunk=(5, 3600.0), task_path=path, run_after=NOW)
    turn = store.claim_limited(owner, 10, now=NOW)
    assert [chunk.task_path for chunk in turn.chunks] == ["shop.one"]  # others wait behind: it cannot grow


# -- queues


def test_only_the_queues_that_a_worker_serves_are_looked_at(store: Store, owner: Owner):
    mail, default = blocked("1", queue_name="mail"), blocked("2")
    assert claim(store, owner, exclude_queues=["mail"]) == [default]
    assert claim(store, owner, queues=["mail"]) == [mail]


def test_nothing_is_claimed_from_a_paused_queue(store: Store, owner: Owner):
    blocked("shop")
    store.pause("default")
    assert claim(store, owner) == []
    assert store.claim_lines([Line("default", "c:shop")], owner, 1, now=NOW).tasks == []
    store.resume("default")
    assert len(claim(store, owner)) == 1


def test_certain_lines_can_be_looked_at_alone(store: Store, owner: Owner):
    blocked("shop-1")
    second = blocked("shop-2")
    assert [task.id for task in store.claim_lines([Line("default", "c:shop-2")], owner, 5, now=NOW).tasks] == [second]


def test_what_waits_behind_a_step_of_its_workflow_is_left_alone(store: Store, owner: Owner):
    put("blocked", limit_key=None)
    assert claim(store, owner) == []


# -- fairness


def test_who_gets_less_room_than_there_are_lines_serves_them_in_turn(store: Store, owner: Owner):
    for number in range(3):
        blocked_many(10, f"shop-{number}", concurrency=10)
    served, after = Counter[str](), None
    for _ in range(9):
        turn = store.claim_limited(owner, 1, after=after, now=NOW)
        if not turn.tasks:
            after = None
            turn = store.claim_limited(owner, 1, after=after, now=NOW)
        served.update(str(task.limit_key) for task in turn.tasks)
        after = turn.last
    assert served == {"c:shop-0": 3, "c:shop-1": 3, "c:shop-2": 3}


def test_a_pass_ends_after_so_many_lines_and_the_next_goes_on_behind_them(
    store: Store, owner: Owner, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "MOST_LINES", 4)
    expected = [blocked(f"{queue}-{number}", queue_name=queue) for queue in "abc" for number in range(3)]
    claimed, after, passes = [], None, 0
    while passes == 0 or after is not None:
        turn = store.claim_limited(owner, 100, after=after, now=NOW)
        claimed += [task.id for task in turn.tasks]
        after, passes = turn.last, passes + 1
    assert claimed == expected
    assert passes == 3


# -- what a row may hold


def test_the_last_numbers_stand_in_the_limits_row(store: Store, owner: Owner):
    blocked("shop", rate=("amap", 10, 1.0), concurrency=3)
    claim(store, owner)
    rows = dict(Limit.objects.values_list("key", "concurrency"))
    assert rows == {"c:shop": 3, "r:amap": None}
    assert Limit.objects.get(key="r:amap").rate == "10/s"


def test_tasks_with_other_numbers_in_one_line_go_by_their_own(store: Store, owner: Owner):
    blocked("shop", concurrency=3)
    second = blocked("shop", concurrency=1)
    assert len(claim(store, owner)) == 1
    Task.objects.filter(state="running").update(state="successful")
    assert claim(store, owner) == [second]


def test_limits_that_nobody_uses_are_forgotten(store: Store, owner: Owner):
    blocked("shop")
    blocked(rate=("amap", 1, 30 * 86_400.0))
    claim(store, owner)
    assert store.prune_limits(now=later(hours=23)) == 0
    assert store.prune_limits(now=later(hours=25)) == 1
    assert list(Limit.objects.values_list("key", flat=True)) == ["r:amap"]


def test_a_limit_that_was_forgotten_is_made_again(store: Store, owner: Owner):
    blocked("shop")
    Limit.objects.all().delete()
    assert len(claim(store, owner)) == 1
