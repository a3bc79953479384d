"""Section 4 and Appendix D: fully connected linear networks learn singular modes one by one."""

from typing import Any

import numpy as np

from firstlight import _canonical as canonical
from firstlight.claims._claim import Outcome, Setting
from firstlight.records import figure
from firstlight.theories import agf


def _figure_4(commuting: bool, seed: int, size: int) -> agf.LinearNetwork:
    """Draw Σ_xx with eigenvalues i⁻² and a Gaussian target; in the commuting panel both are diagonal in one basis."""
    rng = np.random.default_rng(seed)
    Q = canonical.orthogonal(rng, size, size)
    lam = np.arange(1, size + 1.0) ** -2
    if not commuting:
        return agf.LinearNetwork(Q @ np.diag(lam) @ Q.T, rng.standard_normal((size, size)), size)
    U = canonical.orthogonal(rng, size, size)
    b = np.sort(np.abs(rng.standard_normal(size)))[::-1]
    return agf.LinearNetwork(Q @ np.diag(lam) @ Q.T, U @ np.diag(b) @ Q.T, size)


def _crossings(
    network: agf.LinearNetwork, staircase: agf.Staircase, alpha: float, jumps: int, seed: int
) -> tuple[Any, Any]:
    """Return gradient flow up to a jump, and its comparison with the prediction."""
    end = 1.25 * float(staircase.jump_times[jumps - 1])
    times = np.concatenate([[0.0], np.geomspace(0.1 * staircase.jump_times[0], end, 1200)])
    run = network.flow(alpha, times, seed)
    return run, staircase.compare(run).frame.iloc[:jumps]


def utility_on_the_stiefel_manifold(setting: Setting) -> Outcome:
    """Check Lemma D.1: compare the total utility of orthonormal pairs with the singular values; count the pairs."""
    seed = setting.seeds_or((0,))[0]
    rng = np.random.default_rng(seed)
    M, d = 4, 6
    S, B = np.diag(rng.uniform(0.5, 2, d)), rng.standard_normal((M, d))
    beta = rng.standard_normal((M, 1)) @ rng.standard_normal((1, d)) / 5
    G = (B - beta) @ S
    X = rng.standard_normal((200_000, d)) * np.sqrt(np.diag(S))
    a, w = rng.standard_normal(M), rng.standard_normal(d)
    draws = (X @ w) * (X @ (B - beta).T @ a)
    formula = float(a @ G @ w)
    away = float(abs(draws.mean() - formula) / (draws.std() / np.sqrt(len(draws))))
    sigma = np.linalg.svd(G, compute_uv=False)
    ends = []
    for _ in range(setting.choose(quick=20, paper=500)):
        A, W = (canonical.orthogonal(rng, n, M) for n in (M, d))
        for _ in range(300):
            # Alternating polar ascent of tr AᵀGW: each factor is optimal for the other.
            W = _polar(G.T @ A)
            A = _polar(G @ W)
        ends.append(float(np.sum(A * (G @ W))) / 2)
    measured = {
        "U by sampling, standard errors from its formula": away,
        "total utility reached": [min(ends), max(ends)],
        "pairs": min(M, d),
    }
    top = float(sigma.sum() / 2)
    right = away < 4 and max(abs(e - top) for e in ends) < 1e-6 * top
    return Outcome(
        "holds-as-corrected" if right else "fails",
        measured,
        {"total utility reached": top, "pairs": min(M, d)},
        evidence=f"With H = 10 the printed |D| = H − k is 10 at k = 0, but only {min(M, d)} singular modes exist.",
        seeds=(seed,),
    )


def _polar(A: np.ndarray) -> np.ndarray:
    """Return the polar factor."""
    u, _, vt = np.linalg.svd(A, full_matrices=False)
    return u @ vt


def conjecture(setting: Setting) -> Outcome:
    """Compare Conjecture 4.1 with gradient flow, where σ and μ agree and where they differ."""
    seed = setting.seeds_or((0,))[0]
    size, jumps = setting.choose(quick=(6, 4), paper=(10, 8))
    errors = {}
    for name, commuting in (("commuting", True), ("not commuting", False)):
        network = _figure_4(commuting, seed, size)
        _, frame = _crossings(network, network.predict(), 1e-15, jumps, seed)
        errors[name] = frame["time_error"].to_numpy()
    other = agf.LinearNetwork(np.diag([1.0, 0.01]), np.diag([1.0, 20.0]), 2)
    run = other.flow(1e-15, np.linspace(0.0, 8.0, 400), seed)
    visited = {"predicted, corrected": other.predict().levels[1], "predicted, printed": other.conjecture().levels[1]}
    visited["gradient flow"] = float(run.loss[np.searchsorted(run.times, 3.0)])
    worst = max(float(np.nanmax(np.abs(e))) for e in errors.values())
    measured = {"errors of jump times": errors, "level after one jump, Σ = diag(1, .01), B = diag(1, 20)": visited}
    right = worst < 0.2 and abs(visited["gradient flow"] / visited["predicted, corrected"] - 1) < 1e-3
    return Outcome(
        "holds-as-corrected" if right and visited["predicted, printed"] < 0.6 else "fails",
        measured,
        {"level after one jump, Σ = diag(1, .01), B = diag(1, 20)": 2.0},
        evidence=(
            f"Gradient flow reaches the level {visited['gradient flow']:.3f}; the printed level is "
            f"{visited['predicted, printed']:.3f}."
        ),
        seeds=(seed,),
    )


def commuting_times(setting: Setting) -> Outcome:
    """Check eq. 47: τ^(k) = 1/σ_k up to O(1/|log α|)."""
    seed = setting.seeds_or((0,))[0]
    rng = np.random.default_rng(seed)
    network = agf.LinearNetwork(np.diag([2.0, 1.0, 0.5]), np.diag([1.5, 1.2, 1.0]), 3)
    sigma = np.linalg.svd(network.Sigma_yx, compute_uv=False)
    predicted = network.predict()
    alphas = setting.choose(quick=(1e-8, 1e-32), paper=(1e-8, 1e-16, 1e-32, 1e-64))
    errors = {}
    for alpha in alphas:
        _, frame = _crossings(network, predicted, alpha, 3, int(rng.integers(100)))
        errors[alpha] = np.abs(frame["time_error"].to_numpy()).max()
    scaled = [float(e * -np.log(a)) for a, e in errors.items()]
    measured = {
        "τ^(k) σ_k": predicted.jump_times * sigma,
        "largest error of gradient flow": {f"{a:g}": e for a, e in errors.items()},
        "the same times −log α": scaled,
    }
    right = np.abs(predicted.jump_times * sigma - 1).max() < 1e-6 and max(scaled) < 4 and errors[alphas[-1]] < 0.05
    return Outcome("holds" if right else "fails", measured, {"τ^(k) σ_k": [1.0, 1.0, 1.0]}, seeds=(seed,))


def greedy_low_rank(setting: Setting) -> Outcome:
    """Compare Algorithm 3 with the closed form of AGF's cost phase."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=20)))
    errors, above = [], 0
    for seed in seeds:
        network = _figure_4(False, seed, setting.choose(quick=4, paper=8))
        path, _ = network.greedy()
        levels = np.array([network.loss(beta) for beta in path])
        best = network.best_levels
        errors.append(float(np.abs(levels - best).max() / best[0]))
        above += int((levels < best - 1e-9).any())
    measured = {"levels of GLRL against the best of each rank": errors, "below the best": above}
    right = max(errors) < 1e-5 and above == 0
    return Outcome("holds" if right else "fails", measured, dict.fromkeys(measured, 0.0), seeds=tuple(seeds))


def figure_4(setting: Setting) -> Outcome:
    """Compare the singular values of the network's map over time with AGF, in both panels."""
    seed = setting.seeds_or((0,))[0]
    size, jumps = setting.choose(quick=(6, 4), paper=(10, 8))
    panels, errors, scores = [], {}, {}
    for name, commuting in (("commuting", True), ("not commuting", False)):
        network = _figure_4(commuting, seed, size)
        predicted = network.predict()
        run, frame = _crossings(network, predicted, 1e-15, jumps, seed)
        errors[name] = frame["time_error"].to_numpy()
        keep = slice(1, None, 4)
        sigma = np.linalg.svd(run.params[keep], compute_uv=False)
        end = np.linalg.svd(predicted.parameters, compute_uv=False)
        index = np.searchsorted(predicted.jump_times, run.times[keep], side="right")
        series = []
        for k in range(min(jumps, 6)):
            series.append(figure.Series(f"mode {k + 1}", run.times[keep], sigma[:, k]))
            series.append(
                figure.Series(f"AGF {k + 1}", run.times[keep], end[index, k], style="dashed", like=f"mode {k + 1}")
            )
        scores[name] = predicted.distance(run)
        panels.append(
            figure.curves(
                series, x=figure.Axis("time / (−log α)", scale="log"), y="singular value", title=name.capitalize()
            )
        )
    worst = {name: float(np.nanmax(np.abs(e))) for name, e in errors.items()}
    measured = {"errors of jump times": errors, "distance of gradient flow": scores}
    right = max(worst.values()) < 0.2 and max(scores.values()) < 0.02
    shown = figure.panels(
        panels,
        title="Stepwise singular value decomposition",
        caption="Solid: gradient flow of a linear network from α = 1e-15. Dashed: the prediction.",
    )
    return Outcome(
        "holds" if right else "fails", measured, {"errors of jump times": 0.0}, figures=(shown,), seeds=(seed,)
    )
