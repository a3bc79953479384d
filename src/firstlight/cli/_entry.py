"""From arguments to an exit code; the only place that turns errors into one line on stderr."""

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from firstlight import _interrupts as interrupts
from firstlight.cli import _exits as exits
from firstlight.cli import _signals as signals
from firstlight.cli._terminal import streams as terminal


def command() -> NoReturn:
    """Run the command of `sys.argv` and exit.

    After an interruption the process ends at once: Python's own exit may wait long for threads and print tracebacks.
    """
    try:
        code = main()
    except KeyboardInterrupt as interruption:  # while the handlers of signals were being set
        code = signals.end(interruption)
    if code in (exits.INTERRUPTED, exits.TERMINATED):
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    # The command is done: Ctrl-C while Python shuts down must not change its exit code.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


@terminal.on_any_terminal
@signals.listening()
def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    >>> main(["--version"])
    0.2.0
    0
    """
    try:
        return _answer(argv)
    except KeyboardInterrupt as interruption:
        return signals.end(interruption)


def _answer(argv: Sequence[str] | None) -> int:
    from cyclopts import CycloptsError

    from firstlight.cli._terminal.screen import PipeConsole
    from firstlight.cli._tree import app

    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    try:
        code = app(words, console=PipeConsole(), exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return code if isinstance(code, int) else exits.OK
    except CycloptsError as error:
        return _say(_first_line(error), debug, exits.USER_ERROR)
    except exits.UserError as error:
        return _say(str(error), debug, exits.USER_ERROR)
    except BrokenPipeError:
        # Python would complain once more when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.BROKEN_PIPE
    except Exception as error:
        if interrupts.requested():  # C++ code has turned the interruption into an error of its own
            return signals.end(error)
        if not _is_user_error(error):
            traceback.print_exc()
            print(
                f"error: this is a bug in firstlight ({type(error).__name__}); please report it",
                file=sys.stderr,
            )
            return exits.BUG
        return _say(str(error), debug, exits.USER_ERROR)


def _say(message: str, debug: bool, code: int) -> int:
    if debug:
        traceback.print_exc()
    terminal.say_error(message)
    return code


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


_ENGINES = ("diffrax", "equinox", "jax", "numpy", "optax", "scipy")
"""Libraries that receive only checked values: a ValueError raised inside them is a bug in firstlight."""


def _is_user_error(error: Exception) -> bool:
    """Return whether the user caused an error.

    Values, files and stores are checked where they enter, with readable messages.
    """
    from firstlight.records import StoreError

    # Text with half a character in it comes from a file or a command line, wherever it is first written.
    if isinstance(error, StoreError | OSError | UnicodeEncodeError):
        return True
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    module = frame.f_globals.get("__name__", "")
    return isinstance(error, ValueError) and module.partition(".")[0] not in _ENGINES
