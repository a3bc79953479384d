"""Claims on the command line: what scripts read, and what people do."""

import shlex

import pytest

from firstlight import claims
from firstlight.claims import Check, Claim, Measurement, Setting, at_most, within
from firstlight.claims import _evidence as evidence
from firstlight.cli import _exits as exits
from firstlight.records import figure


def shown() -> figure.FigureData:
    return figure.curves([figure.Series("a", [0, 1], [0.0, 1.0])], x="x", y="y", title="A line")


def small_error(data) -> list:
    return [at_most("0 = 0", "error", data["error"], 1e-9, reason="rounding")]


def holding(setting: Setting) -> Measurement:
    return Measurement({"error": 0.0}, seeds=setting.seeds_or((0,)), figures=(shown(),))


def breaking(setting: Setting) -> Measurement:
    raise RuntimeError("the numbers ran out")


def stopping(setting: Setting) -> Measurement:
    raise KeyboardInterrupt


held = Check(holding, small_error)
failed = Check(
    lambda setting: Measurement({"energy": 2.71}),
    lambda data: [within("E* on S3", "energy reached", data["energy"], 24.86, 0.1)],
)
broken = Check(breaking, small_error)
stopped = Check(stopping, small_error)


@pytest.fixture
def register(monkeypatch, tmp_path):
    """Register claims whose evidence is in an empty folder."""
    monkeypatch.setattr(evidence, "evidence_folder", lambda id: tmp_path / "evidence")

    def these(*checks, **changes):
        made = tuple(
            Claim(f"li2.lemma-{i}", "Zero", f"Lemma {i}", "0 = 0.", check, **changes) for i, check in enumerate(checks)
        )
        monkeypatch.setattr(claims, "find", lambda patterns: made)
        return made

    return these


def test_the_list_has_what_a_script_needs(cli):
    listed = cli("claims", "list", "--json").json
    assert [claim["id"] for claim in listed] == [claim.id for claim in claims.all_claims()]
    assert {"id", "paper", "title", "scales", "uses", "evidence"} <= listed[0].keys()
    lemma = next(claim for claim in listed if claim["id"] == "cogo.lemma-3")
    quick = lemma["evidence"]["quick"]
    assert {"id", "scale", "status", "criteria", "setting", "paper_setting", "seconds"} <= quick.keys()
    assert {"machine", "versions", "commit", "check_digest"} <= quick.keys()
    assert {"clause", "quantity", "measured", "required", "passed", "seeds"} <= quick["criteria"][0].keys()
    assert quick["status"] == "holds"
    assert not quick["stale"]
    text = cli("claims", "list", "cogo").out
    assert "cogo.lemma-3" in text
    assert "li2." not in text


def test_a_claim_is_shown_as_printed_and_as_corrected(cli):
    text = cli("claims", "show", "li2.corollary-2").out
    claim = claims.find(["li2.corollary-2"])[0]
    assert claim.statement in text
    assert claim.corrected is not None
    assert claim.corrected in text
    assert "firstlight reproduce li2.corollary-2" in text
    assert cli("claims", "show", "cogo.lemma-3", "--json").json[0]["corrected"] is None


def test_pages_are_written_and_checked(cli, folder):
    assert cli("claims", "docs", "--check").code == exits.DIFFERS
    assert not (folder / "docs").exists()
    assert cli("claims", "docs").out == "docs/claims.md\ndocs/errata.md\ndocs/beyond.md\n"
    assert cli("claims", "docs", "--check").code == exits.OK
    assert cli("claims", "docs").out == ""


def test_reproduce_prints_one_array_and_code_zero(cli):
    done = cli("reproduce", "cogo.lemma-3", "li2.corollary-2", "--json")
    assert done.code == exits.OK
    assert [record["id"] for record in done.json] == ["li2.corollary-2", "cogo.lemma-3"]
    for record in done.json:
        assert {"id", "status", "criteria", "measured", "expected", "seconds"} <= record.keys()
        assert record["status"] == record["expected_verdict"]


def test_a_differing_verdict_and_a_broken_check_have_code_one(cli, register):
    register(held, held)
    assert cli("reproduce", "--record").code == exits.OK
    register(held, failed)
    done = cli("reproduce")
    assert done.code == exits.DIFFERS
    assert "was holds" in done.out
    assert "energy reached 2.71, 24.86 ± 0.1" in done.out
    assert "1 of 2 verdicts agree with the record" in done.out
    register(broken)
    done = cli("reproduce")
    assert done.code == exits.DIFFERS
    assert "the check raised RuntimeError: the numbers ran out (--verbose shows where)" in done.out
    assert "Traceback" not in done.out
    assert "in breaking" in cli("reproduce", "--verbose").out


def test_a_recorded_verdict_changes_only_if_accepted(cli, register):
    (claim,) = register(held)
    assert cli("reproduce", "--record").code == exits.OK
    assert claims.recorded(claim.id)["quick"].status == "holds"
    register(failed)
    done = cli("reproduce", "--record")
    assert done.code == exits.DIFFERS
    assert "was recorded as holds and is now fails; nothing was written" in " ".join(done.err.split())
    assert claims.recorded(claim.id)["quick"].status == "holds"
    cli("reproduce", "--record", "--accept")
    assert claims.recorded(claim.id)["quick"].status == "fails"
    assert cli("reproduce").code == exits.OK


def test_only_missing_evidence_is_made(cli, register):
    register(held, held)
    assert cli("reproduce", "--record", "--missing", "--json").json[1]["status"] == "holds"
    assert cli("reproduce", "--record", "--missing", "--json").json == []


def test_reproduce_writes_a_page_with_figures(cli, register, folder):
    register(held)
    assert cli("reproduce", "--report", "page.html", "--seed", 4, "--seed", 5).code == exits.OK
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "firstlight reproduce li2.lemma-0 --seed 4 --seed 5" in page


def test_an_interrupted_reproduction_says_how_to_go_on(cli, register, folder):
    register(held, stopped)
    (folder / "my data").mkdir()
    words = ["li2.*", "--scale", "paper", "--seed", "3", "--data", "my data", "--store", "s.sqlite"]
    done = cli("reproduce", *words)
    assert done.code == exits.INTERRUPTED
    again = shlex.join(["firstlight", "reproduce", *words, "--resume"])
    assert f"`{again}` continues" in done.err
    register(broken, held)
    assert cli(*shlex.split(again)[1:]).code == exits.OK


def test_a_scale_that_is_not_offered_is_said(cli, register):
    register(held, scales=("quick",))
    done = cli("reproduce", "li2.lemma-0", "--scale", "paper")
    assert done.code == exits.USER_ERROR
    assert done.err == "error: li2.lemma-0: not checked at scale paper; it has quick\n"
