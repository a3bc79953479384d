"""Comparison of RFM, plain kernel ridge regression and gradient boosting on your table, on the same folds."""

import gzip
import hashlib
import os
import re
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from firstlight import _canonical as canonical
from firstlight.records import FigureData, FitRecord, figure
from firstlight.rfm._classifier import RFMClassifier
from firstlight.rfm._encoding import reading
from firstlight.rfm._regressor import RFMRegressor
from firstlight.rfm._solvers.threads import ONE_THREAD_ROWS
from firstlight.rfm._tables.suspects import suspects

Task = Literal["auto", "classification", "regression"]


@dataclass(frozen=True)
class Comparison:
    """Scores of each method on the same folds, and an RFM fitted to all rows.

    **Attributes:**

    - `task`: "classification" or "regression".
    - `target`: name of the target column.
    - `rows`: number of rows with a target.
    - `columns`: number of other columns.
    - `metric`: "accuracy" or "R²".
    - `records`: one record per method.
    - `model`: the RFM fitted to all rows; it encodes gaps, categories and dates itself.
    - `suspects`: columns that may give the target away or only number the rows, with the reason.
    - `notes`: how many rows were left out, and warnings of the fit to all rows.
    """

    task: str
    target: str
    rows: int
    columns: int
    metric: str
    records: dict[str, FitRecord]
    model: RFMClassifier | RFMRegressor
    suspects: dict[str, str]
    notes: tuple[str, ...] = ()

    def figure_data(self) -> tuple[FigureData, ...]:
        """Return the scores of the methods, then the figures of the RFM; calibration for labels only."""
        rows = self.table()
        scores = figure.bars(
            [name for name, *_ in rows],
            {self.metric: [mean for _, mean, _, _ in rows]},
            errors={self.metric: [deviation for _, _, deviation, _ in rows]},
            x="method",
            y=f"{self.metric} of held-out rows",
            title="Cross-validation",
        )
        parts = ["importances", "matrix", "directions", "history"]
        if self.task == "classification" and len(self.model.calibration_):  # type: ignore[union-attr]
            parts.append("calibration")
        return (scores, *(self.model.figure_data(part) for part in parts))

    def table(self) -> list[tuple[str, float, float, float]]:
        """Return (method, mean score, standard deviation over folds, seconds per fit), the best method first."""
        rows = [
            (name, record.scores["mean"], record.scores["deviation"], record.seconds)
            for name, record in self.records.items()
        ]
        return [rows[i] for i in canonical.descending(np.array([mean for _, mean, _, _ in rows]))]


def read_table(path: str | os.PathLike[str]) -> Any:
    """Read a CSV, TSV or Parquet file as a data frame; text files may be compressed by gzip.

    The separator is the comma, semicolon or tab that is most frequent in the first line outside quotes. With
    semicolons, numbers may have a decimal comma: a column of "1,3" and "2" is numeric. A column in which all cells are
    ISO dates (2024-03-01, 2024/03/01, 2024-03-01T12:30:00Z) is read as dates; with an offset or Z, in UTC.
    """
    import pandas as pd

    path = Path(path)
    packed = path.suffix.lower() == ".gz"
    kind = (path.with_suffix("") if packed else path).suffix.lower()
    if kind == ".parquet" and not packed:
        return pd.read_parquet(path)
    if kind not in (".csv", ".tsv"):
        raise ValueError(
            f"a table must be a .csv, .tsv or .parquet file (text also as .gz), got {path.name}; convert the file"
        )
    with gzip.open(path, "rt", encoding="utf-8-sig") if packed else path.open(encoding="utf-8-sig") as file:
        first = file.readline()
    if not first.strip():
        raise ValueError(f"a table must have a first line with the names of its columns; that of {path.name} is empty")
    separator = "\t" if kind == ".tsv" else max(",;\t", key=re.sub('"[^"]*"', "", first).count)
    frame = _dated(pd.read_csv(path, sep=separator, encoding="utf-8-sig"))
    if separator != ";":
        return frame
    text = frame.select_dtypes(exclude=["number", "datetime", "datetimetz"]).columns
    numbers = pd.read_csv(path, sep=separator, decimal=",", encoding="utf-8-sig")[text].select_dtypes("number")
    for name in numbers:
        frame[name] = numbers[name].to_numpy()
    return frame


def _dated(frame: Any) -> Any:
    """Return the frame with its columns of ISO dates parsed."""
    parsed = {name: reading.iso_dates(frame[name]) for name in frame.select_dtypes(exclude="number").columns}
    return frame.assign(**{name: dates for name, dates in parsed.items() if dates is not None})


def compare(
    frame: Any,
    target: str,
    *,
    task: Task = "auto",
    folds: int = 5,
    seed: int = 0,
    update: str = "auto",
    progress: Callable[[float, str], None] = lambda fraction, note: None,
) -> Comparison:
    """Cross-validate the three methods on the same folds, then fit RFM to all rows.

    All methods take gaps and categories as they are; for boosting, dates and durations become days. Rows without a
    target are dropped. Warnings of the last fit are `notes` of the result; those of the folds repeat them and are not
    shown.

    **Arguments:**

    - `frame`: data frame with the target and the other columns.
    - `target`: name of the target column.
    - `task`: "classification", "regression", or "auto" to decide from the target.
    - `folds`: number of folds of the cross-validation.
    - `seed`: seed of the folds and of the methods.
    - `update`: `update` of the RFM.
    - `progress`: callback that receives the fraction done and a note.

    >>> import pandas as pd
    >>> x = np.random.default_rng(0).standard_normal((80, 3))
    >>> frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=x[:, 0] * x[:, 1])
    >>> comparison = compare(frame, "y", folds=2)
    >>> comparison.task, comparison.metric, sorted(comparison.records)
    ('regression', 'R²', ['RFM', 'gradient boosting', 'kernel ridge'])
    """
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.pipeline import Pipeline

    X, y, decided = _split_off(frame, target, task)
    smallest = int(y.value_counts().min()) if decided == "classification" else len(y)
    if not 2 <= folds <= len(y):
        raise ValueError(f"folds must be from 2 to the number of rows, {len(y)}; got {folds}")
    stratified = decided == "classification" and smallest >= folds
    splitter = (StratifiedKFold if stratified else KFold)(folds, shuffle=True, random_state=seed)
    splits = list(splitter.split(X, y))
    methods = _methods(X, decided, update, seed)
    digest = _digest(frame)
    metric = "accuracy" if decided == "classification" else "R²"
    doubtful = suspects(X, y, decided)
    records = {}
    for i, (name, method) in enumerate(methods.items()):

        def report(fold: int, done=i, name=name) -> None:
            progress((done + fold / folds) / (len(methods) + 1), f"{name}, fold {fold + 1} of {folds}")

        scores, losses, seconds = _cross_validated(method, X, y, splits, report)
        values = {"mean": float(np.mean(scores)), "deviation": float(np.std(scores)), "folds": scores, "metric": metric}
        if losses:
            values["log_loss"] = float(np.mean(losses))
        params = {"task": decided, "target": target, "folds": folds, "seed": seed, "method": name}
        if name == "RFM" and update != "auto":
            params["update"] = update
        records[name] = FitRecord(
            estimator=type(method[-1] if isinstance(method, Pipeline) else method).__name__,
            params=params,
            data=digest,
            scores=values,
            seconds=float(np.mean(seconds)),
            message=" ".join([f"{len(X)} rows, {X.shape[1]} columns, {folds} folds.", *_sentences(doubtful)]),
        )
    progress(len(methods) / (len(methods) + 1), "RFM on all rows")
    model, notes = _noted(lambda: methods["RFM"].fit(X, y))
    if dropped := len(frame) - len(X):
        notes = (f"{dropped:,} of {len(frame):,} rows have no target and are left out", *notes)
    comparison = Comparison(decided, target, len(X), X.shape[1], metric, records, model, doubtful, notes)
    message = " ".join([records["RFM"].message, *(f"Note: {note}." for note in notes)])
    drawn = records["RFM"].model_copy(update={"figures": comparison.figure_data(), "message": message})
    return replace(comparison, records={**records, "RFM": drawn})


def _sentences(doubtful: dict[str, str]) -> list[str]:
    return [f"Column {name} {reason}{'' if reason.endswith('?') else '.'}" for name, reason in doubtful.items()]


def _log_loss(fitted: Any, X: Any, y: Any) -> float:
    """Return −mean log p of the true classes; a class that the training rows lack has the smallest p."""
    probabilities = fitted.predict_proba(X)
    place = {label: k for k, label in enumerate(fitted.classes_)}
    right = np.array([probabilities[i, place[label]] if label in place else 0.0 for i, label in enumerate(y)])
    return float(-np.log(np.maximum(right, np.finfo(float).eps)).mean())


def _cross_validated(
    method: Any, X: Any, y: Any, splits: list, report: Callable[[int], None]
) -> tuple[list, list, list]:
    """Return the scores of the folds, their log losses (none for a regression), and the seconds of the fits."""
    from sklearn.base import clone, is_classifier
    from threadpoolctl import threadpool_limits

    scores, losses, seconds = [], [], []
    # On a small table the threads of boosting and BLAS cost more than they save.
    with threadpool_limits(1 if len(X) <= ONE_THREAD_ROWS else None):
        for fold, (train, test) in enumerate(splits):
            report(fold)
            start = time.perf_counter()
            fresh: Any = clone(method)
            fitted, _ = _noted(lambda rows=train, fresh=fresh: fresh.fit(X.iloc[rows], y.iloc[rows]))
            seconds.append(time.perf_counter() - start)
            # Levels that only the held-out rows have are no news either.
            score, _ = _noted(lambda rows=test, fitted=fitted: fitted.score(X.iloc[rows], y.iloc[rows]))
            scores.append(float(score))
            if is_classifier(method):
                losses.append(_noted(lambda rows=test, fitted=fitted: _log_loss(fitted, X.iloc[rows], y.iloc[rows]))[0])
    return scores, losses, seconds


def _noted(call: Callable[[], Any]) -> tuple[Any, tuple[str, ...]]:
    """Return the result of a call, and the texts of its warnings, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, tuple(dict.fromkeys(str(warning.message) for warning in caught))


def _split_off(frame: Any, target: str, task: str) -> tuple[Any, Any, str]:
    from firstlight._suggest import did_you_mean

    if target not in frame.columns:
        hint = did_you_mean(target, [str(column) for column in frame.columns])
        raise ValueError(f"no column {target!r}; {hint}the columns are {', '.join(map(str, frame.columns))}")
    frame = frame[frame[target].notna()].reset_index(drop=True)
    X, y = frame.drop(columns=[target]), frame[target]
    if len(X) < 4 or X.shape[1] == 0:
        raise ValueError(f"a table needs 4 rows with a target and a column besides it, got {X.shape}")
    X.columns = [str(column) for column in X.columns]
    X = _dated(X)
    infinite = [name for name in plain_columns(X).select_dtypes("number") if np.isinf(plain_columns(X)[name]).any()]
    if infinite:
        raise ValueError(f"infinities in {', '.join(infinite)}; replace them by numbers or by missing values")
    y = plain_columns(y.to_frame(target))[target] if y.dtype.kind not in "mM" else y
    if y.dtype.kind in "mM":
        raise ValueError(f"the target {target!r} holds dates; give a column of numbers, such as days, or of labels")
    other = [type(label).__name__ for label in y.unique() if not isinstance(label, bool | str | np.bool_ | Real)]
    if other:
        raise ValueError(f"the target {target!r} holds {other[0]}; give a column of numbers or of text")
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError(f"the target {target!r} holds infinities; remove these rows")
    if task == "auto":
        many = y.nunique() > max(20, 0.05 * len(y))
        broken = y.dtype.kind == "f" and bool((y % 1 != 0).any())
        task = "regression" if y.dtype.kind in "fiu" and (many or broken) else "classification"
    if task == "regression" and y.dtype.kind not in "fiu":
        raise ValueError(f"regression needs a target of numbers; {target!r} has {y.dtype}; use --task classification")
    return X, y.astype(float) if task == "regression" else y, task


def plain_columns(frame: Any) -> Any:
    """Convert columns to NumPy types: dates and durations to days, pandas' extension numbers to floats.

    >>> import pandas as pd
    >>> plain_columns(pd.DataFrame({"day": pd.to_datetime(["1970-01-03"]), "n": pd.array([None], "Int64")}))
       day   n
    0  2.0 NaN
    """
    import pandas as pd

    plain = {}
    for name, column in frame.items():
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        if column.dtype.kind in "mM":
            start = np.datetime64(0, "ns") if column.dtype.kind == "M" else np.timedelta64(0, "ns")
            column = (column - start) / np.timedelta64(1, "D")
        elif pd.api.types.is_extension_array_dtype(column.dtype) and column.dtype.kind in "fiub":
            column = column.astype(float)
        plain[name] = column
    return pd.DataFrame(plain, index=frame.index)


def _methods(X: Any, task: str, update: str, seed: int) -> dict[str, Any]:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

    X, plain = plain_columns(X), FunctionTransformer(plain_columns)
    classify = task == "classification"
    words = [name for name in X.columns if X[name].dtype.kind not in "fiub"]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=200)
    coded = make_column_transformer((codes, words), remainder="passthrough", verbose_feature_names_out=False)
    kernel: Any = RFMClassifier if classify else RFMRegressor
    boosted: Any = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    boosting = boosted(categorical_features=list(range(len(words))) or None, random_state=seed)
    return {
        "RFM": kernel(update=update, random_state=seed),
        "kernel ridge": kernel(update=None, random_state=seed),
        "gradient boosting": make_pipeline(plain, coded, _Filled(), boosting),
    }


class _Filled(TransformerMixin, BaseEstimator):
    """Writes 0 in columns of which the fit saw no value; scikit-learn's boosting fails on them."""

    def fit(self, X: Any, y: Any = None) -> "_Filled":
        self.empty_ = np.isnan(np.asarray(X, dtype=float)).all(axis=0)
        return self

    def transform(self, X: Any) -> np.ndarray:
        return np.where(self.empty_, 0.0, np.asarray(X, dtype=float))


def _digest(frame: Any) -> str:
    import pandas as pd

    hashed: Any = pd.util.hash_pandas_object  # type: ignore[attr-defined]
    rows = hashed(frame, index=False).to_numpy()
    return hashlib.sha256(",".join(map(str, frame.columns)).encode() + rows.tobytes()).hexdigest()
