from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AccessLogConfig(AppConfig):
    name = "django_locqueue.accesslog"
    label = "locqueue_accesslog"
    verbose_name = _("Access log")
    default_auto_field = "django.db.models.BigAutoField"  # fixed: else the host project's default makes migrations here

    def ready(self) -> None:
        from django_locqueue.accesslog import checks  # noqa: F401 - registers the system checks
        from django_locqueue.accesslog.geo import checks as geo_checks  # noqa: F401 - and those of its providers
