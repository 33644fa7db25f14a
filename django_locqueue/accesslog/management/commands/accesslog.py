"""``manage.py accesslog import access.log``, and what else is done to the log from a shell."""

import datetime
import os
import sys
from argparse import ArgumentTypeError
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.files.exporting import FORMATS, export
from django_locqueue.accesslog.files.importing import Imported, import_lines
from django_locqueue.accesslog.files.log_file import LogFile
from django_locqueue.accesslog.files.progress import progress
from django_locqueue.accesslog.locating import relocate
from django_locqueue.accesslog.models import AccessLog, Location
from django_locqueue.accesslog.prefix import network_prefix
from django_locqueue.accesslog.privacy import forget
from django_locqueue.accesslog.retention import prune

AGAIN = "The same command goes on: what is stored is left as it is."
INTERRUPTED = 130  # what a shell says of a program that Ctrl+C ended


class Command(BaseCommand):
    help = "Brings log files into the access log, writes it to one, and does to its rows what is asked."

    def add_arguments(self, parser: CommandParser) -> None:
        parts = parser.add_subparsers(dest="part", required=True, metavar="import|export|locate|forget|prune")
        part = parts.add_parser(
            "import", help="store the requests of web servers' logs; the same file again adds nothing"
        )
        part.add_argument(
            "files",
            nargs="+",
            metavar="FILE",
            help='in "combined" or "common" format, plain or gzip; - is standard input',
        )
        part = parts.add_parser("export", help="write the log to standard output, by time")
        part.add_argument("--format", choices=sorted(FORMATS), default="combined", help="default: %(default)s")
        part.add_argument("--since", type=moment, metavar="TIME", help='from then on: 2026-11-30, "2026-11-30 08:00"')
        part.add_argument("--until", type=moment, metavar="TIME", help="before then")
        part.add_argument("--full-ip", action="store_true", help="whole addresses, not their networks' first")
        part = parts.add_parser("locate", help="have networks located again, with the data that are there now")
        part.add_argument(
            "addresses", nargs="*", metavar="ADDRESS", help="whose networks; without any, all whose place is not known"
        )
        part.add_argument("--all", action="store_true", help="all networks, also those that are located")
        part = parts.add_parser("forget", help="take somebody out of the log; the requests stay, and are nobody's")
        who = part.add_mutually_exclusive_group(required=True)
        who.add_argument("--user", metavar="NAME", help="the name that the user logs in with")
        who.add_argument("--user-id", metavar="KEY", help="the user's primary key, of one who is gone too")
        who.add_argument("--ip", metavar="ADDRESS", help="an IP address")
        parts.add_parser("prune", help="delete what has been kept long enough, which a worker does every night")

    def handle(self, *, part: str, **options: Any) -> None:
        getattr(self, f"do_{part}")(**options)

    def do_import(self, *, files: list[str], **_: Any) -> None:
        for name in files:
            self._import(LogFile(name))

    def _import(self, log: LogFile) -> None:
        imported = Imported()
        try:
            with log, progress(log.name, log.size, sys.stderr) as show:
                for imported in import_lines(log):
                    show(log.position, f"{imported.lines:,} lines")
        except OSError as error:
            self._tell(log, imported)
            raise CommandError(f"{log.name} cannot be read: {error}") from error
        except DatabaseError as error:
            self._tell(log, imported)
            raise CommandError(f"The database failed: {error}. {AGAIN}") from error
        except KeyboardInterrupt:
            self._tell(log, imported)
            raise CommandError(f"Stopped. {AGAIN}", returncode=INTERRUPTED) from None
        self._tell(log, imported)
        if imported.bad == imported.lines > 0:
            raise CommandError(f"{log.name} has no line of a log in combined or common format.")

    def _tell(self, log: LogFile, imported: Imported) -> None:
        known = f", {imported.known:,} were there already" if imported.known else ""
        bad = f", {imported.bad:,} are no requests" if imported.bad else ""
        self.stdout.write(f"{log.name}: {imported.lines:,} lines, {imported.stored:,} stored{known}{bad}.")
        for number, reason in imported.examples:
            self.stderr.write(f"  line {number:,}: {reason}")
        if imported.bad > len(imported.examples):
            self.stderr.write(f"  and {imported.bad - len(imported.examples):,} more")
        if imported.is_cut:
            self.stderr.write("  The last line has no end yet; import the file again when it has.")
        if imported.networks:
            self.stdout.write(f"{networks_text(imported.networks)} for a worker (manage.py runqueue) to be located.")
        days = access_log.RETENTION_DAYS
        if days is not None and imported.stored and imported.oldest is not None:
            age = timezone.now() - datetime.datetime.fromtimestamp(imported.oldest, datetime.UTC)
            if age.days > days:
                self.stderr.write(
                    self.style.WARNING(
                        f"The oldest are {age.days:,} days old. Rows are kept for RETENTION_DAYS = {days}: to keep "
                        f'these, set it in LOCQUEUE["ACCESS_LOG"] before the next pruning.'
                    )
                )

    def do_export(self, *, format: str, since: Any, until: Any, full_ip: bool, **_: Any) -> None:
        logs = AccessLog.objects.all()
        if since is not None:
            logs = logs.filter(time__gte=since)
        logs = logs.filter(time__lt=until or timezone.now())
        try:
            for text in export(logs, format, full_ip=full_ip):
                self.stdout.write(text, ending="")
            self.stdout.flush()
        except BrokenPipeError:
            # `| head` has seen enough. What Python has not written yet must not raise it again at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def do_locate(self, *, addresses: list[str], all: bool, **_: Any) -> None:
        networks = Location.objects.all()
        if addresses:
            networks = networks.filter(pk__in=[network_of(text) for text in addresses])
        elif not all:
            networks = networks.exclude(state__in=(Location.State.LOCATED, Location.State.RESERVED))
        count = relocate(networks)
        self.stdout.write(f"{networks_text(count)} for a worker (manage.py runqueue) to be located.")

    def do_forget(self, *, user: str | None, user_id: str | None, ip: str | None, **_: Any) -> None:
        try:
            count = (
                forget(ip=ip)
                if ip is not None
                else forget(user=user_named(user) if user is not None else user_key(user_id))
            )
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Forgotten in {count:,} request{'' if count == 1 else 's'}.")

    def do_prune(self, **_: Any) -> None:
        deleted = ", ".join(f"{what} {count:,}" for what, count in prune().items())
        self.stdout.write(f"Deleted: {deleted}.")


def networks_text(count: int) -> str:
    return f"{count:,} network{' waits' if count == 1 else 's wait'}"


def network_of(text: str) -> str:
    """Return the key of a location, given a network or an address in it."""
    try:
        return text if "/" in text else network_prefix(text, access_log.PREFIX_V4, access_log.PREFIX_V6)
    except ValueError as error:
        raise CommandError(f"expected an address like 203.0.113.9, got {text!r}") from error


def user_named(name: str) -> Any:
    users = get_user_model()
    try:
        return users._default_manager.get_by_natural_key(name)
    except users.DoesNotExist:
        raise CommandError(f"There is no user {name!r}. Of one who is gone, give the primary key: --user-id") from None


def user_key(text: str | None) -> Any:
    try:
        return get_user_model()._meta.pk.to_python(text)
    except ValidationError as error:
        raise CommandError(f"--user-id: {' '.join(error.messages)}") from error


def moment(text: str) -> datetime.datetime:
    """Read a time of the command line, in TIME_ZONE unless it has a zone; a day is its beginning."""
    try:
        parsed = parse_datetime(text if len(text) > len("2026-11-30") else f"{text} 00:00")
    except ValueError:
        parsed = None
    if parsed is None:
        raise ArgumentTypeError(f'expected a time like 2026-11-30 or "2026-11-30 08:00", got {text!r}')
    if settings.USE_TZ:
        return parsed if timezone.is_aware(parsed) else timezone.make_aware(parsed)
    return timezone.make_naive(parsed) if timezone.is_aware(parsed) else parsed
