"""RFM on public tables with gaps, categories and dates: the choice of the encoding, and the result against boosting."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks._public_tables import REPORTED, TUNING, Table
from benchmarks._timing import result

__all__ = ["rfm_encodings", "rfm_tables_vs_hgb", "rfm_temperature"]

TRAIN_ROWS, TEST_ROWS = 600, 1500
SPLITS, TUNING_SPLITS = 1, 3


def _split(table: Table, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows, drawn without replacement."""
    import numpy as np

    frame = table.load()
    frame = frame.iloc[np.random.default_rng(seed).permutation(len(frame))]
    count = min(TRAIN_ROWS, int(0.7 * len(frame)))
    X, y = frame.drop(columns=table.target), frame[table.target]
    y = y.astype(float) if table.task == "regression" else y.astype(str)
    test = slice(count, count + TEST_ROWS)
    return X.iloc[:count], y.iloc[:count].to_numpy(), X.iloc[test], y.iloc[test].to_numpy()


def _error(table: Table, make: Callable[[bool, Any], Any], seed: int) -> tuple[float, float]:
    """Return the error on test rows, 1 − R² or the Brier score, and the processor seconds of the fit."""
    import numpy as np
    from sklearn.metrics import r2_score
    from threadpoolctl import threadpool_limits

    X, y, X_test, y_test = _split(table, seed)
    classify = table.task == "classification"
    model = make(classify, X)
    start = time.process_time()
    # Threads that wait for one another count as processor time.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model.fit(X, y)
        seconds = time.process_time() - start
        if not classify:
            return 1 - float(r2_score(y_test, model.predict(X_test))), seconds
        known = np.isin(y_test, model.classes_)
        misses = model.predict_proba(X_test)[known] - (y_test[known, None] == model.classes_)
    return float((misses**2).sum(axis=1).mean()), seconds


def _rfm(classify: bool, X: Any) -> Any:
    from firstlight.rfm import RFMClassifier, RFMRegressor

    return RFMClassifier() if classify else RFMRegressor()


def _boosting(classify: bool, X: Any) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    from firstlight.rfm._tables.compare import plain_columns

    boosted: Any = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    plain = FunctionTransformer(plain_columns)
    words = [name for name in X.columns if plain_columns(X)[name].dtype.kind not in "fiub"]
    coded = make_column_transformer((_codes(), words), remainder="passthrough", verbose_feature_names_out=False)
    return make_pipeline(plain, coded, boosted(categorical_features=list(range(len(words))) or None, random_state=0))


def _codes() -> Any:
    import numpy as np
    from sklearn.preprocessing import OrdinalEncoder

    return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=200)


def _recoded(encoder: Callable[[], Any]) -> Callable[[bool, Any], Any]:
    """Return RFM behind another encoder of the categories."""

    def make(classify: bool, X: Any) -> Any:
        from sklearn.compose import make_column_transformer
        from sklearn.pipeline import make_pipeline

        words = [name for name in X.columns if X[name].dtype.kind not in "fiubM"]
        others = [name for name in X.columns if name not in words]
        columns = make_column_transformer((encoder(), words), ("passthrough", others)).set_output(transform="pandas")
        return make_pipeline(columns, _rfm(classify, X))

    return make


def _target_means() -> Any:
    from sklearn.preprocessing import TargetEncoder

    encoder: Any = TargetEncoder
    return encoder(random_state=0)


@contextmanager
def _set(**constants: Any) -> Iterator[None]:
    """Change constants of the encoding for a while."""
    from firstlight.rfm._encoding import columns, encoding

    homes = {name: columns if hasattr(columns, name) else encoding for name in constants}
    before = {name: getattr(home, name) for name, home in homes.items()}
    for name, home in homes.items():
        setattr(home, name, constants[name])
    try:
        yield
    finally:
        for name, home in homes.items():
            setattr(home, name, before[name])


ALTERNATIVES: dict[str, tuple[dict[str, Any], Callable[[bool, Any], Any]]] = {
    "levels: power 0, as in plain one-hot columns": ({"LEVEL_POWER": 0.0}, _rfm),
    "levels: power ¾": ({"LEVEL_POWER": 0.75}, _rfm),
    "levels: power 1, standardised indicators": ({"LEVEL_POWER": 1.0}, _rfm),
    "levels: mean targets (cross-fitted) instead": ({}, _recoded(_target_means)),
    "levels: codes instead": ({}, _recoded(_codes)),
    "many levels: up to 50 of them": ({"MOST_LEVELS": 50}, _rfm),
    "many levels: up to 100 of them": ({"MOST_LEVELS": 100}, _rfm),
    "gaps: power 0": ({"GAP_POWER": 0.0}, _rfm),
    "gaps: power ½": ({"GAP_POWER": 0.5}, _rfm),
    "gaps: power 1": ({"GAP_POWER": 1.0}, _rfm),
    "gaps: the mean, without indicators": ({"GAP_POWER": -40.0}, _rfm),
    "dates: days only": ({"PERIODS": {}}, _rfm),
    "dates: one wave for each cycle": ({"WAVES": 1}, _rfm),
}
"""What else was tried: constants of the encoding, or another encoder in front of it."""


def _concerns(name: str, table: Table) -> bool:
    """Return whether an alternative can change anything on this table."""
    frame = table.load().drop(columns=table.target)
    words = [column for column in frame if frame[column].dtype.kind not in "fiubM"]
    if name.startswith("gaps"):
        return any(frame[column].isna().any() for column in frame if column not in words)
    if name.startswith("dates"):
        return any(frame[column].dtype.kind == "M" for column in frame)
    if name.startswith("many levels"):
        return any(frame[column].nunique() > 50 for column in words)
    return bool(words)


def rfm_encodings() -> dict:
    """Error with other encodings over the error with the shipped one, on the tables used to choose it."""
    import numpy as np

    def errors(tables: list[Table], make: Callable[[bool, Any], Any]) -> dict[str, float]:
        mean = lambda table: np.mean([_error(table, make, seed)[0] for seed in range(TUNING_SPLITS)])  # noqa: E731
        return {table.name: float(mean(table)) for table in tables}

    ours, means, extra = errors(list(TUNING), _rfm), {}, {}
    for name, (constants, make) in ALTERNATIVES.items():
        with _set(**constants):
            others = errors([table for table in TUNING if _concerns(name, table)], make)
        ratios = np.array([error / ours[table] for table, error in others.items()])
        means[name] = float(np.exp(np.mean(np.log(ratios))))
        worse, better = int(np.sum(ratios > 1.002)), int(np.sum(ratios < 0.998))
        extra[name] = f"{means[name]:.3f}; {worse} worse, {better} better of {len(ratios)}"
    best = min(means, key=lambda name: means[name])
    return result(means[best], "× the error, best other encoding", "higher", 0.98, (best, means[best]), **extra)


def rfm_tables_vs_hgb() -> dict:
    """Error of RFM over that of histogram boosting, on 20 tables that chose nothing; both take gaps and categories."""
    import numpy as np

    rows: dict[str, dict[str, float]] = {}
    for table in REPORTED:
        pairs = [(_error(table, _rfm, seed), _error(table, _boosting, seed)) for seed in range(SPLITS)]
        (ours, spent), (theirs, boosting) = np.mean(pairs, axis=0)
        rows[table.name] = {"rfm": ours, "hgb": theirs, "rfm_seconds": spent, "hgb_seconds": boosting}
    ratios = [row["rfm"] / row["hgb"] for row in rows.values()]
    return result(
        float(np.exp(np.mean(np.log(ratios)))),
        "× its error (1 − R² or Brier score), geometric mean",
        "lower",
        1.0,
        ("histogram boosting, mean processor seconds", float(np.mean([row["hgb_seconds"] for row in rows.values()]))),
        processor_seconds=float(np.mean([row["rfm_seconds"] for row in rows.values()])),
        better_on=int(sum(ratio < 1 for ratio in ratios)),
        tables=len(rows),
        **{name: f"{row['rfm']:.4f} against {row['hgb']:.4f}" for name, row in rows.items()},
    )


def _labelled() -> Iterator[tuple[str, Any, Any]]:
    """Yield the tables on which the shrinkage of the temperature was chosen, and one whose classes are far apart."""
    from sklearn import datasets

    for name in ("iris", "wine", "breast_cancer", "digits"):
        yield name, *getattr(datasets, f"load_{name}")(return_X_y=True)
    X, y = datasets.load_iris(return_X_y=True)
    yield "setosa against versicolor", X[y < 2], y[y < 2]
    (table,) = (table for table in TUNING if table.name == "modeldata/credit_data")
    frame = table.load().sample(1500, random_state=0)
    yield "credit_data", frame.drop(columns=table.target), frame[table.target].astype(str).to_numpy()


def _log_losses(X: Any, y: Any, seed: int) -> tuple[float, float]:
    """Return the log losses of test rows without and with the row that is added to the held-out rows."""
    from unittest.mock import patch

    from scipy.special import softmax
    from sklearn.metrics import log_loss
    from sklearn.model_selection import train_test_split

    from firstlight.rfm import RFMClassifier, _classifier
    from firstlight.rfm._calibration import temperature

    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
    held_out: list[Any] = []

    def recorded(*judged: Any) -> float:
        held_out[:] = judged
        return temperature(*judged)

    with patch.object(_classifier, "temperature", recorded):
        model = RFMClassifier().fit(X, y)
    (scores,) = model._class_scores(X_test)
    factors = temperature(*held_out, added=0.0), float(model.temperature_)
    without, shrunk = (log_loss(y_test, softmax(f * scores, axis=1), labels=model.classes_) for f in factors)
    return without, shrunk


def rfm_temperature() -> dict:
    """Largest log loss of a split with a shrunk temperature over that without; geometric mean over five tables.

    The shrinkage is an insurance: it costs a little where no held-out row is wrong, and saves a lot where one is.
    """
    import numpy as np

    rows, means, worst = {}, [], []
    for name, X, y in _labelled():
        splits = 10 if len(X) < 1000 else 3
        losses = np.array([_log_losses(X, y, seed) for seed in range(splits)])
        (without, shrunk), (without_most, shrunk_most) = losses.mean(axis=0), losses.max(axis=0)
        rows[name] = f"{shrunk:.3f} instead of {without:.3f}, at worst {shrunk_most:.3f} instead of {without_most:.3f}"
        if "against" not in name:
            means.append(np.log(shrunk / without))
            worst.append(np.log(shrunk_most / without_most))
    return result(
        float(np.exp(np.mean(worst))),
        "× its largest log loss",
        "lower",
        1.0,
        ("no shrinkage", 1.0),
        ratio_of_mean_log_losses=float(np.exp(np.mean(means))),
        **rows,
    )
