"""What happened, beyond Django's own three signals (``task_enqueued``, ``task_started``, ``task_finished``).

Sender: the backend class for what concerns a task, the worker class for what concerns a worker. Receivers run in
the worker; one that raises is logged and harms nothing.
"""

from django.dispatch import Signal

attempt_ended = Signal()
"""A try ended and its outcome is stored. Arguments: ``claimed``, ``outcome``, ``seconds`` (run time)."""

task_retried = Signal()
"""A try failed and the task waits for the next. Arguments: ``claimed``, ``outcome``."""

task_cancelled = Signal()
"""A running task ended as cancelled. Arguments: ``claimed``, ``outcome``."""

task_rescued = Signal()
"""A dead worker's task was taken back. Arguments: ``task_id``, ``worker_name``, ``state`` (ready later, or failed)."""

lease_lost = Signal()
"""A worker's write was refused because the task is no longer its own. Arguments: ``claimed``, ``outcome``."""

worker_started = Signal()
"""Arguments: ``worker``."""

worker_idle = Signal()
"""Nothing has run for a while. Arguments: ``worker``, ``due`` (seconds until the next scheduled task, or None)."""

worker_stopping = Signal()
"""Arguments: ``worker``, ``running`` (number of tasks that still run), ``grace`` (seconds they get)."""

worker_stopped = Signal()
"""Arguments: ``worker``, ``released`` (number of tasks that were given back)."""
