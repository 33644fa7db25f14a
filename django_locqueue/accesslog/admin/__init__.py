"""The access log's pages in Django admin. Importing this package registers them, as admin's autodiscovery does."""

from django_locqueue.accesslog.admin import access_log, locations, services

__all__ = ["access_log", "locations", "services"]
