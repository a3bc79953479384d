"""The closest known name, for error messages."""

import difflib
from collections.abc import Iterable

_LONGEST = 100


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the known name closest to `name`, or "" if no known name is similar.

    >>> closest("rleu", ["relu", "tanh"]), closest("x", ["relu", "tanh"])
    ('relu', '')
    """
    if len(name) > _LONGEST:
        return ""  # too long for a misspelling, and the comparison takes time quadratic in the length
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)), "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint such as "did you mean 'relu'? ", or "" if no known name is close.

    >>> did_you_mean("rleu", ["relu", "tanh"])
    "did you mean 'relu'? "
    """
    close = closest(name, known)
    return f"did you mean {close!r}? " if close else ""
