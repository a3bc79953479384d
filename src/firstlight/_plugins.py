"""Objects that other packages register under an entry-point group."""

import functools
import warnings
from importlib import metadata
from typing import Any


@functools.cache
def registered(group: str) -> tuple[tuple[str, Any], ...]:
    """Return (name, object) of every entry point of a group, by name; one that cannot be loaded is a warning.

    >>> registered("firstlight.no-such-group")
    ()
    """
    loaded = []
    for entry in sorted(metadata.entry_points(group=group), key=lambda entry: entry.name):
        try:
            loaded.append((entry.name, entry.load()))
        except Exception as error:  # a broken package must not take the others with it
            warnings.warn(f"{entry.value} of the group {group} was left out: {error!r}", RuntimeWarning, stacklevel=2)
    return tuple(loaded)
