"""What is hidden, at which depth, and what is not."""

import json

import pytest

from django_locqueue.policies import excerpt, legible, masking

CALL = {
    "args": [1, "a\u1234b\\", {"x": [1.5, True, None, {"deep": {"secret": "s3cr3t"}}]}],
    "kwargs": {"password": "s3cr3t", "url": "postgres://u:s3cr3t@h/x", "n": {"apiKey": "s3cr3t", "ok": "c"}},
}


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "userPassword",
        "API-KEY",
        "apikey",
        "session_id",
        "card_no",
        "ssn",
        "Authorization",
        "身份证",
        "e_email",
    ],
)
def test_keys_of_secrets_are_known(key: str) -> None:
    assert masking.is_secret_key(key)


@pytest.mark.parametrize("key", ["discard", "classname", "order_id", "cardinality", "name", "keyboard", ""])
def test_keys_that_only_look_like_it_are_not(key: str) -> None:
    assert not masking.is_secret_key(key)


def test_secrets_are_masked_at_every_depth() -> None:
    assert "s3cr3t" not in json.dumps(masking.mask(CALL))


def test_the_rest_stays_as_it_is() -> None:
    assert masking.mask({"a": [1, {"b": "c"}], "d": None}) == {"a": [1, {"b": "c"}], "d": None}


def test_what_was_given_is_not_changed() -> None:
    before = json.dumps(CALL)
    masking.mask(CALL)
    assert json.dumps(CALL) == before


def test_a_value_nested_as_deep_as_json_allows_is_masked() -> None:
    value: object = {"token": "s3cr3t"}
    for _ in range(5000):
        value = [value]
    found = masking.mask(value)
    while isinstance(found, list):
        found = found[0]
    assert found == {"token": masking.MASK}


@pytest.mark.parametrize(
    "text",
    [
        "password=s3cr3t",
        "Authorization: Bearer s3cr3t",
        "login(token='s3cr3t')",
        '{"api_key": "s3cr3t"}',
        "redis://:s3cr3t@cache:6379/0",
        "-----BEGIN RSA PRIVATE KEY-----\ns3cr3t\n-----END RSA PRIVATE KEY-----",
        "eyJhbGciOiJIUzI1NiJ9.s3cr3t.s3cr3t",
    ],
)
def test_secrets_in_free_text_are_masked(text: str) -> None:
    assert "s3cr3t" not in masking.mask_text(text)


@pytest.mark.parametrize("text", ["KeyError: 'token'", "http://shop.example:8000/x", "no secret here", "a@b.c"])
def test_harmless_text_stays(text: str) -> None:
    assert masking.mask_text(text) == text


@pytest.mark.parametrize("word", ["a-", "a.", "eyJ", "token", "-----BEGIN ", "://a"])
def test_a_text_that_is_made_to_be_read_again_and_again_is_read_once(word: str) -> None:
    text = word * 30_000  # each began a search of all the rest: for minutes, with Python's lock
    assert masking.mask_text(text) == text


@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_no_cut_lets_a_secret_through(ensure_ascii: bool) -> None:
    text = json.dumps(CALL, ensure_ascii=ensure_ascii, separators=(",", ":"))
    for length in range(1, len(text)):
        shown = json.dumps(masking.mask(excerpt.read(text[:length], cut=True)))
        assert "s3" not in shown, length


def test_a_cut_text_is_read_as_far_as_it_goes() -> None:
    assert excerpt.read('{"args":[1,2,"ab', cut=True) == {"args": [1, 2, "ab…"]}
    assert excerpt.read('{"args":[1,23', cut=True) == {"args": [1]}
    assert excerpt.read('{"a":1,"b', cut=True) == {"a": 1}


@pytest.mark.parametrize("text", ["", "nonsense", "}", "[1}", "[" * 100_000])
def test_what_is_no_json_is_unreadable(text: str) -> None:
    with pytest.raises(excerpt.Unreadable):
        excerpt.read(text, cut=bool(text) and text[0] != "[")


def test_characters_that_deceive_are_spelled_out() -> None:
    assert legible.line("a\u202eb\x00\ud800\t\n") == r"a\u202eb\u0000\ud800\t\n"


def test_a_block_keeps_its_lines() -> None:
    assert legible.block("a\n\tb\r\nc\rd") == "a\n\tb\r\nc\\rd"


def test_chinese_stays() -> None:
    assert legible.line("杭州，李雷 😀") == "杭州，李雷 😀"
