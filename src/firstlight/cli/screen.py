"""What commands print: results on stdout, progress and remarks on stderr."""

import json
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDE = 160


def out() -> Console:
    """The console for results; in a file or a pipe it is wide, so that tables keep their rows."""
    return _console(stderr=False)


def err() -> Console:
    """The console for progress and remarks."""
    return _console(stderr=True)


def print_json(value: Any) -> None:
    """Print a value as indented JSON; numbers that are not finite are words."""
    from firstlight.records import canonical_json

    print(json.dumps(json.loads(canonical_json(value)), indent=2, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], wrap: Collection[str] = ()) -> None:
    """Print rows under a head; numbers are rounded, `Text` keeps its style, and columns named in `wrap` may fold."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column not in wrap)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(brief(cell, limit=200)) for cell in row))
    out().print(table)


def brief(value: Any, limit: int = 60) -> str:
    """A value in few characters.

    >>> brief(0.123456), brief({"a": 1.0, "b": [1, 2]}), brief(None)
    ('0.1235', 'a 1, b [1, 2]', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool | str):
        text = str(value)
    elif isinstance(value, float):
        text = f"{value:.4g}"
    elif isinstance(value, dict):
        text = ", ".join(f"{key} {brief(item, limit)}" for key, item in value.items())
    elif isinstance(value, list | tuple):
        text = f"[{', '.join(brief(item, limit) for item in value)}]"
    else:
        text = str(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def duration(seconds: float | int) -> str:
    """Seconds as a person says them.

    >>> duration(8.04), duration(200), duration(7500)
    ('8 s', '3 min 20 s', '2 h 05 min')
    """
    from firstlight import report

    return report.duration(float(seconds))


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    # Brackets in ids, intervals and commands are meant as they are, hence no markup.
    return Console(stderr=stderr, markup=False, highlight=False, width=None if stream.isatty() else _WIDE)
