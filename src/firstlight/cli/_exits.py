"""How a command ends: its exit code, and what is said to a person who erred or interrupted."""

OK = 0
"""Done, and everything checked is as expected."""

DIFFERS = 1
"""A verdict is not the expected one, a run or a sweep point failed, or a check found damage."""

USER_ERROR = 2
"""The command, a file or a value given to it cannot be used; one line on stderr says which and why."""

BUG = 3
"""The program broke; the traceback is on stderr."""

INTERRUPTED = 130
"""Ctrl-C; what was done is kept and stderr says how to go on."""

TERMINATED = 143
"""SIGTERM, as `kill` and batch systems send it; handled like Ctrl-C."""

BROKEN_PIPE = 141
"""Whoever read the output stopped reading."""


class UserError(Exception):
    """Something the person can put right; the message says what was required, received, and how to fix it."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM, with one line on how to go on."""

    def __init__(self, how_to_go_on: str) -> None:
        self.how_to_go_on = how_to_go_on
        super().__init__(how_to_go_on)
