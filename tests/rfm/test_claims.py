"""Checks that can fail, and a table of 112 sets that goes on where it stopped."""

import numpy as np
import pytest

from firstlight.claims import Setting
from firstlight.claims.fact import rfm_algorithm, rfm_identities, rfm_tabular
from firstlight.rfm import exact


@pytest.mark.parametrize(
    "check", [rfm_identities.fact_from_coefficients, rfm_identities.envelope, rfm_algorithm.as_printed]
)
def test_a_wrong_fact_is_noticed(monkeypatch, check):
    right = exact.spread
    monkeypatch.setattr(exact, "spread", lambda *args: 1.001 * right(*args))
    assert check(Setting()).status == "fails"


def test_table_3_goes_on_after_the_fold_it_stopped_at():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    folds = tuple((np.delete(np.arange(60), part), part) for part in np.split(np.arange(60), 4))
    table = rfm_tabular.Table("tiny", X, y, (np.arange(30), np.arange(30, 60)), folds)
    kept: list[int] = []
    whole = rfm_tabular.evaluate(table, {}, lambda done: kept.append(len(done["folds"])))
    assert kept == [0, 1, 2, 3, 4]
    half = {"choices": whole["choices"], "folds": whole["folds"][:2]}
    kept.clear()
    assert rfm_tabular.evaluate(table, half, lambda done: kept.append(len(done["folds"]))) == whole
    assert kept == [3, 4]
    means = rfm_tabular.summary({"tiny": whole})
    assert set(means) == {"published", "leak-free"}
    assert means["published"]["Laplace"] == means["leak-free"]["Laplace"]


def test_table_3_without_its_corpus_says_what_is_missing():
    outcome = rfm_tabular.tabular(Setting("paper"))
    assert outcome.status == "inconclusive"
    assert "uci121" in outcome.evidence


def test_table_3_compares_gains_and_says_what_the_sets_left_out_must_average():
    means = {method: printed - 0.6 for method, printed in rfm_tabular.PRINTED.items()}
    found = rfm_tabular.against_the_printed(means | {"NFA": 84.7}, 112)
    assert found["gains over Laplace minus the printed ones"]["NFA"] == pytest.approx(0.2)
    assert found["largest difference of a gain over Laplace from the printed one"] == pytest.approx(0.2)
    needed = found["mean that the sets left out must have for the printed means"]["FACT"]
    assert (112 * means["FACT"] + 8 * needed) / 120 == pytest.approx(rfm_tabular.PRINTED["FACT"])
