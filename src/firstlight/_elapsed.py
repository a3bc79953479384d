"""The time behind results that are read from a file instead of computed."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_saved: ContextVar[list[float] | None] = ContextVar("seconds of saved results", default=None)


def credit(seconds: float) -> None:
    """Add the time that a saved result took when it was computed; called where the result is read.

    Several measurements share a training: without this, the second would seem to take milliseconds.
    """
    seconds_so_far = _saved.get()
    if seconds_so_far is not None:
        seconds_so_far.append(seconds)


@contextmanager
def credited() -> Iterator[list[float]]:
    """Collect what `credit` adds inside the context.

    >>> with credited() as seconds:
    ...     credit(3600.0)
    >>> seconds
    [3600.0]
    """
    seconds: list[float] = []
    token = _saved.set(seconds)
    try:
        yield seconds
    finally:
        _saved.reset(token)
