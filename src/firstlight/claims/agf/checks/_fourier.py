"""Gradient flow and AGF of modular addition, reduced to plain data for the checks of Section 5."""

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from firstlight.theories import agf

AWAKE = 0.1
"""A neuron counts as awake at the end if its norm is above this share of the largest."""


def run_case(
    p: int,
    coefficients: dict[int, float],
    width: int,
    alpha: float,
    seed: int,
    *,
    eta: float = 1.0,
    points: int = 800,
    curves: bool = False,
) -> dict[str, Any]:
    """Run AGF and gradient flow from one initialisation; return jumps, levels, order, neurons and bounds.

    **Arguments:**

    - `p`, `coefficients`: the modulus, and |x̂[k]| of the template by frequency.
    - `width`, `alpha`, `seed`: of the initialisation.
    - `eta`: the clock.
    - `points`: saved times.
    - `curves`: whether to return thinned curves and the weights at the end, for figures.
    """
    task = agf.Template(f"Z{p}", agf.harmonic_template(p, coefficients))
    law = agf.lemmas.fourier_levels(task.template)
    middles = (law.levels[1:] + law.levels[:-1]) / 2
    theta = task.problem.initial(width=width, alpha=alpha, seed=seed)
    steps = agf.predict(task.problem, theta, learned=0.1 * law.levels[-2] / law.levels[0], eta=eta)
    predicted = [next((e.time for e in steps.events if e.after <= m), np.nan) for m in middles]
    norms = np.linalg.norm(theta, axis=1)
    end = 20 / (3 * eta * law.utilities[-1] * norms.max())
    times = np.concatenate([[0.0], np.geomspace(end / 20_000, end, points)])
    stop = 0.02 * float(law.levels[-2])
    run = agf.follow(task.problem, theta, times, eta=eta, solver="lsoda", rtol=1e-6, loss_below=stop)
    measured = np.array([agf.lemmas.crossing(run.times, run.loss, middle) for middle in middles])
    plateaus = [_flattest(run, jump, level) for jump, level in zip(measured, law.levels[1:-1], strict=False)]
    data = {
        "seed": seed,
        "first norm": float(norms.max()),
        "jumps of AGF": predicted,
        "jumps of gradient flow": measured,
        "order of gradient flow": _order(task, run),
        "frequencies": list(law.frequencies),
        "levels": law.levels,
        "plateaus": [float(run.loss[i]) if i is not None else float("nan") for i in plateaus],
        "waits over bounds": _waits(run, law, measured, plateaus, eta),
        "last loss": float(run.loss[-1] / law.levels[0]),
        **_neurons(task, run.params[-1], law.frequencies),
    }
    return data | ({"curves": _curves(task, steps, run, plateaus)} if curves else {})


def _flattest(run: Any, start: float, level: float) -> int | None:
    """Return the index after a time at which the loss changes least per e-fold of time, within 5 % of a level."""
    inside = np.flatnonzero((run.times > start) & (np.abs(run.loss - level) < 0.05 * level))
    if len(inside) < 3:
        return None
    slope = np.abs(np.diff(run.loss[inside]) / np.diff(np.log(run.times[inside])))
    return int(inside[int(slope.argmin())])


def _power(task: agf.Template, path: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Return the frequencies of the template and their shares in the outputs over time, (n, frequencies)."""
    size = np.abs(np.fft.fft(task.template))
    wanted = [k for k in range(1, (task.M + 1) // 2) if size[k] > 1e-9 * size.max()]
    shares = []
    for params in path:
        spectrum = np.fft.fft(task.outputs(params), axis=1)
        # Row h of the outputs is the mean output for the sum h; its target is the template shifted by h.
        target = np.fft.fft(task.orbit, axis=1)
        shares.append(
            [
                float(np.vdot(target[:, k], spectrum[:, k]).real / np.vdot(target[:, k], target[:, k]).real)
                for k in wanted
            ]
        )
    return wanted, np.array(shares)


def _order(task: agf.Template, run: Any) -> list[int]:
    """Return the frequencies in the order in which gradient flow learns half of them; others are absent."""
    wanted, shares = _power(task, run.params)
    times = [agf.lemmas.crossing(run.times, -shares[:, i], -0.5) for i in range(len(wanted))]
    return [wanted[i] for i in np.argsort(times) if np.isfinite(times[i])]


def _waits(run: Any, law: Any, jumps: np.ndarray, plateaus: list[int | None], eta: float) -> list[float]:
    """Return each wait for a jump over the least time in which a neuron can grow as much as it did.

    d‖θ‖/dt ≤ 3η‖θ‖²U* integrates to 1/‖θ(t₀)‖ − 1/‖θ(t₁)‖ ≤ 3ηU*(t₁ − t₀), for every neuron.
    """
    ratios = []
    for k, jump in enumerate(jumps):
        start = 0 if k == 0 else plateaus[k - 1]
        if start is None or not np.isfinite(jump):
            ratios.append(float("nan"))
            continue
        stop = int(np.searchsorted(run.times, jump))
        before, after = (np.linalg.norm(run.params[i], axis=1) for i in (start, stop))
        least = float((1 / before - 1 / after).max()) / (3 * eta * law.utilities[k])
        ratios.append(float((run.times[stop] - run.times[start]) / least))
    return ratios


def _neurons(task: agf.Template, theta: np.ndarray, frequencies: tuple[int, ...]) -> dict[str, Any]:
    """Return panels (c) and (d): purity and frequency of every awake neuron, and how far squares cancel."""
    u, v, w = task.weights(theta)
    norms = np.linalg.norm(np.concatenate([u, v, w], axis=1), axis=1)
    awake = norms > AWAKE * norms.max()
    power = np.abs(np.fft.fft(w[awake], axis=1)[:, 1 : (task.M + 1) // 2]) ** 2
    purity, dominant = power.max(1) / power.sum(1), power.argmax(1) + 1
    A, B = u[awake] @ task.orbit.T, v[awake] @ task.orbit.T
    squares = [np.einsum("ia,is->ias", part**2, w[awake]) for part in (A, B)]
    # Without the constant part, which the centred outputs cannot have.
    squares = [part - part.mean(1, keepdims=True) for part in squares]
    left = max(float(np.linalg.norm(part.sum(0)) / np.linalg.norm(part, axis=(1, 2)).sum()) for part in squares)
    return {
        "purity": purity,
        "neurons by frequency": {str(k): int((dominant == k).sum()) for k in frequencies},
        "squares left": left,
        "squares at random": float(1 / np.sqrt(max(int(awake.sum()), 1))),
    }


def _curves(task: agf.Template, steps: Any, run: Any, plateaus: list[int | None]) -> dict[str, Any]:
    """Return what the figures draw: thinned losses and shares, outputs on the plateaus, weights at the end."""
    keep = np.unique(np.linspace(1, len(run.times) - 1, 160).astype(int))
    wanted, shares = _power(task, run.params)
    ours = _power(task, steps.parameters)[1]
    at = np.searchsorted(steps.jump_times, run.times[keep], side="right")
    a, b = 1, 2
    outputs = {}
    for i in [*(i for i in plateaus if i is not None), len(run.times) - 1]:
        cu, cv, w = task.split(run.params[i])
        outputs[f"time {run.times[i]:.3g}"] = (cu @ task.seen[a] + cv @ task.seen[b]) ** 2 @ w
    _, _, w = task.weights(run.params[-1])
    inside = steps.jump_times <= run.times[-1]
    return {
        "times": run.times[keep],
        "loss": run.loss[keep],
        "shares": {str(k): shares[keep, i] for i, k in enumerate(wanted)},
        "AGF": {str(k): ours[at, i] for i, k in enumerate(wanted)},
        "AGF jumps": steps.jump_times[inside],
        "AGF levels": steps.levels[: 1 + int(inside.sum())],
        "outputs": outputs,
        "target": task.orbit[(a + b) % task.M],
        "w": w,
    }


def explicit_jumps(p: int, coefficients: dict[int, float], width: int, alpha: float, seed: int, end: float) -> Any:
    """Solve gradient flow again, in plain coordinates with sums over all pairs, and return its jump times."""
    task = agf.Template(f"Z{p}", agf.harmonic_template(p, coefficients))
    levels = agf.lemmas.fourier_levels(task.template).levels
    middles = (levels[1:] + levels[:-1]) / 2
    O = task.orbit
    pairs = np.indices((p, p)).reshape(2, -1)
    Xa, Xb, Y = O[pairs[0]], O[pairs[1]], O[pairs.sum(0) % p]

    def residual(y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        u, v, w = y.reshape(3, width, p)
        z = Xa @ u.T + Xb @ v.T
        return z, w, Y - (z * z) @ w

    def right(t: float, y: np.ndarray) -> np.ndarray:
        z, w, r = residual(y)
        g = 2 * z * (r @ w.T) / len(Y)
        return np.concatenate([(g.T @ Xa).ravel(), (g.T @ Xb).ravel(), ((z * z).T @ r / len(Y)).ravel()])

    def loss(y: np.ndarray) -> float:
        return float((residual(y)[2] ** 2).sum() / (2 * len(Y)))

    theta = task.problem.initial(width=width, alpha=alpha, seed=seed)
    start = np.stack(task.weights(theta)).ravel()
    events = [lambda t, y, m=m: loss(y) - m for m in middles]
    events[-1].terminal = True  # type: ignore[attr-defined]
    solved = solve_ivp(right, (0.0, end), start, method="LSODA", rtol=1e-8, atol=1e-12, events=events)
    return [float(times[0]) if len(times) else float("nan") for times in solved.t_events]
