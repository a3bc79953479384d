"""Ctrl-C and SIGTERM: the first stops a command so that it can continue later, the second ends it at once."""

import _thread
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from firstlight import _interrupts as interrupts
from firstlight.cli import _exits as exits

_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}

_CALLBACKS = ("jax._src.callback", "jax._src.lib")
"""Modules whose Python code is called from C++, which loses or logs exceptions."""

_NOTHING = "nothing was left half done; run the same command again"


class _Command:
    """The running command's message on how to continue."""

    def __init__(self) -> None:
        self.how: Callable[[], str] = lambda: _NOTHING


_COMMAND = _Command()


def resumes(how: Callable[[], str]) -> None:
    """Register a function that says how to continue; it is called if a signal ends the command."""
    _COMMAND.how = how


def end(error: BaseException) -> int:
    """Print one line on how to continue after an interruption, and return the exit code."""
    number = interrupts.requested() or signal.SIGINT
    how = error.how_to_go_on if isinstance(error, exits.Interrupted) else _COMMAND.how()
    print(f"\n{_WORDS[signal.Signals(number)]}: {how}", file=sys.stderr)
    return 128 + number


@contextmanager
def listening() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into KeyboardInterrupt in the main thread, and into the end the second time."""
    resumes(lambda: _NOTHING)
    # A signal that a shell or nohup ignores stays ignored.
    numbers = [number for number in _WORDS if signal.getsignal(number) != signal.SIG_IGN]
    if threading.current_thread() is not threading.main_thread() or not numbers:
        yield
        return
    interrupts.forget()
    listener = _Listener()
    handlers = {number: signal.signal(number, listener.handle) for number in numbers}
    listener.start()
    hook, sys.unraisablehook = sys.unraisablehook, listener.unraisable
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)
        listener.close()
        interrupts.forget()


class _Listener:
    """Receives signals in its own thread: the main thread may be inside a compiler for minutes."""

    def __init__(self) -> None:
        self._here, self._there = socket.socketpair()
        self._there.setblocking(False)
        self._again = 0  # signals that this object sends itself
        self._hook = sys.unraisablehook
        self._before = -1
        self._is_closed = False

    def start(self) -> None:
        """Start to listen; handlers are set before, since starting a thread takes a while."""
        self._before = signal.set_wakeup_fd(self._there.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        signal.set_wakeup_fd(self._before)
        self._is_closed = True  # or the thread could note its last signal after `forget`
        self._there.close()  # the thread reads the end of the stream

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Python calls this in the main thread, between two instructions."""
        interrupts.note(number)
        interrupts.deliver(safe=_is_safe(frame))

    def unraisable(self, lost: Any) -> None:
        """Python calls this for an exception that nothing can catch, such as one raised inside `__del__`."""
        if isinstance(lost.exc_value, KeyboardInterrupt) and interrupts.requested():
            interrupts.swallowed()
        else:
            self._hook(lost)

    def _listen(self) -> None:
        heard = 0
        self._here.settimeout(None)
        while True:
            try:
                data = self._here.recv(1)
            except TimeoutError:
                if interrupts.owed():
                    self._again += 1
                    _thread.interrupt_main(signal.Signals(interrupts.requested() or signal.SIGINT))
                continue
            except OSError:
                return
            if not data or self._is_closed:
                self._here.close()
                return
            if data[0] not in _WORDS:
                continue
            if self._again:
                self._again -= 1
                continue
            heard += 1
            if heard > 1:
                _end_at_once(data[0])
            interrupts.note(data[0])
            self._here.settimeout(0.1)


def _is_safe(frame: FrameType | None) -> bool:
    """Return whether KeyboardInterrupt may be raised here: not in a callback, and not while a module is imported.

    Torch aborts the process if its import is interrupted inside C++. The listener asks again every 0.1 seconds.
    """
    while frame is not None:
        spec = frame.f_globals.get("__spec__")
        if frame.f_globals.get("__name__") in _CALLBACKS or getattr(spec, "_initializing", False):
            return False
        frame = frame.f_back
    return True


def _end_at_once(number: int) -> None:
    try:
        how = _COMMAND.how()
    except Exception:  # whatever state the command is in, it ends now
        how = "what was saved before stays; run the same command again"
    cursor = "\x1b[?25h" if os.isatty(2) else ""
    again = " again" if number == interrupts.requested() else ""
    line = f"{cursor}\n{_WORDS[signal.Signals(number)]}{again} before it had stopped: {how}\n"
    os.write(2, line.encode(errors="backslashreplace"))
    os._exit(128 + number)
