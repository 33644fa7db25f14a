"""The browser, the site that it looks at, and people in front of it."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import django
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client, override_settings
from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
SCREENSHOTS = os.environ.get("TEST_SCREENSHOTS", "")  # a folder in which they are kept
WAIT_MS = 60_000  # a busy machine decides no test

# What a strict site allows. Nothing inline, nothing from elsewhere, and no scripts but its own.
POLICY = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],  # admin's own icons
    "connect-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
}


@pytest.hookimpl(tryfirst=True)  # before tests/conftest.py finds that they are given a database
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/browser/" in item.nodeid:
            item.add_marker("browser")
            item.add_marker("any_vendor")


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """The one browser of the run: Debian's. Where TEST_CHROMIUM names one, its absence is an error."""
    path = os.environ.get("TEST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium here; TEST_CHROMIUM=/path/to/it names one")
    with sync_playwright() as playwright:
        # Playwright's event loop runs in this thread, and Django would refuse its ORM here.
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="package")
def site(chromium: Any, django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """The address of a server whose pages come with :data:`POLICY`."""
    from pytest_django.live_server_helper import LiveServer

    with django_db_blocker.unblock(), override_settings(**strict()):
        server = LiveServer("127.0.0.1")
        yield server.url
        server.stop()


def strict() -> dict[str, Any]:
    """Return settings with the policy: by Django's own middleware where it has one."""
    if django.VERSION < (6, 0):
        return {"MIDDLEWARE": [f"{__name__}.with_policy", *settings.MIDDLEWARE]}
    policy = dict(POLICY)
    if django.VERSION >= (6, 1):
        # With a nonce and nothing else: from this version on, admin's own pages carry it.
        policy["script-src"] = policy["style-src"] = ["<CSP_NONCE_SENTINEL>"]
    template: Any = settings.TEMPLATES[0]
    options = template["OPTIONS"]
    processors = [*options["context_processors"], "django.template.context_processors.csp"]
    return {
        "MIDDLEWARE": ["django.middleware.csp.ContentSecurityPolicyMiddleware", *settings.MIDDLEWARE],
        "SECURE_CSP": policy,
        "TEMPLATES": [{**template, "OPTIONS": {**options, "context_processors": processors}}],
    }


def with_policy(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    header = "; ".join(" ".join([name, *values]) for name, values in POLICY.items())

    def middleware(request: Any) -> Any:
        response = get_response(request)
        response.headers["Content-Security-Policy"] = header
        return response

    return middleware


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complains of: a policy that is violated, an error in a script, a file that is not there."""
    return []


@pytest.fixture
def open_browser(
    chromium: Any, site: str, transactional_db: None, request: pytest.FixtureRequest, complaints: list[str]
) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a window, signed in as a superuser: ``open_browser(color_scheme="dark")``.

    The test fails if there are ``complaints`` in the end.
    """
    contexts: list[Any] = []

    def complain(message: Any) -> None:
        url = message.location.get("url", "")
        if message.type in ("error", "warning") and not url.endswith("/favicon.ico"):
            complaints.append(f"{url}: {message.text}")

    def opened(name: str = "alice", **options: Any) -> Any:
        context = chromium.new_context(base_url=site, viewport={"width": 1280, "height": 900}, **options)
        contexts.append(context)
        context.set_default_timeout(WAIT_MS)
        context.add_cookies([{"name": "sessionid", "value": session_of(name), "url": site}])
        page = context.new_page()
        page.on("console", complain)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield opened
    for number, context in enumerate(contexts):
        for page in context.pages:
            if SCREENSHOTS:
                name = f"{request.node.name}-{number}.png".replace("/", "_")
                page.screenshot(path=Path(SCREENSHOTS, f"django-{django.__version__}", name), full_page=True)
        context.close()
    assert complaints == []


def session_of(name: str) -> str:
    user, _is_new = User.objects.get_or_create(username=name, defaults={"is_staff": True, "is_superuser": True})
    client = Client()
    client.force_login(user)
    return client.cookies["sessionid"].value


@pytest.fixture
def window(open_browser: Callable[..., Any]) -> Any:
    return open_browser()
