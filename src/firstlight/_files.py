"""Atomic file writes, and the folders for large data and for results that can be computed again."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
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
    with _written_beside(target, content) as name:
        os.replace(name, target)
    return target


def create_atomically(path: str | os.PathLike[str], content: bytes) -> bool:
    """Write `content` to `path` unless a file is there; return whether it was written.

    Of several processes that create one file at once, exactly one writes it, and readers see it whole.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     create_atomically(f"{folder}/a.txt", b"first"), create_atomically(f"{folder}/a.txt", b"second")
    (True, False)
    """
    target = Path(path)
    with _written_beside(target, content) as name:
        try:
            os.link(name, target)
        except FileExistsError:
            return False
        except OSError:  # a filesystem without hard links: the last of two that write at the same moment stays
            if target.exists():
                return False
            os.replace(name, target)
    return True


@contextlib.contextmanager
def _written_beside(target: Path, content: bytes) -> Iterator[str]:
    """Yield the name of a temporary file with `content`, flushed to disk, in the folder of `target`."""
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
        yield name
    finally:
        Path(name).unlink(missing_ok=True)


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


CACHE_VARIABLE = "FIRSTLIGHT_CACHE"
"""Environment variable with the path of the folder for results that can be computed again."""


def cache_directory() -> Path:
    """Return the user's cache folder: the value of `FIRSTLIGHT_CACHE`, else `firstlight` in the system's cache folder.

    >>> cache_directory().is_absolute()
    True
    """
    if given := os.environ.get(CACHE_VARIABLE):
        return Path(given).expanduser().absolute()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "firstlight"


def write_to_cache(name: str, content: bytes) -> bool:
    """Write a file below the cache folder; return False if the folder cannot be written, since a cache is optional."""
    try:
        write_atomically(cache_directory() / name, content)
    except OSError:
        return False
    return True


def read_from_cache(name: str) -> bytes | None:
    """Return the content of a file below the cache folder, or None if it is not there."""
    try:
        return (cache_directory() / name).read_bytes()
    except OSError:
        return None
