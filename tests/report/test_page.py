"""The page holds everything it shows, asks the network for nothing and takes no word for markup."""

import re
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from firstlight import report
from firstlight.records import ClaimRecord, RunRecord, RunSpec, Table, figure
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


def _render(**arguments) -> str:
    return report.render(**({"papers": PAPERS, "title": "A report"} | arguments))


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
    curves = report.run_view(_run(), figures=[some[1].digest])
    runs = [curves, _run(status="diverged", table=Table())]
    return _render(runs=runs, claims=claims, figures={one.digest: one for one in some})


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
        "6 claims checked",
        "2 not as expected",
        "The run finished after 10 steps in 3 min 20 s.",
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
        "Not as expected: the registry expects “holds”.",
        "✕ fails",
        "✎ holds as corrected",
        "? inconclusive",
        "firstlight reproduce li2.theorem-3",
        "quick scale · seeds 0, 1 · 1.2 s · 2026-01-02 03:04",
        "The figure ffffffffffff is not in the store any more",
        "3 claims · holds 1 · holds as corrected 1 · fails 1",
        "firstlight 0.1.0 · Linux, 2 cores",
    ):
        assert words in text, words


def test_a_run_is_told_once_and_without_paths():
    failed = _run(status="failed", message="KeyError: 'E'", traceback="Traceback\n  File /home/me/x.py", summary={})
    assert report.run_view(failed).story[1:] == ("KeyError: 'E'",)
    assert "/home/me" not in _render(runs=[failed])
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
    run = _run(spec=RunSpec(name=evil), message=evil, summary={evil: evil})
    text = _render(runs=[run], claims=[claim], figures={drawing.digest: drawing}, title=f"</title>{evil}")
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


def test_same_records_give_the_same_page():
    arguments = {"runs": [_run()], "claims": [_claim()], "created": "2026-01-01T00:00:00+00:00"}
    assert _render(**arguments) == _render(**arguments)


def test_views_can_be_given_instead_of_records():
    record = _claim()
    assert _render(claims=[record], created="2026-01-01") == _render(
        claims=[report.claim_view(record)], created="2026-01-01"
    )
    run = report.RunView(id="0" * 64, title="By hand", status="interrupted", story=("Stopped at step 3.",))
    text = Page(_render(runs=[run])).text
    assert "By hand ‖ interrupted Stopped at step 3." in text
    assert "Specification" not in text


def test_written_whole(tmp_path):
    path = report.write(tmp_path / "new" / "report.html", claims=[_claim()], papers=PAPERS)
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
