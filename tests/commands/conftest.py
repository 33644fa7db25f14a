"""How the commands are typed."""

import pytest
from django.core.management import CommandError, call_command

from django_locqueue.store import store_for


@pytest.fixture
def now(db):
    return store_for("default").now()


@pytest.fixture
def typed(capsys):
    """Return a function that types a command and returns its exit code and what it said on stdout and stderr."""

    def type_it(*words, **options):
        code = 0
        try:
            call_command(*words, **options)
        except SystemExit as end:
            code = end.code
        except CommandError as error:
            return error.returncode, "", str(error)
        said = capsys.readouterr()
        return code, said.out, said.err

    return type_it
