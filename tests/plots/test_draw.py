"""Every kind of figure is drawn whole: no warning, no word cut off, no legend over data, always alike."""

import re
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ElementTree
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from firstlight import plots
from firstlight.plots._cells import cell_edges
from firstlight.records import figure
from firstlight.records.figure import FIGURE_KINDS, Axis, Series

sys.path.insert(0, str(Path(__file__).parent))
from figure_examples import HOSTILE, awkward, kinds

FIGURES = kinds() | awkward()


def _texts(drawn):
    shown = drawn.findobj(match=lambda artist: hasattr(artist, "get_text"))
    return [text for text in shown if text.get_visible() and text.get_text().strip()]


def test_every_kind_has_an_example():
    assert set(kinds()) == set(FIGURE_KINDS)


@pytest.mark.parametrize("name", FIGURES)
def test_drawn_whole_labelled_and_without_warning(name):
    data = FIGURES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = plots.draw(data)
        drawn.draw_without_rendering()
    frame = drawn.bbox.expanded(1.01, 1.01)
    shown = {text.get_text() for text in _texts(drawn)}
    assert {axis.text for axis in (data.x, data.y, data.value) if axis is not None} <= shown | {"v"}
    visible = [axes for axes in drawn.axes if axes.get_visible()]
    ticks = {label for axes in visible for axis in (axes.xaxis, axes.yaxis) for label in axis.get_ticklabels()}
    for text in set(_texts(drawn)) - ticks:
        box = text.get_window_extent()
        assert name == "hostile" or frame.x0 <= box.x0 <= box.x1 <= frame.x1, text.get_text()
        assert name == "hostile" or frame.y0 <= box.y0 <= box.y1 <= frame.y1, text.get_text()
    for axes in visible:
        legend = axes.get_legend()
        if legend is not None:
            assert legend.get_window_extent().y0 >= axes.get_window_extent().y1


@pytest.mark.parametrize("name", [*FIGURE_KINDS, "hostile", "no points", "all missing"])
def test_svg_is_whole_themed_and_self_contained(name):
    text = plots.svg(FIGURES[name])
    root = ElementTree.fromstring(text)
    tags = {element.tag.partition("}")[2] for element in root.iter()}
    assert "script" not in tags
    assert text.count("<style>") == 1
    links = [v for e in root.iter() for k, v in e.attrib.items() if k.endswith("href")]
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in links)
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    used = {link[1:] for link in links if link.startswith("#")} | set(re.findall(r"url\(#([^)]+)\)", text))
    assert len(set(ids)) == len(ids)
    assert used <= set(ids)
    assert "#0b0c" not in text
    assert "var(--fl-ink)" in text
    assert re.search(r"(fill|stroke): var\(--fl-muted\)", text)


def test_svg_is_the_same_in_another_process():
    here = plots.svg(kinds()["curves"])
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from figure_examples import kinds; from firstlight import plots\n"
        "sys.stdout.buffer.write(plots.svg(kinds()['curves']).encode())"
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.decode()
    assert here == there


def test_copies_and_different_figures_share_no_id():
    data = kinds()
    texts = [plots.svg(data["curves"]), plots.svg(data["curves"], copy=1), plots.svg(data["scatter"])]
    ids = [set(re.findall(r' id="([^"]+)"', text)) for text in texts]
    assert all(first and not first & second for first, second in combinations(ids, 2))


def test_words_are_words_not_markup():
    text = plots.svg(awkward()["hostile"])
    said = " ".join(" ".join(element.itertext()) for element in ElementTree.fromstring(text).iter())
    assert 'style="font-family: id="m1" $\\frac{' in said
    assert "<script" not in text
    assert HOSTILE not in text


def test_a_character_that_xml_forbids_does_not_spoil_the_figure():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ElementTree.fromstring(plots.svg(figure.curves([], x="a\x07b", y="y", title="\x00")))


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_files_are_the_same_bytes_each_time(tmp_path, suffix):
    data = kinds()["phase"]
    first = plots.save(data, tmp_path / f"a{suffix}", dpi=60).read_bytes()
    assert first == plots.save(data, tmp_path / f"b{suffix.upper()}", dpi=60).read_bytes()
    assert first.startswith({".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix])
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"a{suffix}", f"b{suffix.upper()}"]


def test_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"one of \.png, \.svg, \.pdf; received '.*gif'"):
        plots.save(kinds()["bars"], tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())


def test_dark_theme_draws_on_dark_paper():
    assert plots.draw(kinds()["bars"], theme=plots.DARK).get_facecolor()[:3] == pytest.approx(
        [int(plots.DARK.paper[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    )


def test_importing_plots_and_report_does_not_import_matplotlib():
    code = "import sys, firstlight.plots, firstlight.report; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"matplotlib", "jinja2", "jax"} & set(run.stdout.split())


# Linear-light matrices of Machado, Oliveira and Fernandes (2009) for complete dichromacy.
_SIGHT = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def _linear(colour: str) -> np.ndarray:
    encoded = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def _lab(linear: np.ndarray) -> np.ndarray:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    ratio = to_xyz @ np.clip(linear, 0, 1) / [0.9505, 1.0, 1.089]
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", [plots.LIGHT, plots.DARK], ids=["light", "dark"])
def test_colours_can_be_told_apart_by_everyone(theme):
    """ΔE > 20 is plain at a glance; contrast 3 : 1 is what WCAG asks of lines and 4.5 : 1 of words."""
    for matrix in _SIGHT.values():
        seen = [_lab(matrix @ _linear(colour)) for colour in theme.series[:4]]
        assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 20
    assert min(_contrast(colour, theme.paper) for colour in theme.series) > 3
    assert min(_contrast(colour, theme.paper) for colour in (theme.ink, theme.muted)) > 4.5


def _contrast(*colours: str) -> float:
    dark, bright = sorted(np.dot(_linear(colour), [0.2126, 0.7152, 0.0722]) + 0.05 for colour in colours)
    return bright / dark


def test_prediction_shares_the_colour_of_its_measurement():
    theory = Series("theory", [0, 1], [0, 1], style="dashed", like="measured")
    data = figure.curves([Series("measured", [0, 1], [0, 1]), theory], x="x", y="y")
    measured, theory = plots.draw(data).axes[0].get_lines()[:2]
    assert measured.get_color() == theory.get_color()
    assert theory.is_dashed()
    assert not measured.is_dashed()


def test_cells_of_a_phase_diagram_end_halfway():
    np.testing.assert_allclose(cell_edges(np.array([1.0, 3, 5]), None), [0, 2, 4, 6])
    np.testing.assert_allclose(cell_edges(np.array([1.0, 100]), Axis("M", scale="log")), [0.1, 10, 1000])


def test_ticks_of_a_phase_diagram_are_the_values_of_its_cells():
    drawn = plots.draw(kinds()["phase"]).axes[0]
    sizes = kinds()["phase"].arrays["x"]
    assert [tick.get_text() for tick in drawn.get_xticklabels()] == [f"{size:g}" for size in sizes]
    assert [tick.get_text() for tick in drawn.get_yticklabels()] == ["0.1", "0.3", "0.5"]
    np.testing.assert_allclose(drawn.get_xticks(), sizes)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_many_cells_have_as_many_ticks_as_fit(scale):
    values = np.geomspace(1e-4, 1e2, 60) if scale == "log" else np.linspace(0.01, 0.99, 60)
    axes = plots.draw(
        figure.phase(values, values, np.zeros((60, 60)), x=Axis("a", scale=scale), y=Axis("b", scale=scale))
    ).axes[0]
    for ticks in (axes.get_xticks(), axes.get_yticks()):
        assert 4 <= len(ticks) < 40
        assert set(np.round(ticks, 12)) <= set(np.round(values, 12))


def test_staircase_draws_what_is_predicted():
    drawn = plots.draw(kinds()["staircase"])
    values, edges, _ = drawn.axes[0].patches[0].get_data()
    np.testing.assert_array_equal(values, [1, 0.5, 0.1])
    np.testing.assert_array_equal(edges, [0, 20, 60, 100])


def test_no_tick_between_layers():
    drawn = plots.draw(figure.curves([Series("FACT", [1, 2, 3], [0.9, 0.95, 1.0])], x="layer", y="alignment"))
    assert [tick for tick in drawn.axes[0].get_xticks() if tick % 1] == []


def test_a_categorical_axis_has_cells_of_one_size_with_names_and_numbers():
    shown = figure.phase([0, 1, 2], [1, 2], [[0, 0.25, 1], [np.nan, 0.5, 1]], x="decay", y="fraction",
                         x_names=["0", "10⁻⁴", "10⁻³"])  # fmt: skip
    axes = plots.draw(shown).axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0", "10⁻⁴", "10⁻³"]
    assert sorted(text.get_text() for text in axes.texts) == ["0", "0.25", "0.5", "1", "1"]
    assert axes.get_xlim() == (-0.5, 2.5)
    with pytest.raises(ValueError, match="x_names must be 3 labels"):
        figure.phase([0, 1, 2], [1], [[0, 0, 0]], x="a", y="b", x_names=["one"])
