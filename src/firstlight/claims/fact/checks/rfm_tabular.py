"""Table 3: recursive feature machines on the UCI corpus, by the published protocol and by one that does not leak."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, train_test_split

from firstlight._files import write_atomically
from firstlight.claims._claim import Outcome, Setting
from firstlight.claims._needs import missing
from firstlight.claims.fact.tolerances import TABLE_3
from firstlight.records import figure
from firstlight.rfm import ExactSolver, Laplace, NotPositiveDefinite, Rule, fixed, iterate

RIDGES = (10.0, 1.0, 0.1, 1e-2, 1e-3)
ITERATIONS = 5
BANDWIDTH = 10.0
PRINTED = {"FACT": 85.22, "FACT geometric": 84.99, "NFA": 85.10, "Laplace": 83.71}
"""Table 3, in percent."""

SETS = 120
"""Over so many the printed means were taken."""


LARGEST = 20_000
"""Sets with more rows are left out unless FIRSTLIGHT_UCI_ROWS names a larger number."""

FOLDS = 4
PROTOCOL = 1
"""Counted up when the numbers would change, so that old ones are not taken for new ones."""


@dataclass(frozen=True)
class Table:
    """A data set with its tuning split and its folds, each a pair (training rows, test rows)."""

    name: str
    X: Any
    y: Any
    tune: tuple[Any, Any]
    folds: tuple[tuple[Any, Any], ...]


@dataclass(frozen=True)
class Choice:
    """What the tuning split likes best: rows scaled to length 1 or not, the ridge, the number of updates."""

    unit: bool
    ridge: float
    iteration: int
    accuracy: float


def rules():
    """The three ways of updating M, as printed: the scale of M is left to itself."""
    return {"FACT": Rule("fact", None), "FACT geometric": Rule("fact_geometric", None), "NFA": Rule("nfa", None)}


def tune(table: Table, done: dict[str, Any], keep) -> dict[str, Choice]:
    """The best setting of each method on the tuning split; of equals the first, in the order of the loops."""
    best: dict[str, Choice] = {}
    for unit in (False,) if table.name == "balance-scale" else (False, True):
        for ridge in RIDGES:
            tried = done.setdefault("tried", {})
            key = f"{unit} {ridge}"
            if key not in tried:
                tried[key] = {method: vars(choice) for method, choice in _tried(table, unit, ridge).items()}
                keep(done)
            for method, values in tried[key].items():
                if method not in best or values["accuracy"] > best[method].accuracy:
                    best[method] = Choice(**values)
    return best


def _tried(table: Table, unit: bool, ridge: float) -> dict[str, Choice]:
    """The best number of updates of each method at one ridge; nothing where the plain machine has no solution."""
    zeroth = next(_machines(table, table.tune, unit, ridge, rules()["NFA"], 1), None)
    if zeroth is None:
        return {}
    best = dict.fromkeys(("Laplace", *rules()), Choice(unit, ridge, 0, zeroth[1]))
    for method, rule in rules().items():
        for machine, accuracy in _machines(table, table.tune, unit, ridge, rule, ITERATIONS, zeroth[0]):
            if accuracy > best[method].accuracy:
                best[method] = Choice(unit, ridge, machine.iteration, accuracy)
    return best


def fold_accuracy(table: Table, fold: tuple[Any, Any], choice: Choice, method: str, metric=None) -> float:
    """Test accuracy of one fold, with M learned on its own training rows, or as given."""
    rule = rules().get(method, rules()["NFA"])
    if metric is not None:
        return _accuracy_of(table, fold, choice, metric)
    *_, (machine, accuracy) = _machines(table, fold, choice.unit, choice.ridge, rule, choice.iteration, last=True)
    # Fewer iterations than were chosen, where M ran away on the way: the last machine that could be solved.
    return accuracy if machine.iteration == choice.iteration else _accuracy_of(table, fold, choice, machine.M)


def tuned_metric(table: Table, choice: Choice, method: str):
    """M as it came of the tuning split."""
    M = np.eye(table.X.shape[1])
    rule = rules().get(method, rules()["NFA"])
    for machine, _ in _machines(table, table.tune, choice.unit, choice.ridge, rule, choice.iteration, last=True):
        M = machine.M
    return M


def _solver(table: Table, rows, unit: bool):
    X = table.X / np.maximum(np.linalg.norm(table.X, axis=1, keepdims=True), 1e-12) if unit else table.X
    # Single precision resolves these ridges, and is twice as fast where it matters.
    X = (X - X[rows].mean(axis=0)).astype(np.float32 if len(rows) >= 1500 else np.float64)
    targets = np.eye(int(table.y.max()) + 1)[table.y[rows]]
    return X, ExactSolver(X[rows], targets, np.ones(len(rows)), Laplace(BANDWIDTH))


def _machines(table: Table, split, unit: bool, ridge: float, rule, iterations: int, start=None, last: bool = False):
    """Iterates with their accuracy on the split's second half; only the last is measured if `last`."""
    rows, held = split
    X, solver = _solver(table, rows, unit)
    try:
        for machine in iterate(solver, rule, iterations, fixed(ridge), start=start, agop=False):
            accuracy = float("nan")
            if not last or machine.matrices is None:
                predicted = solver.predict(machine.solution, X[held]).argmax(axis=1)
                accuracy = float(np.mean(predicted == table.y[held]))
            yield machine, accuracy
    except NotPositiveDefinite:
        return


def _accuracy_of(table: Table, fold, choice: Choice, metric) -> float:
    rows, held = fold
    X, solver = _solver(table, rows, choice.unit)
    solver.load(metric)
    predicted = solver.predict(solver.solve(choice.ridge), X[held]).argmax(axis=1)
    return float(np.mean(predicted == table.y[held]))


def evaluate(table: Table, done: dict[str, Any], keep) -> dict[str, Any]:
    """Everything about one set; `done` holds what is known, and `keep` is told after each ridge and each fold."""
    if "choices" not in done:
        choices = tune(table, done, keep)
        done |= {"choices": {method: vars(choice) for method, choice in choices.items()}, "folds": []}
        done.pop("tried")
        keep(done)
    choices = {method: Choice(**values) for method, values in done["choices"].items()}
    if len(done["folds"]) < len(table.folds):
        metrics = {method: tuned_metric(table, choice, method) for method, choice in choices.items()}
        for fold in table.folds[len(done["folds"]) :]:
            result = {}
            for method, choice in choices.items():
                leaking = fold_accuracy(table, fold, choice, method, metrics[method])
                own = leaking if choice.iteration == 0 else fold_accuracy(table, fold, choice, method)
                result[method] = [leaking, own]
            done["folds"].append(result)
            keep(done)
    return done


def summary(results: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Mean accuracy over sets in percent, published and leak-free; `auto` follows the tuning split from set to set."""
    means: dict[str, dict[str, list[float]]] = {"published": {}, "leak-free": {}}
    for done in results.values():
        accuracy = {method: values["accuracy"] for method, values in done["choices"].items()}
        # Of equals the plain machine, which is the simplest; then in the order of Table 3.
        order = ["Laplace", *(method for method in accuracy if method != "Laplace")]
        auto = max(order, key=lambda method: (accuracy[method], -order.index(method)))
        for place, protocol in enumerate(means):
            for method in [*accuracy, "auto"]:
                used = auto if method == "auto" else method
                mean = np.mean([fold[used][place] for fold in done["folds"]])
                means[protocol].setdefault(method, []).append(100 * float(mean))
    return {p: {m: float(np.mean(v)) for m, v in methods.items()} for p, methods in means.items()}


def uci_table(path: Path) -> Table:
    """A set of the corpus as it is distributed: columns already standardised."""
    with np.load(path) as file:
        folds = tuple((file[f"fold{k}_train"], file[f"fold{k}_test"]) for k in range(FOLDS))
        X, y = file["X"].astype(np.float64), file["y"].astype(int)
        return Table(path.stem, X, y, (file["tune_train"], file["tune_valid"]), folds)


def bundled_tables(seed: int) -> list[Table]:
    """scikit-learn's own small sets, standardised, with splits like those of the corpus."""
    tables = []
    for load in (load_iris, load_wine, load_breast_cancer):
        X, y = load(return_X_y=True)
        thin = slice(None, None, 3 if len(y) > 300 else 1)
        X, y = X[thin], y[thin]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        tune = train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y)
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y)
        tables.append(Table(load.__name__.removeprefix("load_"), X, y, (tune[0], tune[1]), tuple(folds)))
    return tables


def tabular(setting: Setting) -> Outcome:
    """Table 3, set by set; at paper scale every fold is kept in a folder, and a second run goes on from there."""
    seed = setting.seeds_or((0,))[0]
    # Only the paper's scale needs the corpus, so it is not among the claim's needs.
    if setting.scale == "paper" and (reasons := missing(("uci121",), setting.data)):
        return Outcome("inconclusive", None, None, evidence="; ".join(reasons))
    results = _bundled(seed) if setting.scale == "quick" else _corpus(setting)
    means = summary(results)
    measured: dict[str, Any] = {"data sets": len(results)}
    measured |= {f"{method}, {protocol}": mean for protocol, of in means.items() for method, mean in of.items()}
    free = means["leak-free"]
    single = max(free[method] for method in ("FACT", "FACT geometric", "NFA"))
    measured["auto minus the best single update, leak-free"] = free["auto"] - single
    measured["leak, FACT"] = means["published"]["FACT"] - free["FACT"]
    if setting.scale == "quick":
        status = "holds" if min(free[m] for m in rules()) > free["Laplace"] - 2 else "fails"
    else:
        against = against_the_printed(means["published"], len(results))
        measured |= against
        status = verdict(means["published"], against)
    methods = [*rules(), "auto"]
    gains = {protocol: [means[protocol][m] - means[protocol]["Laplace"] for m in methods] for protocol in means}
    shown = figure.bars(
        methods,
        gains,
        x="method",
        y=figure.Axis("accuracy above Laplace", "points"),
        title=f"Table 3 on {len(results)} data sets: what learning M gains",
        caption="Published: the M of the tuning split, which has seen the test rows, serves all folds.",
    )
    return Outcome(
        status,
        measured,
        {f"{method}, published": mean for method, mean in PRINTED.items()}
        if setting.scale == "paper"
        else {"all updates": "no more than 2 points below Laplace"},
        evidence=(
            "The published protocol reuses the M of the tuning split, half of which are test rows of the folds. "
            f"{SETS - len(results)} large sets are left out, and the paper prints no numbers of single sets: means "
            "that differ by more than 0.3 decide nothing while the sets left out could make up for it."
            if setting.scale == "paper"
            else "On scikit-learn's bundled sets, which are too easy to tell the methods apart."
        ),
        figures=(shown,),
        seeds=(seed,) if setting.scale == "quick" else (),
    )


def verdict(means: Mapping[str, float], against: Mapping[str, Any]):
    """Whether the printed means came out; "inconclusive" where the sets left out could account for the difference."""
    if min(means[m] for m in rules()) <= means["Laplace"]:
        return "fails"
    if against["largest distance from the printed means"] <= TABLE_3:
        return "holds"
    needed = against["mean that the sets left out must have for the printed means"].values()
    return "inconclusive" if needed and min(needed) >= 0 and max(needed) <= 100 else "fails"


def against_the_printed(means: Mapping[str, float], sets: int) -> dict[str, Any]:
    """How means, and gains over the plain kernel, differ from the printed ones; what the sets left out must average."""
    gains = {m: means[m] - means["Laplace"] - (PRINTED[m] - PRINTED["Laplace"]) for m in rules()}
    left = SETS - sets
    needed = {m: (SETS * PRINTED[m] - sets * means[m]) / left for m in PRINTED} if left > 0 else {}
    return {
        "largest distance from the printed means": max(abs(means[m] - printed) for m, printed in PRINTED.items()),
        "gains over Laplace minus the printed ones": gains,
        "mean that the sets left out must have for the printed means": needed,
    }


def _bundled(seed: int) -> dict[str, dict[str, Any]]:
    return {table.name: evaluate(table, {}, lambda done: None) for table in bundled_tables(seed)}


def _corpus(setting: Setting) -> dict[str, dict[str, Any]]:
    sizes = {}
    for path in sorted((Path(setting.data or ".") / "uci121").glob("*.npz")):
        with np.load(path) as file:
            sizes[path] = len(file["y"])
    largest = _largest()
    chosen = sorted((path for path, rows in sizes.items() if rows <= largest), key=lambda path: sizes[path])
    # Time grows with the cube of the rows; that is what the fraction done is counted in.
    costs = np.cumsum([2e6 + float(sizes[path]) ** 3 for path in chosen])
    results, folder = {}, setting.work / f"table-3-v{PROTOCOL}"
    for path, cost in zip(chosen, costs, strict=True):
        kept = folder / f"{path.stem}.json"
        done = json.loads(kept.read_text()) if kept.exists() else {}
        if len(done.get("folds", ())) < FOLDS:

            def keep(done, kept=kept):
                write_atomically(kept, json.dumps(done).encode())

            done = evaluate(uci_table(path), done, keep)
        results[path.stem] = done
        setting.progress(float(cost / costs[-1]), f"{path.stem}: {len(results)} of {len(chosen)} sets")
    return results


def _largest() -> int:
    given = os.environ.get("FIRSTLIGHT_UCI_ROWS", str(LARGEST))
    if not (given.isdecimal() and int(given) >= LARGEST):
        raise ValueError(f"FIRSTLIGHT_UCI_ROWS is the rows of the largest set to run, {LARGEST} or more; got {given!r}")
    return int(given)
