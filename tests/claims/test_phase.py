"""The boundaries of Figures 4 and 8: the search of the claims writes and reads its store."""

import pytest

from firstlight.claims import find
from firstlight.claims._verify import _parts
from firstlight.claims.li2.checks.boundaries import STORE, shared_store
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


def test_figure_4_and_the_non_abelian_groups_share_their_runs(tmp_path):
    figure_4, others = find(["li2.figure-4", "beyond.non-abelian-boundaries"])
    assert _parts(figure_4, tmp_path) != _parts(others, tmp_path)
    assert {shared_store(_parts(claim, tmp_path)) for claim in (figure_4, others)} == {tmp_path / "parts" / STORE}
