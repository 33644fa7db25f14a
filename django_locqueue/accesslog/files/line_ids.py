"""What a line of a file is known by, so that importing it twice adds nothing."""

import hashlib

from django.conf import settings

WINDOW = 100_000


class LineIds:
    """Gives each line of a file an id that the same line gets again.

    Two requests may leave equal lines; then they were logged within a second or so, and are told apart by counting.
    Equal lines that are further apart than ``WINDOW`` different ones are one that was copied.
    """

    def __init__(self) -> None:
        # Keyed: else whoever sees an id and a shortened address could try which address gives that id.
        self._key = hashlib.sha256(f"django_locqueue.accesslog.files{settings.SECRET_KEY}".encode()).digest()
        # Two halves of a window: the older is forgotten when the younger is full.
        self._young: dict[bytes, int] = {}
        self._old: dict[bytes, int] = {}

    def id_of(self, line: bytes, time: float) -> str:
        """Return 32 hex digits. They begin with the second, so that the index of ids grows at one place."""
        digest = hashlib.blake2b(line, digest_size=12, key=self._key).digest()
        count = self._young.get(digest) or self._old.get(digest, 0)
        if len(self._young) >= WINDOW:
            self._old, self._young = self._young, {}
        self._young[digest] = count + 1
        if count:
            digest = hashlib.blake2b(b"%d %s" % (count, digest), digest_size=12, key=self._key).digest()
        return f"{int(time) % 2**32:08x}{digest.hex()}"
