"""A newcomer's five questions are answered from the record, and unknown words are linked once to their meaning."""

import re

import numpy as np

from firstlight import report
from firstlight.records import RunRecord, RunSpec, TheoryVerdict, figure
from firstlight.report._glossary import TERMS, Glossary


def verdict(theory: str, agrees: str, **words: str) -> TheoryVerdict:
    return TheoryVerdict(theory=theory, agrees=agrees, sentence=f"{theory} speaks of hidden units.", **words)


def grokked(**changes) -> RunRecord:
    li2 = {"learned_irreps": 35, "last": {"purity": 0.38}, "chance_purity": 0.09}
    values = {
        "spec": RunSpec(lenses=("li2", "agf")),
        "status": "finished",
        "steps": 148,
        "summary": {"memorised_at": 16, "generalised_at": 140, "story": "It grokked.", "li2": li2},
        "verdicts": (
            verdict("agf", "does not apply"),
            verdict("li2", "yes", predicted="generalises at epochs 73 to 332", measured="generalised at epoch 140"),
            verdict("manifold", "no"),
        ),
    }
    return RunRecord(**(values | changes))


def test_five_questions_have_their_answers() -> None:
    answers = dict(report.questions(grokked()))
    assert tuple(answers) == report.QUESTIONS
    trained, happened, forecast, learned, judged = answers.values()
    assert trained == (
        "A network of 2048 hidden units, to add two numbers modulo 71. "
        "It sees 40% of all pairs; the others are held out."
    )
    assert "at epoch 16" in happened
    assert "at epoch 140. This delay is called grokking" in happened
    assert forecast == (
        "Li₂ forecast: generalises at epochs 73 to 332. Measured: generalised at epoch 140; the forecast was right."
    )
    assert "this irrep holds 38% of a unit's weights (9% by chance)." in learned
    assert "around the circle of 71 numbers" in learned
    assert "35 irreps" in learned
    assert judged == (
        "Right: Li₂. Wrong: Geometry. No claim about this run: AGF. "
        "A theory without a claim has not failed: agf speaks of hidden units."
    )


def test_the_answer_about_the_forecast_names_what_was_fitted_and_what_was_missed() -> None:
    predicted = "generalises at epochs 89 to 218 (probability 0.99; a run of this setting was in the fit)"
    row = verdict("li2", "yes", predicted=predicted, measured="generalised at epoch 140")
    band = "outside the band of 63 to 224"
    drawn = figure.curves(
        [figure.Series("train", np.arange(3.0), np.arange(3.0))],
        x="epoch",
        y="accuracy",
        title="The forecast and the run",
        caption=f"Dashed: the forecast. It memorised at epoch 16, {band}. It generalised at epoch 140, within a band.",
    )
    answer = dict(report.questions(grokked(verdicts=(row,), figures=(drawn,))))[report.QUESTIONS[2]]
    assert answer == (
        "Li₂ forecast: generalises at epochs 89 to 218 (probability 0.99). Measured: generalised at epoch 140; the "
        f"forecast was right. Its forecast for memorising was wrong: the network memorised at epoch 16, {band}. "
        "This is no independent test: the forecast was fitted to runs that include this setting."
    )


def test_a_run_that_did_not_generalise_says_so() -> None:
    answers = dict(report.questions(grokked(summary={"memorised_at": 16, "generalised_at": None})))
    assert "did not generalise to the held-out pairs by epoch 148" in answers["What happened?"]
    assert "What did the network learn?" not in answers
    together = dict(report.questions(grokked(summary={"memorised_at": 16, "generalised_at": 16})))
    assert together["What happened?"] == "It learned the training pairs and the held-out pairs together, by epoch 16."
    group = RunSpec.model_validate({"task": {"group": "S4"}})
    assert "multiply two elements of S4" in report.questions(grokked(spec=group))[0][1]


def test_the_page_shows_the_theories_in_one_order_with_their_names() -> None:
    page = report.render(grokked(), papers={})
    names = re.findall(r'<th scope="row">([^<]+)<', page)
    assert names[:3] == ["Li₂", "AGF", "Geometry"]
    assert "It stopped by its rule" not in page


def test_a_stop_rule_is_told_in_words() -> None:
    spec = RunSpec.model_validate({"stop": [{"observable": "test_accuracy", "at_least": 1.0}], "steps": 200})
    page = report.render(grokked(spec=spec, message="test_accuracy ≥ 1.0 at epoch 148"), papers={})
    assert "the test accuracy had reached 1." in page
    assert "test_accuracy ≥" not in page


def test_a_term_is_linked_where_it_is_first_used_and_only_there() -> None:
    gloss = Glossary()
    first, second = gloss("An irrep & <b> of hidden units"), gloss("more irreps")
    assert '<a class="term" href="#term-irrep">irrep</a> &amp; &lt;b&gt; of' in first
    assert '<a class="term" href="#term-hidden-unit">hidden units</a>' in first
    assert second == "more irreps"
    assert [term for _, term, _ in gloss.meanings()] == ["hidden unit", "irrep"]


def test_every_term_has_a_meaning_that_a_page_can_link_to() -> None:
    page = report.render(grokked(), papers={})
    links, places = (set(re.findall(rf'{kind}="#?(term-[^"]+)"', page)) for kind in ("href", "id"))
    assert links == places
    assert links
    assert all(re.search(pattern, term, re.IGNORECASE) or term == "order" for term, (pattern, _) in TERMS.items())
