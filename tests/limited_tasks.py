"""Tasks under limits, and what they note of themselves."""

import threading
import time
from pathlib import Path

from django_locqueue import Retry, task

began: list[object] = []  # what was passed, in the order of the beginnings
together: list[int] = []  # how many ran at each beginning
running = 0
lock = threading.Lock()
gate = threading.Event()  # set: nobody waits


def reset():
    began.clear()
    together.clear()
    gate.set()


def note(value):
    global running
    with lock:
        running += 1
        began.append(value)
        together.append(running)
    gate.wait(10)
    with lock:
        running -= 1


@task(concurrency=1, concurrency_key="shop-{shop_id}")
def in_order(shop_id, number):
    note((shop_id, number))


@task(concurrency=2)
def at_most_two(number):
    note(number)


@task(rate_limit="1000/s", rate_key="stub")
def fast(number):
    note(number)


@task(rate_limit="20/s", rate_key="stub-{region}")
def steady(region, number):
    note((region, number))


@task(rate_limit="1/h")
def hourly(number):
    note(number)


@task(rate_limit="1000/s", rate_key="throttled", max_attempts=2)
def told_to_wait(seconds):
    note(seconds)
    raise Retry(after=seconds)


@task(rate_limit="1/h", takes_context=True)
def no_call_was_made(context, number):
    note((number, context.return_rate()))


@task(rate_limit="1000/s", rate_key="paused", takes_context=True)
def pauses(context, seconds):
    note(seconds)
    context.pause_rate(seconds)


@task(rate_limit="1000/s", rate_key="paused", takes_context=True, atomic=True, max_attempts=1)
def pauses_and_rolls_back(context, seconds):
    context.pause_rate(seconds)
    raise ValueError("rolled back")


@task(rate_limit="1/h", takes_context=True, atomic=True, max_attempts=1)
def no_call_was_made_and_rolls_back(context):
    note(context.return_rate())
    raise ValueError("rolled back")


@task(concurrency=1, rate_limit="1000/s")
async def in_order_async(number):
    note(number)


@task(rate_limit="25/s", rate_key="service")
def call_service(path):
    """Stand in for a call of a service that must not be called more often."""
    with Path(path).open("a") as ledger:
        ledger.write(f"{time.time():.6f} {threading.get_native_id()}\n")
