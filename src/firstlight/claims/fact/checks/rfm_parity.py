"""Sparse parities: the phase transition of Figure 1 and the features of Figure 5."""

from collections.abc import Iterator

import numpy as np

from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.fact.tolerances import ON_SUPPORT, PARITY_CHANCE, PARITY_LEARNED
from firstlight.records import figure
from firstlight.rfm import Gaussian, Kernel, Rule, recursive_feature_machine


def bits(n: int, k: int, seed: int, d: int = 50, test: int = 1000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw rows of ±1/√d, their parity on k random bits as 0 or 1, and these bits. Training rows come first."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], (n + test, d))
    support = np.sort(rng.choice(d, k, replace=False))
    y = (signs[:, support].prod(axis=1) > 0).astype(float)
    return signs / d**0.5, y, support


def machines(
    kernel: Kernel, rule: Rule, *, k: int, n: int, ridge: float, seed: int, d: int = 50, iterations: int = 5
) -> Iterator[tuple[float, float, np.ndarray, np.ndarray]]:
    """Yield training accuracy, test accuracy, M and the support of the parity for each iteration."""
    X, y, support = bits(n, k, seed, d)
    # Large matrices are in single precision, which resolves ridges down to about 1e-3.
    X = X.astype(np.float32 if n > 4000 and ridge >= 1e-3 else np.float64)
    train, test = slice(0, n), slice(n, None)
    run = recursive_feature_machine(X[train], y[train, None], kernel, rule, iterations=iterations, ridge=ridge)
    for machine, f in run:
        shown = slice(0, min(n, 1000))
        right = [float(np.mean((f(X[rows]).ravel() > 0.5) == y[rows])) for rows in (shown, test)]
        yield right[0], right[1], machine.M, support


def accuracies(kernel: Kernel, rule: Rule, *, k: int, n: int, ridge: float, seed: int) -> np.ndarray:
    """Return the test accuracy of every iteration."""
    return np.array([test for _, test, _, _ in machines(kernel, rule, k=k, n=n, ridge=ridge, seed=seed)])


def _on_support(M: np.ndarray, support: np.ndarray) -> tuple[bool, float]:
    """Return whether the largest diagonal entries of M are the support, and the support's share of M's norm."""
    top = np.sort(np.argsort(M.diagonal())[-len(support) :])
    inside = np.linalg.norm(M[np.ix_(support, support)]) / np.linalg.norm(M)
    return bool((top == support).all()), float(inside)


def phase_transition(setting: Setting) -> Outcome:
    """Measure FACT-RFM's accuracy over iterations on a parity that plain kernel regression only memorises."""
    seeds = setting.seeds_or((0,))
    k, n, d = setting.choose(quick=(3, 1200, 30), paper=(4, 25_000, 50))
    iterates = list(
        machines(Gaussian(5.0), Rule("fact_geometric", None), k=k, n=n, ridge=1e-3, seed=seeds[0], d=d, iterations=5)
    )
    train, test = np.array([m[0] for m in iterates]), np.array([m[1] for m in iterates])
    is_support, inside = _on_support(iterates[-1][2], iterates[-1][3])
    jump = int(np.argmax(test > 0.9)) if (test > 0.9).any() else None
    measured = {
        "training accuracy": train,
        "test accuracy": test,
        "first iteration above 0.9": jump,
        "the largest diagonal entries of M are the support": is_support,
        "share of M's norm on the support": inside,
    }
    holds = test[0] < PARITY_CHANCE and test.max() > PARITY_LEARNED and is_support and bool(jump)
    iterations = np.arange(len(iterates))
    curves = figure.curves(
        [figure.Series("test", iterations, test), figure.Series("train", iterations, train, style="dashed")],
        x="iteration",
        y="accuracy",
        title=f"Parity of {k} of {d} bits, n = {n}",
    )
    shown = figure.panels(
        [curves, _map(iterates[-1][2], "M at the end")],
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
        evidence="The training accuracy is measured on the first thousand rows.",
        figures=(shown,),
        seeds=seeds[:1],
    )


def parity_features(setting: Setting) -> Outcome:
    """Run FACT-RFM and NFA-RFM on parities of two and three bits; measure accuracy and the support in M."""
    seed = setting.seeds_or((0,))[0]
    sizes = setting.choose(quick={2: (500, 50), 3: (1500, 30)}, paper={2: (500, 50), 3: (5000, 50)})
    # Ridges at which each method learns all parities; NFA needs a tiny ridge for three bits.
    methods = {
        "FACT": (Rule("fact_geometric", None), {2: 1e-3, 3: 1e-3}),
        "NFA": (Rule("nfa", "trace"), {2: 1e-3, 3: 1e-10}),
    }
    measured, panels, holds = {}, [], True
    for step, (k, (n, d)) in enumerate(sizes.items()):
        for name, (rule, ridges) in methods.items():
            setting.progress((step + (name == "NFA") / 2) / len(sizes), f"{name}, {k} bits")
            iterates = list(machines(Gaussian(5.0), rule, k=k, n=n, ridge=ridges[k], seed=seed, d=d))
            test = [m[1] for m in iterates]
            best = int(np.argmax(test))
            is_support, inside = _on_support(iterates[-1][2], iterates[-1][3])
            measured[f"{name}, k = {k}"] = {"test accuracy": test, "support found": is_support, "share": inside}
            holds &= test[best] > PARITY_LEARNED and is_support and inside > ON_SUPPORT
            panels.append(_map(iterates[-1][2], f"{name}, k = {k}, n = {n}"))
    return Outcome(
        "holds" if holds else "fails",
        measured,
        {key: {"test accuracy": "above 0.98", "support found": True, "share": "above 0.9"} for key in measured},
        evidence=(
            "The check omits the paper's third column, k = 4 with n = 50 000, which needs six exact solves of 42 TFLOP "
            "each on a matrix of 10 GB; fact.figure-1 has k = 4 with n = 25 000. NFA runs with a fixed trace of M, and "
            "for three bits with ridge 1e-10. The paper does not print its ridges."
        ),
        figures=(
            figure.panels(
                panels, title="Features of sparse parities", caption="M after five iterations; Gaussian kernel, L = 5."
            ),
        ),
        seeds=(seed,),
    )


def _map(M: np.ndarray, title: str) -> figure.FigureData:
    return figure.heatmap(M, x="bit", y="bit", value="M", palette="diverging", title=title)
