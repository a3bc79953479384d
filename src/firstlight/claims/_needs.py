"""Requirements of checks beyond the package itself: optional extras and large data sets."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from firstlight._files import data_directory as data_directory

EXTRAS = {"torch": "torch", "cluster": "distributed", "tables": "pyarrow"}
"""Extra of the package → module whose presence shows that the extra is installed."""

DATASETS = ("mnist", "cifar10", "cifar10_subset", "california_housing", "uci121")
"""Names of the folders that a data directory may hold."""


def missing(needs: Sequence[str], data: Path | None) -> tuple[str, ...]:
    """Return a sentence for each unmet need, with the way to meet it.

    >>> missing(("mnist",), None)
    ('data set mnist is missing: give the folder that holds mnist/ with --data DIR or FIRSTLIGHT_DATA',)
    """
    return tuple(reason for need in needs if (reason := _missing(need, data)))


def extra_is_installed(extra: str) -> bool:
    """Check whether an extra's module can be found, without importing it."""
    return importlib.util.find_spec(EXTRAS[extra]) is not None


def install_command(extra: str) -> str:
    """Return the shell command that installs an extra.

    >>> install_command("torch")
    "pip install 'firstlight[torch]'"
    """
    return f"pip install 'firstlight[{extra}]'"


def _missing(need: str, data: Path | None) -> str:
    if need in EXTRAS:
        return "" if extra_is_installed(need) else f"extra {need} is missing: {install_command(need)}"
    if need not in DATASETS:
        raise ValueError(
            f"a need is an extra ({', '.join(EXTRAS)}) or a data set ({', '.join(DATASETS)}); got {need!r}"
        )
    if data is not None and (data / need).is_dir():
        return ""
    where = f"; there is no {need}/ in {data}" if data is not None else ""
    wanted = f"give the folder that holds {need}/ with --data DIR or FIRSTLIGHT_DATA"
    return f"data set {need} is missing: {wanted}{where}"
