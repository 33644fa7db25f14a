from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LocQueueConfig(AppConfig):
    name = "django_locqueue"
    label = "locqueue"
    verbose_name = _("Task queue")
    default_auto_field = "django.db.models.BigAutoField"  # fixed: else the host project's default makes migrations here

    def ready(self) -> None:
        from django_locqueue import checks  # noqa: F401 - registers the system checks
        from django_locqueue.observability import framework_log
        from django_locqueue.scheduler import checks as scheduler_checks  # noqa: F401

        framework_log.install()
