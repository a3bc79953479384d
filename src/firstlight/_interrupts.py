"""Requests to stop (Ctrl-C or SIGTERM) that survive a swallowed KeyboardInterrupt.

Python raises KeyboardInterrupt wherever the main thread happens to be. Inside a callback of JAX or of the garbage
collector the exception is printed, or turned into another error, and the request is lost. The command line therefore
notes each signal here. Long work calls `check` between training chunks, claims, sweep points and fits.
Outside the command line no signal is noted, and Ctrl-C works as usual in Python.
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
    """The request to stop.

    **Attributes:**

    - `number`: the signal received, or None.
    - `owed`: whether its KeyboardInterrupt still has to be raised.
    - `sections`: the number of open `deferred` sections, which must not be interrupted.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self.owed = False
        self.sections = 0


_REQUEST = _Request()


def requested() -> int | None:
    """Return the number of the signal that asked this process to stop, or None."""
    return _REQUEST.number


def check() -> None:
    """Raise KeyboardInterrupt if this process was asked to stop, even if an earlier exception was swallowed.

    >>> check()
    """
    if _REQUEST.number is not None and not _REQUEST.sections:
        _REQUEST.owed = False
        raise KeyboardInterrupt


@contextmanager
def deferred() -> Iterator[None]:
    """Finish a short section, such as a write to the store, before KeyboardInterrupt is raised.

    Signals interrupt only the main thread, so sections of other threads are not counted.
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
    """Remember a signal without raising an exception."""
    if _REQUEST.number is None:
        _REQUEST.number, _REQUEST.owed = number, True


def deliver(safe: bool = True) -> None:
    """Raise KeyboardInterrupt for the noted signal, unless already raised or deferred by a section."""
    if _REQUEST.owed and safe:
        check()


def swallowed() -> None:
    """Record that the exception was lost, so that `deliver` raises it again."""
    _REQUEST.owed = _REQUEST.number is not None


def owed() -> bool:
    """Return whether a noted signal still has to raise its KeyboardInterrupt."""
    return _REQUEST.owed


def forget() -> None:
    """Clear the request."""
    _REQUEST.__init__()


@contextmanager
def children_ignore_ctrl_c() -> Iterator[None]:
    """Block Ctrl-C in the processes started inside this section, from their first instruction on.

    A blocked signal stays blocked across `exec`, so a child prints no traceback even while its Python starts.
    In this process the signal reaches another thread, or waits until the end of the section.
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
    """Ignore Ctrl-C, which `parent` handles, and exit when `parent` exits for whatever reason."""
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
