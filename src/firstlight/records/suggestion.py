"""The closest known name, for error messages."""

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint such as "did you mean 'relu'? ", or nothing when no known name is close.

    >>> did_you_mean("rleu", ["relu", "tanh"])
    "did you mean 'relu'? "
    """
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]!r}? " if close else ""
