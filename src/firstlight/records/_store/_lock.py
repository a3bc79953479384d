"""Allow one writer at a time, by a lock that the operating system releases when its holder dies.

Only `_try_lock` and `_try_lock_byte` depend on the operating system. A lock belongs to an open file, so a second lock
on the same file fails even within one process.
"""

import contextlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from firstlight.records._base import utc_now
from firstlight.records._parsing import parse_json
from firstlight.records._store._errors import StoreError, unwritable

_PAUSE = 0.1
_LOCKED_BYTE = 1 << 30


class WriterLock:
    """An exclusive lock on a file beside a store. The file stays after release; only the lock on it counts."""

    def __init__(self, store: Path, wait: float = 0.0) -> None:
        if not wait >= 0:
            raise ValueError(f"wait is a number of seconds, at least 0; got {wait!r}")
        self._path = _beside(store)
        self._store = store
        try:
            store.parent.mkdir(parents=True, exist_ok=True)
            self._file = _acquire(store, os.O_RDWR | os.O_CREAT, wait)
        except OSError as error:
            raise unwritable(store, error) from None
        with contextlib.suppress(OSError):  # on a full disk the holder stays unnamed
            holder = {"pid": os.getpid(), "host": platform.node(), "since": utc_now()}
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, json.dumps(holder).encode())

    def require_held(self) -> None:
        """Raise if the lock's file is gone: the next writer would not see the lock."""
        if not _is_at(self._file, self._path):
            raise StoreError(
                f"the lock {self._path} was deleted or moved while the store {self._store} was being written, so that "
                "another process may write it. Nothing more was written; open the store again."
            )

    def release(self) -> None:
        """Release the lock for the next writer."""
        os.close(self._file)


@contextmanager
def without_writers(store: Path, wait: float = 0.0) -> Iterator[None]:
    """Keep writers out of a store while it is read, even if its folder cannot be written."""
    file = None
    try:
        file = _acquire(store, os.O_RDWR | os.O_CREAT, wait)
    except OSError:
        # A lock needs no write permission. Without a lock file there is no writer; digests detect a torn copy.
        with contextlib.suppress(OSError):
            file = _acquire(store, os.O_RDONLY, wait)
    try:
        yield
    finally:
        if file is not None:
            os.close(file)


def _acquire(store: Path, flags: int, wait: float) -> int:
    path, deadline, is_announced = _beside(store), time.monotonic() + wait, False
    while True:
        file = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)
        try:
            if _try_lock(file):
                if _is_at(file, path):
                    return file
            else:
                holder = _holder(file)
                if time.monotonic() >= deadline:
                    raise StoreError(_taken(store, holder, wait))
                if not is_announced:
                    print(f"waiting up to {wait:g} s for the writer of {store} ({_named(holder)})", file=sys.stderr)
                    is_announced = True
                time.sleep(min(_PAUSE, max(deadline - time.monotonic(), 0)))
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _try_lock(file: int) -> bool:
    """Lock an open file until it is closed or the process ends; return False if it is already locked."""
    try:
        import fcntl
    except ImportError:
        return _try_lock_byte(file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try_lock_byte(file: int) -> bool:
    """Lock a byte, as Windows does, far behind the holder's name, so that others can still read the name."""
    try:
        import msvcrt
    except ImportError:
        raise StoreError(
            "writing a store needs file locks, which this Python offers neither as fcntl nor as msvcrt; "
            "open the store with mode='r', or write it on another system."
        ) from None
    module: Any = msvcrt
    os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
    try:
        module.locking(file, module.LK_NBLCK, 1)
    except OSError:
        return False
    return True


def _beside(store: Path) -> Path:
    return store.with_name(f"{store.name}.lock")


def _is_at(file: int, path: Path) -> bool:
    """Return whether the path leads to this open file."""
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except OSError:
        return False


def _holder(file: int) -> dict[str, object]:
    with contextlib.suppress(ValueError):
        os.lseek(file, 0, os.SEEK_SET)
        holder = parse_json(os.read(file, 1000))
        return holder if isinstance(holder, dict) else {}
    return {}  # the holder has the lock but has not yet written its name


def _named(holder: dict[str, object]) -> str:
    pid, host = holder.get("pid", "unknown"), holder.get("host")
    return f"process {pid}{' (this one)' * (pid == os.getpid())}" + (f" on host {host}" if host else "")


def _taken(store: Path, holder: dict[str, object], wait: float) -> str:
    still, waited = ("still ", f" (waited {wait:g} s)") if wait else ("", "")
    since = holder.get("since", "just now")
    return (
        f"the store {store} is {still}being written by {_named(holder)} since {since}{waited}. "
        "One process writes at a time: wait for it to end, with --wait SECONDS or wait=SECONDS, "
        "or open the store with mode='r', which works at any time."
    )
