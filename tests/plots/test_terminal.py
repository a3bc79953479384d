"""Curves in a terminal: the dots are where the points are, and the frame has the size asked for."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight import plots
from firstlight.records import figure
from firstlight.records.figure import Axis, Series

sys.path.insert(0, str(Path(__file__).parent))
from figure_examples import awkward, kinds

ANSI = re.compile(r"\x1b\[[0-9;]*m")
CURVES = {name: example for name, example in (kinds() | awkward()).items() if example.kind == "curves"}
CURVES.pop("hostile")


def _dots(text: str) -> np.ndarray:
    """The dots inside the axes as a boolean array (4 · rows, 2 · columns)."""
    inside = [re.split("[┤│]", line, maxsplit=1) for line in text.splitlines() if re.match(r" *\S* [┤│]", line)]
    rows = [line for _, line in inside]
    dots = np.zeros((4 * len(rows), 2 * max(map(len, rows))), bool)
    bits = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
    for row, line in enumerate(rows):
        for column, character in enumerate(line):
            if "\u2800" <= character <= "\u28ff":
                here = slice(4 * row, 4 * row + 4), slice(2 * column, 2 * column + 2)
                dots[here] = (ord(character) & bits) > 0
    return dots


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("colour", [False, True])
def test_fits_the_frame(name, colour):
    text = plots.terminal(CURVES[name], width=60, height=20, colour=colour)
    lines = ANSI.sub("", text).splitlines()
    assert len(lines) == 20
    assert max(map(len, lines)) <= 60
    assert ("\x1b" in text) == (colour and name != "no series")


@given(st.floats(0.1, 10), st.floats(-5, 5))
def test_a_straight_line_is_the_diagonal(slope, offset):
    x = np.linspace(0, 1, 40)
    shown = figure.curves([Series("a", x, slope * x + offset)], x="x", y="y")
    dots = _dots(ANSI.sub("", plots.terminal(shown, colour=True, width=60, height=18)))
    height, width = dots.shape
    down, across = np.nonzero(dots)
    np.testing.assert_allclose(down / (height - 1), 1 - across / (width - 1), atol=1.5 / height + 1.5 / width)
    assert dots.any(axis=0).all()


def test_a_power_law_is_straight_on_log_axes():
    x = np.logspace(0, 5, 50)
    shown = figure.curves([Series("a", x, x**-2.0)], x=Axis("x", scale="log"), y=Axis("y", scale="log"))
    text = plots.terminal(shown, colour=True, width=60, height=18)
    down, across = np.nonzero(_dots(ANSI.sub("", text)))
    assert np.abs(np.polyval(np.polyfit(across, down, 1), across) - down).max() < 1.5
    assert "10⁻¹⁰" in text
    assert "10⁵" in text


def test_limits_keep_the_axes_still():
    first = figure.curves([Series("a", [0, 10], [0.0, 0.5])], x="epoch", y="accuracy")
    text = plots.terminal(first, x_limits=(0, 100), y_limits=(0, 1), colour=True)
    dots = _dots(ANSI.sub("", text))
    down, across = np.nonzero(dots)
    assert "100" in text.splitlines()[-1]
    assert across.max() == pytest.approx(0.1 * 130, abs=2)
    assert down.min() == pytest.approx(dots.shape[0] / 2, abs=2)


def test_letters_and_stages_are_named():
    text = plots.terminal(kinds()["curves"])
    assert text.startswith("accuracy: a training accuracy b test accuracy c theory\n")
    assert re.search(r"│lazy +│independent +│interactive", text)
    assert {"a", "b", "c"} <= set("".join(re.split("[┤│]", line)[-1] for line in text.splitlines()[2:-2]))


def test_other_kinds_and_tiny_frames_are_refused():
    with pytest.raises(ValueError, match="kind 'curves' and 'phase'; received kind 'bars'"):
        plots.terminal(kinds()["bars"])
    with pytest.raises(ValueError, match="width ≥ 24 and height ≥ 8; received 10 × 16"):
        plots.terminal(kinds()["curves"], width=10)


def _map(columns, **options):
    rate = np.linspace(0, 1, 3 * columns).reshape(3, columns)
    rate[0, 0] = np.nan
    return figure.phase(np.arange(columns), [0.1, 0.2, 0.3], rate, x="a", y="b", **options)


@pytest.mark.parametrize("columns", [1, 4, 9, 30])
@pytest.mark.parametrize("width", [24, 72])
def test_a_map_fits_the_width_and_is_the_same_without_colours(columns, width):
    shown = _map(columns, theory=[Series("half", [0, columns - 1], [0.1, 0.3])])
    text = plots.terminal(shown, width=width)
    room = max(width, 5 + columns)  # a cell needs one character
    assert all(len(line) <= room for line in text.splitlines())
    assert [line.split("┤")[0].strip() for line in text.splitlines() if "┤" in line] == ["0.3", "0.2", "0.1"]
    coloured = ANSI.sub("", plots.terminal(shown, width=width, colour=True))
    assert [line.rstrip() for line in coloured.splitlines()] == text.splitlines()


def test_a_map_has_its_numbers_its_names_and_the_cells_of_the_theory():
    shown = figure.phase([0, 1], [1, 2], [[0, 0.5], [1, np.nan]], x="decay", y="fraction", x_names=["none", "10⁻⁴"],
                         theory=[Series("half of all", [0, 1], [1.0, 1.0])])  # fmt: skip
    text = plots.terminal(shown)
    top, bottom = (line.split("┤")[1].split() for line in text.splitlines() if "┤" in line)
    assert top == ["1", "·"]
    assert bottom == ["[0]", "[0.5]"]
    assert "[ ] half of all" in text
    assert "not run yet" in text
    assert re.search(r"none +10⁻⁴", text)
