"""`firstlight report`: the store as one page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from firstlight.cli import _exits as exits
from firstlight.cli.commands._options import StoreOption, existing_store

if TYPE_CHECKING:
    from firstlight.records import RunRecord


def report(
    out: Annotated[Path, Parameter(help="The HTML file to write.")],
    /,
    *,
    store: StoreOption = None,
    title: Annotated[str, Parameter(help="The page's title.")] = "firstlight report",
) -> int:
    """Write all runs, fits and probes and the latest verdict on each claim as one HTML page that needs no network."""
    from firstlight import report as pages
    from firstlight.records import Store

    with Store(existing_store(store)) as opened:
        claims = opened.claims()
        records = [*map(_completed, opened.runs()), *claims, *opened.fits(), *opened.probes()]
        figures = opened.figures_of(claims)
    print(pages.write(out, records, title=title, figures=figures))
    return exits.OK


def _completed(record: "RunRecord") -> "RunRecord":
    """Return the record with figures; an earlier version, or a process that was killed, left none."""
    if record.figures or not len(record.table):
        return record
    from firstlight import runs

    return runs.complete(record)
