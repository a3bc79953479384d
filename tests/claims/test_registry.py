"""The registry finds claims fast, and each of them names a check."""

import re
import subprocess
import sys

import pytest

from firstlight import claims

ALL = claims.all_claims()


def test_every_claim_belongs_to_its_paper_and_has_an_id_of_its_own():
    ids = [claim.id for claim in claims.all_claims()]
    assert len(set(ids)) == len(ids)
    for paper in claims.PAPERS:
        assert all(claim.paper == paper.key for claim in claims.paper_claims(paper.key))


def test_patterns_find_papers_ids_and_wildcards():
    everything = claims.all_claims()
    assert claims.find() == everything
    assert claims.find(["cogo"]) == claims.paper_claims("cogo")
    assert [claim.id for claim in claims.find(["cogo.lemma-3", "LI2.theorem-1"])] == ["li2.theorem-1", "cogo.lemma-3"]
    assert claims.find(["*.theorem-*"]) == tuple(c for c in everything if ".theorem-" in c.id)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("cogo.lema-3", "no claim matches 'cogo.lema-3'; did you mean 'cogo.lemma-3'"),
        ("lo2", "did you mean 'li2'"),
        ("zzz", "no claim matches 'zzz'; `firstlight claims list` shows them all"),
    ],
)
def test_an_unknown_claim_is_named_with_the_nearest_known_one(pattern, message):
    with pytest.raises(claims.UnknownClaim, match=re.escape(message)):
        claims.find([pattern])


@pytest.mark.parametrize("claim", ALL, ids=lambda claim: claim.id)
def test_every_claim_names_a_check_of_its_papers_checks(claim):
    assert isinstance(claim.load_check(), claims.Check)
    assert claim.check_module.startswith(f"firstlight.claims.{claim.paper}.checks.")


def test_modules_of_checks_that_do_not_need_torch_do_not_import_it():
    modules = {claim.id: claim.check_module for claim in ALL}
    with_torch = {modules[claim.id] for claim in ALL if "torch" in claim.needs}
    without = sorted(set(modules.values()) - with_torch)
    code = f"import importlib, sys; [importlib.import_module(m) for m in {without!r}]; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert with_torch == {f"firstlight.claims.fact.checks.{name}" for name in ("identity", "layers", "tables")}


def test_listing_claims_imports_nothing_heavy():
    code = (
        "import sys; from firstlight import claims; claims.all_claims();"
        "print([m for m in ('jax', 'pandas', 'matplotlib', 'sklearn', 'torch') if m in sys.modules]"
        " + [m for m in sys.modules if '.checks' in m])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
