"""Section 5: the levels and times of modular addition against gradient flow (eq. 9, Figure 6)."""

import functools
import itertools

from firstlight.claims.claim import Claim, Outcome, Setting


@functools.cache
def _clean_case(scale: str, seed: int):
    """p odd and, at paper scale, H ≥ 3p: the template, the staircase and gradient flow; two claims look at it."""
    import numpy as np

    from firstlight.theories import agf

    p, H = (7, 10) if scale == "quick" else (7, 21)
    x = agf.harmonic_template(p, {1: 6.0, 3: 3.0})
    task = agf.Template(f"Z{p}", x)
    theta = task.problem.initial(width=H, alpha=1e-2, seed=seed)
    # The quick check ends on the first plateau, far from the second jump.
    steps = agf.predict(task.problem, theta, learned=0.21 if scale == "quick" else 0.02, progress=1e-9)
    end = (1.4 if scale == "quick" else 1.2) * float(steps.jump_times[-1])
    times = np.concatenate([[0.0], np.geomspace(end / 1000, end, 200 if scale == "quick" else 400)])
    run = agf.follow(task.problem, theta, times, solver="lsoda", rtol=1e-5)
    return task, theta, steps, run


def levels_and_times(setting: Setting) -> Outcome:
    """Eq. 9 in a case that meets its assumptions."""
    import numpy as np

    from firstlight.theories import agf

    seed = setting.seeds_or((0,))[0]
    task, theta, steps, run = _clean_case(setting.scale, seed)
    law = agf.fourier_levels(task.template)
    first = float(agf.jump_bound(float(np.linalg.norm(theta, axis=1).max()), 3, float(law.utilities[0])))
    p, x1 = task.M, float(np.abs(np.fft.fft(task.template)[law.frequencies[0]]))
    scale, printed = (
        np.sqrt(3) * p**1.5 / (np.sqrt(2) * x1**3),
        np.sqrt(3 * p**1.5) / (np.sqrt(2) * x1**3),
    )
    between = [float(np.interp(t, run.times, run.loss)) for t in _plateaus(run, law.levels)]
    middles = (law.levels[1:] + law.levels[:-1]) / 2
    seen = [agf.crossing(run.times, run.loss, m) for m in middles]
    told = [next((e.time for e in steps.events if e.after <= m), float("nan")) for m in middles]
    measured = {
        "levels of gradient flow": between,
        "jumps of gradient flow": seen,
        "jumps of AGF": told,
        "first jump of AGF": float(steps.jump_times[0]),
        "bound": first,
        "1/(3U*)": float(1 / (3 * law.utilities[0])),
        "time scale": float(scale),
        "printed time scale": float(printed),
    }
    worst = max(abs(a - b) / law.levels[0] for a, b in zip(between, law.levels[1:-1], strict=False))
    right = worst < 0.01 and steps.jump_times[0] >= first and abs(scale * 3 * law.utilities[0] - 1) < 1e-9
    return Outcome(
        "holds-as-corrected" if right else "fails",
        measured,
        {"levels of gradient flow": law.levels[1:-1], "1/(3U*)": float(scale)},
        evidence=f"√(3p^(3/2))/(√2|x̂|³) = {printed:.3g} is not 1/(3U*) = {scale:.3g}.",
        seeds=(seed,),
    )


def _plateaus(run, levels) -> list[float]:
    """The times of least change on the plateaus between two jumps, as far as the run goes."""
    import numpy as np

    from firstlight.theories import agf

    middles = (levels[1:] + levels[:-1]) / 2
    edges = [agf.crossing(run.times, run.loss, m) for m in middles]
    found = []
    for start, end in itertools.pairwise(edges):
        if np.isnan(start):
            break
        last = float(run.times[-1]) if np.isnan(end) else end
        inside = np.flatnonzero((run.times > start) & (run.times <= last))
        slope = np.abs(np.diff(run.loss[inside]) / np.diff(run.times[inside]))
        found.append(float(run.times[inside[int(slope.argmin())]]))
    return found


def _longest(steps, upper: float, lower: float) -> float:
    """The level of a staircase, among those between two middles, that lasts longest."""
    import numpy as np

    between = (steps.levels < upper) & (steps.levels > lower)
    # The last level has no end; it counts as long as the time before it.
    ends = np.append(steps.jump_times, 2 * steps.jump_times[-1])
    lasts = np.diff(np.concatenate([[0.0], ends]))
    return float(steps.levels[between][lasts[between].argmax()])


def figure_6(setting: Setting) -> Outcome:
    """Figure 6 and a clean case: spectrum of the outputs over time, levels and jumps."""
    import numpy as np

    from firstlight.records import figure
    from firstlight.theories import agf

    seed = setting.seeds_or((0,))[0]
    if setting.scale == "quick":
        task, theta, steps, run = _clean_case(setting.scale, seed)
        jumps = 1
    else:
        task = agf.Template("Z20", agf.harmonic_template(20, {1: 10, 3: 5, 5: 2.5}))
        theta = task.problem.initial(width=18, alpha=1e-2, seed=seed)
        steps = agf.predict(task.problem, theta, learned=1e-3)
        times = np.concatenate([[0.0], np.geomspace(2.0, 2500.0, 500)])
        run = agf.follow(task.problem, theta, times, solver="lsoda", rtol=1e-5)
        jumps = 2
    law = agf.fourier_levels(task.template)
    middles = (law.levels[1:] + law.levels[:-1]) / 2
    seen = [agf.crossing(run.times, run.loss, m) for m in middles]
    told = [next((e.time for e in steps.events if e.after <= m), float("nan")) for m in middles]
    errors = [a / b - 1 for a, b in zip(told, seen, strict=True)]
    plateaus = [float(np.interp(t, run.times, run.loss)) for t in _plateaus(run, law.levels)]
    predicted = [_longest(steps, *pair) for pair in itertools.pairwise(middles)][: len(plateaus)]
    power = np.stack([task.power(p) for p in run.params])
    labels = [c.label for c in task.components]
    chosen = [i for i, one in enumerate(task.components) if one.label in {o.label for o in task.order}]
    ours = np.stack([task.power(p) for p in steps.parameters])[:, chosen]
    at = np.searchsorted(steps.jump_times, run.times[1:], side="right")
    series = []
    for j, i in enumerate(chosen):
        series.append(figure.Series(f"k = {labels[i]}", run.times[1:], power[1:, i]))
        series.append(
            figure.Series(f"AGF {labels[i]}", run.times[1:], ours[at, j], style="dashed", like=f"k = {labels[i]}")
        )
    axis = figure.Axis("time", scale="log")
    shown = (
        figure.curves(
            series,
            x=axis,
            y="share learned",
            title="Stepwise Fourier decomposition",
            caption="Solid: gradient flow. Dashed: AGF from the same initialisation.",
        ),
        steps.figure_data(run, x=axis, y=figure.Axis("loss", scale="symlog")),
    )
    measured = {
        "jumps of gradient flow": seen,
        "jumps of AGF": told,
        "errors": errors,
        "plateaus of gradient flow": plateaus,
        "plateaus of AGF": predicted,
        "order": [o.label for o in task.order],
    }
    between = law.levels[1 : 1 + len(plateaus)]
    level = max(float(np.abs(np.array(one) / between - 1).max()) for one in (plateaus, predicted))
    measured["largest error of a level"] = level
    right = max(abs(e) for e in errors[:jumps]) < 0.1 and level < 0.005
    return Outcome(
        "holds" if right else "fails",
        measured,
        {"plateaus of gradient flow": law.levels[1:-1], "errors": 0.0},
        evidence=(
            "One initialisation; Figure 6 has p even and H < 3p, outside the theorem's assumptions. Inside them "
            "(p = 7, H = 21, |x̂| = 6 and 3, seeds 0 to 3) the first jump is off by 0 to 2 %, the second by +11, −6, "
            "−47 and −56 %."
        ),
        figures=shown,
        seeds=(seed,),
    )


EQUATION_9 = Claim(
    id="agf.equation-9",
    title="Levels and times of modular addition",
    locator="Equation 9",
    statement="ℓ^(k) = Σ_{i>k} |x̂[ξ_i]|²/p; τ^(k) ≳ τ^(l) + √(3p^{3/2})/(η μ √2 |x̂[ξ_{k+1}]|³).",
    corrected=(
        "The levels as printed; the (k+1)-th jump comes no earlier than (1/μ − 1)·√3 p^{3/2}/(η√2|x̂[ξ_{k+1}]|³) after "
        "the one before it, with μ the largest dormant norm there."
    ),
    counterexample="p = 7, |x̂| = 6: 1/(3U*) = 0.105 = √3·7^{3/2}/(√2·216); the printed √(3·7^{3/2})/(√2·216) is 0.024.",
    check=levels_and_times,
    expected_verdict="holds-as-corrected",
    tolerance=0.01,
    tolerance_reason="plateaus of a finite initialisation, relative to the first level",
)
FIGURE_6 = Claim(
    id="agf.figure-6",
    title="Stepwise Fourier decomposition",
    locator="Figure 6",
    statement="A quadratic network learns the Fourier components of the template in decreasing order, as AGF predicts.",
    check=figure_6,
    tolerance={"first jumps": 0.1, "levels": 0.005},
    tolerance_reason="as measured with the released code: jumps within 5 %, levels within 0.1 %",
)
