"""One page per claim with a stable address, its evidence and its neighbourhood."""

import re
import xml.etree.ElementTree as ET

import pytest
from matplotlib.figure import Figure

from firstlight import claims, report
from firstlight.plots import _draw


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """All pages with all figures, without the layout, which takes half of the time and is tested in tests/plots."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_draw, "Figure", lambda **options: Figure(**(options | {"layout": "none"})))
        report.write_claims(folder)
    return folder


def test_every_claim_has_a_page_and_every_link_leads_to_one(site):
    assert {path.stem for path in site.glob("*.html")} == {"index", *(claim.id for claim in claims.all_claims())}
    for path in site.glob("*.html"):
        for link in re.findall(r'href="([^"#]+)"', path.read_text(encoding="utf-8")):
            assert link.startswith("data:image/png;base64,") or (site / link).exists(), (path.name, link)


def test_a_page_shows_the_recorded_criteria_row_by_row(site):
    page = (site / "cogo.lemma-3.html").read_text(encoding="utf-8")
    for row in claims.recorded("cogo.lemma-3")["quick"].criteria:
        assert row.required in page
    assert "firstlight reproduce cogo.lemma-3" in page


def test_pages_load_nothing(site):
    for path in site.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r'(src|href)="(https?:)?//', text)


def test_the_drawing_is_whole_svg_with_a_box_per_claim():
    graph = claims.claim_graph(claims.all_claims())
    tree = ET.fromstring(report.graph_svg(graph))
    boxes = list(tree.iter("{http://www.w3.org/2000/svg}text"))
    assert len(boxes) == len(graph.nodes)
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}path"))) == len(graph.edges)
