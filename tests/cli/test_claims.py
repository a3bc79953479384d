"""Claims on the command line: what scripts read, and what people do."""

import shlex

import pytest

from firstlight import claims
from firstlight.claims import Claim, Outcome, Setting
from firstlight.cli import _exits as exits
from firstlight.records import figure


def shown() -> figure.FigureData:
    return figure.curves([figure.Series("a", [0, 1], [0.0, 1.0])], x="x", y="y", title="A line")


def held(setting: Setting) -> Outcome:
    return Outcome("holds", {"error": float("nan")}, {"error": 0.0}, figures=(shown(),), seeds=setting.seeds_or((0,)))


def failed(setting: Setting) -> Outcome:
    return Outcome("fails", 2.71, 24.86, evidence="S3: 24.86, not 2.71")


def broken(setting: Setting) -> Outcome:
    raise RuntimeError("the numbers ran out")


def stopped(setting: Setting) -> Outcome:
    raise KeyboardInterrupt


@pytest.fixture
def register(monkeypatch):
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
    assert {"id", "paper", "title", "scales", "expected_verdict"} <= listed[0].keys()
    assert {claim["expected_verdict"] for claim in listed} <= set(claims.VERDICTS)
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
    assert cli("claims", "docs").out == "docs/claims.md\ndocs/errata.md\n"
    assert cli("claims", "docs", "--check").code == exits.OK
    assert cli("claims", "docs").out == ""


def test_reproduce_prints_one_array_and_code_zero(cli):
    done = cli("reproduce", "cogo.lemma-3", "li2.corollary-2", "--json")
    assert done.code == exits.OK
    assert [record["id"] for record in done.json] == ["li2.corollary-2", "cogo.lemma-3"]
    for record in done.json:
        assert {"id", "status", "measured", "expected", "tolerance", "seconds"} <= record.keys()
        assert record["status"] == record["expected_verdict"]


def test_a_differing_verdict_and_a_broken_check_have_code_one(cli, register):
    register(held, failed)
    done = cli("reproduce")
    assert done.code == exits.DIFFERS
    assert "expected holds" in done.out
    assert "S3: 24.86, not 2.71" in done.out
    assert "1 of 2 verdicts as expected" in done.out
    register(broken, expected_verdict="inconclusive")
    done = cli("reproduce")
    assert done.code == exits.DIFFERS
    assert "the check raised RuntimeError: the numbers ran out (--verbose shows where)" in done.out
    assert "Traceback" not in done.out
    assert "in broken" in cli("reproduce", "--verbose").out
    register(failed, expected_verdict="fails")
    assert cli("reproduce").code == exits.OK


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
