"""Every page in a browser under a strict content security policy: light in English, dark in Chinese."""

from typing import Any

import pytest
from django.contrib import admin

from django_locqueue.admin.pages import PAGES
from tests.pages.addresses import ADDRESSES, NOBODY, names_of
from tests.pages.world import World

LOOKS: list[dict[str, Any]] = [
    {"color_scheme": "light", "locale": "en"},
    {"color_scheme": "dark", "locale": "zh-CN"},
]

FILES = ("_export", "_download", "_data")

# Returns the words of our parts that are hard to read: contrast below that of WCAG AA for large text.
FAINT = """
() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.9) return colour;
    }
    return [255, 255, 255];
  };
  const faint = new Set();
  for (const element of document.querySelectorAll(".lq, .lq *")) {
    const says = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!says || !element.checkVisibility() || element.closest("svg")) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 3) faint.add(`${contrast.toFixed(1)} ${element.className}: ${element.textContent.trim()}`);
  }
  return [...faint];
}
"""


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: f"{look['color_scheme']}-{look['locale']}")
def test_no_page_violates_the_policy_or_is_hard_to_read(look: dict[str, Any], open_browser: Any) -> None:
    world = World("plain text")
    window = open_browser(**look)
    faint = {}
    for name in (name for model in PAGES for name in names_of(admin.site.get_model_admin(model))):
        address = ADDRESSES[name]
        if address.changes or address.redirects or NOBODY in address.needs or name.endswith(FILES):
            continue
        response = window.goto(address.url(name, world))
        assert response.status == 200, name
        assert "'none'" in response.headers["content-security-policy"]
        if found := window.evaluate(FAINT):
            faint[name] = found
    assert faint == {}
    is_dark = window.evaluate("() => getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert is_dark is (look["color_scheme"] == "dark")


def test_a_page_that_violates_the_policy_is_noticed(open_browser: Any, complaints: list[str]) -> None:
    window = open_browser()
    window.goto("/admin/")
    window.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: '1'}))")
    assert "Content Security Policy" in complaints.pop()
