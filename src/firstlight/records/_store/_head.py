"""Read the first bytes of a file that SQLite has open, without releasing SQLite's locks.

POSIX drops all locks that a process holds on a file as soon as it closes any descriptor of that file. Other programs do
not see a connection without its lock: the next program that closes the file deletes the log that is in use.
"""

import os
import threading
from collections import Counter
from pathlib import Path


class _Open:
    """Per file (device and inode): the number of connections of this process, and a descriptor to close after them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.connections: Counter[tuple[int, int]] = Counter()
        self.descriptors: dict[tuple[int, int], int] = {}


_OPEN = _Open()
if hasattr(os, "register_at_fork"):
    # A forked process has none of the locks.
    os.register_at_fork(after_in_child=_OPEN.__init__)


class Connected:
    """Registers a connection to a file; created before the connection opens and released after it closes."""

    def __init__(self, path: Path) -> None:
        self._file: tuple[int, int] | None = _identity(os.stat(path))
        with _OPEN.lock:
            _OPEN.connections[self._file] += 1

    def release(self) -> None:
        """Remove the registration; the last connection also closes the waiting descriptor."""
        with _OPEN.lock:
            file, self._file = self._file, None
            if file is None:
                return
            _OPEN.connections[file] -= 1
            if not _OPEN.connections[file]:
                del _OPEN.connections[file]
                if file in _OPEN.descriptors:
                    os.close(_OPEN.descriptors.pop(file))


def read_head(path: Path, size: int = 100) -> bytes:
    """Return the first bytes of a file."""
    with _OPEN.lock:
        descriptor = _OPEN.descriptors.get(_identity(os.stat(path)))
        if descriptor is None:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        file = _identity(os.fstat(descriptor))
        try:
            os.lseek(descriptor, 0, os.SEEK_SET)
            return os.read(descriptor, size)
        finally:
            if _OPEN.connections[file]:
                _OPEN.descriptors[file] = descriptor
            else:
                os.close(descriptor)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
