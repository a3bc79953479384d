"""Section 5: levels and times of modular addition compared with gradient flow (eq. 9, Figure 6)."""

import functools
import itertools
from typing import Any

import numpy as np

from firstlight.claims._claim import Outcome, Setting
from firstlight.records import figure
from firstlight.theories import agf

Case = tuple[agf.Template, np.ndarray, agf.Staircase, Any]
"""Task, initial neurons, AGF's staircase and gradient flow."""


@functools.cache
def _clean_case(width: int, alpha: float, seed: int, learned: float) -> Case:
    """Return task, initial neurons, staircase and gradient flow for p = 7. Cached, because two claims use it."""
    task = agf.Template("Z7", agf.harmonic_template(7, {1: 6.0, 3: 3.0}))
    theta = task.problem.initial(width=width, alpha=alpha, seed=seed)
    steps = agf.predict(task.problem, theta, learned=learned)
    # Gradient flow may be later than AGF. It stops after the second jump, whose middle is at a tenth of the loss.
    end = (1.4 if learned > 0.1 else 4.0) * float(steps.jump_times[-1])
    times = np.concatenate([[0.0], np.geomspace(end / 2000, end, 200 if learned > 0.1 else 1500)])
    stop = None if learned > 0.1 else 0.09 * float(steps.levels[0])
    run = agf.follow(task.problem, theta, times, solver="lsoda", rtol=1e-5, loss_below=stop)
    return task, theta, steps, run


def _quick_case(seed: int) -> Case:
    """Run ten neurons to the first plateau, far from the second jump."""
    return _clean_case(10, 1e-2, seed, 0.21)


def _read(task: agf.Template, steps: agf.Staircase, run: Any) -> tuple[Any, Any]:
    """Return the levels of eq. 9, and a row per level: times of AGF and gradient flow, the flow's level, the error."""
    law = agf.lemmas.fourier_levels(task.template)
    middles = (law.levels[1:] + law.levels[:-1]) / 2
    predicted = [next((e.time for e in steps.events if e.after <= m), float("nan")) for m in middles]
    ideal = agf.lemmas.from_levels(predicted, law.levels, law.frequencies, eta=1.0, kappa=3)
    frame = ideal.compare(run).frame
    frame["measured_level"] = [
        _flattest(run, start, level) for start, level in zip(frame["measured_time"], law.levels[1:], strict=True)
    ]
    return law, frame


def _flattest(run: Any, start: float, level: float) -> float:
    """Return the loss at its flattest point after a jump, while the loss is within 5 % of the level."""
    inside = np.flatnonzero((run.times > start) & (run.loss > 0.95 * level))
    if len(inside) < 2:
        return float("nan")
    slope = np.abs(np.diff(run.loss[inside]) / np.diff(np.log(run.times[inside])))
    return float(run.loss[inside[int(slope.argmin())]])


def levels_and_times(setting: Setting) -> Outcome:
    """Check eq. 9 in cases that meet its assumptions: p odd and, at paper scale, H ≥ 3p."""
    seeds = setting.seeds_or((0,) if setting.scale == "quick" else (0, 1, 2, 3))
    alphas = setting.choose(quick=(1e-2,), paper=(1e-2, 1e-3, 1e-5))
    first, second, scaled, off, waits = {}, {}, {}, {}, []
    for done, (alpha, seed) in enumerate(itertools.product(alphas, seeds)):
        setting.progress(done / len(alphas) / len(seeds), f"α = {alpha:g}, seed {seed}")
        task, theta, steps, run = (
            _quick_case(seed) if setting.scale == "quick" else _clean_case(21, alpha, seed, learned=0.02)
        )
        law, frame = _read(task, steps, run)
        errors, times, levels = (
            frame[column].to_numpy() for column in ("time_error", "measured_time", "measured_level")
        )
        first.setdefault(f"{alpha:g}", []).append(float(errors[0]))
        second.setdefault(f"{alpha:g}", []).append(float(errors[1]))
        scaled.setdefault(f"{alpha:g}", []).append(alpha * float(times[1]))
        off.setdefault(f"{alpha:g}", []).append(float(levels[0] / law.levels[1] - 1))
        bound = agf.lemmas.jump_bound(float(np.linalg.norm(theta, axis=1).max()), 3, float(law.utilities[0]))
        waits.append(float(steps.jump_times[0]) / float(bound))
    p, size = task.M, float(np.abs(np.fft.fft(task.template)[law.frequencies[0]]))
    scale = float(np.sqrt(3) * p**1.5 / (np.sqrt(2) * size**3))
    printed = float(np.sqrt(3 * p**1.5) / (np.sqrt(2) * size**3))
    worst = max(abs(e) for each in off.values() for e in each)
    late = max(abs(e) for each in first.values() for e in each)
    measured = {
        "first level of gradient flow, relative error": off,
        "first jump of AGF, relative error": first,
        "second jump of AGF, relative error": second,
        "second jump of gradient flow × α": scaled,
        "first jump over its bound": waits,
        "1/(3U*)": float(1 / (3 * law.utilities[0])),
        "printed time scale": printed,
    }
    right = worst < 0.005 and late < 0.1 and min(waits) >= 1 and abs(scale * 3 * law.utilities[0] - 1) < 1e-9
    return Outcome(
        "holds-as-corrected" if right else "fails",
        measured,
        {"first level of gradient flow, relative error": 0.0, "1/(3U*)": scale},
        evidence=(
            f"√(3p^(3/2))/(√2|x̂|³) = {printed:.3g} is not 1/(3U*) = {scale:.3g}. The time of the second jump is "
            "ill-conditioned: its neurons nearly became active in the first cascade, where 1/‖θ‖ is near zero. The "
            "time times α should not depend on α, but changes by half for some seeds in gradient flow itself."
        ),
        seeds=tuple(seeds),
    )


def _longest(steps: agf.Staircase, upper: float, lower: float) -> float:
    """Return the level of a staircase between two losses that lasts longest."""
    between = (steps.levels < upper) & (steps.levels > lower)
    # The last level has no end; its length counts as the time before it.
    ends = np.append(steps.jump_times, 2 * steps.jump_times[-1])
    lasts = np.diff(np.concatenate([[0.0], ends]))
    return float(steps.levels[between][lasts[between].argmax()])


def figure_6(setting: Setting) -> Outcome:
    """Check Figure 6 (at quick scale a simpler case): spectrum of the outputs over time, levels, jumps, neurons."""
    seed = setting.seeds_or((0,))[0]
    if setting.scale == "quick":
        task, _, steps, run = _quick_case(seed)
        jumps = 1
    else:
        task = agf.Template("Z20", agf.harmonic_template(20, {1: 10, 3: 5, 5: 2.5}))
        theta = task.problem.initial(width=18, alpha=1e-2, seed=seed)
        steps = agf.predict(task.problem, theta, learned=1e-3)
        times = np.concatenate([[0.0], np.geomspace(2.0, 2500.0, 500)])
        run = agf.follow(task.problem, theta, times, solver="lsoda", rtol=1e-5)
        jumps = 2
    law, frame = _read(task, steps, run)
    errors = frame["time_error"].to_numpy()
    plateaus = frame["measured_level"].to_numpy()[:-1]
    plateaus = plateaus[np.isfinite(plateaus)]
    middles = (law.levels[1:] + law.levels[:-1]) / 2
    predicted = np.array([_longest(steps, *pair) for pair in itertools.pairwise(middles)][: len(plateaus)])
    between = law.levels[1 : 1 + len(plateaus)]
    level = max(float(np.abs(levels / between - 1).max()) for levels in (plateaus, predicted))
    measured = {
        "jumps of gradient flow": frame["measured_time"].to_numpy(),
        "jumps of AGF": frame["predicted_time"].to_numpy(),
        "errors": errors,
        "plateaus of gradient flow": plateaus,
        "plateaus of AGF": predicted,
        "largest error of a level": level,
        "order": [o.label for o in task.order],
    }
    right = float(np.abs(errors[:jumps]).max()) < 0.1 and level < 0.005
    return Outcome(
        "holds" if right else "fails",
        measured,
        {"plateaus of gradient flow": law.levels[1:-1], "errors": 0.0},
        evidence=(
            "One initialisation; p is even and H < 3p, outside the theorem's assumptions. agf.equation-9 checks a case "
            "that meets them."
        ),
        figures=(_over_time(task, steps, run), _the_neurons(task, law, run)),
        seeds=(seed,),
    )


def _over_time(task: agf.Template, steps: agf.Staircase, run: Any) -> figure.FigureData:
    """Draw panel (a) of Figure 6, and the loss."""
    power = np.stack([task.power(p) for p in run.params])
    ours = np.stack([task.power(p) for p in steps.parameters])
    at = np.searchsorted(steps.jump_times, run.times[1:], side="right")
    wanted = {irrep.label for irrep in task.order}
    series = []
    for i, component in enumerate(task.components):
        if component.label in wanted:
            name = f"k = {component.label}"
            series.append(figure.Series(name, run.times[1:], power[1:, i]))
            series.append(
                figure.Series(f"AGF {component.label}", run.times[1:], ours[at, i], style="dashed", like=name)
            )
    axis = figure.Axis("time", scale="log")
    panels = [
        figure.curves(series, x=axis, y="share learned", title="(a) Fourier components of the output"),
        steps.figure_data(run, x=axis, y=figure.Axis("loss", scale="log"), title="Loss"),
    ]
    return figure.panels(
        panels,
        title="Stepwise Fourier decomposition",
        caption="Solid: gradient flow. Dashed: AGF from the same initialisation.",
    )


def _the_neurons(task: agf.Template, law: Any, run: Any) -> figure.FigureData:
    """Draw panels (b) to (d) of Figure 6: outputs during training, final output weights and their phases."""
    middles = (law.levels[1:] + law.levels[:-1]) / 2
    marks = [0, *(int(np.argmax(run.loss <= m)) for m in middles if (run.loss <= m).any())]
    shown = [*((a + b) // 2 for a, b in itertools.pairwise(marks)), len(run.loss) - 1]
    p, (a, b) = task.M, (1, 2)
    place = np.arange(p)
    series = []
    for i in shown:
        cu, cv, w = task.split(run.params[i])
        output = (cu @ task.seen[a] + cv @ task.seen[b]) ** 2 @ w
        series.append(figure.Series(f"time {run.times[i]:.3g}", place, output))
    series.append(figure.Series("target", place, task.orbit[(a + b) % p], style="dashed"))
    w = task.weights(run.params[-1])[2]
    w_hat = np.fft.fft(w, axis=1)[:, : (p + 1) // 2]
    dominant = np.abs(w_hat).argmax(1)
    order = np.lexsort((-np.abs(w_hat).max(1), dominant))
    size, phase = (np.take_along_axis(f(w_hat), dominant[:, None], 1)[:, 0] for f in (np.abs, np.angle))
    awake = size > 0.1 * size.max()
    points = [
        figure.Series(f"frequency {k}", phase[awake & (dominant == k)], size[awake & (dominant == k)])
        for k in np.unique(dominant[awake]).tolist()
    ]
    panels = [
        figure.curves(series, x="entry", y="output", title=f"(b) Outputs for a = {a}, b = {b}"),
        figure.heatmap(
            w[order],
            x="entry",
            y="neuron",
            value="w",
            rows=[f"{i}, k = {dominant[i]}" for i in order.tolist()],
            palette="diverging",
            title="(c) Output weights",
        ),
        figure.scatter(points, x="phase of ŵ", y="|ŵ|", title="(d) Phases of the active neurons"),
    ]
    return figure.panels(
        panels,
        columns=3,
        title="Neurons group by frequency and spread their phases",
        caption="Gradient flow: outputs in the middle of each plateau and at the end, then the neurons at the end.",
    )
