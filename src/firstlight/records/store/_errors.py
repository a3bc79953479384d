"""What a store says when it cannot do what it was asked."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StoreError(RuntimeError):
    """A store that cannot be opened, read or written: what happened, and the way out."""


class Damage(ValueError):
    """A row that does not say what was written into it; it leaves the store as a `StoreError`."""


def damaged(path: str | os.PathLike[str], problem: str) -> StoreError:
    """The error for a file that is not what was written."""
    return StoreError(
        f"the store {path} is damaged: {problem}. It was left as it is. "
        f"List the damage with `firstlight store check {path}`, "
        f"and save all that is readable into a new store with `firstlight store repair {path} NEW.sqlite`."
    )


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors and damaged rows into `StoreError`s that name the file and the way out."""
    try:
        yield
    except Damage as error:
        raise damaged(path, str(error)) from None
    except sqlite3.Error as error:
        raise _translate(path, error) from error


def _translate(path: Path, error: sqlite3.Error) -> StoreError:
    text = str(error)
    if "closed database" in text:
        return StoreError(f"the store {path} is closed; open it again to use it.")
    if "locked" in text or "busy" in text:
        return StoreError(f"the store {path} stayed locked by another program ({text}); try again.")
    if "full" in text:
        return StoreError(
            f"no space left to write the store {path}; nothing was written. Free some and try again."
        )
    if "readonly" in text or "unable to open" in text or "disk I/O" in text:
        return StoreError(
            f"the store {path} cannot be used ({text}); check that its folder exists and is writable."
        )
    return damaged(path, f"SQLite says {text!r}")
