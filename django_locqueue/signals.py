"""What happened, beyond Django's own three signals (``task_enqueued``, ``task_started``, ``task_finished``).

Sender: the class of the task's backend for what concerns a task, the worker class for what concerns a worker. Receivers
run in the worker; one that raises is logged and harms nothing.

``claimed``: the ``Claimed`` that the worker had. ``outcome``: an ``Outcome``; of a task that was to be put back and
that somebody had cancelled, the cancellation.
"""

from django.dispatch import Signal

attempt_ended = Signal(use_caching=True)  # sent for each task, always by a class
"""A try ended and its outcome is stored. Arguments: ``claimed``, ``outcome``, ``seconds`` (run time)."""

task_retried = Signal()
"""A try failed and the task waits for the next. Arguments: ``claimed``, ``outcome``."""

task_cancelled = Signal()
"""A task that a worker had ended as cancelled: by itself, or where it would have been put back. Arguments: ``claimed``,
``outcome``. For one that still waited, Django's ``task_finished`` is sent alone."""

task_rescued = Signal()
"""A dead worker's task was taken back. Arguments: ``task_id``, ``worker_name``, ``crashes`` (how often it died so), and
``state`` (what it is now: ready, scheduled, failed or cancelled; Django's ``task_finished`` follows the last two)."""

lease_lost = Signal()
"""A worker's write was refused because the task is no longer its own. Arguments: ``claimed``, ``outcome``."""

tasks_skipped = Signal()
"""Tasks of later steps of a workflow were cancelled, because one before them did not succeed. Sender: the
store's class. Arguments: ``store``, ``ids``. Django's ``task_finished`` follows for each."""

worker_started = Signal()
"""Arguments: ``worker``."""

worker_idle = Signal()
"""Nothing has run for a while. Arguments: ``worker``, ``due`` (seconds until the next scheduled task, or None)."""

worker_stopping = Signal()
"""Arguments: ``worker``, ``running`` (number of tasks that still run), ``grace`` (seconds they get)."""

worker_stopped = Signal()
"""Arguments: ``worker``, ``released`` (number of tasks that were given back)."""
