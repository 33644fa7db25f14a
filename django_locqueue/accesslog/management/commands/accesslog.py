"""``manage.py accesslog import access.log``, and what else is done with the log from a shell."""

import datetime
import os
import sys
from argparse import ArgumentTypeError
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.files.exporting import FORMATS, export
from django_locqueue.accesslog.files.importing import Report, import_lines
from django_locqueue.accesslog.files.log_file import STDIN, LogFile
from django_locqueue.accesslog.files.progress import progress
from django_locqueue.accesslog.models import AccessLog

INTERRUPTED = 130  # what a shell says of a program that Ctrl+C ended


class Command(BaseCommand):
    help = "Brings log files into the access log, writes it to one, and does to its rows what is asked."

    def add_arguments(self, parser: CommandParser) -> None:
        parts = parser.add_subparsers(dest="part", required=True, metavar="import|export")
        part = parts.add_parser("import", help="store the requests of web servers' logs; the same file again adds nothing")
        part.add_argument(
            "files", nargs="+", metavar="FILE", help='in "combined" or "common" format, plain or gzip; - is standard input'
        )
        part = parts.add_parser("export", help="write the log to standard output, by time")
        part.add_argument("--format", choices=sorted(FORMATS), default="combined", help="default: %(default)s")
        part.add_argument("--since", type=moment, metavar="TIME", help='from then on: 2026-11-30, "2026-11-30 08:00"')
        part.add_argument("--until", type=moment, metavar="TIME", help="before then")
        part.add_argument("--full-ip", action="store_true", help="whole addresses, not their networks' first")

    def handle(self, *, part: str, **options: Any) -> None:
        getattr(self, f"do_{part}")(**options)

    def do_import(self, *, files: list[str], **_: Any) -> None:
        for name in files:
            self._import(LogFile(name))

    def _import(self, log: LogFile) -> None:
        report = Report()
        try:
            with log, progress(log.name, log.size, sys.stderr) as show:
                for report in import_lines(log):
                    show(log.position, f"{report.lines:,} lines")
        except (OSError, EOFError) as error:
            self._tell(log, report)
            raise CommandError(f"{log.name} cannot be read: {error}") from error
        except KeyboardInterrupt:
            self._tell(log, report)
            raise CommandError(
                "Stopped. The same command goes on: what is stored is left as it is.", returncode=INTERRUPTED
            ) from None
        self._tell(log, report)
        if report.bad == report.lines > 0:
            raise CommandError(f"{log.name} has no line of a log in combined or common format.")

    def _tell(self, log: LogFile, report: Report) -> None:
        known = f", {report.known:,} were there already" if report.known else ""
        bad = f", {report.bad:,} are no requests" if report.bad else ""
        self.stdout.write(f"{log.name}: {report.lines:,} lines, {report.stored:,} stored{known}{bad}.")
        for number, reason in report.examples:
            self.stderr.write(f"  line {number:,}: {reason}")
        if report.bad > len(report.examples):
            self.stderr.write(f"  and {report.bad - len(report.examples):,} more")
        if report.is_cut:
            self.stderr.write("  The last line has no end yet; import the file again when it has.")
        if report.networks:
            self.stdout.write(f"{report.networks:,} networks wait for a worker (manage.py runqueue) to locate them.")
        days = access_log.RETENTION_DAYS
        if days is not None and report.oldest is not None:
            age = timezone.now() - datetime.datetime.fromtimestamp(report.oldest, datetime.UTC)
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
