"""`python -m benchmarks [--only NAME]`: run benchmarks; update results.json, docs/benchmarks.md and the README."""

import argparse
import importlib
import json
import os
import pkgutil
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks._timing import MissingData

RESULTS = Path(__file__).with_name("results.json")
README = Path(__file__).parent.parent / "README.md"
PAGE = README.parent / "docs" / "benchmarks.md"
OPEN, CLOSE = "<!-- benchmarks -->", "<!-- /benchmarks -->"
FIVE_OPEN, FIVE_CLOSE = "<!-- five lines -->", "<!-- /five lines -->"
FIVE = {
    "dense_step_vs_torch": "a training step against PyTorch eager",
    "gram_vs_dense_d127_q512": "loss and gradient over all pairs against the dense table",
    "craft_vs_train_d71": "crafting a zero-loss network against training one",
    "rfm_vs_xrfm_n5000": "a kernel machine on 5000 rows against xRFM's",
    "sweep200_vs_process_per_point": "a sweep of 200 runs against one process for each",
}
"""The benchmarks that the README quotes, in words."""


def registry() -> dict[str, Callable[[], dict]]:
    """Return all benchmarks by name: the public functions of the modules in this package."""
    functions: dict[str, Callable[[], dict]] = {}
    for module in pkgutil.iter_modules(benchmarks.__path__):
        if not module.name.startswith("_"):
            loaded = importlib.import_module(f"benchmarks.{module.name}")
            functions |= {name: getattr(loaded, name) for name in loaded.__all__}
    return functions


def met(entry: dict) -> str:
    if entry["target"] is None:
        return "–"
    higher = entry["better"] == "higher"
    return "yes" if (entry["value"] >= entry["target"] if higher else entry["value"] <= entry["target"]) else "no"


def number(value: float) -> str:
    """Return three digits, with separators instead of a power of ten for large numbers: 9.83e+03 is 9,830."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e9 else f"{value:.3g}"


def five_lines(results: dict[str, dict]) -> str:
    """Return the README's few lines, with the two markers around them; a share of another's time becomes a speed-up."""
    lines = []
    for name, words in FIVE.items():
        value, unit = results[name]["value"], results[name]["unit"]
        lines.append(
            f"* {words}: {number(1 / value)} × faster" if unit == "× its time" else f"* {words}: {number(value)} {unit}"
        )
    return "\n".join([FIVE_OPEN, *lines, FIVE_CLOSE])


def full_table(results: dict[str, dict]) -> str:
    """Return the table of all benchmarks, with the two markers around it."""
    lines = ["| benchmark | measured | target | compared with |", "|---|---|---|---|"]
    for name, entry in sorted(results.items()):
        sign = "≥" if entry["better"] == "higher" else "≤"
        target = "" if entry["target"] is None else f"{sign} {entry['target']:g}"
        base = entry["baseline"]
        measured = f"{number(entry['value'])} {entry['unit']}"
        lines.append(f"| `{name}` | {measured} | {target} | {base['name']}: {number(base['value'])} |")
    return "\n".join([OPEN, *lines, CLOSE])


def quote(results: dict[str, dict]) -> None:
    """Write the table into its page, and five lines of it into the README."""
    for path, table in (PAGE, full_table(results)), (README, five_lines(results)):
        text = path.read_text()
        first, last = table.splitlines()[0], table.splitlines()[-1]
        path.write_text(text.split(first)[0] + table + text.split(last)[1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--only", help="run this benchmark alone")
    only = parser.parse_args().only
    known = registry()
    if only and only not in known:
        parser.error(f"unknown benchmark {only!r}; the benchmarks are {', '.join(sorted(known))}")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    table = Table("benchmark", "value", "target", "met", "compared with")
    console = Console()
    for name in [only] if only else sorted(known):
        try:
            with console.status(f"running {name}"):
                entry = known[name]() | {"command": f"make bench ONLY={name}"}
        except MissingData as error:
            console.print(f"{name} is skipped: {error}")
            continue
        # Another run may have written other results meanwhile.
        results = (json.loads(RESULTS.read_text()) if RESULTS.exists() else {}) | {name: entry}
        base = entry["baseline"]
        target = "" if entry["target"] is None else f"{entry['target']:g}"
        value = f"{entry['value']:.3g} {entry['unit']}"
        table.add_row(name, value, target, met(entry), f"{base['name']}: {base['value']:.4g}")
        part = RESULTS.with_suffix(".part")
        part.write_text(json.dumps(dict(sorted(results.items())), indent=2) + "\n")
        os.replace(part, RESULTS)
    quote({name: entry for name, entry in results.items() if name in known})
    console.print(table)


if __name__ == "__main__":
    main()
