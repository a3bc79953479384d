"""The documentation site: what its checker refuses, what its pages are made of, and that every page is reachable."""

import re
from pathlib import Path

import pytest

from firstlight import records
from tests.pages import PAGES
from tools.docs import accessible, browser, check, maths, spec, verdicts
from tools.docs.api import TIERS, api_pages

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGE = '<html><head>{head}</head><body id="top">{body}</body></html>'


def site(folder: Path, head: str = "", body: str = "") -> Path:
    (folder / "index.html").write_text(PAGE.format(head=head, body=body), encoding="utf-8")
    (folder / "other.html").write_text(PAGE.format(head="", body='<p id="here">x</p>'), encoding="utf-8")
    (folder / "own.png").write_bytes(b"")
    return folder


def test_a_clean_site_has_no_problem(tmp_path):
    links = '<a href="other.html#here">x</a><a href="#top">x</a><a href="https://example.org">x</a><img src="own.png">'
    assert check.problems(site(tmp_path, body=links)) == []


@pytest.mark.parametrize(
    ("head", "body", "message"),
    [
        ('<script src="https://cdn.example.org/x.js"></script>', "", "loads https://cdn.example.org/x.js from outside"),
        ('<link rel="stylesheet" href="//cdn.example.org/x.css">', "", "loads //cdn.example.org/x.css from outside"),
        (
            "<style>@font-face { src: url(https://f.example.org/a.woff) }</style>",
            "",
            "loads https://f.example.org/a.woff",
        ),
        ("", '<img src="https://example.org/a.png">', "loads https://example.org/a.png from outside"),
        ("", '<img srcset="own.png 1x, https://example.org/a.png 2x">', "loads https://example.org/a.png from outside"),
        ("", '<p style="background: url(http://example.org/b.png)">', "loads http://example.org/b.png from outside"),
        ("", '<img src="missing.png">', "loads missing.png, which does not exist"),
        ("", '<a href="gone.html">x</a>', "links to gone.html, which does not exist"),
        ("", '<a href="other.html#nowhere">x</a>', "other.html has no such place"),
        ("", '<a href="#nowhere">x</a>', "index.html has no such place"),
    ],
)
def test_a_planted_violation_is_named(tmp_path, head, body, message):
    lines = check.problems(site(tmp_path, head, body))
    assert len(lines) == 1, lines
    assert message in lines[0]


def test_a_style_sheet_from_outside_is_named(tmp_path):
    (site(tmp_path) / "x.css").write_text("@import 'https://example.org/y.css';", encoding="utf-8")
    assert check.problems(tmp_path) == ["x.css: loads https://example.org/y.css from outside"]


def test_an_empty_folder_is_no_site(tmp_path):
    assert "has no page" in check.problems(tmp_path)[0]


def test_every_field_of_a_spec_is_explained():
    page = spec.spec_page()
    for prefix, _, model in spec.PARTS:
        for name in model.model_fields:
            assert f"| `{prefix + '.' if prefix else ''}{name}` |" in page
    for field in ("recording", "task.label_noise", "snapshots"):
        assert f"| `{field}` |" in page


def test_the_table_of_fields_says_what_pydantic_enforces():
    fields = records.Optimizer.model_fields
    assert spec.values_of(fields["learning_rate"]) == "number, > 0"
    assert spec.values_of(fields["name"]) == '`"sgd"`, `"adam"`, `"adamw"`, `"muon"`'
    assert spec.default_of(fields["learning_rate"]) == "`0.001`"
    with pytest.raises(ValueError, match="greater than 0"):
        records.Optimizer(learning_rate=0.0)


def test_a_field_without_a_meaning_is_an_error():
    class Bare(records.Loss):
        """A loss without bullets."""

    with pytest.raises(ValueError, match=r"Bare must explain kind, projection, reduction, factor under \*\*Attributes"):
        spec.meanings_of(Bare)


def test_every_public_name_has_a_page():
    pages = api_pages()
    for _, packages in TIERS.values():
        for package in packages:
            module = __import__(f"firstlight.{package}", fromlist=["__all__"])
            names = [name for name in module.__all__ if name != "lemmas" and not _is_module(getattr(module, name))]
            for name in names:
                assert f"firstlight.{package}.{name}" in pages[f"api-{package}.md"]


def _is_module(value) -> bool:
    return type(value).__name__ == "module"


def test_the_packages_of_the_reference_are_those_of_firstlight():
    import firstlight

    shown = {package.partition(".")[0] for _, packages in TIERS.values() for package in packages}
    assert shown == set(firstlight.__all__) - {"__version__"}


def test_verdicts_are_those_that_are_recorded():
    from firstlight import claims

    table = verdicts.verdict_table("manifold")
    for claim in claims.find(["manifold"]):
        quick = claims.recorded(claim.id).get("quick")
        row = next(line for line in table.splitlines() if f"<code>{claim.id}</code>" in line)
        assert (quick.status if quick else claims.NOT_RUN) in row


def test_the_gallery_has_at_least_twenty_examples_with_a_picture():
    examples = sorted((ROOT / "examples" / "gallery").rglob("plot_*.py"))
    assert len(examples) >= 20
    for path in examples:
        text = path.read_text(encoding="utf-8")
        title, line, blank = text.removeprefix('"""\n').split("\n")[:3]
        assert line == "=" * len(title), path.name
        assert not blank, path.name
        assert re.search(
            r"^(\w+\.)?(figure\.|steps\.figure_data|watch\.figure_data|progress\.|claims\.recorded_fig)",
            text,
            re.MULTILINE,
        ), path.name


def toctree(page: Path) -> list[str]:
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


def test_every_page_is_reachable_from_the_index():
    listed = set(toctree(DOCS / "index.md"))
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert pages <= listed, f"add {', '.join(sorted(pages - listed))} to a toctree of docs/index.md"
    assert {"gallery/index", "reference/spec", "reference/cli", "reference/api"} <= listed


@pytest.mark.parametrize(
    ("printed", "read"),
    [
        (r"\tfrac12 \lVert V \rVert^2", r"\tfrac{1}{2} \lVert V \rVert^2"),
        (r"\frac1\lambda W", r"\frac{1}{\lambda} W"),
        (r"\tfrac1n\sum_l", r"\tfrac{1}{n}\sum_l"),
        (r"\frac{\eta}{2} + \frac{\sqrt{2}}3", r"\frac{\eta}{2} + \frac{\sqrt{2}}3"),
    ],
)
def test_a_fraction_without_braces_is_not_read_as_a_longer_number(printed, read):
    assert maths.known_commands(printed) == read


def test_no_formula_has_a_fraction_that_docutils_misreads():
    for path in [*PAGES, *ROOT.glob("src/**/*.py")]:
        for tex in re.findall(r"\\[td]?frac[^\n]*", path.read_text(encoding="utf-8")):
            misread = re.findall(r"\\[td]?frac(?![a-zA-Z])\s*(?!\{)[^\n]{0,20}", maths.known_commands(tex))
            assert not misread, f"{path.name}: {misread}"


def test_wide_pictures_scroll_on_a_phone_and_narrow_ones_shrink(tmp_path):
    for name, points in (("wide", 619.2), ("narrow", 338.4)):
        (tmp_path / f"{name}.svg").write_text(
            f'<svg xmlns="x" width="{points}pt" height="9pt"></svg>', encoding="utf-8"
        )
    page = '<p><img alt="" src="wide.svg" /><img alt="" src="narrow.svg" /><img alt="" src="gone.svg" /></p>'
    once = accessible.scrolling(page, tmp_path)
    assert once.count('<span class="picture" tabindex="0"><img alt="" src="wide.svg" /></span>') == 1
    assert once.count("<span") == 1
    assert accessible.scrolling(once, tmp_path) == once


def test_every_column_of_a_table_has_a_head():
    rule = re.compile(r"^(\|.*\|)\n\|(?: *:?-+:? *\|)+$", re.MULTILINE)
    for page in PAGES:
        for head in rule.findall(page.read_text(encoding="utf-8")):
            cells = re.split(r"(?<!\\)\|", head)[1:-1]
            assert all(cell.strip() for cell in cells), f"{page.name}: {head}"


def test_the_theories_have_the_form_of_a_guide():
    for name in ("li2", "cogo", "agf", "fact", "manifold"):
        text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        title, question, picture, *_ = [part for part in text.split("\n\n") if part.strip()]
        assert title.startswith("# ")
        assert question.startswith("*")
        assert question.endswith("?*")
        assert picture.startswith("![")
        assert f"images/theory-{name}.svg" in picture
        assert text.index("```python") < text.index("## Limits") < text.index("## Claims")
        assert f"<!-- claims: {name} -->" in text


class NoBrowser:
    """A driver that shows nothing."""

    def execute_script(self, code):
        return []

    def quit(self):
        pass


def test_a_page_without_problems_is_looked_at_again_only_if_it_or_a_style_has_changed(tmp_path, monkeypatch):
    names, seen = ("index.html", "other.html"), []
    problems = {"other.html": ["axe: no title"]}
    (site(tmp_path) / "_static").mkdir()
    style = tmp_path / "_static" / "a.css"
    style.write_text("a {}", encoding="utf-8")
    monkeypatch.setattr(browser, "PAGES", names)
    monkeypatch.setattr(browser, "start", NoBrowser)
    monkeypatch.setattr(browser, "_search", lambda driver, folder: [])
    monkeypatch.setattr(browser, "_problems", lambda d, s, name, shots: seen.append(name) or problems.get(name, []))

    def look():
        seen.clear()
        return browser.look(tmp_path, known=tmp_path / "looked.json")

    assert look() == (["axe: no title"], 2)
    assert look() == (["axe: no title"], 1)  # a page with a problem is not clean
    assert seen == ["other.html"]
    problems.clear()
    assert look() == ([], 1)
    assert look() == ([], 0)
    (tmp_path / "index.html").write_text("<html></html>", encoding="utf-8")
    assert look() == ([], 1)
    assert seen == ["index.html"]
    style.write_text("a { color: red }", encoding="utf-8")
    assert look() == ([], 2)
    (tmp_path / "looked.json").write_text("{broken", encoding="utf-8")
    assert look() == ([], 2)
