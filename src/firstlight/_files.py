"""Atomic file writes, and the folder with large data."""

import os
import tempfile
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write `content` to `path` so that readers see the old or the new file, never a part of one.

    The content goes to a temporary file in the same folder, is flushed to disk and renamed. Missing folders are made.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/new/a.txt", b"whole").read_bytes()
    b'whole'
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        # mkstemp makes private files; a figure or a report is meant to be shared.
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Flush a folder's entries to disk, so that a rename survives a power cut."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        if os.name == "nt":  # Windows cannot open folders, and flushes their entries itself
            return
        raise
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


DATA_VARIABLE = "FIRSTLIGHT_DATA"
"""Environment variable with the path of the folder for large data."""


def data_directory(given: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder with large data: `given`, else the value of `FIRSTLIGHT_DATA`, else None; expand `~`.

    >>> data_directory("data").name
    'data'
    """
    chosen = given or os.environ.get(DATA_VARIABLE)
    return Path(chosen).expanduser() if chosen else None
