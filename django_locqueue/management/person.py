"""Who types a command."""

import getpass


def name() -> str:
    """Return the operating system's name of the user; empty where it has none (a container with a bare user id)."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
