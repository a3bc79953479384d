"""The cost in accuracy of stopping when M hardly changes, on the UCI sets of at most 2600 rows."""

from pathlib import Path

from benchmarks._timing import MissingData, result
from benchmarks.rfm import TOL, UPDATES

__all__ = ["rfm_tol_uci"]

ROWS = 2600


def _folds(path: Path) -> list[dict]:
    """Return test error, test accuracy and change of M after each update, for every fold and rule."""
    import numpy as np

    from firstlight.claims.fact.checks.rfm_tabular import uci_table
    from firstlight.rfm import ExactSolver, Laplace, Ridge, Rule, best_ridge, iterate, median_bandwidth

    table, runs = uci_table(path), []
    targets = np.eye(int(table.y.max()) + 1)[table.y]
    for train, test in table.folds:
        spread = table.X[train].std(axis=0)
        X = (table.X - table.X[train].mean(axis=0)) / np.where(spread > 0, spread, 1)
        mean, ones = targets[train].mean(axis=0), np.ones(len(train))
        for rule in (Rule("fact"), Rule("fact_geometric", None), Rule("nfa")):
            solver = ExactSolver(X[train], targets[train] - mean, ones, Laplace(median_bandwidth(X[train], ones)))
            ridge = Ridge(lambda solver, iteration, last: best_ridge(solver))
            run: dict = {"set": path.stem, "update": rule.update, "error": [], "accuracy": [], "change": []}
            for machine in iterate(solver, rule, UPDATES, ridge, agop=False):
                f = mean + solver.predict(machine.solution, X[test])
                run["error"].append(float(np.mean(np.sum((f - targets[test]) ** 2, axis=1))))
                run["accuracy"].append(float(np.mean(f.argmax(axis=1) == table.y[test])))
                run["change"].append(machine.change)
            runs.append(run)
    return runs


def _means(runs: list[dict], tol: float) -> dict[str, float]:
    """Return means over sets if each run stops after its first change below `tol`."""
    import pandas as pd

    rows = []
    for run in runs:
        last = len(run["change"]) - 1
        stopped = next((t for t, change in enumerate(run["change"]) if change < tol), last)
        rows.append((run["set"], run["error"][stopped], 100 * run["accuracy"][stopped], stopped))
    return dict(pd.DataFrame(rows, columns=["set", "error", "accuracy", "updates"]).groupby("set").mean().mean())


def rfm_tol_uci() -> dict:
    """Squared test error with `tol=0.2`, relative to all five updates; means over sets, folds and rules."""
    import numpy as np
    from joblib import Parallel, delayed

    from firstlight.claims import data_directory
    from firstlight.claims._needs import missing

    data = data_directory(None)
    if data is None or missing(("uci121",), data):
        raise MissingData("; ".join(missing(("uci121",), data)))
    sizes = {path: len(np.load(path)["y"]) for path in (data / "uci121").glob("*.npz")}
    chosen = sorted((path for path, rows in sizes.items() if rows <= ROWS), key=lambda path: -sizes[path])
    runs = [run for part in Parallel(n_jobs=-1)(delayed(_folds)(path) for path in chosen) for run in part]
    stopped, all_updates = _means(runs, TOL), _means(runs, 0.0)
    extra = {}
    for update in ("fact", "fact_geometric", "nfa"):
        few, many = (_means([run for run in runs if run["update"] == update], tol) for tol in (TOL, 0.0))
        extra[f"points of accuracy gained, {update}"] = few["accuracy"] - many["accuracy"]
        extra[f"updates, {update}"] = few["updates"]
    return result(
        stopped["error"] / all_updates["error"],
        "× its squared error",
        "lower",
        1.0,
        ("all five updates", all_updates["error"]),
        sets=len(chosen),
        updates=stopped["updates"],
        **extra,
    )
