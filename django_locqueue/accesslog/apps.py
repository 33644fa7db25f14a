from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AccessLogConfig(AppConfig):
    name = "django_locqueue.accesslog"
    label = "locqueue_accesslog"
    verbose_name = _("Access log")
    default_auto_field = "django.db.models.BigAutoField"  # fixed: else the host project's default makes migrations here

    def ready(self) -> None:
        # They register system checks.
        from django_locqueue.accesslog import checks, recorder_checks, user_deletion, view_checks  # noqa: F401
        from django_locqueue.accesslog.geo import checks as geo_checks  # noqa: F401
        from django_locqueue.accesslog.privacy import checks as privacy_checks  # noqa: F401

        user_deletion.connect()
