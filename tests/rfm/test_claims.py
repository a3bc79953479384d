"""Checks that can fail, and a table of many sets that goes on where it stopped."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from firstlight.claims import Setting, verdict
from firstlight.claims.fact.checks import rfm_algorithm, rfm_identities, rfm_tabular
from firstlight.rfm._solvers import exact


@pytest.mark.parametrize(
    "check", [rfm_identities.fact_from_coefficients, rfm_identities.envelope, rfm_algorithm.as_printed]
)
def test_a_wrong_fact_is_noticed(monkeypatch, check):
    spread, gradient_products = exact.spread, exact.gradient_products
    monkeypatch.setattr(exact, "spread", lambda *args: 1.001 * spread(*args))

    def wrong(*args):
        pull, agop = gradient_products(*args)
        return 1.001 * pull, agop

    monkeypatch.setattr(exact, "gradient_products", wrong)
    assert verdict(check.judge(check.measure(Setting()).data)) == "fails"


def test_table_3_goes_on_after_the_fold_it_stopped_at():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    folds = tuple((np.delete(np.arange(60), part), part) for part in np.split(np.arange(60), 4))
    table = rfm_tabular.Table("tiny", X, y, (np.arange(30), np.arange(30, 60)), folds)
    saved: list[str] = []
    whole = rfm_tabular.evaluate(table, {}, lambda done: saved.append(json.dumps(done)))
    # Ten ridges, with rows as they are and scaled to length 1, then what was chosen, then four folds.
    assert len(saved) == 10 + 1 + 4
    for place in (6, 10, 12):
        again: list[str] = []
        keep = lambda done, again=again: again.append(json.dumps(done))  # noqa: E731
        assert rfm_tabular.evaluate(table, json.loads(saved[place]), keep) == whole
        assert again == saved[place + 1 :]


def test_the_largest_set_of_table_3_is_a_number(monkeypatch):
    monkeypatch.setenv("FIRSTLIGHT_UCI_ROWS", "70000")
    assert rfm_tabular._largest() == 70_000
    for wrong in ("all", "0", "²", ""):
        monkeypatch.setenv("FIRSTLIGHT_UCI_ROWS", wrong)
        with pytest.raises(ValueError, match="the largest set"):
            rfm_tabular._largest()


def test_means_of_table_3_are_over_the_same_folds():
    fold = {method: [0.5, 0.5 if method == "Laplace" else 0.25] for method in rfm_tabular.PRINTED}
    choice = {"unit": False, "ridge": 1.0, "iteration": 1, "accuracy": 0.5}
    whole = {"choices": dict.fromkeys(rfm_tabular.PRINTED, choice), "folds": 4 * [fold]}
    published, free = (rfm_tabular.accuracies({"tiny": whole}, protocol) for protocol in rfm_tabular.PROTOCOLS)
    assert published["Laplace"] == free["Laplace"] == [50.0]
    assert (published["FACT"], free["FACT"]) == ([50.0], [25.0])


def test_a_fold_whose_metric_runs_away_counts_with_its_last_machine(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 3))
    rows = (np.arange(30), np.arange(30, 40))
    table = rfm_tabular.Table("tiny", X, (X[:, 0] > 0).astype(int), rows, (rows,))
    choice = rfm_tabular.Choice(False, 0.1, 5, 1.0)
    M = np.diag([4.0, 1.0, 0.0])
    ended_early = lambda *arguments, **options: iter([(SimpleNamespace(iteration=2, M=M), float("nan"))])  # noqa: E731
    monkeypatch.setattr(rfm_tabular, "_machines", ended_early)
    assert rfm_tabular.fold_accuracy(table, rows, choice, "FACT") == rfm_tabular._accuracy_of(table, rows, choice, M)


def test_the_printed_means_of_table_3_are_judged_only_over_all_its_sets():
    gains = {method: [1.0, 1.2, 0.8] for method in rfm_tabular.rules()}

    def decided(shift, sets):
        means = {method: printed + shift for method, printed in rfm_tabular.PRINTED.items()}
        data = {"data sets": sets, "means": {"published": means}, "gains": {"published": gains}}
        return verdict(rfm_tabular.tabular.judge(data))

    assert [decided(-0.2, 112), decided(-0.2, 120), decided(-0.6, 120)] == ["partial", "holds", "fails"]
