"""What the selection of kernel and bandwidth gains, and what the intervals cover."""

from typing import Any

from benchmarks._draws import SETS, split
from benchmarks._public_tables import TUNING
from benchmarks._timing import result

__all__ = ["rfm_intervals", "rfm_kernel_choice"]

SEEDS = 4


def rfm_kernel_choice() -> dict:
    """Test error with the kernel and bandwidth that held-out rows choose, relative to the Laplace kernel."""
    import numpy as np

    from firstlight.rfm import RFMRegressor

    ratios: dict[str, list[float]] = {}
    for name in SETS:
        for seed in range(SEEDS):
            X, y, X_test, y_test = split(name, seed)
            chosen, laplace = (
                1 - float(RFMRegressor(**fixed).fit(X, y).score(X_test, y_test))
                for fixed in ({}, {"kernel": "laplace", "bandwidth": "median"})
            )
            ratios.setdefault(name, []).append(chosen / laplace)
    means = {name: float(np.exp(np.mean(np.log(own)))) for name, own in ratios.items()}
    worst = max(means, key=lambda name: means[name])
    return result(
        float(np.exp(np.mean(np.log(list(means.values()))))),
        "× its squared error, geometric mean",
        "lower",
        1.0,
        (f"the set with the largest ratio, {worst}", means[worst]),
        largest_ratio_of_a_draw=max(max(own) for own in ratios.values()),
        draws=sum(len(own) for own in ratios.values()),
        **{name: f"{means[name]:.3f}, from {min(own):.3f} to {max(own):.3f}" for name, own in ratios.items()},
    )


def _coverage(X: Any, y: Any, X_test: Any, y_test: Any) -> tuple[float, float]:
    """Return the share of test rows in intervals of 0.9, with and without the residuals of held-out rows."""
    from unittest.mock import patch

    import numpy as np

    from firstlight.rfm import RFMRegressor, _intervals

    def covered() -> float:
        low, high = RFMRegressor(verbose=False).fit(X, y).predict_interval(X_test, coverage=0.9).T
        return float(np.mean((low <= y_test) & (y_test <= high)))

    both = covered()
    with patch.object(_intervals, "_held_out", lambda fitted: None):
        return both, covered()


def rfm_intervals() -> dict:
    """Share of test rows in intervals of 0.9, on the regressions among the tuning tables: 200 rows, four splits."""
    import warnings

    import numpy as np

    rows = {}
    for table in TUNING:
        frame = table.load()
        if table.task != "regression" or len(frame) < 300:
            continue
        shares = []
        for seed in range(SEEDS):
            part = frame.iloc[np.random.default_rng(seed).permutation(len(frame))[:1700]]
            X, y = part.drop(columns=table.target), part[table.target].astype(float).to_numpy()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                shares.append(_coverage(X[:200], y[:200], X[200:], y[200:]))
        rows[table.name] = np.mean(shares, axis=0)
    both, plain = np.array(list(rows.values())).T
    return result(
        float(both.mean()),
        "of test rows covered by intervals of 0.9",
        "higher",
        0.88,
        ("without held-out residuals", float(plain.mean())),
        least=float(both.min()),
        most=float(both.max()),
        least_without_held_out_residuals=float(plain.min()),
        tables=len(rows),
    )
