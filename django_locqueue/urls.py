"""Health, status and metrics: ``path("queue/", include("django_locqueue.urls"))``."""

from django.urls import path

from django_locqueue.monitoring import views

app_name = "locqueue"
urlpatterns = [
    path("health/", views.health, name="health"),
    path("status.json", views.status, name="status"),
    path("metrics/", views.metrics, name="metrics"),
]
