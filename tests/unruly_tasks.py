"""Tasks that leave something behind: on their connection, or on their thread."""

import contextvars
import decimal
from contextlib import suppress
from typing import Any

from django.contrib.auth.models import Group
from django.db import IntegrityError, connection, transaction
from django.urls import get_urlconf, set_urlconf
from django.utils import timezone, translation

from django_locqueue import task


@task
def swallow_an_error_in_atomic(name: str) -> str:
    with transaction.atomic():
        Group.objects.create(name=name)
        with suppress(IntegrityError):
            Group.objects.create(name=name)
    return "went on"


@task
def leave_autocommit_off(name: str) -> str:
    transaction.set_autocommit(False)
    Group.objects.create(name=name)
    return "left"


@task
def leave_raw_begin(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO auth_group (name) VALUES (%s)", [name])
    return "left"


@task
def leave_an_open_atomic_block(name: str) -> str:
    transaction.atomic().__enter__()
    Group.objects.create(name=name)
    return "left"


@task
def close_the_connection() -> str:
    connection.ensure_connection()
    connection.close()
    return "closed"


@task
def close_the_driver_connection() -> str:
    connection.ensure_connection()
    connection.connection.close()
    return "closed"


# -- the state of the thread

flavour: contextvars.ContextVar[str] = contextvars.ContextVar("flavour", default="plain")


def _change_the_thread() -> None:
    translation.activate("zh-hans")
    timezone.activate("Asia/Tokyo")
    flavour.set("changed")
    decimal.getcontext().prec = 3
    set_urlconf("tests.nowhere")


@task
def change_the_thread(then: str = "return") -> None:
    _change_the_thread()
    if then == "raise":
        raise ValueError("changed")


@task
async def change_the_thread_async() -> None:
    _change_the_thread()


def _look_at_the_thread() -> list[Any]:
    return [
        translation.get_language(),
        timezone.get_current_timezone_name(),
        flavour.get(),
        decimal.getcontext().prec,
        get_urlconf(),
    ]


@task
def look_at_the_thread() -> list[Any]:
    return _look_at_the_thread()


@task
async def look_at_the_thread_async() -> list[Any]:
    return _look_at_the_thread()


@task(timeout=0.1)
def change_the_thread_and_run_too_long() -> None:
    _change_the_thread()
    while True:
        pass


# -- the session of the connection


@task
def execute(*statements: str) -> int:
    """Execute statements as they are, and return which session that was."""
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
    return session()


@task
def ask(query: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(query)
        row = cursor.fetchone()
    return None if row is None else row[0]


@task
def which_session() -> int:
    connection.ensure_connection()
    return session()


def session() -> int:
    """Return a number that each driver's connection has for itself."""
    if connection.vendor == "sqlite":
        return id(connection.connection)
    query = "SELECT pg_backend_pid()" if connection.vendor == "postgresql" else "SELECT CONNECTION_ID()"
    with connection.cursor() as cursor:
        cursor.execute(query)
        return int(cursor.fetchone()[0])


def add_nothing(execute: Any, *statement: Any) -> Any:
    return execute(*statement)


@task
def leave_a_wrapper_and_a_debug_cursor() -> None:
    connection.ensure_connection()
    connection.execute_wrappers.append(add_nothing)
    connection.force_debug_cursor = True


@task
def look_at_the_connection() -> list[Any]:
    return [add_nothing in connection.execute_wrappers, connection.force_debug_cursor, len(connection.queries_log)]
