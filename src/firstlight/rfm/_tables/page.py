"""A comparison as one HTML page with everything in it."""

import html
from pathlib import Path

from firstlight import plots
from firstlight._files import write_atomically
from firstlight.records.figure import FigureData, bars
from firstlight.rfm._tables.compare import Comparison

_STYLE = """
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse}td,th{text-align:left;padding:.3rem 1rem .3rem 0;border-bottom:1px solid #8884}
td:not(:first-child){font-variant-numeric:tabular-nums}figure{margin:2rem 0}svg{max-width:100%;height:auto}
"""


def scores_figure(found: Comparison) -> FigureData:
    """The scores with their deviations over folds."""
    rows = found.table()
    return bars(
        [row[0] for row in rows],
        {found.metric: [row[1] for row in rows]},
        errors={found.metric: [row[2] for row in rows]},
        x="method",
        y=f"{found.metric} of rows left out",
        title="Cross-validation",
    )


def write_page(found: Comparison, path: str | Path, title: str) -> Path:
    """Write the page, whole or not at all."""
    model = found.model
    figures = [
        scores_figure(found),
        *(model.figure_data(what) for what in ("importances", "matrix", "directions", "history")),
    ]
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{mean:.4f} ± {deviation:.4f}</td><td>{seconds:.2f} s</td></tr>"
        for name, mean, deviation, seconds in found.table()
    )
    drawn = "".join(
        f"<figure>{plots.svg(one)}<figcaption>{html.escape(one.caption)}</figcaption></figure>" for one in figures
    )
    words = f"{found.task} of {html.escape(found.target)}: {found.rows} rows, {found.columns} columns"
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style><h1>{html.escape(title)}</h1><p>{words}.</p>"
        f"<table><tr><th>method</th><th>{found.metric}</th><th>one fit</th></tr>{rows}</table>{drawn}</html>"
    )
    return write_atomically(path, page.encode())
