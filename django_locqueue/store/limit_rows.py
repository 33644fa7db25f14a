"""The rows of limits: their lock, under which tasks are claimed, and what is remembered there of a rate."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from django_locqueue import clock
from django_locqueue.models import Limit
from django_locqueue.policies.limits import CONCURRENCY, RATE
from django_locqueue.policies.ratelimit import Bucket, Rate
from django_locqueue.policies.terms import Terms, load_terms
from django_locqueue.store.base import StoreBase, repeated
from django_locqueue.store.values import Claimed

LIMITS = Limit._meta.db_table
SERVED_SECONDS = 3600.0  # how exactly `served_at` is kept
IDLE_HOURS = 24.0  # after which a limit is forgotten that nobody uses

_COLUMNS = "full_at, since, next_at, paused_until, served_at, concurrency, rate"


class LimitRow(NamedTuple):
    """A limit's row, under its lock. ``at``: when that was got."""

    key: str
    at: datetime
    full_at: datetime | None
    since: datetime | None
    next_at: datetime | None
    paused_until: datetime | None
    served_at: datetime | None
    concurrency: int | None
    rate: str

    @property
    def bucket(self) -> Bucket:
        return Bucket(self.full_at, self.since)

    def tokens(self, rate: Rate) -> int:
        return 0 if self._is_paused else self.bucket.tokens(rate, self.at)

    def open_at(self, rate: Rate) -> datetime:
        """Return when the rate will give a token, as things are."""
        return self.paused_until if self._is_paused else self.bucket.next_at(rate, self.at)  # type: ignore[return-value]

    @property
    def _is_paused(self) -> bool:
        return self.paused_until is not None and self.paused_until > self.at


class LimitKeeping(StoreBase):
    @property
    def limits(self) -> "QuerySet[Limit]":
        return Limit.objects.using(self.alias)

    def lock_limit(self, key: str, now: datetime | None) -> LimitRow | None:
        """Lock a limit's row until the transaction ends, and make it if there is none. None: another has the lock."""
        rows = self._locked_limit(key)
        if not rows and not self.limits.filter(pk=key).exists():
            self.limits.bulk_create([Limit(key=key, served_at=self.time(now))], ignore_conflicts=True)
            rows = self._locked_limit(key)
        if not rows:
            return None
        load = self.load_time
        at, *times, concurrency, rate = rows[0]
        full_at, since, next_at, paused_until, served_at = (None if each is None else load(each) for each in times)
        present = load(at) if now is None else clock.storable(now)
        return LimitRow(key, present, full_at, since, next_at, paused_until, served_at, concurrency, rate)

    def _locked_limit(self, key: str) -> Sequence[Any]:
        columns = f"{clock.now_sql(self.connection)}, {_COLUMNS}"
        return self.fetch(f"SELECT {columns} FROM {LIMITS} WHERE {LIMITS}.key = %s {self.skip_locked}", [key])

    def change_limit(self, row: LimitRow, **changes: Any) -> None:
        """Write what is new in a row whose lock we have."""
        if row.served_at is None or (row.at - row.served_at).total_seconds() >= SERVED_SECONDS:
            changes["served_at"] = row.at
        if new := {name: value for name, value in changes.items() if value != getattr(row, name)}:
            self.limits.filter(pk=row.key).update(**new)

    def take_tokens(self, row: LimitRow, rate: Rate, tokens: int) -> LimitRow:
        """Take tokens from a row whose lock we have; return it as it is now."""
        left = row._replace(**row.bucket.take(rate, tokens, row.at)._asdict())
        left = left._replace(next_at=left.open_at(rate), rate=str(rate))
        self.change_limit(row, full_at=left.full_at, since=left.since, next_at=left.next_at, rate=left.rate)
        return left

    @repeated
    def pause_rate(self, task: Claimed, seconds: float, *, now: datetime | None = None) -> bool:
        """Let nothing start for some seconds under the rate of this task; a longer pause stays. False: it has none."""
        key = rate_key(load_terms(task.terms))
        if key is None:
            return False
        until = self.time(now) + timedelta(seconds=seconds)
        shorter = Q(paused_until=None) | Q(paused_until__lt=until)
        self.limits.filter(shorter, pk=key).update(paused_until=until, next_at=until)
        return True

    @repeated
    def resume_rate(self, key: str, *, now: datetime | None = None) -> bool:
        """End the pause of the limit that holds a rate's tokens. False if it was not paused, or its pause was over."""
        time = self.time(now)
        with self.transaction():
            limit = self.limits.select_for_update().filter(pk=key, paused_until__gt=time).first()
            if limit is None:
                return False
            self.limits.filter(pk=key).update(paused_until=None, next_at=None)
            # Who is under this rate by another key has noted the pause as his own next start. Whose that is nobody
            # knows, so all of them are looked at once more.
            noted = self.limits.filter(key__startswith=CONCURRENCY, next_at__gt=time, next_at__lte=limit.paused_until)
            noted.update(next_at=None)
            return True

    @repeated
    def return_rate(self, task: Claimed, *, now: datetime | None = None) -> bool:
        """Give back the token of a task that has not done what its rate counts. False: it has none, or it is too late.

        Too late: what has started since stands in its place, see ``policies.ratelimit``.
        """
        terms = load_terms(task.terms)
        key, rate = rate_key(terms), rate_of(terms)
        if key is None or rate is None:
            return False
        with self.transaction():
            row = self.limits.select_for_update().filter(pk=key).first()
            if row is None:
                return False
            at = self.moment(now)
            old = Bucket(row.full_at, row.since)
            new = old.give_back(rate, task.last_attempted_at, at)
            if new == old:
                return False
            row.full_at, row.since = new
            row.next_at = new.next_at(rate, at)
            row.save(using=self.alias, update_fields=["full_at", "since", "next_at"])
            return True

    @repeated
    def prune_limits(self, *, hours: float = IDLE_HOURS, now: datetime | None = None) -> int:
        """Delete limits that nobody has used for long, and that hold back nothing any more; return how many."""
        old = self.time(now) - timedelta(hours=hours)
        idle = self.limits.filter(served_at__lt=old)
        for column in ("full_at", "paused_until"):
            idle = idle.filter(Q(**{column: None}) | Q(**{f"{column}__lt": old}))
        return idle._raw_delete(self.alias)


def rate_key(terms: Terms) -> str | None:
    """Return the key of the limit that holds a rate's tokens."""
    return None if terms.rate_key is None else f"{RATE}{terms.rate_key}"


def rate_of(terms: Terms) -> Rate | None:
    if terms.rate_key is None or terms.rate_limit is None or terms.rate_seconds is None:
        return None
    return Rate(terms.rate_limit, terms.rate_seconds)
