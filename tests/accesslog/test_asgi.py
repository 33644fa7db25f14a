"""The lifespan wrapper."""

import pytest

from django_locqueue.accesslog.asgi import LifespanMiddleware
from django_locqueue.accesslog.recorder import Recorder

COMPLETE = ["lifespan.startup.complete", "lifespan.shutdown.complete"]


@pytest.fixture
def steps(monkeypatch):
    """What happened, in order: what was sent, and when the recorder was drained."""
    steps = []
    monkeypatch.setattr(Recorder, "drain", lambda self, timeout=None: steps.append("drained"))
    return steps


@pytest.fixture
def live(steps):
    """Return a function that takes an application through its life."""

    async def run(application):
        messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

        async def receive():
            return messages.pop(0)

        async def send(message):
            steps.append(message["type"])

        await LifespanMiddleware(application)({"type": "lifespan"}, receive, send)

    return run


async def refuses(scope, receive, send):
    raise ValueError("Django can only handle ASGI/HTTP connections, not lifespan.")


async def ignores(scope, receive, send):
    return


async def lives(scope, receive, send):
    for _ in range(2):
        message = await receive()
        await send({"type": f"{message['type']}.complete"})


@pytest.mark.parametrize("application", [refuses, ignores, lives])
async def test_the_recorder_is_drained_before_the_server_may_end(live, steps, application):
    await live(application)
    assert steps == [COMPLETE[0], "drained", COMPLETE[1]]


async def test_an_application_begins_and_ends_its_own_life(live):
    seen = []

    async def application(scope, receive, send):
        for _ in range(2):
            message = await receive()
            seen.append(message["type"])
            await send({"type": f"{message['type']}.complete"})

    await live(application)
    assert seen == ["lifespan.startup", "lifespan.shutdown"]


async def test_the_hits_of_an_application_whose_end_failed_are_sent(live, steps):
    async def application(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.failed", "message": "no"})

    await live(application)
    assert steps == ["lifespan.startup.complete", "drained", "lifespan.shutdown.failed"]


async def test_the_failure_of_an_application_that_begins_is_its_own(live):
    async def application(scope, receive, send):
        await receive()
        raise RuntimeError("no cache")

    with pytest.raises(RuntimeError, match="no cache"):
        await live(application)


async def test_requests_are_passed_on():
    seen = []

    async def application(scope, receive, send):
        seen.append(scope["type"])

    async def unused(*args):
        raise AssertionError

    await LifespanMiddleware(application)({"type": "http"}, unused, unused)
    assert seen == ["http"]
