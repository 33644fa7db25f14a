"""Settings of the shop, from the environment or a file ``.env`` in the project's root.

DATABASE_URL, SECRET_KEY, DEBUG, ALLOWED_HOSTS, TRUSTED_PROXIES (networks), ACCESS_LOG (off: no middleware, for
comparison), HEALTH_TOKEN, METRICS_TOKEN.
"""

from pathlib import Path

import environ

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "testproject"

env = environ.Env()
env.read_env(ROOT / ".env")

DEBUG = env.bool("DEBUG", default=True)
SECRET_KEY = env.str("SECRET_KEY", default="not secret: this shop sells nothing")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])

DATABASES = {"default": env.db_url("DATABASE_URL", default=f"sqlite:///{ROOT / 'shop.sqlite3'}")}
DATABASES["default"].setdefault("CONN_MAX_AGE", 60)
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # Server and worker are two processes: writers wait for each other, and nobody waits for readers.
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "testproject.shop",
    "django_locqueue",
    "django_locqueue.accesslog",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django_locqueue.accesslog.middleware.AccessLogMiddleware",  # first: it sees what the others answer, too
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
if not env.bool("ACCESS_LOG", default=True):
    del MIDDLEWARE[0]

ROOT_URLCONF = "testproject.urls"
WSGI_APPLICATION = "testproject.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [HERE / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "testproject.shop.cart.context",
            ],
        },
    }
]
STATIC_URL = "/static/"
STATICFILES_DIRS = [HERE / "static"]

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
USE_TZ = True
TIME_ZONE = "UTC"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = LOGOUT_REDIRECT_URL = "shop:list"

TASKS = {"default": {"BACKEND": "django_locqueue.backend.LocQueueBackend", "QUEUES": []}}
LOCQUEUE = {
    "ACCESS_LOG": {
        "TRUSTED_PROXIES": env.list("TRUSTED_PROXIES", default=[]),
        # The defaults leave out more; a shop that shows what is recorded should record nearly everything.
        "EXCLUDE_PATHS": [STATIC_URL, "/health/", "/queue/"],
        "EXCLUDE_METHODS": [],
    },
    "MONITORING": {
        "HEALTH_TOKEN": env.str("HEALTH_TOKEN", default=""),
        "METRICS_TOKEN": env.str("METRICS_TOKEN", default=""),
    },
}
