"""The tests' settings with django-unfold, whose templates and ModelAdmin take the place of Django's."""

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS, LOCQUEUE

INSTALLED_APPS = ["unfold", *INSTALLED_APPS]
LOCQUEUE = {**LOCQUEUE, "ADMIN": {"MODEL_ADMIN_BASE": "unfold.admin.ModelAdmin"}}
