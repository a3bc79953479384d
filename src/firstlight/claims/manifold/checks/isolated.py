"""Sections 5 and 6: the isolated first layer, with the second layer always at its optimum."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_least, at_most, within
from firstlight.claims.manifold.checks._networks import random_problem
from firstlight.records import Criterion
from firstlight.theories import manifold

_ACTIVATIONS = ("relu", "tanh", "quadratic")
_STEP = 1e-5

ROUNDING = 64.0
"""Factor of rounding errors."""
_CONDITION = "rounding in float64 times the condition number of HHᵀ + λI; the factor is 64"
DIFFERENCE = 64 * 15 * _STEP**2
"""Relative error of a central difference with step h along 15 normal entries U: h²‖U‖², times 64."""
DESCENT = 64 * np.finfo(float).eps ** 0.5
"""Error of a minimum found by comparing costs in float64: √2⁻⁵², times 64."""
LIMIT_ORDER = 0.01
"""How far the power of λ at which 𝓡/λ reaches its limit may be from 1."""


def _sizes(setting: Setting) -> tuple[int, int, int, int]:
    return setting.choose(quick=(8, 4, 20, 3), paper=(60, 20, 100, 10))


def _used(setting: Setting, **more: Any) -> dict[str, Any]:
    return {**dict(zip(("samples", "inputs", "hidden units", "outputs"), _sizes(setting), strict=True)), **more}


def _dense(problem: manifold.Isolated, W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return H, Y and X as NumPy matrices, to check formulas independently of the theory's code."""
    with jax.enable_x64(True):
        X = problem.inputs.dense()
        return np.asarray(problem.activation(X @ W)), np.asarray(problem.Y), X


def _rounding(problem: manifold.Isolated, W: np.ndarray) -> float:
    """Return 2⁻⁵² times the condition number of HHᵀ + λI; with a bias, on the samples' differences."""
    H = _dense(problem, W)[0]
    if problem.bias:
        H = np.linalg.qr(np.c_[np.ones(len(H)), np.eye(len(H))[:, 1:]])[0][:, 1:].T @ H
    return float(np.finfo(float).eps * np.linalg.cond(H @ H.T + problem.lam * np.eye(len(H))))


def _measure_envelope(setting: Setting) -> Measurement:
    """Compare the envelope gradient of 𝓡 with differences of the minimum itself, for two kinds of inner solver."""
    seeds, lam = setting.seeds_or(range(setting.choose(quick=1, paper=8))), 0.1
    errors: dict[str, list[float]] = {}
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
    return Measurement({"relative error": errors}, {"weight decay": lam, "activation": "tanh"}, seeds)


def _judge_envelope(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge the slope of 𝓡 for each inner solver."""
    reason = "a central difference with step h = 1e-5 errs by h²‖U‖² for 15 normal entries U; the factor is 64"
    cases = {
        "ridge": ("ridge regression", DIFFERENCE, reason),
        "descent": ("quasi-Newton descent", DESCENT, "comparing costs finds a minimum to √2⁻⁵²; the factor is 64"),
    }
    return [
        at_most(
            f"θ̇₁ = −∇𝓡(θ₁), with θ₂ optimal by {cases[name][0]}",
            "error of ⟨θ̇₁, U⟩ against a central difference of min 𝓛_λ along a random U, over ‖θ̇₁‖, for each seed",
            errors,
            cases[name][1],
            reason=cases[name][2],
        )
        for name, errors in data["relative error"].items()
    ]


envelope = Check(_measure_envelope, _judge_envelope)


def _difference(both: Callable[..., Any], W: jax.Array, rng: np.random.Generator) -> float:
    """Return the error of ⟨∇𝓡, U⟩ against a central difference of 𝓡 along a random U, over ‖∇𝓡‖."""
    U, h = rng.standard_normal(W.shape), _STEP
    slope = float((both(W + h * U)[0] - both(W - h * U)[0]) / (2 * h))
    gradient = np.asarray(both(W)[1])
    return float(abs(np.sum(gradient * U) - slope) / np.linalg.norm(gradient))


def _measure_ridge(setting: Setting) -> Measurement:
    """Compare eq. 16 with a least-squares solver on the augmented system [H; √λ I], with and without bias."""
    seeds, lam = setting.seeds_or(range(3)), 0.3
    errors: dict[str, list[float]] = {}
    for seed in seeds:
        for sigma in _ACTIVATIONS:
            for bias in (False, True):
                problem, W = random_problem(seed, sigma, lam=lam, bias=bias, sizes=_sizes(setting))
                H, Y, _ = _dense(problem, W)
                K = H.shape[1]
                system = np.concatenate([H, np.sqrt(lam) * np.eye(K)])
                if bias:
                    system = np.concatenate([system, np.r_[np.ones(len(H)), np.zeros(K)][:, None]], axis=1)
                V = np.linalg.lstsq(system, np.concatenate([Y, np.zeros((K, Y.shape[1]))]), rcond=None)[0][:K]
                with jax.enable_x64(True):
                    ours = np.asarray(manifold.output_layer(problem, W)[0])
                error = float(np.abs(ours - V).max() / np.abs(V).max()) / _rounding(problem, W)
                errors.setdefault("with an output bias" if bias else "no bias", []).append(error)
    data = {"error over rounding": errors}
    return Measurement(data, _used(setting, **{"weight decay": lam, "activations": _ACTIVATIONS}), seeds)


def _judge_ridge(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge the second layer against another solver's."""
    return [
        at_most(
            f"φ(W₁) = (HᵀH + λI)⁻¹HᵀY, {name}",
            "relative error against least squares on [H; √λI], over rounding, for each seed and activation",
            errors,
            ROUNDING,
            reason=_CONDITION,
        )
        for name, errors in data["error over rounding"].items()
    ]


ridge_solution = Check(_measure_ridge, _judge_ridge)


def _measure_cost(setting: Setting) -> Measurement:
    """Compare 𝓛_λ at eq. 16 with λ‖W‖² + λ tr Yᵀ(HHᵀ + λI)⁻¹Y, and with 𝓛_λ at other second layers."""
    seeds, lams = setting.seeds_or(range(3)), (1e-2, 0.3, 3.0)
    errors, excess = [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        for sigma in _ACTIVATIONS:
            for lam in lams:
                problem, W = random_problem(seed, sigma, lam=lam, bias=False, sizes=_sizes(setting))
                H, Y, _ = _dense(problem, W)

                def loss(V, H=H, Y=Y, W=W, lam=lam):
                    return np.sum((H @ V - Y) ** 2) + lam * (np.sum(W**2) + np.sum(V**2))

                V = np.linalg.solve(H.T @ H + lam * np.eye(H.shape[1]), H.T @ Y)
                with jax.enable_x64(True):
                    simple = lam * float(manifold.cost(problem, W))
                errors.append(abs(simple / loss(V) - 1) / _rounding(problem, W))
                excess.append(min(loss(V + 0.1 * rng.standard_normal(V.shape)) / simple - 1 for _ in range(5)))
    data = {"error over rounding": errors, "excess of other second layers": excess}
    note = "The printed form is not simplified; λ‖W₁‖² + λ tr Yᵀ(HHᵀ + λI)⁻¹Y needs one n×n factorisation."
    return Measurement(data, _used(setting, **{"weight decay": lams, "activations": _ACTIVATIONS}), seeds, note=note)


def _judge_cost(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge the value of the cost, and that it is the least one."""
    return [
        at_most(
            "𝓡(W₁) = 𝓛_λ(W₁, φ(W₁))",
            "relative error of λ‖W₁‖² + λ tr Yᵀ(HHᵀ + λI)⁻¹Y over rounding, for each seed, activation and λ",
            data["error over rounding"],
            ROUNDING,
            reason=_CONDITION,
        ),
        above(
            "𝓡(W₁) is the least cost over all second layers",
            "least relative excess of 𝓛_λ at randomly moved second layers",
            data["excess of other second layers"],
            0.0,
        ),
    ]


cost_function = Check(_measure_cost, _judge_cost)


def _measure_limit(setting: Setting) -> Measurement:
    """Compare eq. 20 with the least norm of an exact fit; test its limit λ → 0, and the ranks that eq. 19 needs."""
    seeds, sizes = setting.seeds_or(range(3)), _sizes(setting)
    n, d, K, M = sizes
    cost, layer, approach, wide, tall = [], [], [], [], []
    for seed in seeds:
        problem, W = random_problem(seed, "tanh", lam=0.0, bias=False, sizes=sizes)
        H, Y, _ = _dense(problem, W)
        least = np.linalg.lstsq(H, Y, rcond=None)[0]
        with jax.enable_x64(True):
            limit = float(manifold.cost(problem, W))
            close = [random_problem(seed, "tanh", lam=lam, bias=False, sizes=sizes)[0] for lam in (1e-5, 1e-6)]
            near = [float(manifold.cost(decayed, W)) for decayed in close]
        unit = _rounding(problem, W)
        cost.append(abs(limit / (np.sum(W**2) + np.sum(least**2)) - 1) / unit)
        V = H.T @ np.linalg.solve(H @ H.T, Y)
        layer.append(float(np.abs(V - least).max() / np.abs(least).max()) / unit)
        approach.append(float(np.log10(abs(near[0] - limit) / abs(near[1] - limit))))
        wide.append(np.linalg.matrix_rank(H.T @ H) / K)
        # More samples than units, so that H has full column rank.
        thin = _dense(*random_problem(seed, "tanh", lam=0.0, bias=False, sizes=(n, d, n // 2, M)))[0]
        tall.append(np.linalg.matrix_rank(thin @ thin.T) / n)
    data = {
        "rank of HᵀH over d_h": wide,
        "rank of HHᵀ over n, full column rank": tall,
        "error of the second layer over rounding": layer,
        "error of the cost over rounding": cost,
        "order of the limit": approach,
    }
    return Measurement(data, _used(setting, activation="tanh"), seeds)


def _judge_limit(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge the inverses that eq. 19 needs, the corrected second layer, and eq. 20."""
    return [
        at_least(
            "eq. 19: φ(W₁) = (HᵀH)⁻¹HᵀY where all samples are fitted, n < d_h",
            "rank of HᵀH over d_h, which an inverse needs to be 1",
            data["rank of HᵀH over d_h"],
            1.0,
            form="printed",
        ),
        at_least(
            "if H has full column rank, H⁺ = Hᵀ(HHᵀ)⁻¹",
            "rank of HHᵀ over n for H of full column rank, d_h < n; an inverse needs 1",
            data["rank of HHᵀ over n, full column rank"],
            1.0,
            form="printed",
        ),
        at_most(
            "φ(W₁) = Hᵀ(HHᵀ)⁻¹Y if H has full row rank",
            "relative error against the exact fit of least norm, over rounding, for each seed",
            data["error of the second layer over rounding"],
            ROUNDING,
            reason=_CONDITION,
            form="corrected",
        ),
        at_most(
            "eq. 20: 𝓡(W₁) = λ‖W₁‖² + λ tr Yᵀ(HHᵀ)⁻¹Y",
            "relative error of 𝓡/λ against ‖W₁‖² and the least ‖W₂‖² of an exact fit, over rounding, for each seed",
            data["error of the cost over rounding"],
            ROUNDING,
            reason=_CONDITION,
        ),
        within(
            "eq. 20 is the limit λ → 0 of eq. 17",
            "power of λ in the difference of 𝓡/λ from its limit, from λ = 1e-5 and 1e-6, for each seed",
            data["order of the limit"],
            1.0,
            LIMIT_ORDER,
            reason="the next order in λ is λ‖(HHᵀ)⁻¹‖, below 1e-2 for condition numbers up to 10⁵",
        ),
    ]


zero_loss_cost = Check(_measure_limit, _judge_limit)


def _measure_closed_form(setting: Setting) -> Measurement:
    """Compare eq. 21 with −∇𝓡/2λ by complex steps: every activation, λ = 0 and λ > 0, with and without bias."""
    seeds = setting.seeds_or(range(setting.choose(quick=1, paper=5)))
    errors: dict[str, list[float]] = {}
    for seed in seeds:
        for sigma in _ACTIVATIONS:
            for lam in (0.0, 0.3):
                for bias in (False, True):
                    problem, W = random_problem(seed, sigma, lam=lam, bias=bias, sizes=_sizes(setting))
                    along = _directions(W, seed)
                    slope = _slopes(problem, W, along.reshape(-1, *W.shape)) / 2
                    with jax.enable_x64(True):
                        moved = along @ np.ravel(manifold.velocity(problem, W))
                    error = float(np.abs(moved + slope).max() / np.abs(slope).max()) / _rounding(problem, W)
                    errors.setdefault(f"λ = {lam:g}{', bias' if bias else ''}", []).append(error)
    note = (
        "The paper prints eq. 21 for λ → 0 without bias. Eq. 21 is exact at every λ with A = (HHᵀ + λI)⁻¹, and "
        "with an unpenalised output bias with A = C(CHHᵀC + λI)⁻¹C. The unit of time is 1/2λ."
    )
    return Measurement({"error over rounding": errors}, _used(setting, activations=_ACTIVATIONS), seeds, note=note)


def _directions(W: np.ndarray, seed: int) -> np.ndarray:
    """Return every entry of a small W as a direction, or 20 random directions of a large one."""
    return np.eye(W.size) if W.size <= 100 else np.random.default_rng(seed).standard_normal((20, W.size))


def _judge_closed_form(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge eq. 21 as printed, and its extensions to finite λ and a bias."""
    words = {
        "λ = 0": "Ẇ₁ = Xᵀ((AYYᵀAH) ∘ σ′(XW₁)) − W₁ with A = (HHᵀ)⁻¹ is −∇𝓡/2λ",
        "λ = 0, bias": "the same with an output bias and A = C(CHHᵀC)⁻¹C",
        "λ = 0.3": "the same at finite λ with A = (HHᵀ + λI)⁻¹",
        "λ = 0.3, bias": "the same at finite λ with an output bias",
    }
    return [
        at_most(
            words[case],
            "relative error against complex-step slopes of 𝓡, over rounding, for each seed and activation",
            errors,
            ROUNDING,
            reason=_CONDITION,
        )
        for case, errors in data["error over rounding"].items()
    ]


closed_form = Check(_measure_closed_form, _judge_closed_form)


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


def _measure_sign(setting: Setting) -> Measurement:
    """Compare the last line of Appendix C with complex-step slopes of 𝓡, as printed and with the opposite sign."""
    seeds = setting.seeds_or(range(3))
    printed, opposite, units = [], [], []
    for seed in seeds:
        problem, W = random_problem(seed, "tanh", lam=0.0, bias=False, sizes=_sizes(setting))
        H, Y, X = _dense(problem, W)
        A = np.linalg.inv(H @ H.T)
        G = -2 * W + 2 * X.T @ ((A @ Y @ Y.T @ A @ H) * (1 - H**2))
        along = _directions(W, seed)
        slope = _slopes(problem, W, along.reshape(-1, *W.shape))
        largest = np.abs(slope).max()
        printed.append(float(np.abs(along @ G.ravel() - slope).max() / largest))
        opposite.append(float(np.abs(along @ -G.ravel() - slope).max() / largest))
        units.append(_rounding(problem, W))
    data = {
        "relative error as printed": printed,
        "relative error with the opposite sign": opposite,
        "rounding": max(units),
    }
    return Measurement(data, _used(setting, activation="tanh"), seeds)


def _judge_sign(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge the printed sign and the opposite one."""
    what = "relative error against complex-step slopes of 𝓡, for each seed"
    limit = ROUNDING * data["rounding"]
    return [
        at_most(
            "∇𝓡(W₁) = −2λW₁ + 2λXᵀ[(AYYᵀAH) ∘ σ′(XW₁)]",
            what,
            data["relative error as printed"],
            limit,
            reason=_CONDITION,
            form="printed",
        ),
        at_most(
            "∇𝓡(W₁) = 2λW₁ − 2λXᵀ[(AYYᵀAH) ∘ σ′(XW₁)]",
            what,
            data["relative error with the opposite sign"],
            limit,
            reason=_CONDITION,
            form="corrected",
        ),
    ]


sign_of_appendix = Check(_measure_sign, _judge_sign)
