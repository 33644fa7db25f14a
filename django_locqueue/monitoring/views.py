"""Health, status and metrics: three views over the snapshots that admin and the commands show."""

from django.db import Error, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse

from django_locqueue.monitoring.access import for_tokens
from django_locqueue.observability.status_json import status_json
from django_locqueue.observability.verdict import Level, Limits, judge, snapshots, unreadable

SERVED = (Level.OK, Level.WARNING)


@transaction.non_atomic_requests  # a database that is away is an answer of ours, not an error before it
@for_tokens("HEALTH_TOKEN", "METRICS_TOKEN")
def health(request: HttpRequest) -> HttpResponse:
    """Answer 200 while tasks are served, else 503, with the reasons."""
    try:
        verdict = judge(snapshots(), Limits.from_settings())
    except Error:
        # Without the driver's words, which name hosts and users.
        verdict = unreadable()
    answer = {"status": verdict.level.value, "problems": list(verdict.problems)}
    return JsonResponse(answer, status=200 if verdict.level in SERVED else 503)


@transaction.non_atomic_requests
@for_tokens("METRICS_TOKEN")
def status(request: HttpRequest) -> HttpResponse:
    """Answer what ``queue_status --json`` prints."""
    try:
        found = snapshots()
        verdict = judge(found, Limits.from_settings())
    except Error:
        found, verdict = [], unreadable()
    return JsonResponse(status_json(found, verdict), status=200 if found else 503)


@transaction.non_atomic_requests
@for_tokens("METRICS_TOKEN")
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer in the text format that Prometheus reads."""
    try:
        from django_locqueue.monitoring import prometheus
    except ImportError:
        text = "Metrics need prometheus-client: pip install 'django-locqueue[prometheus]'\n"
        return HttpResponse(text, "text/plain", 501)
    body, content_type = prometheus.exposition(request.headers.get("Accept", ""))
    return HttpResponse(body, content_type)
