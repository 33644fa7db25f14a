"""A database that takes a connection and says nothing: what holds up whoever waits for it."""

import pytest
from django.db import connection

from tests.accesslog.server import gunicorn, needs, sent
from tests.faults.proxy import Proxy
from tests.processes import wait_until

REQUESTS = 10

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]


@needs("gunicorn")
@pytest.mark.skipif(connection.vendor != "postgresql", reason="the way to it is PostgreSQL's")
def test_i9_a_database_that_says_nothing_holds_up_no_visitor_and_no_end_and_nothing_is_lost(serve, tmp_path):
    connection.ensure_connection()
    info = connection.connection.info
    proxy = Proxy(f"{info.host}/.s.PGSQL.{info.port}" if info.host.startswith("/") else (info.host, info.port))
    account = f"{connection.settings_dict['USER']}:{connection.settings_dict['PASSWORD']}"
    url = f"postgres://{account}@127.0.0.1:{proxy.port}/{connection.settings_dict['NAME']}"
    keys = {"INTERVAL": 0.05, "OVERFLOW": "spool", "SPOOL_DIR": str(tmp_path), "EXIT_TIMEOUT": 0.5}
    try:
        proxy.black_hole()
        server = serve(gunicorn(), {"TEST_POSTGRES_URL": url}, **keys)
        server.visit(1)
        wait_until(lambda: proxy.waiting)
        server.visit(REQUESTS - 1)
        server.stop()
        assert list(tmp_path.iterdir())
        proxy.heal()
        server = serve(gunicorn(), {"TEST_POSTGRES_URL": url}, **keys)
        server.visit(1)
        wait_until(lambda: sent() == REQUESTS + 1)
        server.stop()
    finally:
        proxy.close()
    assert list(tmp_path.iterdir()) == []
