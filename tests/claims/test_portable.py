"""What a check measures does not depend on choices that differ between processors."""

import numpy as np
import pytest

from firstlight import claims
from firstlight.claims import Setting
from firstlight.claims.manifold.checks import stability


def test_every_recorded_criterion_says_what_it_requires_of_its_number():
    rows = [(e.id, e.scale, row) for e in claims.all_recorded() for row in e.criteria]
    assert rows
    assert [(id, scale, row.clause) for id, scale, row in rows if not row.required] == []
    assert [(id, scale, row.clause) for id, scale, row in rows if row.passed is not None and not row.quantity] == []


def test_a_tangent_does_not_depend_on_the_basis_that_eigh_returns(monkeypatch):
    order = "order at which a tangent leaves"
    measure = stability.tangent_space.measure
    first = measure(Setting(seeds=(0,))).data[order]
    eigh = np.linalg.eigh

    def turned(H):
        """The same eigenspaces: those of equal eigenvalues, the null space, in reverse order."""
        values, vectors = eigh(H)
        null = values < 1e-9 * values.max()
        vectors[:, null] = vectors[:, null][:, ::-1]
        return values, vectors

    monkeypatch.setattr(np.linalg, "eigh", turned)
    # Projections are found to 1e-12, of distances that are 1e-6 or more.
    assert measure(Setting(seeds=(0,))).data[order] == pytest.approx(first, abs=1e-5)
