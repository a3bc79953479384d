"""The page holds everything it shows, asks the network for nothing and takes no word for markup."""

import re
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from firstlight import report
from firstlight.records import (
    STAIRCASE,
    ClaimRecord,
    FitRecord,
    LayerCourse,
    ProbedCheckpoint,
    ProbedLayer,
    ProbeRecord,
    RunRecord,
    RunSpec,
    Table,
    TheoryVerdict,
    UpdateCourse,
    figure,
)
from firstlight.records.figure import Series

sys.path.insert(0, str(Path(__file__).parents[1] / "plots"))
from figure_examples import HOSTILE, kinds

PAPERS = {"li2": "Li₂", "agf": "Alternating gradient flows", "fact": "FACT"}
EMPTY_ELEMENTS = {"meta", "br", "input", "link", "img", "hr"}


class Page(HTMLParser):
    """What a browser would make of the page: elements, links, words; closing tags must match."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in EMPTY_ELEMENTS:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))

    def values(self, *names: str) -> list[str]:
        return [value for _, attrs in self.elements for name, value in attrs.items() if name in names]


def _claim(number: int = 1, **changes) -> ClaimRecord:
    values = {
        "id": f"li2.theorem-{number}",
        "paper": "li2",
        "title": f"Title {number}",
        "locator": f"Theorem {number}, page 5",
        "status": "holds",
        "expected_verdict": "holds",
        "scale": "quick",
        "statement": f"Statement {number}.",
        "measured": 0.25,
        "expected": 0.5,
        "tolerance": 1e-6,
        "tolerance_reason": "rounding in float64",
        "seeds": (0, 1),
        "seconds": 1.25,
        "command": f"firstlight reproduce li2.theorem-{number}",
        "created": "2026-01-02T03:04:05+00:00",
        "versions": {"firstlight": "0.1.0"},
        "machine": {"system": "Linux", "cores": 2},
    }
    return ClaimRecord(**(values | changes))


def _run(**changes) -> RunRecord:
    columns = {"train_accuracy": [0.1, 1.0], "test_accuracy": [0.1, 0.9], "train_loss": [1.0, 0.1]}
    values = {
        "spec": RunSpec(),
        "status": "finished",
        "steps": 10,
        "seconds": 200.0,
        "message": "Memorised at 5, generalised at 9.",
        "table": Table([0, 10], columns),
        "summary": {"final_test_accuracy": 0.9, "story": "It grokked.", "lens": {"a": 1}},
        "created": "2026-01-01T00:00:00+00:00",
    }
    return RunRecord(**(values | changes))


def _fit(method: str = "RFM", mean: float = 0.9, **changes) -> FitRecord:
    values = {
        "estimator": "RFMRegressor",
        "params": {"task": "regression", "target": "price", "method": method},
        "data": "ab" * 32,
        "scores": {"mean": mean, "deviation": 0.01, "metric": "R²"},
        "seconds": 0.5,
        "message": "90 rows, 4 columns, 5 folds.",
    }
    return FitRecord(**(values | changes))


def _probe(**changes) -> ProbeRecord:
    words = {"kind": "Linear", "inputs": 3, "outputs": 8, "alignments": {"FACT": 0.25, "√AGOP": float("nan")}}
    layer = ProbedLayer(name="0.weight", **words, size=1.5, budget=9.0, state="learning", evidence="FACT 0.250")
    values = {"name": "my network", "layers": (layer,), "untreated": {"0.bias": "no matrix"}, "samples": 64}
    return ProbeRecord(**(values | changes))


def _render(*records, **arguments) -> str:
    return report.render(records, **({"papers": PAPERS, "title": "A report"} | arguments))


@pytest.fixture(scope="module")
def everything() -> str:
    shown = kinds()
    some = [shown["panels"], shown["curves"], shown["alignment"]]
    claims = [
        _claim(1, figures=(some[0].digest, some[1].digest)),
        _claim(
            2,
            status="holds-as-corrected",
            expected_verdict="holds-as-corrected",
            corrected="The corrected statement.",
            evidence="The printed form is off by 0.3.",
            measured={"error": 1e-9, "count": 3},
            expected={"error": 0.0, "count": 3},
        ),
        _claim(3, status="fails", figures=(some[1].digest, "f" * 64)),
        _claim(4, id="agf.figure-5", paper="agf", status="inconclusive", evidence="needs torch\n" * 100),
        _claim(4, id="agf.figure-5", paper="agf", scale="paper"),
        _claim(5, id="new.lemma-1", paper="new", figures=(some[2].digest,)),
    ]
    verdicts = (
        TheoryVerdict(
            theory="li2",
            predicted="epoch 9",
            measured="epoch 10",
            agrees="yes",
            sentence="The network generalised when the theory says.",
            look_at=some[1].title,
        ),
        TheoryVerdict(theory="agf", agrees="does not apply", sentence="The theory needs a small start."),
    )
    runs = [_run(figures=(some[1],), verdicts=verdicts), _run(status="diverged", table=Table())]
    # Records may come in any order.
    return _render(_probe(), runs[0], *claims, _fit("kernel ridge", 0.8), runs[1], _fit(), figures=some)


def test_nothing_is_loaded_from_anywhere(everything):
    page = Page(everything)
    links = page.values("src", "href", "xlink:href", "srcset", "action", "data", "poster", "background")
    assert links
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in links)
    assert not {"link", "iframe", "object", "embed", "base", "img"} & {tag for tag, _ in page.elements}
    assert set(re.findall(r"url\((.)", everything)) <= {"#"}
    assert "@import" not in everything
    assert "default-src 'none'" in everything
    # Names of XML vocabularies are not addresses of anything that is fetched.
    assert set(re.findall(r"https?://[^\s\"'<]+", everything)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_links_within_the_page_arrive(everything):
    page = Page(everything)
    ids = Counter(page.values("id"))
    assert max(ids.values()) == 1
    targets = {link[1:] for link in page.values("href", "xlink:href") if link.startswith("#")}
    targets |= set(re.findall(r"url\(#([^)]+)\)", everything))
    assert targets <= set(ids)


def test_says_everything_the_records_say(everything):
    text = Page(everything).text
    for words in (
        "A report",
        "2 runs",
        "1 fit ",
        "1 probe ",
        "6 claims checked",
        "2 not as recorded",
        "The run finished after 10 epochs in 3 min 20 s.",
        "It grokked.",
        "Memorised at 5, generalised at 9.",
        "final test accuracy 0.9",
        'group = "Z71"',
        "firstlight run spec.toml",
        "The run diverged",
        "Statement 1.",
        "Theorem 1, page 5",
        "As corrected The corrected statement.",
        "error 10⁻⁹ 0 10⁻⁶",
        "count 3 3 10⁻⁶",
        "Why this tolerance: rounding in float64",
        "The printed form is off by 0.3.",
        "Not as recorded: the recorded verdict is “holds”.",
        "✕ fails",
        "✎ holds as corrected",
        "? inconclusive",
        "firstlight reproduce li2.theorem-3",
        "quick scale · seeds 0, 1 · 1.2 s · 2026-01-02 03:04",
        "The figure ffffffffffff is not in the store any more",
        "3 claims · holds 1 · holds as corrected 1 · fails 1",
        "Theory Predicted Measured Agrees? In words",
        "Li₂ Grokking in three stages epoch 9 epoch 10 ✓ yes The network generalised when the theory says.",
        "AGF Losses that fall in steps – – – does not apply The theory needs a small start.",
        "Regression of price",
        "90 rows, 4 columns, 5 folds.",
        "Method R² One fit RFM 0.9000 ± 0.0100 0.5 s kernel ridge 0.8000 ± 0.0100 0.5 s",
        "my network",
        "1 layer, 64 samples: 1 learning. Alignments are measured by pearson.",
        "0.weight Linear 3 → 8 0.250 – 1.5 9 ↗ learning FACT 0.250",
        "√AGOP alignment of WᵀW with the root of the outputs' average gradient outer product",
        "0.bias ? undecided no matrix",
    ):
        assert words in text, words


def test_a_run_is_told_once_and_without_paths():
    failed = _run(status="failed", message="KeyError: 'E'", traceback="Traceback\n  File /home/me/x.py", summary={})
    assert report.run_view(failed).story[1:] == ("KeyError: 'E'",)
    assert "/home/me" not in _render(failed)
    said = "Z5: diverged at step 3 (the loss was nan); until then it did nothing."
    diverged = _run(status="diverged", message="the loss was nan.", summary={"story": said})
    assert report.run_view(diverged).story[1:] == (said,)
    stopped = _run(status="interrupted", message="stopped at step 10", summary={"story": "Z5: interrupted at step 10."})
    assert report.run_view(stopped).story[1:] == ("Z5: interrupted at step 10.",)


def test_sections_follow_the_papers_and_rows_can_be_filtered(everything):
    page = Page(everything)
    sections = [attrs["id"] for tag, attrs in page.elements if tag == "section" and attrs.get("class") == "paper"]
    assert sections == ["paper-li2", "paper-agf", "paper-new"]
    rows = [attrs for tag, attrs in page.elements if tag == "tr" and "data-paper" in attrs]
    articles = [attrs for tag, attrs in page.elements if tag == "article" and "data-paper" in attrs]
    assert Counter(row["data-text"] for row in rows) == Counter(one["data-text"] for one in articles)
    assert Counter(row["data-status"] for row in rows)["holds"] == 3
    # Without a script the controls are hidden and the content is not.
    hidden = {attrs.get("id") or attrs.get("class") for _, attrs in page.elements if "hidden" in attrs}
    assert hidden == {"theme", "filters", "none", "copy"}


def test_a_figure_shown_twice_is_drawn_twice(everything):
    title = kinds()["curves"].title
    assert sum(tag == "title" and True for tag, _ in Page(everything).elements) == 1 + 1 + 3 + 1 + 1 + 1
    assert everything.count(title) >= 3


def test_hostile_words_stay_words():
    evil = "<script>alert(1)</script>"
    drawing = figure.curves([Series(HOSTILE, [0, 1], [0, 1])], x=HOSTILE, y=evil, title=HOSTILE, caption=evil)
    claim = _claim(
        id=f'x"onload="alert(1){evil}',
        paper=f"p'>{evil}",
        title=HOSTILE,
        locator=evil,
        statement=evil,
        corrected=evil,
        measured={evil: evil},
        tolerance_reason=evil,
        evidence=evil,
        command=f"firstlight reproduce {evil}",
        versions={evil: evil},
        machine={"system": evil},
        figures=(drawing.digest,),
    )
    verdict = TheoryVerdict(theory=evil, predicted=evil, measured=evil, agrees="no", sentence=evil, look_at=HOSTILE)
    run = _run(spec=RunSpec(name=evil), message=evil, summary={evil: evil}, figures=(drawing,), verdicts=(verdict,))
    fit = _fit(evil, params={"target": evil, "method": evil}, message=evil, scores={"mean": 1.0, "metric": evil})
    layer = ProbedLayer(name=evil, kind=evil, inputs=1, outputs=1, alignments={evil: 1.0}, state="lazy", evidence=evil)
    probe = _probe(name=evil, layers=(layer,), untreated={evil: evil}, figures=(drawing,))
    text = _render(run, claim, fit, probe, figures=[drawing], title=f"</title>{evil}")
    page = Page(text)
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on")]
    assert page.text.count("alert(1)") > 15
    assert evil not in text


def test_an_empty_report_says_how_to_fill_it():
    text = Page(_render()).text
    assert "Nothing to show yet" in text
    assert "firstlight demo" in text
    assert "Claims" not in text


def test_a_probe_of_checkpoints_shows_the_course_of_each_layer():
    checkpoints = [
        ProbedCheckpoint(name=f"step-{step}", step=step, digest=f"{i}" * 64, same_as=same)
        for i, (step, same) in enumerate([(0, ""), (10, ""), (20, "step-0")])
    ]
    course = LayerCourse(
        name="0.weight", kind="linear", inputs=3, outputs=8, alignments={"FACT": [0.1, 0.2, 0.3], "√AGOP": [0.5] * 3},
        averaged=[None, None, 0.999], effective_rank=[3.0, 2.5, 2.0], moved=[0.0, 0.5, 1.5],
        states=("lazy", "learning", "learning"), evidence=("", "", ""),
    )  # fmt: skip
    update = UpdateCourse(name="q", rank=8, size=[0.0, 0.1, 0.2], effective_rank=[None, 2.0, 1.5])
    frozen = dict.fromkeys((f"h.{i}.weight" for i in range(6)), "frozen: it is not trained")
    story = ("Three checkpoints.", f"{HOSTILE} was left out.")
    record = _probe(checkpoints=checkpoints, courses=(course,), updates=(update,), story=story, untreated=frozen)
    text = Page(_render(record)).text
    for words in (
        "Three checkpoints.",
        "0.weight ‖ lazy 0 ↗ learning 10–20 0.100 → 0.999 0.500 → 0.500 3 → 2 1.5",
        "q 8 0 → 0.2 2 → 1.5",
        "20 step-20 222222222222 step-0",
        "h.0.weight, h.1.weight, h.2.weight and 3 more ? undecided frozen: it is not trained",
        "Effective rank number of directions",
    ):
        assert words in text, words
    assert HOSTILE not in _render(record)


def test_same_records_give_the_same_page():
    records = (_run(), _claim(), _fit(created="2026-01-01"), _probe(created="2026-01-01"))
    first, second = (_render(*records, created="2026-01-01T00:00:00+00:00") for _ in range(2))
    assert first == second


def test_a_view_says_what_its_record_says():
    record = _claim()
    assert report.claim_view(record).as_expected
    assert report.claim_view(record.model_copy(update={"raised": True, "evidence": "x"})).raised
    stopped = _run(spec=RunSpec(name="By hand"), status="interrupted", summary={"story": "Stopped at epoch 3."})
    text = Page(_render(stopped)).text
    assert "By hand, seed 0 ‖ interrupted The run was interrupted after 10 epochs in 3 min 20 s. Stopped at" in text
    best, other = report.fit_view([_fit("slow", 0.1), _fit("fast", 0.7)]).rows
    assert (best.method, other.method) == ("fast", "slow")
    assert len(report.fit_views([_fit(), _fit(data="0" * 64), _fit("other")])) == 2


def test_a_verdict_links_to_its_figure(everything):
    page = Page(everything)
    (link,) = [attrs["href"] for tag, attrs in page.elements if tag == "a" and attrs["href"].startswith("#run-")]
    assert link.endswith("-0")
    assert link[1:] in page.values("id")


def test_written_whole(tmp_path):
    path = report.write(tmp_path / "new" / "report.html", [_claim()], papers=PAPERS)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [one.name for one in path.parent.iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "–"),
        (float("-inf"), "−∞"),
        (-3, "−3"),
        (1234567.0, "1.2346×10⁶"),
        ([], "none"),
        ([[1, 2], [3, 4]], "(1, 2); (3, 4)"),
        ([[0.0] * 4] * 3, "3 × 4 values"),
        ([[1], [2, 3], [4]], "3 × varying values"),
        ({"a": [True, None]}, "a: yes, –"),
    ],
)
def test_values_as_text(value, text):
    assert report.text_of(value) == text


def test_a_page_takes_one_record_or_an_iterator_and_refuses_what_it_cannot_show():
    record = _run()
    pages = [report.render(given, papers={}, created=record.created) for given in (record, [record], iter([record]))]
    assert pages[0] == pages[1] == pages[2]
    assert record.id[:12] in pages[0]
    with pytest.raises(TypeError, match=r"got str\. Call \.record\(\)"):
        report.render(iter(["a run"]))


def test_fits_with_other_settings_stand_apart_and_equal_ones_once():
    def fit(task: str, created: str, mean: float) -> FitRecord:
        params = {"task": task, "target": "y", "folds": 5, "seed": 0, "method": "RFM"}
        return FitRecord(estimator="RFM", params=params, data="0" * 64, scores={"mean": mean}, created=created)

    regression = [fit("regression", f"2026-01-0{day}T00:00:00+00:00", day / 10) for day in (2, 1)]
    views = report.fit_views([*regression, fit("classification", "2026-01-03T00:00:00+00:00", 0.9)])
    assert [(view.title, [row.score for row in view.rows]) for view in views] == [
        ("Regression of y", ["0.2000"]),
        ("Classification of y", ["0.9000"]),
    ]


def test_a_staircase_stands_jump_by_jump_and_not_among_the_fits():
    columns = {
        "predicted_time": [1.0, 2.0], "measured_time": [1.25, float("nan")], "time_error": [-0.2, float("nan")],
        "predicted_level": [0.5, 1e-20], "measured_level": [0.5, float("nan")], "level_error": [0.0, float("nan")],
        "first_level": 2.0,
    }  # fmt: skip
    record = FitRecord(
        estimator=STAIRCASE,
        params={"title": "Diagonal <b>network</b>", "alpha": "1e-6"},
        data="0" * 64,
        scores=columns,
        message="AGF predicted 2 jumps.",
    )
    first, second = report.staircase_view(record).rows
    assert (first.predicted_time, first.measured_time, first.time_error) == ("1", "1.25", "−20.0 %")
    assert (second.predicted_level, second.measured_time, second.level_error) == ("0", "–", "–")
    text = _render(record, _fit())
    assert "Diagonal &lt;b&gt;network" in text
    assert "AGF predicted 2 jumps." in text
    assert text.index('id="fits"') < text.index('id="staircases"')
    assert text.count("<article") == 2


def test_the_numbers_of_a_figure_are_its_arrays():
    curve = figure.curves(
        [figure.Series("a", [0, 1], [1.0, 0.5]), figure.Series("b", [1, 2], [2.0, 4.0])], x="step", y="loss"
    )
    table = figure.heatmap([[1.0, 2.0]], x="x", y="y", value="v", rows=["r"], columns=["c", "d"])
    bars = figure.bars(["g"], {"score": [0.5]}, errors={"score": [0.1]}, x="method", y="R²")
    assert report.figure_tables(curve)[0].rows == (("0", "1", "–"), ("1", "0.5", "2"), ("2", "–", "4"))
    assert report.figure_tables(table)[0].rows == (("r", "1", "2"),)
    assert (report.figure_tables(bars)[0].head, report.figure_tables(bars)[0].rows) == (
        ("method", "score", "± score"),
        (("g", "0.5", "0.1"),),
    )
    both = figure.panels([curve, bars])
    assert len(report.figure_tables(both)) == 2
    long = figure.curves([figure.Series("a", np.arange(5000.0), np.zeros(5000))], x="step", y="loss")
    assert len(report.figure_tables(long)[0].rows) <= 200


def test_every_kind_of_figure_has_numbers():
    for name, drawn in kinds().items():
        tables = report.figure_tables(drawn)
        assert tables, name
        assert all(len(row) == len(table.head) for table in tables for row in table.rows), name
        assert all(table.rows for table in tables), name
    circle = figure.circles([[1, 0], [0, 0.5]], x="cos", y="sin", value="element")
    assert report.figure_tables(circle)[0].rows == (("0", "1", "0"), ("1", "0", "0.5"))
    map_ = figure.phase([1, 2], [0.1], [[0.25, np.nan]], x="M", y="fraction", x_names=["one", "two"])
    (table,) = report.figure_tables(map_)
    assert (table.head, table.rows) == (("", "one", "two"), (("0.1", "0.25", "–"),))
    cloud = figure.scatter([figure.Series("runs", [1, 1], [2, 3])], x="n", y="error")
    assert report.figure_tables(cloud)[0].rows == (("1", "2"), ("1", "3"))
    bins = figure.histogram({"a": [0.1, 0.2, 0.9]}, bins=2, x="x", y="count")
    assert [row[1] for row in report.figure_tables(bins)[0].rows] == ["2", "1"]
    named = figure.spectrum({"power": [0.5, 0.25]}, at=["k1", "k2"], x="frequency", y="power")
    assert report.figure_tables(named)[0].rows == (("k1", "0.5"), ("k2", "0.25"))
