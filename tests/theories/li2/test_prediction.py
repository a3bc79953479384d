"""Predictions before training: the boundary, its uncertainty, the features, and what cannot be asked."""

import numpy as np
import pytest

from firstlight import features, groups
from firstlight.theories import li2


def test_the_settings_of_figure_2_are_above_the_boundary_and_decay_decides_the_stages():
    told = li2.predict("Z71", n=2016, K=2048, eta=li2.decay_ridge(2016, 2e-4, _loss()))
    assert told.low < told.boundary < told.high < 2016
    assert told.probability > 0.95
    assert told.stages == ("lazy", "independent", "interactive")
    assert li2.predict("Z71", n=2016, K=2048, eta=0.0).stages == ("lazy", "stalled")


def _loss():
    from firstlight.records.spec import Loss

    return Loss()


def test_more_samples_are_never_less_likely_to_generalise():
    chances = [li2.predict("Z31", n=n, K=512, eta=0.1).probability for n in range(50, 961, 70)]
    assert np.all(np.diff(chances) > 0)
    assert li2.predict("Z31", n=961, K=512, eta=0.1).probability == 1.0
    near = li2.predict("Z31", n=round(li2.predict("Z31", n=1, K=1, eta=0.1).boundary), K=512, eta=0.1)
    assert near.margin == pytest.approx(1, abs=0.01)
    assert near.probability == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("name", ["S4", "Q8", "Z12"])
def test_features_are_the_maxima_of_the_energy(name):
    told = li2.predict(name, n=20, K=10, eta=0.1, activation="relu")
    assert dict(told.features) == {m.component.label: m.energy for m in features.maxima(groups.parse(name))}
    assert [energy for _, energy in told.features] == sorted((e for _, e in told.features), reverse=True)
    assert not told.wide_enough
    assert "10 nodes may not suffice" in told.story
    assert "relu has its own" in told.story


def test_the_paper_says_127_needs_between_13_and_16_percent():
    told = li2.predict("Z127", n=2300, K=2048, eta=0.2)
    assert 0.13 < told.boundary / 127**2 < 0.16


def test_groups_that_were_not_measured_are_less_certain():
    assert li2.boundary_constant(groups.parse("A5"))[1] > li2.boundary_constant(groups.parse("Z61"))[1]
    with pytest.raises(ValueError, match=r"a run on S3 has 1 to 36 samples.*got n = 40"):
        li2.predict("S3", n=40, K=10, eta=0.1)
