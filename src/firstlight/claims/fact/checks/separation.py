"""Theorem 3.4, Figure 4 and Lemma D.2: data on which AGOP and the features part."""

import functools
from itertools import pairwise

from firstlight.claims._claim import Claim, Outcome, Setting

EXACT = 1e-6
"""How far cos(FACT, WᵀW) may be from 1: rounding of ∇L over λ is 1e-6 at λ = 1e-10, and the cosine has its square."""

APART = 1e-3
"""How far cos(AGOP, WᵀW) may be from the value it has without a factor ½ in the loss."""

BUILT, BELOW, ABOVE = 1e-12, 1e-6, 1e-3
"""Errors of the construction, and of the cheapest network that descents reach, below and above the bound."""


@functools.lru_cache(maxsize=32)
def _minimiser(tau: float, p: float, weight_decay: float, seed: int):
    from firstlight.theories import fact

    return fact.minimise(fact.Separation.of(tau, p, weight_decay), seed=seed)


def nearly_uncorrelated(setting: Setting) -> Outcome:
    """cos(AGOP^s, WᵀW) along a sequence τ, p, λ → 0, for three powers s, with FACT beside."""
    seed = setting.seeds_or((0,))[0]
    path = [(0.1, 1e-4, 1e-6), (0.02, 1e-6, 1e-8)]
    # Beyond, ∇L/λ has no digits left in double precision.
    path += setting.choose(quick=[], paper=[(0.004, 1e-8, 1e-10)])
    found = []
    for i, (tau, p, lam) in enumerate(path):
        setting.progress(i / len(path), f"τ = {tau:g}")
        found.append(_minimiser(tau, p, lam, seed))
    powers = (0.5, 1.0, 2.0)
    cosines = {f"AGOP^{s:g}": [one.agop_cosine(s) for one in found] for s in powers}
    measured = {
        "τ": [tau for tau, _, _ in path],
        **cosines,
        "1 − cos(FACT, WᵀW)": [1 - one.fact_cosine for one in found],
    }
    falls = all(b < a for values in cosines.values() for a, b in pairwise(values))
    exact = max(measured["1 − cos(FACT, WᵀW)"]) < EXACT
    return Outcome(
        "holds" if falls and exact else "fails",
        measured,
        {"AGOP^s": "falls towards 0 for every s", "1 − cos(FACT, WᵀW)": 0.0},
        evidence="λ is a hundredth of p or less; with λ = p the minimiser is another (fact.figure-4).",
        seeds=(seed,),
    )


def figure_4(setting: Setting) -> Outcome:
    """The printed setting and one with λ ≪ p, both solved exactly."""
    import numpy as np

    from firstlight.records import figure

    seed = setting.seeds_or((0,))[0]
    printed, right = _minimiser(0.02, 1e-5, 1e-5, seed), _minimiser(0.02, 1e-6, 1e-8, seed)
    measured = {
        "p = λ = 1e-5: cos(AGOP), cos(FACT)": [printed.agop_cosine(), printed.fact_cosine],
        "p = λ = 1e-5: rank of W": int(np.linalg.matrix_rank(printed.nfm, tol=1e-6 * np.linalg.norm(printed.nfm))),
        "p = 1e-6, λ = 1e-8: cos(AGOP), cos(FACT)": [right.agop_cosine(), right.fact_cosine],
    }
    matrices = np.stack([m / np.abs(m).max() for m in (right.nfm, right.fact, right.agop)])
    shown = figure.grid(
        matrices,
        labels=["WᵀW", "FACT", "AGOP"],
        x="input",
        y="input",
        value="entry / largest",
        columns=3,
        title="Features, FACT and AGOP at the minimiser",
        caption="τ = 0.02, p = 1e-6, λ = 1e-8; FACT equals WᵀW, AGOP lives on the first two inputs.",
    )
    apart = abs(right.agop_cosine() - 0.0555) < APART and right.fact_cosine > 1 - EXACT
    return Outcome(
        "holds-as-corrected" if apart and printed.agop_cosine() > 0.99 else "fails",
        measured,
        {"p = λ = 1e-5: cos(AGOP), cos(FACT)": "printed as < 0.068, 0.994", "corrected": [0.0555, 1.0]},
        evidence=(
            "At the printed p = λ = 1e-5 the best minimiser found has rank 1 and cos(AGOP, WᵀW) = "
            f"{printed.agop_cosine():.4f}; separation needs λ ≲ p/10."
        ),
        figures=(shown,),
        seeds=(seed,),
    )


def cheapest_network(setting: Setting) -> Outcome:
    """The constructed cost against the lemma's, and against the best of many descents from random networks."""
    import numpy as np
    import scipy.optimize

    from firstlight.theories import fact

    seeds = setting.seeds_or(range(setting.choose(quick=3, paper=20)))
    attained, below, printed = [], [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        d, m = 3, 6
        Q = rng.standard_normal((d, d))
        Q = (Q + Q.T) / 2
        W, a = fact.lemmas.minimum_norm_network(Q)
        bound = fact.lemmas.minimum_norm_cost(Q)
        attained.append(abs(float(np.sum(W**2) + a @ a) - bound) + float(np.abs(W * a @ W.T - Q).max()))
        printed.append(2 / 3 * 2 ** (2 / 3))
        upper = np.triu_indices(d)

        def constraint(theta, d=d, m=m, Q=Q, upper=upper):
            a, W = theta[:m], theta[m:].reshape(d, m)
            return (W * a @ W.T - Q)[upper]

        for _ in range(setting.choose(quick=2, paper=10)):
            done = scipy.optimize.minimize(
                lambda theta: theta @ theta,
                rng.standard_normal(m * (d + 1)),
                jac=lambda theta: 2 * theta,
                constraints={"type": "eq", "fun": constraint},
                method="SLSQP",
                # The default stops at constraints off by 1e-7: on which side of 1e-8 is then a matter of rounding.
                options={"maxiter": 400, "ftol": 1e-12},
            )
            if np.abs(constraint(done.x)).max() < 1e-8:
                below.append(float(done.fun) / bound)
    cheapest = min(below, default=float("inf"))
    measured = {
        "largest error of the construction": max(attained),
        "cheapest network found / bound": cheapest,
        "printed bound / true bound": printed[0],
        "networks found": len(below),
    }
    holds = max(attained) < BUILT and 1 - BELOW < cheapest < 1 + ABOVE
    return Outcome(
        "holds-as-corrected" if holds else "fails",
        measured,
        {"largest error of the construction": 0.0, "cheapest network found / bound": 1.0},
        evidence=(
            "One neuron with |a|‖w‖² = q costs at least 3·2^(−2/3) q^(2/3) = 1.890 q^(2/3); the printed a = λ^(1/3), "
            "‖w‖ = λ^(1/3) costs 2 q^(2/3), 5.8 % more than needed."
        ),
        seeds=seeds,
    )


THEOREM_3_4 = Claim(
    id="fact.theorem-3-4",
    title="AGOP and the features can be nearly uncorrelated",
    locator="Theorem 3.4, Appendix D",
    statement=(
        "For any s > 0 and ε there are p, τ, λ such that minimisers on D(p, τ) have corr(AGOP^s, WᵀW) < ε, while FACT "
        "holds."
    ),
    check=nearly_uncorrelated,
    tolerance={"1 − cos(FACT, WᵀW)": EXACT},
    tolerance_reason="rounding of ∇L over λ is 1e-6 at λ = 1e-10, and the cosine has its square",
)

FIGURE_4 = Claim(
    id="fact.figure-4",
    title="FACT and the NFA on the synthetic data",
    locator="Figure 4, Section 3.2",
    statement="At τ = 0.02, p = λ = 1e-5, width 10, FACT has cosine 0.994 with WᵀW and AGOP less than 0.068.",
    corrected="Separation needs λ ≲ p/10: at τ = 0.02, p = 1e-6, λ = 1e-8 FACT has cosine 1 and AGOP 0.0555.",
    counterexample="At τ = 0.02, p = λ = 1e-5 the minimiser has rank 1 and cos(AGOP, WᵀW) = 1.000.",
    check=figure_4,
    expected_verdict="holds-as-corrected",
    tolerance=APART,
    tolerance_reason="0.0557 if the loss carries a factor ½",
)

LEMMA_D_2 = Claim(
    id="fact.lemma-d-2",
    title="The cheapest quadratic network",
    locator="Lemma D.2",
    statement="The least ‖a‖² + ‖W‖² of a quadratic network computing xᵀQx is 2 Σ σ_i(Q)^(2/3).",
    corrected=(
        "It is 3·2^(−2/3) Σ σ_i(Q)^(2/3), attained by a_i = sgn(λ_i)(|λ_i|/2)^(1/3), ‖w_i‖² = 2^(1/3)|λ_i|^(2/3). "
        "Step 1 of the proof of Theorem 3.4 needs ā₂ = ā₃ = −τ/2 and ā₅ = ā₆ = −½."
    ),
    counterexample="Q = 2 in one dimension: a = 1, w = √2 costs 3; the printed bound says at least 3.17.",
    check=cheapest_network,
    expected_verdict="holds-as-corrected",
    tolerance={"largest error of the construction": BUILT, "below the bound": BELOW, "above the bound": ABOVE},
    tolerance_reason=(
        "cube roots and sums of 24 squares in float64; descents satisfy their constraints to 1e-8 or better, and the "
        "best of them only has to come near the bound"
    ),
)
