"""Train a list of forecast settings, or fit the constants of the forecasts on the lists that were trained.

`python tools/forecasts.py train third` resumes from `dist/forecast-third.sqlite` and writes curves and outcomes beside
the list. `python tools/forecasts.py fit` writes the constants that `li2.predict` and `li2.forecast` use.
"""

import argparse
import csv
import io
import json
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from firstlight import groups, runs
from firstlight._files import write_atomically
from firstlight.claims.beyond.checks.forecast_curves import write_curves
from firstlight.claims.beyond.checks.forecast_fit import fit, fitted_runs, left_out, widening
from firstlight.claims.beyond.checks.forecast_rows import fit_running, recorded_moments
from firstlight.claims.beyond.checks.forecast_settings import FOLDER, SEEDS, ForecastSetting, ListName, load
from firstlight.records import LEARNED
from firstlight.theories import li2
from firstlight.theories.li2._running import columns_of_table

CONSTANTS = Path(li2.__file__).parent / "calibration.json"


def train(name: ListName, store: Path) -> None:
    """Train what the store lacks, the cheapest settings first; then write curves and outcomes of all that finished."""
    settings, start, curves = load(name), time.monotonic(), {}
    places = sorted(range(0, len(settings), 2), key=lambda place: _cost(settings[place]))
    store.parent.mkdir(parents=True, exist_ok=True)
    for done, place in enumerate(places, 1):
        pair = [place, place + 1]
        records = runs.run_many([settings[i].spec(lens=False) for i in pair], store=store, progress="off")
        curves |= {i: columns_of_table(r.table) for i, r in zip(pair, records, strict=True) if r.status == "finished"}
        left = (time.monotonic() - start) / done * (len(places) - done)
        print(f"{done} of {len(places)} pairs, {settings[place].group}, at least {left / 60:.0f} min left", flush=True)
    write(name, curves)


def _cost(setting: ForecastSetting) -> float:
    return setting.n * setting.width * setting.steps * groups.parse(setting.group).order


def write(name: ListName, curves: Mapping[int, Mapping[str, np.ndarray]]) -> None:
    """Write curves and outcomes of a list."""
    curves = dict(sorted(curves.items()))
    write_curves(name, curves)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["place", "memorised", "generalised", "test_accuracy"])
    for place, columns in curves.items():
        epochs = [_learned(columns, f"{part}_accuracy") for part in ("train", "test")]
        writer.writerow([place, *epochs, f"{columns['test_accuracy'][-1]:.4f}"])
    write_atomically(FOLDER / f"forecast-{name}-outcomes.csv", text.getvalue().encode())


def _learned(columns: Mapping[str, np.ndarray], name: str) -> int | str:
    rows = np.flatnonzero(columns[name] >= LEARNED)
    return int(columns["step"][rows[0]]) if len(rows) else ""


def fit_constants() -> None:
    """Fit all constants on the first two lists, with intervals from groups that were left out."""
    known = fitted_runs()
    before = left_out(known)
    constants = fit(known, widening(before)) | {"running": fit_running(recorded_moments(before))}
    write_atomically(CONSTANTS, (json.dumps(constants) + "\n").encode())
    print(f"wrote {CONSTANTS.name}: {constants['runs']} runs, epochs widened by {constants['epochs']['widen']}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train", help="train a list")
    training.add_argument("list", choices=list(SEEDS))
    training.add_argument("--store", type=Path, help="by default dist/forecast-LIST.sqlite")
    commands.add_parser("fit", help="fit the constants")
    arguments = parser.parse_args()
    if arguments.command == "fit":
        fit_constants()
    else:
        train(arguments.list, arguments.store or Path("dist") / f"forecast-{arguments.list}.sqlite")


if __name__ == "__main__":
    main()
