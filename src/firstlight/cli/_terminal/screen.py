"""What commands print: results on stdout, progress and remarks on stderr."""

import json
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from firstlight.cli._terminal import streams as terminal

_WIDE = 160


class PipeConsole(Console):
    """A console that raises `BrokenPipeError` if its reader stops reading, where Rich would exit with 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def out() -> Console:
    """The console for results; in a file or a pipe it is wide, so that tables keep their rows."""
    return _console(stderr=False)


def err() -> Console:
    """The console for progress and remarks."""
    return _console(stderr=True)


def print_json(value: Any) -> None:
    """Print a value as indented JSON; numbers that are not finite are words."""
    from firstlight.records import canonical_json

    value = json.loads(canonical_json(value))
    text = json.dumps(value, indent=2, ensure_ascii=False)
    # Escapes keep what a terminal without these characters would show in another spelling.
    print(text if terminal.can_show(text, sys.stdout) else json.dumps(value, indent=2))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], wrap: Collection[str] = ()) -> None:
    """Print rows under a head; numbers are rounded, `Text` keeps its style, and columns named in `wrap` may fold.

    Where the screen is too narrow for that, each row becomes a few lines, one for each column. No word is broken.
    """
    cells = [[_cell(value) for value in row] for row in rows]
    console = out()
    if sum(_longest_words(columns, cells, wrap)) + _between(columns) > console.width:
        _print_stacked(columns, cells)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column, width in zip(columns, _widths(columns, cells, wrap, console.width), strict=True):
        table.add_column(column, no_wrap=column not in wrap, width=width)
    for row in cells:
        table.add_row(*row)
    console.print(table)


def fits(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bool:
    """Return whether a table without folded columns fits the width of the screen."""
    cells = [[_cell(value) for value in row] for row in rows]
    return sum(_longest_words(columns, cells, ())) + _between(columns) <= out().width


def print_line(line: Text) -> None:
    """Print text with styles; on a terminal it goes over several lines, which end between words."""
    console, begin = out(), 0
    for part in terminal.wrapped(line.plain, sys.stdout).split("\n"):
        begin = line.plain.index(part, begin)
        console.print(line[begin : begin + len(part)], soft_wrap=True)
        begin += len(part)


def say(text: str = "") -> None:
    """Print text; on a terminal its lines end between words."""
    print(terminal.wrapped(text, sys.stdout))


def brief(value: Any, limit: int = 60) -> str:
    """Return a value in few characters.

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
    """Return seconds in a readable unit.

    >>> duration(8.04), duration(200), duration(7500)
    ('8 s', '3 min 20 s', '2 h 05 min')
    """
    from firstlight import report

    return report.duration(float(seconds))


def _cell(value: Any) -> Text:
    if not isinstance(value, Text):
        value = Text(brief(value, limit=200))
    if not terminal.can_show(value.plain, sys.stdout):  # columns are laid out by the spelling that will be seen
        value = Text(terminal.readable(value.plain), style=value.style)
    return value


def _between(columns: Sequence[str]) -> int:
    """The spaces between columns, two each."""
    return 2 * (len(columns) - 1)


def _widths(columns: Sequence[str], cells: Sequence[Sequence[Text]], wrap: Collection[str], screen: int) -> list[int]:
    """The width of each column: its longest word, and a share of what is left in proportion to what it lacks."""
    least, whole = _longest_words(columns, cells, wrap), _longest_words(columns, cells, ())
    lacking = [most - width for most, width in zip(whole, least, strict=True)]
    spare = min(screen - _between(columns) - sum(least), sum(lacking))
    return [width + spare * lack // max(sum(lacking), 1) for width, lack in zip(least, lacking, strict=True)]


def _longest_words(columns: Sequence[str], cells: Sequence[Sequence[Text]], wrap: Collection[str]) -> list[int]:
    """The width of each column's longest word, or of its longest cell if the column may not fold."""
    widths = []
    for place, column in enumerate(columns):
        texts = [column, *(row[place].plain for row in cells)]
        pieces = [piece for text in texts for piece in (text.split() if column in wrap else [text])]
        widths.append(max(map(cell_len, pieces), default=0))
    return widths


def _print_stacked(columns: Sequence[str], cells: Sequence[Sequence[Text]]) -> None:
    for number, row in enumerate(cells):
        if number:
            print()
        for column, cell in zip(columns, row, strict=True):
            if cell.plain:
                print_line(Text.assemble((f"{column}  " if column else "", "bold"), cell))


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    # Ids, intervals and commands contain brackets, which Rich would read as markup.
    return PipeConsole(stderr=stderr, markup=False, highlight=False, width=None if stream.isatty() else _WIDE)
