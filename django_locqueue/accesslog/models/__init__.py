from django_locqueue.accesslog.models.access_log import AccessLog
from django_locqueue.accesslog.models.hourly_stat import HourlyStat, StaleHour
from django_locqueue.accesslog.models.location import Location
from django_locqueue.accesslog.models.loss import Loss
from django_locqueue.accesslog.models.provider_state import ProviderState
from django_locqueue.accesslog.models.visitor_key import VisitorKey

__all__ = ["AccessLog", "HourlyStat", "Location", "Loss", "ProviderState", "StaleHour", "VisitorKey"]
