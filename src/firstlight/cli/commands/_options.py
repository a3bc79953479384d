"""Options that several commands share."""

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from firstlight.cli._exits import UserError

StoreOption = Annotated[
    str | None,  # not a Path, which drops a slash at the end
    Parameter(
        name="--store",
        help="Where records are stored [default: FIRSTLIGHT_STORE or .firstlight/store.sqlite].",
    ),
]
WaitOption = Annotated[
    float,
    Parameter(
        name="--wait",
        help="Seconds to wait for another process that writes the store, instead of failing at once.",
        validator=validators.Number(gte=0),
    ),
]
DataOption = Annotated[
    Path | None, Parameter(name="--data", help="Folder with large data sets [default: FIRSTLIGHT_DATA].")
]
JsonOption = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON instead of text.")]
SetOption = Annotated[
    list[str] | None,
    Parameter(
        name="--set",
        negative="",
        help="Replace a field of the spec, as in --set optimizer.learning_rate=0.01; may be repeated.",
    ),
]
AllowLargeOption = Annotated[
    bool,
    Parameter(name="--allow-large", negative="", help="Start also a run that does not fit into memory or on the disk."),
]
DryRunOption = Annotated[
    bool,
    Parameter(name="--dry-run", negative="", help="Print the estimated cost (memory, rows, disk, time) and stop."),
]

Pattern = Annotated[str, Parameter(help="Papers (li2), ids (li2.theorem-2) or patterns ('li2.figure-*').")]


def store_path(given: str | Path | None) -> Path:
    """Return the path of the store: as given, else `FIRSTLIGHT_STORE`, else `.firstlight/store.sqlite` here.

    >>> store_path("mine.sqlite").name
    'mine.sqlite'
    """
    from firstlight.records._store import require_name

    if given is None:
        given = os.environ.get("FIRSTLIGHT_STORE") or ".firstlight/store.sqlite"
    return require_name(given)


def existing_store(given: str | Path | None) -> Path:
    """Return the path of the store, for a command that needs an existing one."""
    from firstlight.records._store import locate

    path = store_path(given)
    if not os.path.exists(locate(path)):
        raise UserError(f"there is no store at {path}; the first record written there creates it")
    return path


def data_path(given: Path | None) -> Path | None:
    """Return the folder with large data sets, which must exist if it is named."""
    from firstlight.claims import data_directory

    folder = data_directory(given)
    if folder is not None and not folder.is_dir():
        raise UserError(f"--data: there is no folder {folder}; give the one that holds the data sets")
    return folder
