"""What else has to do with a task: others like it, what it is a copy of, and what people did to it."""

import sys
from contextlib import suppress
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from django_locqueue import compat, conf, registry
from django_locqueue.admin import moments
from django_locqueue.admin.facts import Fact, metadata_of
from django_locqueue.exceptions import UnknownTask
from django_locqueue.models import State, Task, orderings
from django_locqueue.observability.stats import capped_counts, capped_text
from django_locqueue.policies import legible, masking
from django_locqueue.policies.outcome import class_path
from django_locqueue.statement_limit import TooSlow, statement_limit
from django_locqueue.verbs import COPY_OF

LOG_SHOWN = 20
PARENT = "parent"  # in the metadata: the id of the task that enqueued this one, where a project writes it


class Alike(NamedTuple):
    """Failed tasks with the same kind of error. ``place``: in whose code it was raised."""

    others: str  # how many there are besides; empty: none
    url: str
    place: str


def of_kind(fingerprint: str) -> Any:
    """Return the failed tasks of a kind of error that nobody dismissed, in the order of its index."""
    return orderings.in_error_index(Task.objects.all(), fingerprint).order_by(*orderings.FINISHED)


def alike(task: Any, site_name: str) -> Alike | None:
    """Return what there is to say of the kind of error of a failed task."""
    if task.state != State.FAILED or task.error_group_id is None:
        return None
    count, others = "?", of_kind(task.error_group_id).exclude(pk=task.pk)  # as its list has them
    with suppress(TooSlow), statement_limit(others.db, conf.admin.STATEMENT_SECONDS):
        count = capped_text(capped_counts({"others": others})["others"])
    url = reverse("admin:locqueue_failedtask_changelist", current_app=site_name)
    place = "" if task.error_group is None else legible.line(task.error_group.place)
    return Alike("" if count == "0" else count, f"{url}?group={task.error_group_id}", place)


def is_gone(task: Any) -> bool:
    """Whether its function no longer exists, as far as can be said without importing anything for a page."""
    path = registry.present_path(task.task_path)
    if path in registry.definitions():
        return False
    module, _dot, name = path.rpartition(".")
    if (loaded := sys.modules.get(module)) is not None:
        return not isinstance(getattr(loaded, name, None), compat.Task)
    # A worker that did not know it has said so on the row; it may have come since.
    was_unknown = task.unknown_since is not None or task.error_class == class_path(UnknownTask)
    return was_unknown and not _can_be_found(module)


def _can_be_found(module: str) -> bool:
    """Whether there is a module of this name. Its packages are looked at, and not imported."""
    name, folders = "", None
    for part in module.split("."):
        name = f"{name}.{part}".lstrip(".")
        try:
            spec = PathFinder.find_spec(name, folders)
        except Exception:  # what finders of others raise
            return True
        if spec is None:
            return False
        folders = spec.submodule_search_locations
    return True


def related_facts(task: Any, site_name: str) -> list[Fact]:
    metadata = metadata_of(task)
    found: list[Fact] = []
    for label, key in ((_("Parent"), PARENT), (_("Copy of"), COPY_OF)):
        if type(task_id := metadata.get(key)) is int and 0 < task_id < 2**63:
            url = reverse("admin:locqueue_task_change", args=[task_id], current_app=site_name)
            found.append((label, format_html('<a href="{}">#{}</a>', url, task_id)))
    if task.dismissed:
        found.append((_("Dismissed"), _("It is not in the list of failed tasks.")))
    if task.retried_by:
        found.append((_("Retried by"), legible.line(task.retried_by)))
    return found


def log_of(task: Any) -> list[tuple[Any, str, str]]:
    """Return what people did to it, the latest first: when, who, and what."""
    kind = ContentType.objects.get_for_model(Task)
    entries = LogEntry.objects.filter(content_type=kind, object_id=str(task.pk)).select_related("user")
    return [
        (
            moments.time_tag(entry.action_time),
            legible.line(entry.user.get_username()),
            legible.line(masking.mask_text(entry.get_change_message())),
        )
        for entry in entries.order_by("-action_time")[:LOG_SHOWN]
    ]
