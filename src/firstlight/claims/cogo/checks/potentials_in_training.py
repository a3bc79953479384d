"""Monomial potentials along training, and their ripples (Figure 4)."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from scipy.signal import find_peaks

from firstlight import flow
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most, below, equals
from firstlight.claims.cogo.checks._statistics import difference, quantile
from firstlight.claims.cogo.checks._train import described, read, train
from firstlight.records import Criterion, figure
from firstlight.theories.cogo.lemmas import observe_potentials


def _sizes(setting: Setting) -> dict[str, Any]:
    """Return the fields of Figure 4; optimizer, rates and fraction are not printed."""
    d, width, rate, decay, steps = setting.choose(quick=(11, 64, 0.03, 1e-3, 1200), paper=(23, 1024, 0.01, 5e-5, 5000))
    return {
        "group": f"Z{d}",
        "width": width,
        **described(),
        "epochs": steps,
        "optimizer": "adam",
        "learning rate": rate,
        "weight decay": decay,
        "schedule": "constant",
        "train fraction": 0.9,
    }


def _measure_potentials(setting: Setting) -> Measurement:
    """Train on 90 % of the pairs and record accuracies, potentials and orders."""
    seeds = setting.seeds_or(range(setting.choose(quick=4, paper=5)))
    used = _sizes(setting)
    d, decay = int(used["group"][1:]), used["weight decay"]
    run = train(
        setting,
        d,
        used["width"],
        rate=used["learning rate"],
        decay=decay,
        steps=used["epochs"],
        seeds=seeds,
        fraction=used["train fraction"],
        every=setting.choose(quick=2, paper=5),
        observables=(observe_potentials,),
    )
    orders, limit = [list(read(model, d).orders) for model in run.models], (d - 1) / (2 * d)
    norm2 = [float(np.sum(np.square(model.W)) + np.sum(np.square(model.V))) for model in run.models]
    frames = [lane.frame for lane in run.lanes]
    data = {
        "train accuracy": [frame["train_accuracy"].iloc[-1] for frame in frames],
        "test accuracy": [frame["test_accuracy"].iloc[-1] for frame in frames],
        "epochs from train to test": [_first(f, "test_accuracy") - _first(f, "train_accuracy") for f in frames],
        "orders": orders,
        "Σ r_kkk over its limit": [frame["cogo.sum_diagonal"].iloc[-1] / limit for frame in frames],
        # At a stationary point of ℓ + λ‖θ‖²/2 the scale of all weights gives 6(1 − ρ)ρ(d − 1)/d = λ‖θ‖².
        "share taken by weight decay": [decay * n / (12 * limit) for n in norm2],
        "other r, last over largest": [
            frame["cogo.off_diagonal"].iloc[-1] / frame["cogo.off_diagonal"].max() for frame in frames
        ],
        "|r_p0kk| over 1/√8 d": {
            p: {str(n): _ends(run.lanes, orders, f"cogo.{p}0kk", n, 8**0.5 * d) for n in (4, 6)} for p in "ab"
        },
    }
    panels = _panels(run.lanes[0], np.concatenate(orders), np.array(orders[0]), limit)
    title = f"Monomial potentials in training, d = {d}, q = {used['width']}"
    caption = f"Seed {seeds[0]}; orders over all seeds."
    return Measurement(data, used, seeds, (figure.panels(panels, columns=3, title=title, caption=caption),))


def _first(frame: Any, column: str) -> float:
    """Return the first epoch at which a column is 1; NaN if it never is."""
    reached = frame["step"].to_numpy()[frame[column].to_numpy() >= 1]
    return float(reached[0]) if len(reached) else float("nan")


def _ends(
    lanes: Sequence[flow.LaneResult], orders: list[list[int]], column: str, order: int, scale: float
) -> list[float]:
    """Return the last values of the frequencies with `order` nodes, of all networks."""
    pairs = zip(lanes, orders, strict=True)
    return [float(x) * scale for lane, own in pairs for x in lane.arrays[column][-1][np.array(own) == order]]


def _judge_potentials(data: Mapping[str, Any]) -> list[Criterion]:
    """Require every part of the caption."""
    orders = np.concatenate([np.array(own) for own in data["orders"]])
    numbers, counts = np.unique(orders, return_counts=True)
    frequent = sorted(numbers[np.argsort(-counts, kind="stable")[:2]].tolist())
    shortfall = 1 - np.array(data["Σ r_kkk over its limit"])
    rows = [
        at_least("training accuracy reaches 100 %", "least training accuracy at the end", data["train accuracy"], 1),
        at_least("test accuracy reaches 100 %", "least test accuracy at the end", data["test accuracy"], 1),
        above(
            "test accuracy jumps after training accuracy has reached 100 %",
            "epochs between the two",
            data["epochs from train to test"],
            0,
        ),
        equals("orders are concentrated at 4 and 6", "the two most frequent orders", frequent, [4, 6]),
        above(
            "orders are concentrated at 4 and 6",
            "share of frequencies with 4 or 6 nodes",
            float(np.isin(orders, (4, 6)).mean()),
            0.5,
            reason="most frequencies",
        ),
        at_most(
            "Σ r_kkk converges towards (d − 1)/2d",
            "relative distance from it, over the share that weight decay takes at a stationary point",
            np.abs(shortfall) / np.array(data["share taken by weight decay"]),
            2,
            reason="λ‖θ‖² d/6(d − 1) to first order, on the training pairs; twice that leaves room for Adam's noise",
        ),
        at_most(
            "off-diagonal r_{k₁k₂k} converges towards 0",
            "root mean square at the end over its largest",
            data["other r, last over largest"],
            0.1,
            reason="a tenth; a potential that stays is at 1",
        ),
    ]
    for p, ends in data["|r_p0kk| over 1/√8 d"].items():
        rows.append(
            above(
                f"order 4 and order 6 differ on r_{p}0kk",
                f"|r_{p}0kk| of order 4 less that of order 6, in standard errors over frequencies",
                difference(ends["4"], ends["6"]),
                quantile(len(ends["4"]) + len(ends["6"])),
                reason="one-sided 99 % quantile of Student's t; Corollaries 2 and 3 give 1/√8 d and 0",
            )
        )
        rows.append(
            above(
                f"order 4 is near its block on r_{p}0kk, order 6 near 0",
                f"|r_{p}0kk| over 1/√8 d, mean of order 4 and 1 less mean of order 6",
                [float(np.mean(ends["4"] or [np.nan])), 1 - float(np.mean(ends["6"] or [np.nan]))],
                0.5,
                reason="nearer to the own value, 1 or 0, than to the other",
            )
        )
    return rows


potentials_along_training = Check(_measure_potentials, _judge_potentials)


PROMINENCE = 0.01
"""Rise and fall of Σ r_kkk over (d − 1)/2d that counts as a ripple; at the end Adam's noise is below a tenth of it."""


def _measure_ripples(setting: Setting) -> Measurement:
    """Count ripples of Σ r_kkk under Adam and under gradient descent with small steps, from the same weights."""
    seeds = setting.seeds_or(range(setting.choose(quick=4, paper=5)))
    used = _sizes(setting) | setting.choose(
        quick={"width": 256, "learning rate": 0.01, "epochs": 400, "weight decay": 1e-3}, paper={}
    )
    d = int(used["group"][1:])
    limit = (d - 1) / (2 * d)
    curves: dict[str, list[np.ndarray]] = {}
    steps = {"adam": used["epochs"], "sgd": setting.choose(quick=3000, paper=10_000)}
    rates: dict[Literal["adam", "sgd"], float] = {"adam": used["learning rate"], "sgd": 0.1}
    for optimizer, rate in rates.items():
        run = train(
            setting,
            d,
            used["width"],
            rate=rate,
            decay=used["weight decay"],
            steps=steps[optimizer],
            seeds=seeds,
            fraction=used["train fraction"],
            every=1 if optimizer == "adam" else 5,
            optimizer=optimizer,
            observables=(observe_potentials,),
        )
        curves[optimizer] = [lane.frame["cogo.sum_diagonal"].to_numpy() / limit for lane in run.lanes]
    ripples = {name: [_prominences(curve) for curve in own] for name, own in curves.items()}
    shown = figure.curves(
        [
            figure.Series("Adam", np.arange(201), curves["adam"][0][:201]),
            figure.Series("gradient descent", np.arange(0, 1001, 5), curves["sgd"][0][:201]),
        ],
        x="epoch",
        y="Σ r_kkk over (d − 1)/2d",
        title="Adam ripples, gradient descent does not",
        caption=f"{used['group']}, q = {used['width']}, seed {seeds[0]}; rate of gradient descent 0.1.",
        horizontal={"limit": 1.0},
    )
    data = {
        "ripples of Adam": [sorted(own, reverse=True) for own in ripples["adam"]],
        "ripples of gradient descent": [sorted(own, reverse=True) for own in ripples["sgd"]],
        "noise at the end": [float(np.std(own[-len(own) // 10 :])) for own in curves["adam"]],
        "end of Adam": [float(own[-1]) for own in curves["adam"]],
        "end of gradient descent": [float(own[-1]) for own in curves["sgd"]],
    }
    return Measurement(data, used, seeds, (shown,))


def _prominences(curve: np.ndarray) -> list[float]:
    """Return the prominence of each peak of a curve that is above `PROMINENCE`, in the order of time."""
    return find_peaks(curve, prominence=PROMINENCE)[1]["prominences"].tolist()


def _judge_ripples(data: Mapping[str, Any]) -> list[Criterion]:
    """Require ripples that die out under Adam; show that gradient flow, which eq. (12) models, has none."""
    first = [own[0] if own else 0.0 for own in data["ripples of Adam"]]
    return [
        below(
            "ripples stand out from noise",
            "standard deviation at the end, Adam",
            data["noise at the end"],
            PROMINENCE / 4,
            reason="a ripple is four standard deviations",
            form="precondition",
        ),
        at_least(
            "both optimizers converge",
            "Σ r_kkk over (d − 1)/2d at the end",
            [*data["end of Adam"], *data["end of gradient descent"]],
            0.8,
            reason="most of the way; weight decay and held-out pairs take the rest",
            form="precondition",
        ),
        at_least(
            "Σ r_kkk converges with ripple effects",
            f"ripples of prominence over {PROMINENCE:g}, by network",
            [len(own) for own in data["ripples of Adam"]],
            2,
            reason="one is an overshoot; ripples are several",
        ),
        above(
            "the ripples are large at first",
            "largest ripple over the limit, by network",
            first,
            4 * PROMINENCE,
            reason="four times the least ripple, which is ten times Adam's noise at the end",
        ),
        at_least(
            "the gradient dynamics of eq. (12) has these ripples",
            "ripples of gradient descent with small steps from the same weights, by network",
            [len(own) for own in data["ripples of gradient descent"]],
            1,
            form="printed",
        ),
        at_most(
            "the ripples are Adam's: gradient descent with small steps has none",
            "ripples of gradient descent with small steps from the same weights, by network",
            [len(own) for own in data["ripples of gradient descent"]],
            0,
            form="corrected",
        ),
    ]


ripples_along_training = Check(_measure_ripples, _judge_ripples)


def _panels(lane: flow.LaneResult, orders: np.ndarray, own: np.ndarray, limit: float) -> tuple[figure.FigureData, ...]:
    # Epochs are spaced evenly in their logarithm, so that early rows are kept and the figure stays small.
    rows = np.unique(np.geomspace(1, len(lane.frame), 250).astype(int) - 1)
    frame, arrays = lane.frame.iloc[rows], {name: values[rows] for name, values in lane.arrays.items()}
    step, epoch = frame["step"], figure.Axis("epoch", scale="symlog")
    halves = [figure.Series(half, step, frame[f"{half}_accuracy"]) for half in ("train", "test")]
    accuracy = figure.curves(halves, x=epoch, y="accuracy", title="Accuracy")
    names = [str(n) for n in np.unique(orders)]
    counts = [np.sum(orders == int(n)) for n in names]
    histogram = figure.bars(names, {"frequencies": counts}, x="nodes per frequency", y="frequencies", title="Orders")
    sums = [
        figure.Series("Σ r_kkk", step, frame["cogo.sum_diagonal"]),
        figure.Series("other r, rms", step, frame["cogo.off_diagonal"]),
    ]
    main = figure.curves(sums, x=epoch, y="potential", title="Diagonal and rest", horizontal={"(d − 1)/2d": limit})
    parts = []
    for column, text in (("cogo.diagonal", "r_kkk"), ("cogo.a0kk", "|r_a0kk|"), ("cogo.b0kk", "|r_b0kk|")):
        series = [figure.Series(f"order {n}", step, arrays[column][:, own == n].mean(1)) for n in (4, 6) if n in own]
        parts.append(figure.curves(series, x=epoch, y=text, title=f"{text}, mean by final order"))
    return (accuracy, histogram, main, *parts)
