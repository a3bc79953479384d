"""Figures of a fitted estimator, as data; `firstlight.plots` draws them."""

import html
from collections.abc import Callable
from typing import Any

import numpy as np

from firstlight import _canonical as canonical
from firstlight.records import figure
from firstlight.records.figure import FigureData

_SHOWN = 20


def names(estimator: Any) -> list[str]:
    """Return the column names of the fitted data frame, else x0, x1, …"""
    return [str(name) for name in getattr(estimator, "feature_names_in_", _numbered(estimator.n_features_in_))]


def importances(estimator: Any) -> FigureData:
    """Show the diagonal of M, largest first, for at most twenty columns."""
    shares = estimator.feature_importances_
    order = canonical.descending(shares)[:_SHOWN]
    labels = names(estimator)
    return figure.bars(
        [labels[i] for i in order],
        {"share of the diagonal of M": shares[order]},
        x="column",
        y="importance",
        title="Which columns matter" if estimator.n_iter_ else "No feature learning helped: M is the identity",
        caption=_summary(estimator),
    )


def matrix(estimator: Any) -> FigureData:
    """Show M for at most twenty columns; a large off-diagonal entry joins two columns in one feature."""
    M, labels = estimator._encoding.fold_matrix(estimator.feature_matrix_), names(estimator)
    chosen = np.arange(len(M)) if len(M) <= _SHOWN else np.sort(canonical.descending(M.diagonal())[:_SHOWN])
    words = [labels[i] for i in chosen]
    return figure.heatmap(
        M[np.ix_(chosen, chosen)],
        x="column",
        y="column",
        value="M",
        palette="diverging",
        rows=words,
        columns=words,
        title="Feature matrix M",
        caption=_summary(estimator),
    )


def directions(estimator: Any) -> FigureData:
    """Show the three most important directions, for the columns with the largest entries."""
    vectors, labels = estimator.feature_directions_[:3], names(estimator)
    values = np.linalg.eigvalsh(estimator.feature_matrix_)[::-1]
    shares = values / values.sum()
    order = np.sort(canonical.descending(np.abs(vectors).max(axis=0))[:_SHOWN])
    return figure.bars(
        [labels[i] for i in order],
        {f"direction {k + 1} ({shares[k]:.0%} of the trace)": vector[order] for k, vector in enumerate(vectors)},
        x="column",
        y="entry",
        title="Top directions of M",
        caption=_summary(estimator),
    )


def history(estimator: Any) -> FigureData:
    """Show the score over iterations, one panel for each rule tried, so that equal curves do not hide each other."""
    table = estimator.history_
    zero, rest = table[table["iteration"] == 0], table[table["iteration"] > 0]
    plain = float(zero["score"].iloc[0]) if len(zero) else float("nan")
    marks = {"plain kernel": plain} if np.isfinite(plain) else None
    parts = []
    for (update, how), run in rest.groupby(["update", "normalize"], dropna=False):
        label = f"{update}, {how} normalised" if isinstance(how, str) else str(update)
        # Other kernels and bandwidths are tried at the end, for the M that was learned: dots beside the curve.
        first = (zero if len(zero) else run).iloc[0]
        learning = (run["kernel"] == first["kernel"]) & (run["bandwidth"] == first["bandwidth"])
        joined = [*zero.to_dict("records"), *run[learning].to_dict("records")]
        series = [figure.Series("score", [row["iteration"] for row in joined], [row["score"] for row in joined])]
        for name, rows in (("other kernels", run[~learning & ~run["chosen"]]), ("chosen", run[run["chosen"]])):
            if len(rows):
                dots = rows["iteration"].to_numpy(), rows["score"].to_numpy()
                series.append(figure.Series(name, *dots, style="points"))
        parts.append(figure.curves(series, x="iteration", y="score on held-out rows", title=label, horizontal=marks))
    if not parts:
        lone = figure.Series("plain kernel", zero["iteration"].to_numpy(), zero["score"].to_numpy(), style="points")
        return figure.curves(
            [lone],
            x="iteration",
            y="score on held-out rows",
            title="Score over iterations",
            caption=_summary(estimator),
        )
    return figure.panels(parts, title="Score over iterations", caption=_summary(estimator))


def calibration(estimator: Any) -> FigureData:
    """Show how often a class was right among held-out rows with similar probabilities."""
    table = getattr(estimator, "calibration_", None)
    if table is None or not len(table):
        raise ValueError("a calibration figure needs a classifier that was fitted with held-out rows; got another fit")
    table = table.sort_values("predicted")
    predicted, observed = table["predicted"].to_numpy(), table["observed"].to_numpy()
    # Two standard errors of a share, with one success and one failure more, so that no band has width 0.
    count = table["rows"].to_numpy() + 2
    share = (observed * table["rows"].to_numpy() + 1) / count
    error = 2 * np.sqrt(share * (1 - share) / count)
    measured = figure.Series(
        "held-out rows", predicted, observed, np.minimum(share - error, observed), np.maximum(share + error, observed)
    )
    ideal = figure.Series("calibrated", [0.0, 1.0], [0.0, 1.0], style="dashed")
    return figure.curves(
        [measured, ideal],
        x="predicted probability",
        y="observed share",
        title="Calibration of the probabilities",
        caption=f"temperature {', '.join(f'{t:.3g}' for t in np.atleast_1d(estimator.temperature_))}; "
        "the band is two standard errors",
    )


FIGURES: dict[str, Callable[[Any], FigureData]] = {
    "importances": importances,
    "matrix": matrix,
    "directions": directions,
    "history": history,
    "calibration": calibration,
}
"""The figures of `estimator.plot`."""


def summary_html(estimator: Any) -> str:
    """Return HTML with the chosen update in one line, and the importances as a figure."""
    from firstlight import plots

    return f"<div><p>{html.escape(_summary(estimator))}</p>{plots.svg(importances(estimator))}</div>"


def _summary(estimator: Any) -> str:
    way = f"{estimator.update_} after {estimator.n_iter_} iterations" if estimator.n_iter_ else "no feature learning"
    kernel = type(estimator.kernel_).__name__.lower()
    return f"{way}; {kernel} kernel, bandwidth {estimator.bandwidth_:.3g}, ridge {estimator.ridge_:.3g}"


def _numbered(count: int) -> list[str]:
    return [f"x{i}" for i in range(count)]
