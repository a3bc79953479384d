"""Figure 7: ReLU networks on images, from a staircase to a slide."""

import functools
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from firstlight import tasks
from firstlight._files import write_atomically
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most, untested
from firstlight.records import Criterion, figure
from firstlight.records._values import plain
from firstlight.theories import agf

CONFIDENCE = 0.95
"""One-sided level of Student's t for a difference between widths, paired by seed."""


ROWS = slice(2000, 7000)
"""Training rows of CIFAR-10, as in the paper's code."""

POINTS = 40
"""Points of the quick scale."""


def _measure(setting: Setting) -> Measurement:
    """Compare AGF and gradient flow from the same initialisations, for growing widths."""
    quick = setting.scale == "quick"
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=8)))
    widths, alpha = setting.choose(quick=(1, 2), paper=(1, 2, 3, 10)), setting.choose(quick=1e-8, paper=1e-20)
    rows: list[dict[str, Any]] = []
    for done, (width, seed) in enumerate((w, s) for w in widths for s in seeds):
        setting.progress(done / len(widths) / len(seeds), f"width {width}, draw {seed}")
        path = setting.work / "agf" / f"figure-7-rows-{ROWS.start}-{width}-{seed}.json"
        if not quick and path.is_file():
            rows.append(json.loads(path.read_text(encoding="utf-8")))
            continue
        row = plain(_run(*_data(setting, seed), width, alpha, seed, quick))
        if not quick:
            write_atomically(path, json.dumps(row).encode())
        rows.append(row)
    shown = figure.panels(
        [_panel(next(row for row in rows if row["width"] == width)) for width in widths],
        columns=2,
        title="From a staircase to a slide in a ReLU network",
        caption="The training loss under gradient flow and AGF's staircase from the same start, by width.",
    )
    name = "40 points in 5 Gaussian clusters" if quick else "subset of CIFAR-10"
    used = {
        "data": name,
        "rows": POINTS if quick else f"{ROWS.start} to {ROWS.stop - 1}",
        "activation": "relu",
        "start of AGF": "that of gradient flow",
        "widths": widths,
        "alpha": alpha,
        "seeds": len(seeds),
    }
    data = {"alpha": alpha, "widths": widths, "draws": [{k: v for k, v in row.items() if k != "curve"} for row in rows]}
    return Measurement(data | {"images": not quick}, used, seeds, (shown,))


def _run(X: np.ndarray, Y: np.ndarray, width: int, alpha: float, seed: int, quick: bool) -> dict[str, Any]:
    """Return how well AGF describes one run, and how sudden the fall of its loss is."""
    problem = agf.network(X, Y, "relu", kappa=2, single=not quick, name="ReLU")
    theta = problem.initial(width=width, alpha=alpha, seed=seed)
    steps = agf.predict(problem, theta, max_jumps=width, tolerance=1e-4)
    last = float(steps.jump_times[-1]) if steps.events else 1.0
    run = agf.follow(problem, theta, np.linspace(0.0, 1.3 * last, 200), rtol=2e-3 if quick else 5e-4)
    frame = steps.compare(run).frame
    return {
        "seed": seed,
        "width": width,
        "first jump": float(frame["time_error"].iloc[0]) if len(frame) else float("nan"),
        "distance": steps.distance(run),
        "fall": _largest_fall(run.times, run.loss),
        "curve": {"times": run.times, "loss": run.loss, "levels": steps.levels, "jumps": steps.jump_times},
    }


def _panel(row: Mapping[str, Any]) -> figure.FigureData:
    curve = {name: np.array(values, float) for name, values in row["curve"].items()}
    return figure.staircase(
        curve["times"],
        curve["loss"],
        levels=curve["levels"],
        jumps=curve["jumps"],
        x="time",
        y="loss",
        title=f"width {row['width']}",
        measured="gradient flow",
        predicted="AGF",
    )


def _data(setting: Setting, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Load grey CIFAR-10 images; draw a few clusters of points at quick scale."""
    if setting.scale != "quick":
        return _grey_rows(setting.data)
    rng = np.random.default_rng(seed)
    centres = 1.5 * rng.standard_normal((5, 4))
    labels = rng.integers(0, 5, POINTS)
    X = tasks.whitened(centres[labels] + rng.standard_normal((POINTS, 4)))
    return X, np.eye(5)[labels] - 0.2


@functools.lru_cache(maxsize=1)
def _grey_rows(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the chosen rows of CIFAR-10, grey, centred and whitened, with their one-hot labels minus 0.1."""
    if folder is None:
        raise ValueError("CIFAR-10 is read from a folder: give --data DIR or FIRSTLIGHT_DATA")
    with np.load(folder / "cifar10" / "cifar10.npz", allow_pickle=False) as stored:
        chosen = {"X": stored["X_train"][ROWS], "y": stored["y_train"][ROWS]}
    with tempfile.TemporaryDirectory() as place:  # `grey_images` reads files
        np.savez(Path(place, "rows.npz"), **chosen)
        task = tasks.grey_images(place)
    return task.inputs.dense(), task.targets


def _largest_fall(times: np.ndarray, loss: np.ndarray) -> float:
    """Return the largest share of the fall within 5 % of the time: 1 for a single jump, 0.05 for a slide."""
    window = 0.05 * (times[-1] - times[0])
    later = np.interp(times + window, times, loss)
    return float((loss - later).max() / (loss[0] - loss.min()))


def _by_width(data: Mapping[str, Any], width: int, key: str) -> np.ndarray:
    rows = sorted((row for row in data["draws"] if row["width"] == width), key=lambda row: row["seed"])
    return np.array([np.nan if row[key] is None else row[key] for row in rows], float)


def _in_standard_errors(change: np.ndarray) -> float:
    """Return mean over standard error; NaN for equal numbers, which no random start gives."""
    error = float(change.std(ddof=1) / np.sqrt(len(change)))
    return float(change.mean()) / error if error > 0 else float("nan")


def _judge(data: Mapping[str, Any]) -> list[Criterion]:
    small, large = data["widths"][0], data["widths"][-1]
    clock = -float(np.log(data["alpha"]))
    rows = [
        at_most(
            f"AGF tracks the jumps closely at width {small}",
            "largest relative error of the first jump, times |log α|",
            clock * np.abs(_by_width(data, small, "first jump")),
            2.0,
            reason="for κ = 2 gradient flow is an order-one number over |log α| from AGF; the factor is 2",
        ),
        at_least(
            f"the loss is stepwise at width {small}",
            "share of the fall within 5 % of the time",
            _by_width(data, small, "fall"),
            0.25,
            reason="a uniform slide has 0.05; the factor is 5",
        ),
    ]
    if not data["images"]:
        why = "40 points in clusters are learned in few steps at every width; images are needed"
        return [*rows, untested("larger widths slide, and the correspondence with AGF weakens", why)]
    n = len(_by_width(data, small, "fall"))
    t = float(stats.t.ppf(CONFIDENCE, n - 1))
    for clause, quantity, key, sign in (
        ("as the width grows the loss becomes a slide", "fall of the largest step", "fall", -1),
        ("the correspondence with AGF weakens", "growth of the distance from AGF", "distance", 1),
    ):
        change = sign * (_by_width(data, large, key) - _by_width(data, small, key))
        rows.append(
            above(
                clause,
                f"{quantity} from width {small} to {large}, in standard errors of the paired mean",
                _in_standard_errors(change),
                t,
                reason="Student's t at a one-sided level of 5 %",
            )
        )
    return rows


staircase_to_slide = Check(_measure, _judge)
