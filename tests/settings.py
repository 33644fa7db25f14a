"""Settings for the tests: both apps, admin, and the database of ``databases.py``."""

import os
from typing import Any

from tests import databases

SECRET_KEY = "for tests only"
ALLOWED_HOSTS = ["*"]
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]

DATABASES = {"default": databases.configuration()}
# The same database by another name, with connections of its own: for projects whose queue is not in `default`.
DATABASES["second"] = {**DATABASES["default"], "TEST": {"MIRROR": "default"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.admin",
    "django_locqueue",
    "django_locqueue.accesslog",
    "testproject.shop",
]
MIDDLEWARE = [
    "django_locqueue.accesslog.middleware.AccessLogMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
ROOT_URLCONF = "tests.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]
STATIC_URL = "/static/"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast; a test logs in often

TASKS: dict[str, dict[str, Any]] = {"default": {"BACKEND": "django_locqueue.backend.LocQueueBackend", "QUEUES": []}}
LOCQUEUE: dict[str, dict[str, Any]] = {
    # Its recorder's thread would write the requests of one test into the database of the next. Tests of the access log
    # switch it on, and see to the thread; for the processes of a test the environment does.
    "ACCESS_LOG": {"ENABLED": os.environ.get("TEST_ACCESS_LOG") == "on"},
    "ADMIN": {"COUNTS_SECONDS": 0},  # no test sees the numbers of another
}
