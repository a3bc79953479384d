"""HTML for notebooks: a table with a caption, and a figure drawn by `plots`."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any


def html_facts(facts: Mapping[str, Any], caption: str = "") -> str:
    """Return a table of names and values; rows with an empty value are left out.

    >>> html_facts({"status": "finished", "message": ""})
    '<table><tr><th>status</th><td>finished</td></tr></table>'
    """
    rows = [f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in facts.items() if value != ""]
    return _table("".join(rows), caption)


def html_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """Return a table with a head.

    >>> html_rows(["a"], [[1]])
    '<table><tr><th>a</th></tr><tr><td>1</td></tr></table>'
    """
    head = "".join(f"<th>{_text(column)}</th>" for column in columns)
    body = ("".join(f"<td>{_text(value)}</td>" for value in row) for row in rows)
    return _table(f"<tr>{head}</tr>" + "".join(f"<tr>{cells}</tr>" for cells in body), caption)


def html_figure(figure: Any) -> str:
    """Return a figure as SVG with its title above it and its caption below it."""
    # `plots` lies above `records`; only a notebook that shows a figure needs it.
    from firstlight import plots

    title = f"<p><b>{_text(figure.title)}</b></p>" if figure.title else ""
    caption = f"<p>{_text(figure.caption)}</p>" if figure.caption else ""
    return f"{title}{plots.svg(figure, heading=False)}{caption}"


def _table(body: str, caption: str) -> str:
    return f"<table>{f'<caption>{_text(caption)}</caption>' if caption else ''}{body}</table>"


def _text(value: Any) -> str:
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))
