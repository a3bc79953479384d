"""Where the isolated first layer meets FACT's fixed points and Li₂'s ridge solution."""

from firstlight.claims.claim import Claim, Outcome, Setting

IDENTITY = 1e-5
"""Relative residual of FACT where the optimiser stopped; it falls with the gradient left over."""

EXACT = 1e-9


def fact_at_fixed_point(setting: Setting) -> Outcome:
    """WWᵀ against FACT = −(1/λ_F) Xᵀ δ Wᵀ at stationary points of the isolated cost, for two candidates λ_F."""
    import numpy as np

    seeds = setting.seeds_or(range(setting.choose(quick=1, paper=4)))
    right, wrong, limit, left = 0.0, 0.0, 0.0, 0.0
    for i, seed in enumerate(seeds):
        setting.progress(i / len(seeds), f"seed {seed}")
        for lam in (0.05, 1e-3):
            X, W, H, V, B, slope, Y, gradient = _fixed_point(setting, seed, lam)
            left = max(left, gradient)
            nfm = W @ W.T
            size = np.linalg.norm(nfm)
            driving = (B @ (B.T @ H)) * slope
            limit = max(limit, float(np.linalg.norm(nfm - X.T @ driving @ W.T) / size))
            # δ = ∂𝓛/∂(XW) of the sum of squares; no 1/n.
            delta = 2 * (H @ V - Y) @ V.T * slope
            fact = -X.T @ delta @ W.T
            right = max(right, float(np.linalg.norm(nfm - fact / (2 * lam)) / size))
            wrong = max(wrong, float(np.linalg.norm(nfm - fact / lam) / size))
    measured = {
        "relative residual, λ_FACT = 2λ": right,
        "relative residual, λ_FACT = λ": wrong,
        "relative residual with (AYYᵀAH) ∘ σ′": limit,
        "largest velocity left, relative": left,
    }
    return Outcome(
        "holds" if max(right, limit) <= IDENTITY and wrong > 0.5 else "fails",
        measured,
        {"relative residual, λ_FACT = 2λ": 0.0, "relative residual with (AYYᵀAH) ∘ σ′": 0.0},
        evidence=(
            "FACT decays with (λ_FACT/2)‖θ‖², the isolated cost with λ‖θ‖². As λ → 0 the residual of the fit "
            "vanishes, and −δ/2λ = (AYYᵀAH) ∘ σ′ takes its place."
        ),
        seeds=seeds,
    )


def _fixed_point(setting: Setting, seed: int, lam: float):
    """X, W, H, V, B = AY, σ′(XW), Y at a minimum of the isolated cost, and the velocity left over ‖W‖."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from scipy.optimize import minimize

    from firstlight import tasks
    from firstlight.theories import manifold

    p, K = setting.choose(quick=(5, 16), paper=(11, 64))
    split = tasks.group_task(f"Z{p}", encoding="summed").split(fraction=0.8, seed=seed)
    problem = manifold.isolate(split, "tanh", lam=lam)
    start = np.random.default_rng(seed).standard_normal((p, K))
    with jax.enable_x64(True):
        both = jax.jit(lambda w: (manifold.cost(problem, w) / 2, -manifold.velocity(problem, w)))

        def value_and_slope(flat):
            value, slope = both(jnp.asarray(flat.reshape(p, K)))
            return float(value), np.asarray(slope).ravel()

        options = {"maxiter": 4000, "maxfun": 8000, "ftol": 0.0, "gtol": 1e-9, "maxcor": 40}
        found = minimize(value_and_slope, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        W = found.x.reshape(p, K)
        Z = problem.inputs.project(jnp.asarray(W))
        H = problem.activation(Z)
        V, B = H.T @ manifold.dual(problem, H), manifold.dual(problem, H)
        arrays = (problem.inputs.dense(), W, H, V, B, problem.activation.derivative(Z), problem.Y)
        gradient = float(np.linalg.norm(value_and_slope(found.x)[1]) / np.linalg.norm(W))
        return *(np.asarray(array, np.float64) for array in arrays), gradient


def ridge_against_isolated(setting: Setting) -> Outcome:
    """V_ridge and G_F of Li₂ against φ(W) and the driving term of eq. 21, along one run of the isolated dynamics."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from firstlight import features, tasks
    from firstlight.theories import manifold

    seed, lam = setting.seeds_or((0,))[0], 1e-2
    p, K, steps = setting.choose(quick=(11, 80, 200), paper=(37, 512, 1000))
    split = tasks.group_task(f"Z{p}", encoding="summed").split(fraction=0.7, seed=seed)
    at = tuple(range(0, steps + 1, steps // 4))
    E = manifold.embedding(seed, p, K).astype(np.float64)
    run = manifold.simulate(split, E, eta=0.02, steps=steps, every=steps, snapshots=at, lam=lam, bias=True)
    problem = manifold.isolate(split, "relu", lam=lam, bias=True)
    errors = {"V_ridge against φ(W)": 0.0, "G_F against λ·A YYᵀA H": 0.0, "Ẇ against XᵀG_F ∘ σ′/λ − W": 0.0}
    factor_two = 0.0
    with jax.enable_x64(True):
        Y, X = np.asarray(problem.Y, np.float64), problem.inputs.dense()
        for W in run.snapshots.values():
            Z = X @ W
            H, slope = np.maximum(Z, 0), Z > 0
            V, B = np.asarray(manifold.output_layer(problem, W)[0]), np.asarray(manifold.dual(problem, jnp.asarray(H)))
            G_F = features.ridge_gradient(H, Y, lam)
            pairs = (
                (features.ridge(H, Y, lam), V),
                (G_F, lam * B @ (B.T @ H)),
                (X.T @ (G_F * slope) / lam - W, np.asarray(manifold.velocity(problem, W))),
            )
            for key, (theirs, ours) in zip(errors, pairs, strict=True):
                errors[key] = max(errors[key], float(np.abs(theirs - ours).max() / np.abs(ours).max()))
            other = features.ridge(H, Y, 2 * lam)
            factor_two = max(factor_two, float(np.abs(other - V).max() / np.abs(V).max()))
    measured = {
        **errors,
        "V_ridge with η = 2λ": factor_two,
        "test accuracy": run.frame["test_accuracy"].to_numpy()[[0, -1]],
    }
    return Outcome(
        "holds" if max(errors.values()) <= EXACT < factor_two else "fails",
        measured,
        dict.fromkeys(errors, 0.0),
        evidence=(
            "With η = λ and an unpenalised output bias in place of P₁⊥ the two theories have the same second "
            "layer, and the driving term of eq. 21 is Li₂'s G_F over η: what Li₂ reads as vanishing like η is, per "
            "unit of decay, what moves the first layer here."
        ),
        seeds=(seed,),
    )


FACT_AT_ISOLATED_FIXED_POINT = Claim(
    id="cross.fact-at-isolated-fixed-point",
    title="FACT holds where the isolated dynamics stop",
    locator="FACT, Theorem 3.2; Geometry of grokking, eq. 21",
    statement="At a fixed point of eq. 21, WWᵀ = −(1/λ_FACT) Xᵀ δ Wᵀ with λ_FACT = 2λ, δ summed over samples.",
    check=fact_at_fixed_point,
    tolerance=IDENTITY,
    tolerance_reason="proportional to the gradient that quasi-Newton steps leave, which rounding bounds from below",
)

LI2_RIDGE_VS_ISOLATED = Claim(
    id="cross.li2-ridge-vs-isolated",
    title="Li₂'s ridge solution is the isolated second layer",
    locator="Li₂, eqs. 4 and 5; Geometry of grokking, eqs. 16 and 21",
    statement=(
        "With η = λ and an output bias, V_ridge = φ(W) and G_F = λ·AYYᵀAH along a run of the isolated dynamics, so "
        "that Ẇ = Xᵀ(G_F ∘ σ′)/λ − W."
    ),
    check=ridge_against_isolated,
    tolerance=EXACT,
    tolerance_reason="rounding in float64 times the condition number of HHᵀ + λI",
)
