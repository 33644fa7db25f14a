from django_locqueue.accesslog.models.access_log import AccessLog
from django_locqueue.accesslog.models.hourly_stat import HourlyStat
from django_locqueue.accesslog.models.location import Location
from django_locqueue.accesslog.models.stale_hour import StaleHour

__all__ = ["AccessLog", "HourlyStat", "Location", "StaleHour"]
