"""Pages that are used by keys, and a page whose visitor is signed out while it refreshes itself."""

from typing import Any

from django.contrib.sessions.models import Session
from playwright.sync_api import expect

from tests.tasks import add


def test_keys_lead_from_page_to_page_and_row_to_row(window: Any) -> None:
    first, second = (int(add.enqueue(1, number).id) for number in (1, 2))
    window.goto("/admin/locqueue/overview/")
    window.keyboard.press("?")
    expect(window.get_by_text("Next row, previous row")).to_be_visible()
    window.keyboard.press("Escape")
    expect(window.get_by_text("Next row, previous row")).to_be_hidden()
    window.keyboard.press("g")
    window.keyboard.press("p")
    window.wait_for_url("**/pendingtask/")
    window.keyboard.press("j")
    window.keyboard.press("j")
    window.keyboard.press("x")
    expect(window.locator(f'input[value="{second}"]')).to_be_checked()
    expect(window.locator(f'input[value="{first}"]')).not_to_be_checked()
    window.keyboard.press("/")
    expect(window.locator("#searchbar")).to_be_focused()
    window.keyboard.type("g")
    expect(window.locator("#searchbar")).to_have_value("g")


def test_who_is_signed_out_is_told_and_the_refresh_stops(window: Any) -> None:
    window.goto("/admin/locqueue/overview/")
    Session.objects.all().delete()
    window.keyboard.press("r")
    expect(window.get_by_text("Your session has ended.")).to_be_visible()
    expect(window.get_by_role("link", name="Sign in again")).to_be_visible()
