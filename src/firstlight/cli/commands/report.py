"""`firstlight report`: the store as one page."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from firstlight.cli import _exits as exits
from firstlight.cli.commands._options import StoreOption, existing_store


def report(
    out: Annotated[Path, Parameter(help="The HTML file to write.")],
    /,
    *,
    store: StoreOption = None,
    title: Annotated[str, Parameter(help="The page's title.")] = "firstlight report",
) -> int:
    """Write all runs and the latest verdict on each claim as one HTML page that needs no network."""
    from firstlight import report as pages
    from firstlight.cli.commands._pages import claim_figures, run_pages
    from firstlight.records import Store

    with Store(existing_store(store)) as kept:
        views, figures = run_pages(kept.runs())
        claims = kept.claims()
        figures |= claim_figures(kept, claims)
    print(pages.write(out, views, claims, figures, title=title))
    return exits.OK
