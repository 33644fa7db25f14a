"""The store: every write to a task row, and every transaction. The list of its verbs is the glossary."""

from django_locqueue.store.control import Controlling
from django_locqueue.store.enqueue import Enqueuing
from django_locqueue.store.serve import Serving


class Store(Enqueuing, Serving, Controlling):
    """Verbs of all databases. A vendor's file overrides the smallest step that the database forces."""
