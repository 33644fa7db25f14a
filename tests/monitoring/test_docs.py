"""The examples of docs/monitoring.md run as they stand, and its tables are what there is."""

import os
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest
from django.core import checks
from django.core.management import load_command_class
from django.urls import URLPattern, URLResolver, reverse
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from django_locqueue import conf
from django_locqueue.models import TaskStat
from tests.store.rows import put

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]

DOCS = Path(__file__).parents[2].joinpath("docs/monitoring.md").read_text()


def blocks(language, title=""):
    """Return the blocks of a section, or of all."""
    text = DOCS.partition(f"\n## {title}\n")[2].partition("\n## ")[0] if title else DOCS
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def run(source, **names):
    module = ModuleType("project")
    vars(module).update(names)
    exec(compile(source, "docs/monitoring.md", "exec"), vars(module))
    return module


def test_each_command_that_is_shown_takes_its_options():
    lines = re.findall(r"manage\.py (queue_\w+[^\n>\"\]]*)", "\n".join(blocks("bash") + blocks("yaml") + blocks("")))
    assert len(lines) > 8
    for line in lines:
        name, *words = shlex.split(line, comments=True)
        load_command_class("django_locqueue", name).create_parser("manage.py", name).parse_args(words)


def test_the_probe_of_a_container_takes_its_options():
    words = re.search(r'"manage.py", ("queue_status".*?)\]', DOCS)[1]
    name, *options = [word.strip(' "') for word in words.split(",")]
    parsed = load_command_class("django_locqueue", name).create_parser("manage.py", name).parse_args(options)
    assert (parsed.worker, parsed.max_age) == ("worker-1", 60)


def test_the_settings_are_the_defaults(settings):
    [source] = blocks("python", "In a shell")
    settings.LOCQUEUE = {**settings.LOCQUEUE, **run(source, os=os).LOCQUEUE}
    assert checks.run_checks(databases=[]) == []
    assert conf.monitoring.given == conf.monitoring.defaults


def test_the_urls_are_those_of_the_table(settings):
    source, _ = blocks("python", "By HTTP")
    settings.ROOT_URLCONF = run(source)
    listed = dict(re.findall(r"^\| `(queue/[^`]+)` \| `([^`]+)`", DOCS, re.MULTILINE))
    assert {reverse(name).lstrip("/"): name for name in listed.values()} == listed
    [included] = settings.ROOT_URLCONF.urlpatterns
    assert isinstance(included, URLResolver)
    assert len([each for each in included.url_patterns if isinstance(each, URLPattern)]) == len(listed)


def test_the_access_log_leaves_out_what_it_is_told_to(settings):
    _, source = blocks("python", "By HTTP")
    given = {**settings.LOCQUEUE}
    run(source, LOCQUEUE=given)
    settings.LOCQUEUE = given
    assert checks.run_checks(databases=[]) == []


def test_the_metrics_are_those_of_the_table_and_of_the_alerts(worker, now, ask):
    span = {"seconds": TaskStat.MINUTE, "queue_name": "default", "task_path": "shop.tasks.send"}
    TaskStat.objects.create(start=now.replace(second=0, microsecond=0), succeeded=1, wait_5=1, **span)
    put(run_after=now)
    families = {each.name: each for each in text_string_to_metric_families(ask("metrics/").content.decode())}
    listed = dict(re.findall(r"^\| `(locqueue_\w+)` \| ([\w, ]+) \|", DOCS, re.MULTILINE))
    found = {name: sorted(each.samples[0].labels) for name, each in families.items()}
    assert found == {name: sorted(labels.split(", ")) for name, labels in listed.items()}
    assert set(re.findall(r"locqueue_[a-z0-9_]+", "\n".join(blocks("yaml", "Prometheus")))) <= set(families)


def test_the_states_of_the_alerts_are_states(worker, now, ask):
    put(run_after=now)
    text = ask("metrics/").content.decode()
    used = re.findall(r'state(?:=|!~)"([^"]+)"', "\n".join(blocks("yaml", "Prometheus")))
    assert used
    for state in "|".join(used).split("|"):
        assert f'state="{state}"' in text


def test_a_projects_own_endpoint_gets_the_metrics(worker, monkeypatch):
    registry = CollectorRegistry()
    monkeypatch.setattr("prometheus_client.REGISTRY", registry)
    [source] = blocks("python", "Prometheus")
    run(source)
    assert registry.get_sample_value("locqueue_up", {"database": "default"}) == 1
