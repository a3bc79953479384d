"""Sections 5 and 6: the isolated first layer, with the second layer always at its optimum."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.manifold.checks._networks import random_problem
from firstlight.claims.manifold.tolerances import ISOLATED_IDENTITY
from firstlight.theories import manifold

_ACTIVATIONS = ("relu", "tanh", "quadratic")


def _sizes(setting: Setting) -> tuple[int, int, int, int]:
    return setting.choose(quick=(8, 4, 20, 3), paper=(60, 20, 100, 10))


def _dense(problem: manifold.Isolated, W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return H, Y and X as NumPy matrices, to check formulas independently of the theory's code."""
    with jax.enable_x64(True):
        X = problem.inputs.dense()
        return np.asarray(problem.activation(X @ W)), np.asarray(problem.Y), X


def envelope(setting: Setting) -> Outcome:
    """Compare the envelope gradient of 𝓡 with differences of the minimum itself, for two kinds of inner solver."""
    seeds, lam = setting.seeds_or(range(setting.choose(quick=1, paper=8))), 0.1
    errors = {}
    with jax.enable_x64(True):
        for seed in seeds:
            rng = np.random.default_rng(seed)
            X, Y = jnp.asarray(rng.standard_normal((6, 3))), jnp.asarray(rng.standard_normal((6, 2)))
            W = jnp.asarray(rng.standard_normal((3, 5)))

            def loss(W, V, X=X, Y=Y):
                return jnp.sum((jnp.tanh(X @ W) @ V - Y) ** 2) + lam * (jnp.sum(W**2) + jnp.sum(V**2))

            start = jnp.asarray(rng.standard_normal((5, 2)))
            inners = {
                "ridge": manifold.lemmas.ridge_inner(lambda W, X=X: jnp.tanh(X @ W), Y, lam),
                "descent": manifold.lemmas.descent_inner(loss, start, tolerance=1e-10),
            }
            for name, inner in inners.items():
                both = jax.jit(
                    lambda W, inner=inner, loss=loss: manifold.lemmas.isolated_value_and_grad(loss, inner, W)
                )
                errors.setdefault(name, []).append(_difference(both, W, rng))
    measured = {f"relative error, {name}": max(by_seed) for name, by_seed in errors.items()}
    return Outcome(
        "holds" if max(measured.values()) <= 1e-6 else "fails",
        measured,
        dict.fromkeys(measured, 0.0),
        seeds=seeds,
    )


def _difference(both: Callable[..., Any], W: jax.Array, rng: np.random.Generator) -> float:
    """Return the relative error of ⟨∇𝓡, U⟩ against a central difference of 𝓡 along a random U."""
    U, h = rng.standard_normal(W.shape), 1e-5
    slope = float((both(W + h * U)[0] - both(W - h * U)[0]) / (2 * h))
    return abs(float(np.sum(np.asarray(both(W)[1]) * U)) / slope - 1)


def ridge_solution(setting: Setting) -> Outcome:
    """Compare eq. 16 with a least-squares solver on the augmented system [H; √λ I], with and without bias."""
    seeds, worst = setting.seeds_or(range(3)), 0.0
    for seed in seeds:
        for sigma in _ACTIVATIONS:
            for bias in (False, True):
                problem, W = random_problem(seed, sigma, lam=0.3, bias=bias, sizes=_sizes(setting))
                H, Y, _ = _dense(problem, W)
                K = H.shape[1]
                system = np.concatenate([H, np.sqrt(0.3) * np.eye(K)])
                if bias:
                    system = np.concatenate([system, np.r_[np.ones(len(H)), np.zeros(K)][:, None]], axis=1)
                V = np.linalg.lstsq(system, np.concatenate([Y, np.zeros((K, Y.shape[1]))]), rcond=None)[0][:K]
                with jax.enable_x64(True):
                    ours = np.asarray(manifold.output_layer(problem, W)[0])
                worst = max(worst, float(np.abs(ours - V).max() / np.abs(V).max()))
    return Outcome(
        "holds" if worst <= ISOLATED_IDENTITY else "fails",
        {"relative error": worst},
        {"relative error": 0.0},
        seeds=seeds,
    )


def cost_function(setting: Setting) -> Outcome:
    """Compare eq. 17, 𝓛_λ at the ridge solution, with its simplified form λ‖W‖² + λ tr Yᵀ(HHᵀ + λI)⁻¹Y."""
    seeds, worst = setting.seeds_or(range(3)), 0.0
    for seed in seeds:
        for sigma in _ACTIVATIONS:
            for lam in (1e-2, 0.3, 3.0):
                problem, W = random_problem(seed, sigma, lam=lam, bias=False, sizes=_sizes(setting))
                H, Y, _ = _dense(problem, W)
                V = np.linalg.solve(H.T @ H + lam * np.eye(H.shape[1]), H.T @ Y)
                direct = np.sum((H @ V - Y) ** 2) + lam * (np.sum(W**2) + np.sum(V**2))
                with jax.enable_x64(True):
                    simple = lam * float(manifold.cost(problem, W))
                worst = max(worst, abs(simple / direct - 1))
    return Outcome(
        "holds" if worst <= ISOLATED_IDENTITY else "fails",
        {"relative error of the simplified form": worst},
        {"relative error of the simplified form": 0.0},
        evidence="The printed form is not simplified; λ‖W₁‖² + λ tr Yᵀ(HHᵀ + λI)⁻¹Y needs one n×n factorisation.",
        seeds=seeds,
    )


def zero_loss_cost(setting: Setting) -> Outcome:
    """Compare eq. 20 with the least norm of an exact fit; test its limit λ → 0, and eq. 19 for d_h > n."""
    seeds, worst, approach, ranks = setting.seeds_or(range(3)), 0.0, [], []
    for seed in seeds:
        problem, W = random_problem(seed, "tanh", lam=0.0, bias=False, sizes=_sizes(setting))
        H, Y, _ = _dense(problem, W)
        least = np.linalg.lstsq(H, Y, rcond=None)[0]
        with jax.enable_x64(True):
            limit = float(manifold.cost(problem, W))
            close = [
                random_problem(seed, "tanh", lam=lam, bias=False, sizes=_sizes(setting))[0] for lam in (1e-5, 1e-6)
            ]
            near = [float(manifold.cost(decayed, W)) for decayed in close]
        worst = max(worst, abs(limit / (np.sum(W**2) + np.sum(least**2)) - 1))
        approach.append(float(np.log10(abs(near[0] - limit) / abs(near[1] - limit))))
        ranks.append((int(np.linalg.matrix_rank(H.T @ H)), H.shape[1]))
    rank, width = ranks[0]
    measured = {
        "relative error against the least norm": worst,
        "order of 𝓡/λ → its limit": approach,
        "rank of HᵀH (of d_h)": [list(pair) for pair in ranks],
    }
    holds = worst <= ISOLATED_IDENTITY and np.abs(np.array(approach) - 1).max() < 0.1 and rank < width
    return Outcome(
        "holds-as-corrected" if holds else "fails",
        measured,
        {"relative error against the least norm": 0.0, "order of 𝓡/λ → its limit": 1.0},
        evidence=(
            f"Eq. 19, from which eq. 20 is derived, inverts HᵀH, which has only rank {rank} of {width} here. The "
            "pseudo-inverse Hᵀ(HHᵀ)⁻¹ needs full row rank, not full column rank as printed. Eq. 20 itself is right."
        ),
        seeds=seeds,
    )


def closed_form(setting: Setting) -> Outcome:
    """Compare eq. 21 with −∇𝓡/2λ by complex steps: every activation, λ = 0 and λ > 0, with and without bias."""
    seeds = setting.seeds_or(range(setting.choose(quick=1, paper=5)))
    worst: dict[str, float] = {}
    for seed in seeds:
        for sigma in _ACTIVATIONS:
            for lam in (0.0, 0.3):
                for bias in (False, True):
                    problem, W = random_problem(seed, sigma, lam=lam, bias=bias, sizes=_sizes(setting))
                    # A small gradient is compared entry by entry, a large one along random directions.
                    along = (
                        np.eye(W.size) if W.size <= 100 else np.random.default_rng(seed).standard_normal((20, W.size))
                    )
                    slope = _slopes(problem, W, along.reshape(-1, *W.shape)) / 2
                    with jax.enable_x64(True):
                        moved = along @ np.ravel(manifold.velocity(problem, W))
                    key = f"λ = {lam:g}{', bias' if bias else ''}"
                    error = float(np.abs(moved + slope).max() / np.abs(slope).max())
                    worst[key] = max(worst.get(key, 0.0), error)
    return Outcome(
        "holds" if max(worst.values()) <= ISOLATED_IDENTITY else "fails",
        {"relative error": worst},
        {"relative error": dict.fromkeys(worst, 0.0)},
        evidence=(
            "The paper prints eq. 21 for λ → 0 without bias. Eq. 21 is exact at every λ with A = (HHᵀ + λI)⁻¹, and "
            "with an unpenalised output bias with A = C(CHHᵀC + λI)⁻¹C. The unit of time is 1/2λ."
        ),
        seeds=seeds,
    )


def _slopes(problem: manifold.Isolated, W: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Compute ⟨∇(𝓡/λ), U⟩ as Im 𝓡(W + ihU)/λh. Nothing cancels, so h can be tiny and the error is rounding."""
    X, Y = problem.inputs.dense(), np.asarray(problem.Y)
    # An unpenalised bias removes the constant direction from the samples.
    Q = np.linalg.qr(np.c_[np.ones(len(Y)), np.eye(len(Y))[:, 1:]])[0][:, 1 if problem.bias else 0 :]
    sigma = {"relu": lambda z: z * (z.real > 0), "tanh": np.tanh, "quadratic": lambda z: z**2}[problem.activation.name]
    h = 1e-30
    stepped = W + 1j * h * along
    H, y = Q.T @ sigma(X @ stepped), Q.T @ Y
    B = np.linalg.solve(H @ H.mT + problem.lam * np.eye(len(y)), y)
    return np.imag((stepped**2).sum((1, 2)) + (y * B).sum((1, 2))) / h


def sign_of_appendix(setting: Setting) -> Outcome:
    """Compare the last line of Appendix C with differences of 𝓡, as printed and with the opposite sign."""
    seeds, lam = setting.seeds_or(range(3)), 1.0
    right = printed = 0.0
    for seed in seeds:
        problem, W = random_problem(seed, "tanh", lam=0.0, bias=False, sizes=_sizes(setting))
        H, Y, X = _dense(problem, W)
        A = np.linalg.inv(H @ H.T)
        G = -2 * lam * W + 2 * lam * X.T @ ((A @ Y @ Y.T @ A @ H) * (1 - np.tanh(X @ W) ** 2))

        def R(w, X=X, Y=Y):
            h = np.tanh(X @ w)
            return lam * np.sum(w**2) + lam * np.sum(Y * np.linalg.solve(h @ h.T, Y))

        U, step = np.random.default_rng(seed).standard_normal(W.shape), 1e-6
        slope = (R(W + step * U) - R(W - step * U)) / (2 * step)
        right = max(right, abs(np.sum(-G * U) / slope - 1))
        printed = max(printed, abs(np.sum(G * U) / slope - 1))
    return Outcome(
        "holds-as-corrected" if right <= 1e-5 and printed > 1 else "fails",
        {"relative error, sign changed": right, "relative error as printed": printed},
        {"relative error, sign changed": 0.0},
        evidence=f"The printed slope has the wrong sign (relative error {printed:.3g}); eq. 21 has the right sign.",
        seeds=seeds,
    )
