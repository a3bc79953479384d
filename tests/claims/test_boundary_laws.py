"""The judge of Figures 4 and 8 tells M log M from the drift of Theorem 4's energies, and both from a constant p."""

import pytest

from firstlight.claims import verdict
from firstlight.claims.beyond.checks.boundaries import CYCLIC, DIHEDRAL, HARDER, non_abelian_groups
from firstlight.claims.li2.checks.boundaries import cyclic_groups
from firstlight.groups import parse
from tests.claims.falsehoods.li2_figures import cyclic, law, product


@pytest.mark.parametrize("build", [cyclic, product])
@pytest.mark.parametrize(
    ("drift", "status"), [(0.0, "holds"), (0.14, "holds-as-corrected"), (0.23, "holds-as-corrected"), (0.55, "fails")]
)
def test_the_verdict_follows_the_fitted_exponent(build, drift, status):
    assert verdict(cyclic_groups.judge(build(law(drift)))) == status


def test_a_boundary_that_scatters_decides_nothing():
    assert verdict(cyclic_groups.judge(cyclic(law(0.0), noise=0.5))) == "inconclusive"


def test_a_seed_without_a_boundary_decides_nothing():
    data = cyclic(law(0.0))
    data["trained"]["Z23"]["censored"] = 1.0
    assert verdict(cyclic_groups.judge(data)) == "inconclusive"


@pytest.mark.parametrize(
    ("dihedral", "harder", "status"),
    [(1.0, 1.3, "holds"), (1.5, 1.3, "fails"), (1.0, 1.0, "fails"), (1.0, 30.0, "fails")],
)
def test_non_abelian_boundaries_are_compared_with_cyclic_groups_of_their_order(dihedral, harder, status):
    names = (*CYCLIC, *DIHEDRAL, *HARDER)
    order = {name: parse(name).order for name in names}
    factor = {**dict.fromkeys(CYCLIC, 1.0), **dict.fromkeys(DIHEDRAL, dihedral), **dict.fromkeys(HARDER, harder)}
    wiggle = lambda M: 1 + 0.02 * (-1) ** M  # noqa: E731
    trained = {
        name: {"p50": factor[name] * law(0.14)(M) * wiggle(M), "error": 0.01, "censored": 0.0}
        for name, M in order.items()
    }
    dimension = {name: max(irrep.dim for irrep in parse(name).irreps()) for name in names}
    judged = non_abelian_groups.judge({"order": order, "trained": trained, "dimension": dimension})
    assert verdict(judged) == status
