"""`python -m tools.portable [--only SETTING] [--fresh] [--pythons 3.12 3.13]`: run missing parts, print a table.

Exit code 0 if all parts pass under every supported setting, 1 if not, 130 if interrupted.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from tools.portable.drive import Row, affected, default_prober, drive, pytest_runner, rows
from tools.portable.parts import ROOT, Part, all_parts
from tools.portable.pythons import python_settings
from tools.portable.results import State
from tools.portable.settings import SETTINGS, Setting


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make test-portable", description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="settings whose name contains this; repeatable")
    parser.add_argument("--parts", action="append", default=[], help="parts whose name contains this; repeatable")
    parser.add_argument("--fresh", action="store_true", help="forget the results of earlier calls")
    parser.add_argument("--jobs", type=int, default=2, help="processes of pytest")
    parser.add_argument("--folder", type=Path, default=ROOT / ".portable", help="state, logs and compile caches")
    parser.add_argument("--pythons", nargs="*", default=[], help="versions such as 3.12, each in its own environment")
    parser.add_argument("--list", action="store_true", help="print the settings and parts without running them")
    return parser.parse_args(words)


def matching(names: Sequence[str], wanted: Sequence[str], what: str) -> list[str]:
    """Return the names that contain one of the words; all names if no word is given."""
    for word in wanted:
        if not any(word.lower() in name.lower() for name in names):
            raise SystemExit(f"no {what} contains {word!r}; choose from {', '.join(names)}")
    return [name for name in names if not wanted or any(word.lower() in name.lower() for word in wanted)]


def print_table(table: Sequence[Row], console: Console) -> None:
    """Print a row per setting: the instruction set or kernel in use, tests, claims and time."""
    shown = Table("setting", Column("really used", overflow="fold"))
    for name in ("passed", "failed", "skipped", "claims as expected", "seconds"):
        shown.add_column(name, justify="right")
    for row in table:
        if row.skipped:
            shown.add_row(row.setting.name, f"skipped: {row.skipped}")
            continue
        tests = [result for part, result in row.results.items() if not part.claims]
        verdicts = [result for part, result in row.results.items() if part.claims]
        good, all_claims = sum(r.passed for r in verdicts), sum(r.passed + r.failed + r.skipped for r in verdicts)
        shown.add_row(
            row.setting.name,
            row.used,
            *(str(sum(getattr(result, what) for result in tests)) for what in ("passed", "failed", "skipped")),
            f"{good} of {all_claims}" if verdicts else "–",
            f"{sum(result.seconds for result in row.results.values()):.0f}",
            style="" if row.green else "red",
        )
    console.print(shown)


def chosen(options: argparse.Namespace) -> tuple[list[Setting], list[Part]]:
    settings = [*SETTINGS, *python_settings(options.pythons, options.folder)]
    parts = all_parts()
    names = matching([setting.name for setting in settings], options.only, "setting")
    labels = matching([part.name for part in parts], options.parts, "part")
    return [s for s in settings if s.name in names], [p for p in parts if p.name in labels]


def main() -> int:
    options, console = arguments(), Console()
    settings, parts = chosen(options)
    if options.list:
        for setting in settings:
            console.print(f"{setting.name}: {', '.join(p.name for p in affected(setting, parts))}")
        return 0
    state = State(options.folder / "state.json", options.fresh)
    try:
        table = rows(settings, default_prober(options.folder))
        drive(table, parts, state, pytest_runner(options.folder, options.jobs))
    except KeyboardInterrupt:
        console.print("\ninterrupted; run the same command again to resume")
        return 130
    print_table(table, console)
    red = [row.setting.name for row in table if not row.green]
    if red:
        console.print(f"red under {', '.join(red)}; the output of pytest is in {options.folder / 'logs'}")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
