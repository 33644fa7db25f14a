#!/usr/bin/env python
"""The shop's commands: ``python testproject/manage.py runserver``."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

if __name__ == "__main__":
    # Started as a file, Python looks for modules beside it; the project's name is `testproject`, one folder up.
    sys.path = [str(HERE.parent), *(entry for entry in sys.path if entry != str(HERE))]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "testproject.settings")

    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
