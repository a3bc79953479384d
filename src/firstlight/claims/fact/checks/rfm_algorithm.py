"""Algorithm 1 compared with a literal implementation, and Appendix E on the choice of the update."""

import numpy as np
from scipy.linalg import fractional_matrix_power
from sklearn.kernel_ridge import KernelRidge

from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.fact.checks import _kernels
from firstlight.claims.fact.checks.rfm_modular import accuracy_curve
from firstlight.claims.fact.checks.rfm_parity import accuracies
from firstlight.claims.fact.tolerances import FIXED_POINT, PARITY_KEPT, PARITY_LOST, PREDICTIONS
from firstlight.rfm import (
    KERNELS,
    UPDATES,
    FeatureMatrices,
    Gaussian,
    Quadratic,
    Rule,
    recursive_feature_machine,
    updated,
)


def as_printed(setting: Setting) -> Outcome:
    """Compare the solver with a literal Algorithm 1: differentiated gradients and roots of the printed products."""
    seed, lam, T = setting.seeds_or((0,))[0], 0.01, 3
    X, Y, _ = _kernels.problem(seed, n=setting.choose(quick=25, paper=120))
    Z = X[::2] + 0.3
    n, d = X.shape
    measured = {}
    for name in ("gaussian", "quadratic"):
        for update in UPDATES:
            W = np.eye(d)
            for t in range(T + 1):
                M = W.T @ W
                alpha = np.linalg.solve(_kernels.kernel(name)(X, X, M) + n * lam * np.eye(n), Y)
                predicted = _kernels.kernel(name)(Z, X, M) @ alpha
                if t == 0:
                    plain = predicted
                G = _kernels.gradients(name, X, M, alpha)
                agop = np.einsum("iac,ibc->ab", G, G) / n
                fact = np.einsum("iac,ic,ib->ab", G, alpha, X)
                base, power = {
                    "nfa": (agop, 1 / 4),
                    "fact": (fact @ fact.T, 1 / 4),
                    "fact_geometric": (fact @ M @ M @ fact.T, 1 / 8),
                }[update]
                W = np.real(fractional_matrix_power((base + base.T) / 2, power))
            run = recursive_feature_machine(
                X, Y, KERNELS[name](2.0), Rule(update, None), iterations=T, ridge=n * lam, agop=True
            )
            ours = [f(Z) for _, f in run]
            measured[f"{name}, {update}"] = _kernels.off(ours[-1], predicted)
        ridge = KernelRidge(alpha=n * lam, kernel="precomputed").fit(_kernels.kernel(name)(X, X, np.eye(d)), Y)
        measured[f"{name}, iteration 0, scikit-learn"] = _kernels.off(
            ours[0], ridge.predict(_kernels.kernel(name)(Z, X, np.eye(d)))
        )
        measured[f"{name}, iteration 0"] = _kernels.off(ours[0], plain)
    return Outcome(
        "holds" if max(measured.values()) < PREDICTIONS else "fails",
        measured,
        dict.fromkeys(measured, 0.0),
        evidence=(
            "Largest difference of predictions after three updates. The last update of the printed loop does not enter "
            "the output f_T."
        ),
        seeds=(seed,),
    )


def choice_of_update(setting: Setting) -> Outcome:
    """Check the fixed points of the updates, FACT away from a fixed point, and the plain update on parities."""
    seeds = setting.seeds_or(range(setting.choose(quick=1, paper=3)))
    seed = seeds[0]
    X, Y, M = _kernels.problem(seed)
    at_fixed_point = FeatureMatrices(M, None)
    fixed = {u: float(np.abs(updated(u, M, at_fixed_point) - M).max()) for u in ("fact", "fact_geometric")}
    solver, solution = _kernels.solved("laplace", X, Y, M, 0.3)
    fact = solver.matrices(solution).fact
    asymmetry = float(np.linalg.norm(fact - fact.T) / np.linalg.norm(fact))
    rules = {
        "plain": Rule("fact", None),
        "plain, trace kept": Rule("fact", "trace"),
        "geometric": Rule("fact_geometric", None),
    }
    parity = {
        name: accuracies(Gaussian(5.0), rule, k=2, n=500, ridge=1e-3, seed=seed).tolist()
        for name, rule in rules.items()
    }
    modular = {}
    if setting.scale == "paper":
        for name, rule in rules.items():
            curves = [accuracy_curve(31, 0.75, Quadratic(), rule, 40, seed=seed)[0] for seed in seeds]
            modular[name] = {"best": [float(c.max()) for c in curves], "last": [float(c[-1]) for c in curves]}
    settled = min(parity["plain, trace kept"][2:] + parity["geometric"][2:])
    holds = max(fixed.values()) < FIXED_POINT and asymmetry > 0.01
    holds &= settled > PARITY_KEPT and min(parity["plain"][1:]) < PARITY_LOST
    if modular:
        # The final accuracy of the unscaled plain update lies anywhere from 0 to 1, so it does not decide.
        holds &= min(modular["plain, trace kept"]["best"] + modular["geometric"]["last"]) > 0.95
        holds &= max(modular["plain, trace kept"]["last"]) < 0.5
    return Outcome(
        "holds-as-corrected" if holds else "fails",
        {
            "distance of the update of M from M where FACT = M": fixed,
            "‖FACT − FACTᵀ‖/‖FACT‖ away from a fixed point": asymmetry,
            "parity, test accuracy over iterations": parity,
        }
        | ({"modular addition, p = 31, test accuracy over 40 iterations": modular} if modular else {}),
        {"distance of the update of M from M where FACT = M": dict.fromkeys(fixed, 0.0)},
        evidence=(
            f"The unscaled plain update falls to {min(parity['plain'][1:]):.2f} on the parity of two bits (n = 500, "
            f"ridge 1e-3), where the paper says that it performs well. With the trace of M held fixed it reaches "
            f"{settled:.2f} or more."
        ),
        seeds=seeds,
    )
