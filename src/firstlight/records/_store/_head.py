"""The first bytes of a file that SQLite has open, read without taking SQLite's locks away.

POSIX drops all locks that a process holds on a file as soon as it closes any descriptor of that file. Without its lock,
a connection is not seen by other programs: the next that closes the file folds and deletes the log that is in use.
"""

import os
import threading
from collections import Counter
from pathlib import Path


class _Open:
    """Per file (device and inode): how many connections this process has, and a descriptor to close after them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.connections: Counter[tuple[int, int]] = Counter()
        self.descriptors: dict[tuple[int, int], int] = {}


_OPEN = _Open()
if hasattr(os, "register_at_fork"):
    # A forked process has none of the locks.
    os.register_at_fork(after_in_child=_OPEN.__init__)


class Connected:
    """Registers a connection to a file, from before it is opened until after it is closed."""

    def __init__(self, path: Path) -> None:
        self._file: tuple[int, int] | None = _identity(os.stat(path))
        with _OPEN.lock:
            _OPEN.connections[self._file] += 1

    def release(self) -> None:
        """Close the descriptor that waits for the last connection, if this is it."""
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
    """The first bytes of a file."""
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
