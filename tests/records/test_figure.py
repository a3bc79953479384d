"""A figure is its content: any change shows in the digest, and no way of storing it changes anything."""

import hashlib
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from firstlight._files import write_atomically
from firstlight.records import figure
from firstlight.records.figure import Axis, FigureData, Series


def _curve(title: str = "t", values=(1.0, 0.5, np.nan)) -> FigureData:
    return figure.curves(
        [Series("loss", [1, 2, 3], values)],
        x=Axis("time", "s", "log"),
        y="loss",
        title=title,
        stages=[("first", 1, 2)],
        horizontal={"zulu": 0.1, "alpha": 0.2},
    )


@given(
    samples=hnp.arrays(np.float64, (3, 4), elements=st.floats(width=64)),
    title=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
def test_storage_changes_nothing(tmp_path_factory, samples, title):
    shown = figure.heatmap(samples, x="a", y="b", value=Axis("weight", "V"), title=title, rows=list("xyz"))
    path = shown.save(tmp_path_factory.mktemp("f") / "one.safetensors")
    over_json = FigureData.from_parts(json.loads(json.dumps(shown.header())), shown.arrays)
    for copy in (FigureData.load(path), over_json, pickle.loads(pickle.dumps(shown))):
        assert copy == shown
        assert copy.digest == shown.digest
        np.testing.assert_array_equal(copy.arrays["matrix"], samples)
        assert not copy.arrays["matrix"].flags.writeable


def test_digest_is_the_stated_hash():
    shown = _curve()
    header = json.dumps(shown.header(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    content = b"".join(shown.arrays[name].tobytes() for name in sorted(shown.arrays))
    assert shown.digest == hashlib.sha256(header.encode() + content).hexdigest()


def test_any_change_changes_the_digest():
    curve = _curve()
    others = [
        _curve(title="u"),
        _curve(values=(1.0, 0.5, 0.0)),
        _curve(values=np.array([1.0, 0.5, np.nan], np.float32)),
        figure.panels([curve]),
    ]
    assert len({shown.digest for shown in (curve, _curve(), *others)}) == 5
    assert curve == _curve()
    assert curve != "curve"


def test_nothing_can_be_changed_in_place():
    mine = np.array([1.0, 2.0])
    shown = figure.curves([Series("a", mine, mine)], x="x", y="y")
    mine[0] = 7.0
    assert shown.arrays["series0.x"][0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        shown.arrays["series0.x"][0] = 3.0
    with pytest.raises(TypeError):
        shown.meta["series"] = ()  # type: ignore[index]
    with pytest.raises(AttributeError):
        shown.title = "new"  # type: ignore[misc]


def test_order_of_reference_lines_survives_the_file(tmp_path):
    loaded = FigureData.load(_curve().save(tmp_path / "f.safetensors"))
    assert [label for label, _ in loaded.meta["horizontal"]] == ["zulu", "alpha"]


@pytest.mark.parametrize("cut", [0, 7, 40, 400])
def test_a_damaged_file_says_what_to_do(tmp_path, cut):
    path = _curve().save(tmp_path / "f.safetensors")
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match=r"not a whole figure file.*make the figure again"):
        FigureData.load(path)


def test_foreign_parts_are_refused():
    shown = _curve()
    with pytest.raises(ValueError, match=r"must hold the arrays 'series0.x', 'series0.y'; got 'matrix'"):
        FigureData.from_parts(shown.header(), {"matrix": np.eye(2)})
    with pytest.raises(ValueError, match="belong to different figures"):
        FigureData.from_parts(shown.header(), {name: array[:1] for name, array in shown.arrays.items()})
    with pytest.raises(ValueError, match=r"schema 99.*Update firstlight"):
        FigureData.from_parts(shown.header() | {"schema": 99}, shown.arrays)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_atomically(path, b"old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


POINTS = Series("a", [1, 2], [3, 4])
BAD = [
    (
        lambda: figure.curves([Series("a", [1, 2], [3])], x="x", y="y"),
        r"'a': y must have shape \(2\); received \(1,\)",
    ),
    (
        lambda: figure.curves([Series("a", [1j], [3])], x="x", y="y"),
        "real numbers; received dtype complex128",
    ),
    (lambda: figure.curves([Series("a", [1], [3], lower=[2])], x="x", y="y"), "both lower and upper"),
    (lambda: figure.curves([POINTS, POINTS], x="x", y="y"), "different labels"),
    (lambda: figure.curves([Series("a", [1], [1], like="b")], x="x", y="y"), r"like must be one of \['a'\]"),
    (lambda: figure.curves([POINTS], x="", y="y"), "needs a label"),
    (lambda: figure.curves([POINTS], x="x", y="y", stages=[("s", 2, 1)]), "later end; received 2 to 1"),
    (lambda: figure.curves([POINTS], x="x", y="y", vertical={"t": float("nan")}), "'t' must be finite"),
    (
        lambda: figure.staircase([0], [1], levels=[1, 0], jumps=[], x="x", y="y"),
        r"jumps must have shape \(1\)",
    ),
    (lambda: figure.staircase([0], [1], levels=[], jumps=[], x="x", y="y"), "before the first jump"),
    (lambda: figure.staircase([0], [1], levels=[2, 1, 0], jumps=[2, 1], x="x", y="y"), "increasing order"),
    (lambda: figure.heatmap([1.0], x="x", y="y", value="v"), r"shape \(any, any\); received \(1,\)"),
    (lambda: figure.heatmap([[1.0]], x="x", y="y", value="v", rows=["a", "b"]), "rows must be 1 labels"),
    (lambda: figure.heatmap([[1.0]], x="x", y="y", value="v", limits=(1, 1)), "lowest < highest"),
    (lambda: figure.grid([[[1.0]]], labels=[], x="x", y="y", value="v"), "labels must be 1 labels"),
    (lambda: figure.phase([1, 1], [1], [[0, 0]], x="x", y="y"), "x_values must increase strictly"),
    (lambda: figure.phase([1], [1], [[1.5]], x="x", y="y"), r"rate must lie in \[0, 1\]"),
    (lambda: figure.alignment([[2.0]], rows=["a"], columns=["b"]), r"lies in \[−1, 1\]"),
    (lambda: figure.circles([[1, 2, 3]], x="x", y="y"), r"points must have shape \(any, 2\)"),
    (lambda: figure.bars(["a"], {"s": [1]}, errors={"t": [1]}, x="x", y="y"), "errors must name series"),
    (lambda: figure.panels([]), "at least one figure"),
    (lambda: figure.panels([figure.panels([_curve()])]), "do not nest"),
    (lambda: figure.unpack_panels(_curve()), "kind 'panels' holds others"),
    (lambda: FigureData("curves", meta={"a": float("inf")}), "meta must be finite JSON"),
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_errors_say_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_histogram_counts_every_finite_sample():
    samples = np.random.default_rng(0).normal(size=500)
    shown = figure.histogram({"a": [*samples, np.nan], "b": samples[:200]}, x="x", density=True)
    widths = np.diff(shown.arrays["edges"])
    np.testing.assert_allclose([(shown.arrays[f"counts{i}"] * widths).sum() for i in (0, 1)], 1.0)


def test_records_of_figures_load_no_plotting_library():
    code = "import sys, firstlight.records.figure; print([m for m in ('matplotlib', 'jax') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
