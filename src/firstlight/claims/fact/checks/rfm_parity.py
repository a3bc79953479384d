"""Sparse parities: the phase transition of Figure 1 and the features of Figure 5."""

import numpy as np

from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.fact.tolerances import ON_SUPPORT, PARITY_CHANCE, PARITY_LEARNED
from firstlight.records import figure
from firstlight.rfm import Gaussian, Rule, recursive_feature_machine


def bits(n: int, k: int, seed: int, d: int = 50, test: int = 1000):
    """Rows of ±1/√d with the parity of k random places as 0 or 1, training rows first, and the places."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], (n + test, d))
    support = np.sort(rng.choice(d, k, replace=False))
    y = (signs[:, support].prod(axis=1) > 0).astype(float)
    return signs / d**0.5, y, support


def machines(kernel, rule, *, k: int, n: int, ridge: float, seed: int, d: int = 50, iterations: int = 5):
    """Of each iteration the training and test accuracy, and M."""
    X, y, support = bits(n, k, seed, d)
    # Single precision where the matrix is large; it resolves ridges down to about 1e-3.
    X = X.astype(np.float32 if n > 4000 and ridge >= 1e-3 else np.float64)
    train, test = slice(0, n), slice(n, None)
    run = recursive_feature_machine(X[train], y[train, None], kernel, rule, iterations=iterations, ridge=ridge)
    for machine, f in run:
        shown = slice(0, min(n, 1000))
        right = [float(np.mean((f(X[rows]).ravel() > 0.5) == y[rows])) for rows in (shown, test)]
        yield right[0], right[1], machine.M, support


def accuracies(kernel, rule, **problem):
    """Test accuracy of every iteration."""
    return np.array([test for _, test, _, _ in machines(kernel, rule, **problem)])


def _found(M, support) -> tuple[bool, float]:
    """Whether the largest diagonal entries of M are the support, and the share of M's norm that lies on it."""
    top = np.sort(np.argsort(M.diagonal())[-len(support) :])
    inside = np.linalg.norm(M[np.ix_(support, support)]) / np.linalg.norm(M)
    return bool((top == support).all()), float(inside)


def phase_transition(setting: Setting) -> Outcome:
    """Accuracy over iterations of FACT-RFM on a parity that plain kernel regression memorises and does not learn."""
    seeds = setting.seeds_or((0,))
    k, n, d = setting.choose(quick=(3, 1200, 30), paper=(4, 25_000, 50))
    found = list(
        machines(Gaussian(5.0), Rule("fact_geometric", None), k=k, n=n, ridge=1e-3, seed=seeds[0], d=d, iterations=5)
    )
    train, test = np.array([m[0] for m in found]), np.array([m[1] for m in found])
    is_support, inside = _found(found[-1][2], found[-1][3])
    jump = int(np.argmax(test > 0.9)) if (test > 0.9).any() else None
    measured = {
        "training accuracy": train,
        "test accuracy": test,
        "first iteration above 0.9": jump,
        "the largest diagonal entries of M are the support": is_support,
        "share of M's norm on the support": inside,
    }
    holds = test[0] < PARITY_CHANCE and test.max() > PARITY_LEARNED and is_support and bool(jump)
    iterations = np.arange(len(found))
    curves = figure.curves(
        [figure.Series("test", iterations, test), figure.Series("train", iterations, train, style="dashed")],
        x="iteration",
        y="accuracy",
        title=f"Parity of {k} of {d} bits, n = {n}",
    )
    shown = figure.panels(
        [curves, _map(found[-1][2], "M at the end")],
        title="FACT-RFM learns a sparse parity all at once",
        caption="Geometric update, Gaussian kernel with L = 5, ridge 1e-3.",
    )
    return Outcome(
        "holds" if holds else "fails",
        measured,
        {
            "test accuracy": "chance at first, above 0.98 later",
            "the largest diagonal entries of M are the support": True,
        },
        evidence="Accuracy on training rows is of the first thousand.",
        figures=(shown,),
        seeds=seeds[:1],
    )


def parity_features(setting: Setting) -> Outcome:
    """FACT-RFM and NFA-RFM on parities of two and three bits: accuracy and the support in M."""
    seed = setting.seeds_or((0,))[0]
    sizes = setting.choose(quick={2: (500, 50), 3: (1500, 30)}, paper={2: (500, 50), 3: (5000, 50)})
    # Ridges at which each learns all of them: NFA needs a tiny one for three bits.
    methods = {
        "FACT": (Rule("fact_geometric", None), {2: 1e-3, 3: 1e-3}),
        "NFA": (Rule("nfa", "trace"), {2: 1e-3, 3: 1e-10}),
    }
    measured, panels, holds = {}, [], True
    for step, (k, (n, d)) in enumerate(sizes.items()):
        for name, (rule, ridges) in methods.items():
            setting.progress((step + (name == "NFA") / 2) / len(sizes), f"{name}, {k} bits")
            found = list(machines(Gaussian(5.0), rule, k=k, n=n, ridge=ridges[k], seed=seed, d=d))
            test = [m[1] for m in found]
            best = int(np.argmax(test))
            is_support, inside = _found(found[-1][2], found[-1][3])
            measured[f"{name}, k = {k}"] = {"test accuracy": test, "support found": is_support, "share": inside}
            holds &= test[best] > PARITY_LEARNED and is_support and inside > ON_SUPPORT
            panels.append(_map(found[-1][2], f"{name}, k = {k}, n = {n}"))
    return Outcome(
        "holds" if holds else "fails",
        measured,
        {key: {"test accuracy": "above 0.98", "support found": True, "share": "above 0.9"} for key in measured},
        evidence=(
            "The paper's third column, k = 4 with n = 50 000, is left out: one exact solve is 42 TFLOP on a matrix of "
            "10 GB, and six are needed; fact.figure-1 has k = 4 with n = 25 000. NFA is run "
            "with the trace of M kept, and for three bits at ridge 1e-10: the paper does not print its ridges."
        ),
        figures=(
            figure.panels(
                panels, title="Features of sparse parities", caption="M after five iterations; Gaussian kernel, L = 5."
            ),
        ),
        seeds=(seed,),
    )


def _map(M, title: str):
    return figure.heatmap(M, x="bit", y="bit", value="M", palette="diverging", title=title)
