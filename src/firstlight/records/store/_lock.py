"""One writer at a time, by a lock that the operating system drops when its holder dies."""

import contextlib
import json
import os
from pathlib import Path

from firstlight.records._base import utc_now
from firstlight.records.store._errors import StoreError


class WriterLock:
    """An exclusive `flock` on a file beside the store. The file stays; only the lock on it means anything."""

    def __init__(self, store: Path) -> None:
        try:
            store.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(store.with_name(f"{store.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise StoreError(f"the store {store} cannot be written ({error.strerror}); choose another place.") from None
        try:
            if not _try_lock(self._file):
                raise StoreError(_taken(store, self._read()))
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, json.dumps({"pid": os.getpid(), "since": utc_now()}).encode(), 0)
        except BaseException:
            os.close(self._file)
            raise

    def release(self) -> None:
        """Let the next writer in."""
        os.close(self._file)

    def _read(self) -> dict[str, object]:
        with contextlib.suppress(ValueError):
            holder = json.loads(os.pread(self._file, 1000, 0))
            return holder if isinstance(holder, dict) else {}
        return {}  # the holder has the lock but has not yet written its name


def _try_lock(file: int) -> bool:
    try:
        import fcntl
    except ImportError:
        raise StoreError(
            "writing a store needs the file locks of Linux or macOS; on Windows run firstlight inside WSL."
        ) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _taken(store: Path, holder: dict[str, object]) -> str:
    pid = holder.get("pid", "unknown")
    here = " (this one)" if pid == os.getpid() else ""
    return (
        f"the store {store} is being written by process {pid}{here} since "
        f"{holder.get('since', 'just now')}. One process writes at a time: wait for it to end, "
        "or open the store with mode='r', which works at any time."
    )
