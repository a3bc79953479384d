"""Files around the records: written so that a reader finds the old or the new one, and where data are found."""

import os
import tempfile
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write `content` beside `path`, flush it to disk, then rename over `path`; creates missing folders.

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
    """Flush the names in a folder to disk, so that a rename survives a power cut."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        if os.name == "nt":  # Windows opens no folders, and writes names through by itself
            return
        raise
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


DATA_VARIABLE = "FIRSTLIGHT_DATA"
"""The environment variable that names the folder with large data."""


def data_directory(given: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder with large data: the one given, else that of `FIRSTLIGHT_DATA`, else None; `~` is the home.

    >>> data_directory("data").name
    'data'
    """
    chosen = given or os.environ.get(DATA_VARIABLE)
    return Path(chosen).expanduser() if chosen else None
