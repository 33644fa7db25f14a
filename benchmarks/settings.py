"""Django settings of one product on one database. They come from the environment, so that workers inherit them."""

import os
from typing import Any

import environ

from benchmarks.product import KNOWN

PRODUCT = KNOWN[os.environ["BENCHMARK_PRODUCT"]]

SECRET_KEY = "for benchmarks only"  # noqa: S105
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES: dict[str, dict[str, Any]] = {"default": environ.Env.db_url_config(os.environ["BENCHMARK_DATABASE_URL"])}
age = os.environ.get("BENCHMARK_CONN_MAX_AGE", "None")
DATABASES["default"]["CONN_MAX_AGE"] = None if age == "None" else int(age)
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # As the README advises for more than one process.
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
    }
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "benchmarks", PRODUCT.app]
TASKS = {"default": {"BACKEND": PRODUCT.backend, "QUEUES": []}}
LOCQUEUE = {"WORKER": {"LISTEN": os.environ.get("BENCHMARK_LISTEN", "on") == "on"}}
