"""Secrets in paths are masked, wherever the path is told."""

import uuid

import pytest
from django.urls import resolve

from django_locqueue.accesslog.privacy.paths import mask_path, own_path, secrets_in
from django_locqueue.accesslog.privacy.secret_names import is_secret_part

RESET = "/reset/MQ/c8x2-9f86d081884c/"


@pytest.fixture
def urls(site):
    site.ROOT_URLCONF = "tests.accesslog.privacy.urls"


def masked(path):
    match = resolve(path)
    return mask_path(path, match.route, secrets_in(match))


def test_a_token_is_masked(urls):
    assert masked("/confirm/9f86d081884c/now/") == "/confirm/***/now/"


def test_a_short_secret_could_be_anywhere_in_the_path_so_the_pattern_is_told(urls):
    assert masked(RESET) == "/reset/<uidb64>/<token>/"


def test_a_uuid_is_masked(urls):
    key = uuid.UUID(int=2**127)
    assert masked(f"/share/{key}/") == "/share/***/"


def test_a_secret_that_a_converter_changed_is_not_in_the_path_so_the_pattern_is_told(urls):
    assert masked("/folded/SECRETWORD/") == "/folded/<fold:token>/"


def test_a_secret_of_a_type_of_the_projects_is_not_asked_for_its_text(urls):
    assert masked("/object/secretword/") == "/object/<object:token>/"


def test_a_path_without_secrets_is_itself(urls):
    assert masked("/products/tea-42/") == "/products/tea-42/"


def test_a_secret_is_masked_wherever_it_is():
    assert mask_path("/a/s3cret/b/s3cret.html", "a/<token>/", ["s3cret"]) == "/a/***/b/***.html"


def test_a_secret_in_another_is_masked_with_it():
    assert mask_path("/abcdef-1/abcdef/", "", ["abcdef", "abcdef-1"]) == "/***/***/"


def test_of_a_secret_that_was_cut_nothing_is_told():
    assert mask_path("/confirm/9f86d08188…", "confirm/<token>/", ["9f86d081884c"]) == "/confirm/<token>/"


@pytest.mark.parametrize(
    "name",
    ["token", "uidb64", "key", "signature", "reset_token", "api_key", "secret_id", "session_key", "code", "email"],
)
def test_names_of_secrets(name):
    assert is_secret_part(name)


@pytest.mark.parametrize(
    "name", ["pk", "slug", "product_code", "country_code", "keyword", "author", "key_figures", "id"]
)
def test_names_of_what_a_page_is_about(name):
    assert not is_secret_part(name)


# Pages that a visitor came from


def test_a_page_of_the_site_is_told_without_its_secrets(urls):
    assert own_path()("/confirm/9f86d081884c/now/") == "/confirm/***/now/"


def test_a_page_that_does_not_exist_is_told_as_it_is(urls):
    assert own_path()("/nowhere/") == "/nowhere/"


def test_with_patterns_for_paths_pages_that_visitors_came_from_are_patterns_too(urls, configure):
    configure(PATH="route")
    assert own_path()("/products/tea-42/") == "/products/<slug:slug>/"
    assert own_path()("/nowhere/") == "/***"


def test_a_converter_that_fails_tells_nothing(urls):
    assert own_path()("/failing/s3cret/") == "/***"
