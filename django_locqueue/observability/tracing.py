"""A hook that lets traces go on in the worker: ``MIDDLEWARE = ["django_locqueue.observability.tracing.TraceContext"]``.

Needs ``pip install django-locqueue[opentelemetry]``.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.core.exceptions import ImproperlyConfigured

from django_locqueue import __version__
from django_locqueue.exceptions import Verdict
from django_locqueue.hooks import ClaimedTask, NewCall

try:
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError as error:
    raise ImproperlyConfigured(
        "Trace context needs opentelemetry-api: pip install 'django-locqueue[opentelemetry]'"
    ) from error

KEYS = ("traceparent", "tracestate")  # of the metadata, by W3C Trace Context


class TraceContext:
    """Gives each call that is enqueued within a trace a span of its own there, and links the span of each run to it.

    A link and not a child: a task may run long after the trace of its request has ended, and again.
    """

    async_capable = True

    def __init__(self) -> None:
        self._propagator = TraceContextTextMapPropagator()
        self._tracer = trace.get_tracer("django_locqueue", __version__)

    def before_enqueue(self, call: NewCall) -> NewCall:
        if not trace.get_current_span().get_span_context().is_valid:
            return call  # nobody traces what enqueues it
        carrier: dict[str, str] = {}
        path = call.definition.module_path
        # Over before the row is stored, in its caller's transaction, which is the database's span and not this one's.
        with self._tracer.start_as_current_span(
            f"enqueue {path}",
            kind=trace.SpanKind.PRODUCER,
            attributes={**_attributes(path, call.queue_name), "messaging.operation.type": "create"},
        ):
            self._propagator.inject(carrier)
        return call.changed(metadata={**call.metadata, **carrier})

    def around_run(self, task: ClaimedTask, run: Callable[[], Any]) -> Any:
        if iscoroutinefunction(run):
            return self._await_in_span(task, run)
        with self._span(task):
            return run()

    async def _await_in_span(self, task: ClaimedTask, run: Callable[[], Any]) -> Any:
        with self._span(task):
            return await run()

    @contextmanager
    def _span(self, task: ClaimedTask) -> Iterator[None]:
        enqueued_in = [self._enqueued_in(each.metadata) for each in task.chunk or (task,)]
        links = [trace.Link(context) for context in enqueued_in if context.is_valid]
        path = task.definition.module_path
        with self._tracer.start_as_current_span(
            f"run {path}",
            kind=trace.SpanKind.CONSUMER,
            links=links,
            attributes={
                **_attributes(path, task.queue_name),
                "messaging.operation.type": "process",
                "messaging.message.id": task.id,
                "locqueue.attempt": task.attempt,
                **({"messaging.batch.message_count": len(task.chunk)} if task.chunk else {}),
            },
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield
            except Verdict as verdict:  # Retry, Snooze, Cancel: what the task wants, and no error
                span.set_attribute("locqueue.verdict", str(verdict))
                raise
            except BaseException as error:
                span.record_exception(error)
                span.set_status(trace.StatusCode.ERROR, f"{type(error).__name__}: {error}")
                raise

    def _enqueued_in(self, metadata: Mapping[str, Any]) -> trace.SpanContext:
        carrier = {key: metadata[key] for key in KEYS if isinstance(metadata.get(key), str)}
        return trace.get_current_span(self._propagator.extract(carrier)).get_span_context()


def _attributes(path: str, queue_name: str) -> dict[str, str]:
    """Return what both spans say, in the words of OpenTelemetry's conventions for messages."""
    return {
        "code.function.name": path,
        "messaging.system": "django_locqueue",
        "messaging.destination.name": queue_name,
    }
