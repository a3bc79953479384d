"""Fit of tables that do not fit in memory, from blocks of rows that are read twice.

The first pass draws a uniform sample of the rows, which chooses everything and learns M. The second pass sums the
normal equations of a machine on centres over all rows; they take m² numbers for m centres, however many rows there are.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from firstlight.rfm._many import VALID_ROWS, choose_ridge
from firstlight.rfm._progress import Progress
from firstlight.rfm._solvers.normal import NormalEquations
from firstlight.rfm._solvers.solution import InterruptedFitWarning
from firstlight.rfm._solvers.threads import threads

Blocks = Callable[[], Iterable[tuple[Any, Any]]]
"""Returns a new iterator over the blocks (X, y), in the same order each time."""

SAMPLE_ROWS = 20_000
"""Number of rows in the sample."""


def fit_blocks(estimator: Any, make_blocks: Blocks, seed: int) -> None:
    """Fit an estimator to all rows of the blocks."""
    X, y, keys, rows = _sample(make_blocks, seed)
    estimator.fit(X, y)
    Z, Y = estimator._scaled_rows(X), estimator._target_rows(y)
    limit = np.sort(keys)[min(VALID_ROWS, len(keys) // 10)]
    centres = _centres(estimator, Z, seed)
    system = NormalEquations(centres, estimator.kernel_, estimator.feature_matrix_, Y.shape[1])
    draws, seen = np.random.default_rng(seed), 0
    try:
        with Progress(estimator.verbose, "fitting all blocks", rows) as progress, threads(*centres.shape):
            for block, targets in _filled(make_blocks):
                used = draws.random(len(targets)) > limit
                seen += len(targets)
                _add(system, estimator._scaled_rows(block)[used], estimator._target_rows(targets)[used], progress.add)
    except KeyboardInterrupt:
        warnings.warn(
            f"the fit was interrupted after {system.rows:,} of {rows:,} rows; "
            "the estimator holds the machine of the sample",
            InterruptedFitWarning,
            stacklevel=3,
        )
        return
    if seen != rows:
        raise ValueError(
            f"make_blocks() must return the same blocks each time; it had {rows:,} rows at first and {seen:,} then; "
            "open the source inside the function"
        )
    held = keys <= limit
    ridge = estimator.ridge
    if ridge == "auto":
        ridge = choose_ridge(system, estimator.ridge_, Z[held], Y[held], np.ones(int(held.sum())))
    _add(system, Z[held], Y[held])
    estimator._replace_machine(centres, system.solve(float(ridge)), float(ridge), system)


def _add(system: NormalEquations, Z: np.ndarray, Y: np.ndarray, progress: Callable[[int], None] | None = None) -> None:
    system.add(Z.astype(system.C.dtype, copy=False), Y, np.ones(len(Z)), progress)


def _centres(estimator: Any, Z: np.ndarray, seed: int) -> np.ndarray:
    if estimator.solver_ == "centers":
        return estimator._centres
    count = min(int(estimator.n_centers), len(Z))
    chosen = np.sort(np.random.default_rng(seed).choice(len(Z), count, replace=False))
    return np.ascontiguousarray(Z[chosen].astype(estimator._beta.dtype))


def _sample(make_blocks: Blocks, seed: int) -> tuple[Any, Any, np.ndarray, int]:
    """Return the rows with the smallest of uniform keys, the keys, and the number of all rows.

    The first row of every label is added, so that no class is missing; its key is 1 if it is not drawn.
    """
    draws, rows, first = np.random.default_rng(seed), 0, {}
    X, y, keys = None, None, np.zeros(0)
    for block, targets in _filled(make_blocks):
        fresh = draws.random(len(targets))
        rows += len(targets)
        if np.asarray(targets).dtype.kind not in "fc":
            labels, places = np.unique(np.asarray(targets).astype(str), return_index=True)
            first |= {
                label: (_taken(block, [place]), _taken(targets, [place]))
                for label, place in zip(labels.tolist(), places.tolist(), strict=True)
                if label not in first
            }
        near = np.flatnonzero(fresh <= _largest(keys))
        X, y = _joined(X, _taken(block, near)), _joined(y, _taken(targets, near))
        keys = np.concatenate([keys, fresh[near]])
        if len(keys) > SAMPLE_ROWS:
            best = np.sort(np.argsort(keys, kind="stable")[:SAMPLE_ROWS])
            X, y, keys = _taken(X, best), _taken(y, best), keys[best]
    if not rows:
        raise ValueError("make_blocks() must return at least one block (X, y) with a row; got none")
    missing = [pair for label, pair in first.items() if label not in set(np.asarray(y).astype(str).ravel().tolist())]
    for row, target in missing:
        X, y, keys = _joined(X, row), _joined(y, target), np.append(keys, 1.0)
    return X, y, keys, rows


def _filled(make_blocks: Blocks) -> Iterator[tuple[Any, Any]]:
    """Yield the blocks that have rows."""
    from sklearn.utils import check_consistent_length

    for X, y in make_blocks():
        check_consistent_length(X, y)
        if len(y):
            yield X, y


def _largest(keys: np.ndarray) -> float:
    return 1.0 if len(keys) < SAMPLE_ROWS else float(keys.max())


def _taken(A: Any, rows: Any) -> Any:
    from sklearn.utils import _safe_indexing

    return _safe_indexing(A, rows)


def _joined(A: Any, B: Any) -> Any:
    if A is None:
        return B
    if isinstance(A, np.ndarray):
        return np.concatenate([A, np.asarray(B)])
    import pandas as pd

    return pd.concat([A, B], ignore_index=True) if isinstance(A, pd.DataFrame | pd.Series) else [*A, *B]
