"""The path of a store, with all links followed, or the reason why no store can be there."""

import errno
import os
import stat
from pathlib import Path

from firstlight.records._store._errors import StoreError

_LOGS = ("-wal", "-shm", "-journal")
_FILES = (*_LOGS, ".lock")
_FOLDERS = (".blobs", ".checkpoints")
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe (FIFO)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFREG: "a file",
}


def locate(given: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a store with every symbolic link followed; raise if it cannot be a store.

    The function creates and opens no file, so a pipe cannot block the caller.

    >>> locate("runs.sqlite").is_absolute()
    True
    """
    path = require_name(given)
    problem = _problem(path)
    if problem:
        raise StoreError(
            f"the store {path} cannot be used: {problem}. Name a file, or a place where it can be created."
        )
    path = Path(os.path.realpath(path))
    for suffix in _FILES:
        _require_kind(path, suffix, stat.S_IFREG, "Move it away: a store creates this file itself")
    return path


def require_name(given: str | os.PathLike[str]) -> Path:
    """Raise for a name that no store can have: empty, with a NUL character, or ending like a folder or a log."""
    name = os.fsdecode(given)
    if not name:
        raise StoreError("the path of the store is empty; name a file, such as runs.sqlite.")
    if "\0" in name:
        raise StoreError(f"the path of the store contains a NUL character: {name!r}; name a file, such as runs.sqlite.")
    if name[-1] in (os.sep, os.altsep):
        raise StoreError(f"{name} ends like a folder; name the file of the store, such as {name}runs.sqlite.")
    if name.endswith(_LOGS):
        # SQLite deletes a file of this name when it closes the store of the name without the suffix.
        raise StoreError(f"{name} ends like a log of SQLite ({', '.join(_LOGS)}); name a file, such as runs.sqlite.")
    return Path(name)


def require_own_folders(path: Path) -> None:
    """Raise if the arrays or checkpoints of a store are behind a link or are not a folder."""
    for suffix in _FOLDERS:
        # Stores that share a folder delete each other's files.
        _require_kind(
            path, suffix, stat.S_IFDIR, "Put the folder itself there, or link the folder that holds the store"
        )


def _problem(path: Path) -> str:
    """Describe the first part of a path that prevents a store; return '' if there is none."""
    for place in reversed((path, *path.parents)):
        try:
            status = os.stat(place)
        except FileNotFoundError:
            if place.is_symlink():
                return f"{place} is a symbolic link to {os.readlink(place)}, which does not exist"
            return ""
        except OSError as error:
            if error.errno == errno.ELOOP:
                return f"{place} is a symbolic link that leads back to itself"
            return f"{place} cannot be reached ({error.strerror})"
        kind = stat.S_IFMT(status.st_mode)
        if place != path and kind != stat.S_IFDIR:
            return f"{place} is {_KINDS.get(kind, 'something else')}, not a folder"
    if kind == stat.S_IFDIR:
        raise StoreError(f"{path} is a folder; name the file of the store, such as {path / 'runs.sqlite'}.")
    if kind != stat.S_IFREG:
        return f"it is {_KINDS.get(kind, 'something else')}, not a regular file"
    if status.st_nlink > 1:
        # Each name has its own log, lock and arrays, so two writers would not see each other.
        raise StoreError(
            f"the store {path} has {status.st_nlink} names (hard links), but its log and its arrays belong to a single "
            "name. Delete the other names (`find -samefile` lists them), or copy the file and use the copy."
        )
    return ""


def _require_kind(path: Path, suffix: str, required: int, fix: str) -> None:
    beside = path.with_name(path.name + suffix)
    try:
        kind = stat.S_IFMT(os.lstat(beside).st_mode)
    except OSError:
        return
    if kind != required:
        what = f"{beside} is {_KINDS.get(kind, 'something else')}, not {_KINDS[required]}"
        raise StoreError(f"the store {path} cannot be used: {what}. {fix}.")
