"""Train a list of forecast settings, or fit the constants of the forecasts on the lists that were trained.

`python tools/forecasts.py train seventh` resumes from `dist/forecast-seventh.sqlite` and writes curves and outcomes
beside the list. `python tools/forecasts.py fit` writes the constants that `li2.predict` and `li2.forecast` use, and
`python tools/forecasts.py page` the tables and pictures of `docs/forecast.md`.
"""

import argparse
import csv
import io
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firstlight import groups, plots, runs
from firstlight._files import write_atomically
from firstlight.claims.beyond.checks import forecasts
from firstlight.claims.beyond.checks.forecast_curves import read_curves, write_curves
from firstlight.claims.beyond.checks.forecast_fit import fit, fitted_runs, left_out, shapes_of, widening
from firstlight.claims.beyond.checks.forecast_rows import RECORDED, fit_running, recorded_moments
from firstlight.claims.beyond.checks.forecast_settings import FOLDER, SEEDS, ForecastSetting, ListName, load
from firstlight.records import LEARNED, Store
from firstlight.theories import li2
from firstlight.theories.li2._running import columns_of_table

CONSTANTS = Path(li2.__file__).parent / "calibration.json"


def train(name: ListName, store: Path) -> None:
    """Train what the store lacks, the cheapest settings first; then write curves and outcomes of all that finished."""
    settings, start = load(name), time.monotonic()
    places = sorted(range(0, len(settings), 2), key=lambda place: _cost(settings[place]))
    store.parent.mkdir(parents=True, exist_ok=True)
    for done, place in enumerate(places, 1):
        pair = [place, place + 1]
        runs.run_many([settings[i].spec(lens=False) for i in pair], store=store, progress="off")
        left = (time.monotonic() - start) / done * (len(places) - done)
        print(f"{done} of {len(places)} pairs, {settings[place].group}, at least {left / 60:.0f} min left", flush=True)
    collect(name, store)


def collect(name: ListName, store: Path) -> None:
    """Write curves and outcomes of the pairs of runs that the store holds, without training any."""
    with Store(store) as opened:
        specs = {place: setting.spec(lens=False) for place, setting in enumerate(load(name))}
        done = {place for place, spec in specs.items() if opened.run_status(spec) == "finished"}
        both = [place for place in sorted(done) if place ^ 1 in done]
        write(name, {place: columns_of_table(opened.get_run(specs[place]).table) for place in both})
    print(f"wrote {len(both)} of {len(specs)} runs")


def _cost(setting: ForecastSetting) -> float:
    return setting.n * setting.width * setting.steps * groups.parse(setting.group).order


def write(name: ListName, curves: Mapping[int, Mapping[str, np.ndarray]]) -> None:
    """Write curves and outcomes of a list."""
    curves = dict(sorted(curves.items()))
    if name in (*RECORDED, forecasts.JUDGED):
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
    """Fit all constants on the fitted lists, with intervals from groups that were left out."""
    known = fitted_runs()
    shapes = shapes_of(known)
    widen = widening(left_out(known, fit(known, shapes)))
    constants = fit(known, shapes, widen)
    constants["running"] = fit_running(recorded_moments(left_out(known, constants)))
    write_atomically(CONSTANTS, (json.dumps(constants) + "\n").encode())
    print(f"wrote {CONSTANTS.name}: {constants['runs']} runs, deviations widened by {widen}")


BEGIN, END = "<!-- tables: tools/forecasts.py page -->", "<!-- end of the tables -->"


def page() -> None:
    """Write the tables and pictures of docs/forecast.md from the recorded curves of the judged list."""
    rows = forecasts.judged_rows(read_curves(forecasts.JUDGED))
    settings = load(forecasts.JUDGED)
    path = Path("docs/forecast.md")
    before, rest = path.read_text(encoding="utf-8").split(BEGIN)
    tables = "\n\n".join(
        [_summary(rows, settings), *_misses(rows, settings), *_late(rows, settings), *_alarms(settings)]
    )
    text = before + BEGIN + "\n\n" + tables + "\n\n" + END + rest.split(END)[1]
    write_atomically(path, text.encode())
    for name, drawn in (("reliability", forecasts.reliability(rows)), ("epochs", forecasts.times(rows))):
        write_atomically(Path("docs/images") / f"forecast-{name}.svg", plots.svg(drawn).encode())


def _summary(rows: list[dict[str, Any]], settings: list[ForecastSetting]) -> str:
    """Return the table of targets: groups left out of the fit, the judged list, and what seeds leave possible."""
    before = left_out(fitted_runs(), json.loads(CONSTANTS.read_text(encoding="utf-8")))
    fitted = [
        {"chance": r.chance, "margin": r.margin, "generalised": r.time is not None, "place": r.place} for r in before
    ]
    watched = [forecasts.watch(settings[place], columns) for place, columns in read_curves(forecasts.JUDGED).items()]
    covered = [w["covered"] for w in watched if w["covered"] is not None]
    alarms, failed = [w for w in watched if w["alarm"] is not None], [w for w in watched if not w["generalised"]]
    false, warned = sum(w["generalised"] for w in alarms), sum(w["alarm"] is not None for w in failed)
    timed = [(np.log(r.time), r) for r in before if r.time is not None and r.driven and r.chance >= 0.5]
    close = np.mean([abs(time - r.log_time) <= np.log(forecasts.FACTOR) for time, r in timed])
    cover = np.mean([abs(time - r.log_time) <= 1.2816 * r.deviation for time, r in timed])
    judged = [row for row in rows if row["generalised"] and np.isfinite(row["forecast"][1])]
    within = np.mean([abs(np.log(r["epoch"] / r["forecast"][1])) <= np.log(forecasts.FACTOR) for r in judged])
    caught = np.mean([r["forecast"][0] <= r["epoch"] <= r["forecast"][2] for r in judged])
    skill, share = forecasts.near_bound(rows), forecasts.epochs_bound(rows)
    near = [row for row in rows if forecasts.is_near(row)]
    lines = [
        f"{len(rows)} of the {len(settings)} runs of the list were read, on {len({r['group'] for r in rows})} groups.",
        "",
        f"| what | groups left out of the fit | {forecasts.JUDGED} list | possible without the seed | target |",
        "|---|---|---|---|---|",
        f"| outcomes, over 15 % away from the boundary ({len(rows) - len(near)} runs) | {_away(fitted):.1%} | "
        f"{_away(rows):.1%} | | ≥ 97 % |",
        f"| Brier skill within 15 % of the boundary ({len(near)} runs) | {_skill(fitted, True):.2f} | "
        f"{_skill(rows, True):.2f} | {skill[0]:.2f} ± {skill[1]:.2f} | ≥ 0.5 |",
        f"| Brier skill over all runs | {_skill(fitted, False):.2f} | {_skill(rows, False):.2f} | | |",
        f"| epochs within a factor of 1.5 ({len(judged)} runs) | {close:.1%} | {within:.1%} | "
        f"{share[0]:.0%} ± {share[1]:.0%} | ≥ 80 % |",
        f"| coverage of the 80 % interval, before training | {cover:.1%} | {caught:.1%} | | 74 to 86 % |",
        f"| coverage of the 80 % interval, during training | | {np.mean(covered):.1%} | | 74 to 86 % |",
        f"| false alarms (“it will not”) | | {false} of {len(alarms)} | | ≤ 5 % |",
        f"| failures announced during training | | {warned} of {len(failed)} | | |",
    ]
    return "\n".join(lines)


def _away(rows: list[dict[str, Any]]) -> float:
    away = [row for row in rows if not forecasts.is_near(row)]
    return float(np.mean([(row["chance"] >= 0.5) == row["generalised"] for row in away]))


def _skill(rows: list[dict[str, Any]], near: bool) -> float:
    return forecasts.brier_skill([row for row in rows if forecasts.is_near(row) or not near])


def _misses(rows: list[dict[str, Any]], settings: list[ForecastSetting]) -> list[str]:
    """Return a table of the runs whose outcome was not forecast, away from the boundary and near it."""
    parts = []
    for title, near in (("Away from the boundary", False), ("Within 15 % of the boundary", True)):
        chosen = [row for row in rows if forecasts.is_near(row) == near]
        wrong = sorted((r for r in chosen if (r["chance"] >= 0.5) != r["generalised"]), key=lambda r: r["margin"])
        lines = [f"#### {title}", f"{len(wrong)} of {len(chosen)} runs.", ""]
        lines += ["| place | group | n | K | σ | optimizer | n/n₅₀ | chance | what happened |", "|" + "---|" * 9]
        for row in wrong:
            s = settings[row["place"]]
            end = f"test accuracy {row['accuracy']:.2f} after {s.steps} epochs"
            what = f"generalised at epoch {row['epoch']:.0f}" if row["generalised"] else end
            numbers = f"{row['margin']:.2f} | {row['chance']:.2f}"
            cells = f"{row['place']} | {s.group} | {s.n} | {s.width} | {s.activation} | {s.optimizer} | {numbers}"
            lines.append(f"| {cells} | {what} |")
        parts.append("\n".join(lines))
    return parts


def _late(rows: list[dict[str, Any]], settings: list[ForecastSetting]) -> list[str]:
    """Return a table of the epochs that were forecast worst."""
    timed = [row for row in rows if row["generalised"] and np.isfinite(row["forecast"][1])]
    off = [row for row in timed if abs(np.log(row["epoch"] / row["forecast"][1])) > np.log(forecasts.FACTOR)]
    lines = [f"#### Epochs off by more than a factor of {forecasts.FACTOR}", f"{len(off)} of {len(timed)} runs.", ""]
    lines += [
        "| place | group | σ | optimizer | n/n₅₀ | forecast epoch (80 % interval) | epoch | ratio |",
        "|" + "---|" * 8,
    ]
    for row in sorted(off, key=lambda r: r["epoch"] / r["forecast"][1]):
        s, (low, middle, high) = settings[row["place"]], row["forecast"]
        start = f"{row['place']} | {s.group} | {s.activation} | {s.optimizer} | {row['margin']:.2f}"
        ratio = row["epoch"] / middle
        lines.append(f"| {start} | {middle:.0f} ({low:.0f} to {high:.0f}) | {row['epoch']:.0f} | {ratio:.2f} |")
    return ["\n".join(lines)]


def _alarms(settings: list[ForecastSetting]) -> list[str]:
    """Return the list of false alarms."""
    lines = ["#### False alarms", ""]
    for place, columns in read_curves(forecasts.JUDGED).items():
        watched, s = forecasts.watch(settings[place], columns), settings[place]
        if watched["alarm"] is not None and watched["generalised"]:
            when = _learned(columns, "test_accuracy")
            lines.append(
                f"* place {place}, {s.group}, {s.activation}, {s.optimizer}: “it will not” at epoch "
                f"{watched['alarm']:.0f}, generalised at epoch {when}."
            )
    return ["\n".join(lines if len(lines) > 2 else [*lines, "None."])]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for command, words in (("train", "train a list"), ("collect", "write the runs of a list that were trained")):
        part = commands.add_parser(command, help=words)
        part.add_argument("list", choices=list(SEEDS))
        part.add_argument("--store", type=Path, help="by default dist/forecast-LIST.sqlite")
    commands.add_parser("fit", help="fit the constants")
    commands.add_parser("page", help="write the tables and pictures of docs/forecast.md")
    arguments = parser.parse_args()
    if arguments.command == "fit":
        fit_constants()
    elif arguments.command == "page":
        page()
    else:
        action = train if arguments.command == "train" else collect
        action(arguments.list, arguments.store or Path("dist") / f"forecast-{arguments.list}.sqlite")


if __name__ == "__main__":
    main()
