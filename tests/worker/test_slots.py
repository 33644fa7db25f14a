"""What a supervisor knows of a process that is gone."""

from django_locqueue.worker import slots
from django_locqueue.worker.slots import MOST_ENDED, SlotTable


def test_a_task_that_runs_has_begun():
    table = SlotTable.create()
    table.begin(3, (7, 1))
    assert (table.running(), table.begun()) == ({(7, 1)}, {(7, 1)})


def test_a_task_that_has_ended_has_begun_too_since_its_outcome_may_not_be_stored():
    table = SlotTable.create()
    table.begin(3, (7, 1))
    table.end(3, (7, 1))
    assert (table.running(), table.begun()) == (set(), {(7, 1)})


def test_what_ended_long_ago_is_forgotten():
    table = SlotTable.create()
    for number in range(MOST_ENDED + 1):
        table.begin(0, (number + 1, 1))
        table.end(0, (number + 1, 1))
    assert (1, 1) not in table.begun()
    assert len(table.begun()) == MOST_ENDED


def test_another_process_reads_what_was_written():
    table = SlotTable.create()
    table.begin(0, (7, 1))
    assert SlotTable(table.descriptor).begun() == {(7, 1)}


def test_each_member_of_a_chunk_that_runs_has_begun():
    table = SlotTable.create()
    table.begin(3, (7, 1))
    table.begin_members(3, [(8, 1), (9, 1)])
    assert table.running() == {(7, 1), (8, 1), (9, 1)}
    table.end(3, (7, 1))
    table.end_members(3)
    assert (table.running(), table.begun()) == (set(), {(7, 1), (8, 1), (9, 1)})


def test_the_places_of_members_are_used_again(monkeypatch):
    monkeypatch.setattr(slots, "CAPACITY", slots.MOST_THREADS + slots.MOST_ASYNC + 2)
    table = SlotTable.create()
    for claim in range(3):
        table.begin_members(0, [(8, claim), (9, claim)])
        assert table.running() == {(8, claim), (9, claim)}
        table.end_members(0)


def test_members_without_a_place_run_all_the_same(monkeypatch):
    monkeypatch.setattr(slots, "CAPACITY", slots.MOST_THREADS + slots.MOST_ASYNC + 1)
    table = SlotTable.create()
    table.begin_members(0, [(8, 1), (9, 1)])
    assert table.running() == {(8, 1)}
    table.end_members(0)
    assert table.begun() == {(8, 1)}
