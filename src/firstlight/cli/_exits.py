"""Exit codes, and the exceptions that end a command with a message for the user."""

OK = 0
"""Success, and every verdict is as expected."""

DIFFERS = 1
"""A verdict is not the expected one, a run or a sweep point failed, or a check found damage."""

USER_ERROR = 2
"""The command, a file or a value given to it cannot be used; one line on stderr says which and why."""

BUG = 3
"""A bug in firstlight; the traceback is on stderr."""

INTERRUPTED = 130
"""Ctrl-C; finished work is saved, and stderr says how to continue."""

TERMINATED = 143
"""SIGTERM, as `kill` and batch systems send it; handled like Ctrl-C."""

BROKEN_PIPE = 141
"""The reader of the output closed the pipe."""


class UserError(Exception):
    """An error that the user can fix; the message says what was required, what was received, and the fix."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM, with one line on how to continue."""

    def __init__(self, how_to_go_on: str) -> None:
        self.how_to_go_on = how_to_go_on
        super().__init__(how_to_go_on)
