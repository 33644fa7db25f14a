"""What a chunk's function may say of its calls, and which functions can be one."""

import pytest

from django_locqueue.exceptions import ChunkFailed
from django_locqueue.policies.chunk import MOST_CALLS, failures, problem, results


def one_list(calls): ...


def with_context(context, calls): ...


def two(prefix, country): ...


def none(): ...


def several(*calls): ...


def with_default(calls, provider=None): ...


def keyword(*, calls): ...


@pytest.mark.parametrize("value", [None, 7, "text", {"a": 1}])
def test_a_value_that_is_no_list_is_that_of_all_calls(value):
    assert results(value, 3) == [value] * 3


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_has_a_value_for_each_call(kind):
    assert results(kind("abc"), 3) == ["a", "b", "c"]


@pytest.mark.parametrize("count", [0, 2, 4])
def test_a_list_of_another_length_is_refused_with_both_numbers(count):
    with pytest.raises(ValueError, match=f"returned {count} values for 3 calls"):
        results([None] * count, 3)


def test_what_is_raised_is_that_of_all_calls():
    error = ValueError()
    assert failures(error, 3) == [error] * 3


def test_chunk_failed_names_those_that_have_failed():
    error = ValueError()
    assert failures(ChunkFailed({1: error}), 3) == [None, error, None]


@pytest.mark.parametrize("index", [-1, 3])
def test_chunk_failed_that_names_no_call_fails_all(index):
    assert {str(error) for error in failures(ChunkFailed({index: ValueError()}), 3)} == {
        f"ChunkFailed names call {index}; there were 3, numbered from 0."
    }


@pytest.mark.parametrize("errors", [{0: "text"}, {"0": ValueError()}, {0: ValueError}])
def test_chunk_failed_takes_exceptions_by_number(errors):
    with pytest.raises(TypeError, match=r"ChunkFailed takes \{number of the call: exception\}"):
        ChunkFailed(errors)


@pytest.mark.parametrize("function", [two, none, several, with_default, keyword, with_context])
def test_a_function_that_does_not_take_one_list_is_refused_with_its_signature(function):
    text = problem(function, 10, None, takes_context=False)
    assert "is called with one list of calls and nothing else" in text
    assert f"{function.__name__}(calls)" in text


@pytest.mark.parametrize("function", [two, none, several, keyword, one_list])
def test_with_a_context_it_takes_that_and_one_list(function):
    wrong = function is not two  # its two arguments may be these
    assert bool(problem(function, 10, None, takes_context=True)) is wrong


def test_a_function_that_takes_one_list_is_accepted():
    assert problem(one_list, 10, 0.5, takes_context=False) is None
    assert problem(with_context, 10, 0, takes_context=True) is None


@pytest.mark.parametrize("chunk", [0, -1, True, 1.5, "10", MOST_CALLS + 1])
def test_a_chunk_is_a_whole_number_of_calls(chunk):
    assert "chunk must be a whole number of calls from 1 to 1,000" in problem(
        one_list, chunk, None, takes_context=False
    )


@pytest.mark.parametrize("wait", [-0.1, float("nan"), float("inf"), "1", True])
def test_a_wait_is_a_number_of_seconds(wait):
    assert "chunk_wait must be a number of seconds" in problem(one_list, 10, wait, takes_context=False)


def test_a_wait_without_a_chunk_is_refused():
    assert problem(one_list, None, 0.5, takes_context=False) == "chunk_wait has a meaning only with chunk=..."
