"""A request to stop (Ctrl-C or SIGTERM) that outlives the exception it was raised as.

Python raises KeyboardInterrupt wherever the main thread happens to be. Inside a callback of JAX or of the garbage
collector the exception is printed, or turned into another error, and the request is lost. The command line therefore
notes each signal here, and long work calls `check` between its units: training chunks, claims, points, fits.
Without the command line nothing is noted, and Ctrl-C stays Python's own.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class _Request:
    """The signal received; `owed` until its KeyboardInterrupt was raised; `sections` that must not be cut open."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.owed = False
        self.sections = 0


_REQUEST = _Request()


def requested() -> int | None:
    """The number of the signal that asked this process to stop, or None."""
    return _REQUEST.number


def check() -> None:
    """Raise KeyboardInterrupt if this process was asked to stop, also where an earlier exception was swallowed.

    >>> check()
    """
    if _REQUEST.number is not None and not _REQUEST.sections:
        _REQUEST.owed = False
        raise KeyboardInterrupt


@contextmanager
def deferred() -> Iterator[None]:
    """Finish a short section, such as a write to the store, before KeyboardInterrupt is raised.

    Only the main thread is interrupted by signals, so sections of other threads count for nothing.
    """
    counts = threading.current_thread() is threading.main_thread()
    _REQUEST.sections += counts
    try:
        yield
    finally:
        _REQUEST.sections -= counts
    if counts and _REQUEST.owed:
        check()


def note(number: int) -> None:
    """Remember a signal without raising anything."""
    if _REQUEST.number is None:
        _REQUEST.number, _REQUEST.owed = number, True


def deliver(safe: bool = True) -> None:
    """Raise KeyboardInterrupt for the signal noted, unless it was raised before or a section defers it."""
    if _REQUEST.owed and safe:
        check()


def swallowed() -> None:
    """Say that the exception was lost, so that `deliver` raises it again."""
    _REQUEST.owed = _REQUEST.number is not None


def owed() -> bool:
    """Whether a signal was noted whose KeyboardInterrupt has not been raised yet."""
    return _REQUEST.owed


def forget() -> None:
    """Begin without a request."""
    _REQUEST.__init__()


@contextmanager
def children_ignore_ctrl_c() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach from their first instruction on.

    A blocked signal stays blocked across `exec`, so a child prints no traceback even while Python starts in it.
    Here the signal reaches another thread, or waits until the end of the section.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def follow(parent: int) -> None:
    """Leave Ctrl-C to the process `parent`, and end when it ends, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


_PR_SET_PDEATHSIG = 1


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
