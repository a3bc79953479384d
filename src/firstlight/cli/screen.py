"""What commands print: results on stdout, progress and remarks on stderr."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

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


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> None:
    """Print rows under a head; numbers are rounded for reading."""
    table = Table(
        *columns, title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold"
    )
    for row in rows:
        table.add_row(*(cell if isinstance(cell, str) else brief(cell) for cell in row))
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


def duration(seconds: float) -> str:
    """Seconds as a person says them.

    >>> duration(0.042), duration(8.04), duration(75), duration(7300)
    ('0.04 s', '8.0 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    minutes, left = divmod(round(seconds), 60)
    return f"{minutes} min {left} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else _WIDE, soft_wrap=False)
