"""The boundaries of Figures 4 and 8: the search of the claims writes and reads its store."""

import pytest

from firstlight.claims.li2.checks.phase import fractions, predicted, setting, trained_boundaries
from firstlight.records import RunSpec, Store


def test_boundaries_are_stored_and_read_again(tmp_path):
    store, base = tmp_path / "runs.sqlite", setting(width=16, rate=0.02, steps=50)
    result = trained_boundaries(["Z5"], store, seeds=1, base=base, decay=1e-3, progress="off")
    with Store(store) as opened:
        assert set(opened.run_ids()) == set(result.records)
    read = trained_boundaries(["Z5"], store, seeds=1, base=base, decay=1e-3, run=False)
    assert read.frame.equals(result.frame)


def test_the_search_surrounds_the_released_boundary():
    spec = RunSpec.model_validate({"task": {"group": "Z127"}})
    low, high = fractions(spec)
    assert (low, high) == pytest.approx((predicted(spec) / 2, predicted(spec) * 2))
    assert fractions(RunSpec.model_validate({"task": {"group": "Z5"}}))[1] == 0.9
