"""RFM's defaults on the UCI corpus, leak-free, against the defaults of an earlier commit; cost of a fit against it."""

import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks._timing import MissingData, result

__all__ = ["rfm_default_cost", "rfm_uci_defaults"]

BEFORE = "835dbeb"
"""The last commit in front of the selection by races, kernels and bandwidths."""

RECORDS = Path(__file__).with_name("rfm_uci.json")
"""Accuracy and processor seconds of every fold, by code and set; a run resumes from it."""

LARGEST = 20_000
FOLDS = 4
GROUPS = (0, 200, 500, 1000, 2000, 5000, LARGEST)
"""Limits of the groups of sets, by rows."""

CODES = ("before", "now")


@contextmanager
def _sources() -> Iterator[dict[str, str]]:
    """Extract the earlier code from the history of the repository; yield the folder of each code."""
    root = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "before.tar"
        done = subprocess.run(
            ["git", "archive", "-o", str(archive), BEFORE, "src"], cwd=root, capture_output=True, text=True
        )
        if done.returncode:
            raise MissingData(f"commit {BEFORE} of the repository is needed: {done.stderr.strip()}")
        subprocess.run(["tar", "-xf", str(archive), "-C", folder], check=True)
        yield {"before": str(Path(folder) / "src"), "now": str(root / "src")}


def _alone(source: str, *words: str) -> Any:
    """Run a part of this module with the code of a folder, on one thread; return what it prints as JSON."""
    folders = os.pathsep.join([source, str(Path(__file__).parent.parent)])
    environment = os.environ | {"PYTHONPATH": folders, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    path = str(Path(__file__).resolve())
    done = subprocess.run([sys.executable, path, *words], capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def _fold_records(path: str, first: int) -> list[dict[str, Any]]:
    """Fit the folds of a set from `first` on; return accuracy, processor seconds and number of updates of each."""
    import time

    import numpy as np

    from firstlight.rfm import RFMClassifier

    records = []
    with np.load(path) as file:
        X, y = file["X"].astype(np.float64), file["y"].astype(int)
        for k in range(first, FOLDS):
            train, test = file[f"fold{k}_train"], file[f"fold{k}_test"]
            start = time.process_time()
            model = RFMClassifier().fit(X[train], y[train])
            seconds = time.process_time() - start
            accuracy = float(np.mean(model.predict(X[test]) == y[test]))
            records.append({"accuracy": round(accuracy, 6), "seconds": round(seconds, 3), "updates": model.n_iter_})
    return records


def _sets() -> dict[Path, int]:
    """Return the sets and their rows, from the smallest to the largest."""
    import numpy as np

    from firstlight.claims import data_directory
    from firstlight.claims._needs import missing

    data = data_directory(None)
    if data is None or missing(("uci121",), data):
        raise MissingData("; ".join(missing(("uci121",), data)))
    rows = {}
    for path in (data / "uci121").glob("*.npz"):
        with np.load(path) as file:
            rows[path] = len(file["y"])
    chosen = [path for path, count in rows.items() if count <= LARGEST]
    return {path: rows[path] for path in sorted(chosen, key=lambda path: (rows[path], path.stem))}


def _recorded() -> dict[str, dict[str, Any]]:
    """Run what `RECORDS` lacks, write it after every set, and return all of it."""
    from firstlight._files import write_atomically

    records: dict[str, dict[str, Any]] = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    with _sources() as sources:
        for path, rows in _sets().items():
            entry = records.setdefault(path.stem, {"rows": rows, **{code: [] for code in CODES}})
            for code in CODES:
                if len(entry[code]) < FOLDS:
                    entry[code] += _alone(sources[code], "folds", str(path), str(len(entry[code])))
                    write_atomically(RECORDS, (json.dumps(records, indent=1) + "\n").encode())
    return records


def groups(records: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return mean accuracies in percent, paired differences and p-values of Wilcoxon's test, for all sets and by rows.

    `worse` is the p-value of the one-sided test that the code of now is worse than the code before.
    """
    import numpy as np
    from scipy.stats import wilcoxon

    table = []
    for low, high in [(0, LARGEST), *itertools.pairwise(GROUPS)]:
        inside = [entry for entry in records.values() if low < entry["rows"] <= high]
        means = {code: np.array([_mean(entry[code], "accuracy") for entry in inside]) for code in CODES}
        spent = {code: sum(_mean(entry[code], "seconds") for entry in inside) for code in CODES}
        gains = 100 * (means["now"] - means["before"])
        table.append(
            {
                "rows": f"{low + 1} to {high}",
                "sets": len(inside),
                "before": 100 * float(means["before"].mean()),
                "now": 100 * float(means["now"].mean()),
                "gain": float(gains.mean()),
                "standard error": float(gains.std(ddof=1) / len(gains) ** 0.5),
                "worse": float(wilcoxon(gains, alternative="less").pvalue) if gains.any() else 1.0,
                "time": spent["now"] / spent["before"],
            }
        )
    return table


def _mean(folds: list[dict[str, float]], what: str) -> float:
    return sum(fold[what] for fold in folds) / len(folds)


def rfm_uci_defaults() -> dict:
    """Mean accuracy of `RFMClassifier()` on 116 UCI sets, four folds each; M is learned on the training rows only."""
    table = groups(_recorded())
    for row in table:
        print("  ".join(f"{name} {value:.3g}" if isinstance(value, float) else value for name, value in _words(row)))
    whole, *parts = table
    return result(
        whole["now"],
        "% accuracy",
        "higher",
        84.40,
        (f"defaults of {BEFORE}, %", whole["before"]),
        gain=whole["gain"],
        standard_error=whole["standard error"],
        time_ratio=whole["time"],
        least_p_value_of_a_group_being_worse=min(row["worse"] for row in parts),
        groups={row["rows"]: {k: round(v, 3) for k, v in row.items() if k != "rows"} for row in parts},
    )


def _words(row: dict[str, Any]) -> list[tuple[str, Any]]:
    return [("", f"{row['rows']} rows, {row['sets']} sets")] + [(k, v) for k, v in row.items() if isinstance(v, float)]


SIZES = (1000, 2000, 3000)


def _cost(rows: int, task: str) -> float:
    """Return the processor seconds of the faster of two default fits of 20 columns, after a warm-up."""
    import time

    from sklearn.datasets import make_classification, make_friedman1

    from firstlight.rfm import RFMClassifier, RFMRegressor

    if task == "regression":
        X, y = make_friedman1(rows, 20, noise=1.0, random_state=0)
    else:
        X, y = make_classification(rows, 20, n_informative=8, n_classes=3, random_state=0)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        (RFMRegressor if task == "regression" else RFMClassifier)().fit(X, y)
        seconds.append(time.process_time() - start)
    return min(seconds[1:])


def rfm_default_cost() -> dict:
    """Processor time of a default fit relative to the earlier commit, at the least favourable of three sizes."""
    ratios, extra = {}, {}
    with _sources() as sources:
        for rows in SIZES:
            for task in ("regression", "classification"):
                # Other work on the machine slows either code down for a while; the fastest of two rounds is compared.
                rounds = [[_alone(sources[code], "cost", str(rows), task) for code in CODES] for _ in range(2)]
                before, now = (min(times) for times in zip(*rounds, strict=True))
                ratios[f"{task}, {rows} rows"] = before / now
                extra[f"{task}, {rows} rows"] = f"{now:.3f} s instead of {before:.3f} s"
    worst = min(ratios, key=lambda name: ratios[name])
    return result(ratios[worst], "× less processor time", "higher", 3.0, (worst + ": before", 1.0), **extra)


if __name__ == "__main__":
    calls = {"folds": lambda path, first: _fold_records(path, int(first)), "cost": lambda n, task: _cost(int(n), task)}
    print(json.dumps(calls[sys.argv[1]](*sys.argv[2:])))
