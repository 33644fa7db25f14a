"""A project that includes our views."""

from django.urls import include, path

urlpatterns = [path("queue/", include("django_locqueue.urls"))]
