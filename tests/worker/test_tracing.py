"""The trace of a request goes on in the worker: the span of a run is linked to that in which it was enqueued."""

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from django_locqueue.models import Task
from django_locqueue.observability import tracing
from tests import chunked_tasks, hooks, retried_tasks, tasks
from tests.running import row, run_chunk, run_next, run_on_loop

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter, monkeypatch, settings):
    """Return a tracer whose spans are kept, as are those of our hook."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    # Not the global provider, which can be set once in a process only.
    monkeypatch.setattr(tracing.trace, "get_tracer", lambda name, version: provider.get_tracer(name))
    options = {"MIDDLEWARE": ["django_locqueue.observability.tracing.TraceContext"]}
    settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": options}}
    return provider.get_tracer("tests")


def test_a_call_has_a_span_in_the_trace_of_its_request(tracer, exporter):
    with tracer.start_as_current_span("request") as request:
        tasks.add.using(queue_name="mail").enqueue(1)
    [span, _] = exporter.get_finished_spans()
    assert (span.name, span.kind) == ("enqueue tests.tasks.add", trace.SpanKind.PRODUCER)
    assert span.parent.span_id == request.get_span_context().span_id
    assert span.context.trace_id == request.get_span_context().trace_id
    assert span.attributes["messaging.destination.name"] == "mail"


def test_the_trace_context_travels_in_the_metadata(tracer, exporter):
    with tracer.start_as_current_span("request"):
        result = tasks.add.using(metadata={"tenant": "acme"}).enqueue(1)
    context = exporter.get_finished_spans()[0].context
    metadata = row(result).metadata
    assert metadata["tenant"] == "acme"
    version, trace_id, span_id, _ = metadata["traceparent"].split("-")
    assert (version, int(trace_id, 16), int(span_id, 16)) == ("00", context.trace_id, context.span_id)


@pytest.mark.parametrize("run", [run_next, run_on_loop])
def test_a_run_is_linked_to_its_enqueue(tracer, exporter, run):
    with tracer.start_as_current_span("request"):
        result = tasks.echo_async.enqueue(1)
    run()
    enqueue, _, span = exporter.get_finished_spans()
    assert span.name == "run tests.tasks.echo_async"
    [link] = span.links
    assert (link.context.trace_id, link.context.span_id) == (enqueue.context.trace_id, enqueue.context.span_id)
    assert span.parent is None
    assert span.kind is trace.SpanKind.CONSUMER
    assert (span.attributes["messaging.message.id"], span.attributes["messaging.destination.name"]) == (
        result.id,
        "default",
    )


def test_the_span_is_the_current_one_while_the_task_runs(tracer, exporter):
    result = hooks.name_span.enqueue()
    run_next()
    result.refresh()
    [span] = exporter.get_finished_spans()
    assert result.return_value == trace.format_span_id(span.context.span_id)


def test_without_a_span_nothing_is_kept_and_nothing_linked(tracer, exporter):
    result = tasks.add.enqueue(1)
    run_next()
    [span] = exporter.get_finished_spans()
    assert (row(result).metadata, list(span.links)) == (None, [])


def test_a_failure_is_recorded_in_the_span(tracer, exporter):
    tasks.fail.enqueue("broken")
    run_next()
    [span] = exporter.get_finished_spans()
    assert span.status.status_code is trace.StatusCode.ERROR
    assert [event.name for event in span.events] == ["exception"]


def test_what_a_task_asks_for_is_no_failure(tracer, exporter):
    retried_tasks.snooze.enqueue(60)
    run_next()
    [span] = exporter.get_finished_spans()
    assert span.status.status_code is trace.StatusCode.UNSET
    assert span.attributes["locqueue.verdict"] == "asked to run again in 60 s"


@pytest.mark.parametrize("metadata", [{"traceparent": "nonsense"}, {"traceparent": 5}])
def test_a_trace_context_that_is_none_is_left_alone(tracer, exporter, metadata):
    tasks.add.using(metadata=metadata).enqueue(1)
    run_next()
    [span] = exporter.get_finished_spans()
    assert list(span.links) == []


def test_what_a_task_enqueues_goes_on_in_the_trace_of_its_run(tracer, exporter):
    hooks.enqueue_another.enqueue()
    run_next()
    run_next()
    enqueue, first, second = exporter.get_finished_spans()
    assert enqueue.parent.span_id == first.context.span_id
    assert [link.context.span_id for link in second.links] == [enqueue.context.span_id]


def test_each_attempt_is_a_span_linked_to_the_same_enqueue(tracer, exporter):
    with tracer.start_as_current_span("request"):
        retried_tasks.snooze.enqueue(0)
    for _ in range(2):
        Task.objects.update(state="ready")
        run_next()
    enqueue, _, *runs = exporter.get_finished_spans()
    assert [[link.context.span_id for link in run.links] for run in runs] == [[enqueue.context.span_id]] * 2


def test_the_run_of_a_chunk_is_linked_to_each_of_its_calls(tracer, exporter):
    with tracer.start_as_current_span("request"):
        for number in range(3):
            chunked_tasks.note.enqueue(number)
    run_chunk()
    *enqueues, _, run = exporter.get_finished_spans()
    assert [link.context.span_id for link in run.links] == [span.context.span_id for span in enqueues]
    assert run.attributes["messaging.batch.message_count"] == 3
