"""Evidence is written whole or not at all, and changes its verdict only when that is accepted."""

import dataclasses
import importlib
import json
import sys
import textwrap

import pytest

from firstlight import claims
from firstlight.claims import Check, Claim, Measurement, Setting, StatusChanged, at_most
from firstlight.claims import _digest as digest
from firstlight.claims import _evidence as evidence
from firstlight.records import figure


def shown(height: float) -> figure.FigureData:
    return figure.curves([figure.Series("a", [0, 1], [0.0, height])], x="x", y="y")


def make(error: float = 0.5, *heights: float, measure=None, scale="quick") -> tuple:
    """Verify a claim that requires its error to be at most 1; return record and figures."""

    def measured(setting: Setting) -> Measurement:
        drawn = tuple(map(shown, heights))
        return Measurement({"error": error}, {"width": 64}, setting.seeds_or((0, 1)), drawn, "a remark")

    check = Check(measure or measured, lambda data: [at_most("a clause", "error", data["error"], 1.0)])
    claim = Claim("li2.lemma-0", "Zero", "Lemma 0", "0 = 0.", check, paper_setting={"learning rate": None})
    return claims.verify(claim, Setting(scale))


def test_what_was_recorded_is_read_again(tmp_path):
    record, figures = make(0.5, 1.0, 2.0)
    path = claims.record_evidence(record, figures, folder=tmp_path)
    assert path == tmp_path / "li2.lemma-0.quick.json"
    again = claims.recorded("li2.lemma-0", tmp_path)
    assert list(again) == ["quick"]
    for name in evidence._SHARED:
        assert getattr(again["quick"], name) == getattr(record, name), name
    assert again["quick"].note == "a remark"
    assert claims.recorded_figures(again["quick"], tmp_path) == figures
    assert claims.all_recorded(tmp_path) == (again["quick"],)


def test_the_file_has_the_keys_that_readers_rely_on(tmp_path):
    text = claims.record_evidence(*make(), folder=tmp_path).read_text(encoding="utf-8")
    content = json.loads(text)
    assert {"id", "scale", "status", "criteria", "setting", "paper_setting", "seconds"} <= content.keys()
    assert {"machine", "versions", "commit", "check_digest"} <= content.keys()
    assert {"clause", "quantity", "measured", "required", "passed", "seeds"} <= content["criteria"][0].keys()
    assert content["criteria"][0]["seeds"] == [0, 1]
    assert "\\u" not in text, "text is readable in a diff"


def test_nan_and_infinity_survive(tmp_path):
    claims.record_evidence(*make(float("inf")), folder=tmp_path)
    assert claims.recorded("li2.lemma-0", tmp_path)["quick"].criteria[0].measured == float("inf")


def test_a_check_that_raised_is_no_evidence(tmp_path):
    def broken(setting: Setting) -> Measurement:
        raise RuntimeError("the numbers ran out")

    with pytest.raises(ValueError, match="is no evidence: the check raised RuntimeError: the numbers ran out"):
        claims.record_evidence(*make(measure=broken), folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_check_without_its_data_is_no_evidence(tmp_path):
    claim = Claim("li2.lemma-0", "Zero", "Lemma 0", "0 = 0.", "energy:gradient_of_energy", needs=("mnist",))
    record, figures = claims.verify(claim, Setting("paper", data=tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="is no evidence: data set mnist is missing"):
        claims.record_evidence(record, figures, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_seeds_of_the_caller_are_no_evidence(tmp_path):
    record, figures = make()
    with pytest.raises(ValueError, match=r"evidence uses the claim's own seeds; got --seed \(7,\)"):
        claims.record_evidence(record.model_copy(update={"requested_seeds": (7,)}), figures, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_another_verdict_is_written_only_if_accepted(tmp_path):
    path = claims.record_evidence(*make(0.5, 1.0), folder=tmp_path)
    before = path.read_bytes()
    with pytest.raises(StatusChanged, match="was recorded as holds and is now fails; nothing was written"):
        claims.record_evidence(*make(2.0, 3.0), folder=tmp_path)
    assert path.read_bytes() == before
    assert len(list((tmp_path / "figures").iterdir())) == 1
    claims.record_evidence(*make(2.0), folder=tmp_path, accept=True)
    assert claims.recorded("li2.lemma-0", tmp_path)["quick"].status == "fails"


def test_the_same_verdict_needs_no_acceptance_and_scales_do_not_mix(tmp_path):
    claims.record_evidence(*make(0.5), folder=tmp_path)
    claims.record_evidence(*make(0.25), folder=tmp_path)
    claims.record_evidence(*make(2.0, scale="paper"), folder=tmp_path)
    again = claims.recorded("li2.lemma-0", tmp_path)
    assert [(e.scale, e.status) for e in again.values()] == [("quick", "holds"), ("paper", "fails")]
    assert again["quick"].criteria[0].measured == 0.25


def test_figures_that_no_evidence_names_are_removed(tmp_path):
    names = lambda: {path.name for path in (tmp_path / "figures").iterdir()}  # noqa: E731
    claims.record_evidence(*make(0.5, 1.0, 2.0), folder=tmp_path)
    claims.record_evidence(*make(0.5, 2.0, scale="paper"), folder=tmp_path)
    claims.record_evidence(*make(0.5, 3.0), folder=tmp_path)
    # The figure of height 2 is still that of the paper scale.
    assert names() == {evidence.figure_path(shown(height).digest, tmp_path).name for height in (2.0, 3.0)}


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = claims.record_evidence(*make(0.5), folder=tmp_path)
    before = path.read_bytes()

    def full(source, target):
        raise OSError("no space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="no space left"):
        claims.record_evidence(*make(0.25), folder=tmp_path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_wheel_without_arrays_has_evidence_without_figures(tmp_path):
    record, figures = make(0.5, 1.0)
    claims.record_evidence(record, figures, folder=tmp_path)
    evidence.figure_path(figures[0].digest, tmp_path).unlink()
    assert claims.recorded_figures(claims.recorded("li2.lemma-0", tmp_path)["quick"], tmp_path) == ()


CHECK = '''
"""A check."""
from pack.shared import BOUND


def measure(setting):
    """Measure."""
    return BOUND  # the bound
'''
SHARED = "BOUND = 1.0\n"


@pytest.fixture
def pack(tmp_path, monkeypatch):
    """Return a function that writes a package with a check and returns the check's digest."""
    monkeypatch.syspath_prepend(tmp_path)
    claim = Claim("li2.lemma-0", "Zero", "Lemma 0", "0 = 0.", "pack.checks:zero")

    def write(check: str = CHECK, shared: str = SHARED) -> str:
        for name, source in {"__init__": "", "checks": check, "shared": shared, "other": "X = 1\n"}.items():
            path = tmp_path / "pack" / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(source), encoding="utf-8")
        importlib.invalidate_caches()
        for cached in (digest._digest, digest._imports, digest._read, digest._path):
            cached.cache_clear()
        return claims.check_digest(claim)

    yield write
    for cached in (digest._digest, digest._imports, digest._read, digest._path):
        cached.cache_clear()
    sys.modules.pop("pack", None)


@pytest.mark.parametrize(
    "check",
    [
        CHECK.replace("A check.", "Another docstring."),
        CHECK.replace('    """Measure."""\n', ""),
        CHECK.replace("# the bound", "# another comment"),
        CHECK.replace("return BOUND", "return (\n        BOUND\n    )"),
    ],
    ids=["docstring", "no docstring", "comment", "format"],
)
def test_words_and_format_do_not_change_the_digest(pack, check):
    before = pack()
    assert check != CHECK
    assert pack(check) == before


def test_code_and_imported_modules_change_the_digest(pack):
    digests = [
        pack(),
        pack(CHECK.replace("return BOUND", "return 2 * BOUND")),
        pack(shared="BOUND = 2.0\n"),
        pack(shared="from pack import other\nBOUND = other.X\n"),
        pack("import pack.other\n" + CHECK),
        pack("from . import other as near\n" + CHECK),
    ]
    assert len(set(digests)) == len(digests)
    assert pack() == digests[0]
    assert all(len(value) == 64 for value in digests)


def test_a_check_covers_the_framework_and_its_helpers_but_no_other_paper():
    claim = claims.find(["manifold.theorem-4-9"])[0]
    modules = digest._imports(claim.check_module, "firstlight.claims")
    assert "firstlight.claims._criteria" in modules
    assert "firstlight.claims.manifold.checks._networks" in modules
    assert not [name for name in modules if ".cogo" in name or ".section_7" in name]


def test_a_check_without_a_module_has_no_digest():
    check = Check(lambda setting: Measurement({}), lambda data: [])
    assert claims.check_digest(Claim("li2.lemma-0", "Zero", "Lemma 0", "0 = 0.", check)) == ""


def test_every_recorded_status_follows_from_its_own_rows():
    for claim in claims.all_claims():
        for scale, record in claims.recorded(claim.id).items():
            smaller = [*claims.differences(record.setting, record.paper_setting)]
            smaller += [claim.reduced_because] if scale == "reduced" else []
            assert claims.verdict(record.criteria, missing=smaller) == record.status, (claim.id, scale)


def test_evidence_is_stale_when_the_printed_setting_changes(tmp_path):
    claim = claims.find(["cogo.figure-3"])[0]
    record = claims.recorded(claim.id)["paper"].model_copy(update={"check_digest": claims.check_digest(claim)})
    record = record.model_copy(update={"paper_setting": json.loads(json.dumps(claim.paper_setting))})
    assert not claims.is_stale(record, claim)
    assert claims.is_stale(record, dataclasses.replace(claim, paper_setting={**claim.paper_setting, "rows": 703}))


def test_a_damaged_file_is_named_with_what_to_do(tmp_path):
    path = claims.record_evidence(*make(), folder=tmp_path)
    path.rename(tmp_path / "li2.lemma-9.quick.json")
    evidence._all_evidence.cache_clear()
    with pytest.raises(ValueError, match=r"li2.lemma-9.quick.json holds the evidence of li2.lemma-0 .*rename it"):
        claims.recorded("li2.lemma-0", tmp_path)
    (tmp_path / "li2.lemma-9.quick.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"li2.lemma-9.quick.json is no evidence of a claim .*restore it"):
        claims.recorded("li2.lemma-0", tmp_path)
