"""One figure of every kind, and the awkward ones: empty, missing, infinite, crowded, hostile."""

import numpy as np

from firstlight.records import figure
from firstlight.records.figure import Axis, FigureData, Series

HOSTILE = """</title></svg><script>alert("x")</script> & ' style="font-family: id="m1" $\\frac{ <!-- """


def kinds() -> dict[str, FigureData]:
    rng = np.random.default_rng(0)
    epochs = np.arange(0, 101, 5)
    rise = 1 / (1 + np.exp(-(epochs - 60) / 8.0))
    angle = 2 * np.pi * np.arange(23) / 23
    sizes = np.array([10.0, 20, 40, 80])
    made = [
        figure.curves(
            [
                Series("training accuracy", epochs, np.roll(rise, -8)),
                Series("test accuracy", epochs, rise, lower=rise * 0.9, upper=rise),
                Series("theory", epochs, rise**1.1, style="dashed", like="test accuracy"),
            ],
            x="epoch",
            y="accuracy",
            title="Memorised, then generalised, with a title that is too long for a single line of a figure",
            stages=[("lazy", 0, 20), ("independent", 20, 70), ("interactive", 70, 100)],
            horizontal={"chance": 0.02},
            vertical={"memorised": 20, "half of the way": 22, "generalised": 80},
        ),
        figure.spectrum({"learned": rng.random(20)}, at=range(1, 21), x="frequency", y=Axis("power", "fraction")),
        figure.heatmap(
            rng.normal(size=(4, 8)),
            x="irrep",
            y="node",
            value=Axis("weight", "arbitrary units"),
            palette="diverging",
            rows=[f"node {i}" for i in range(4)],
        ),
        figure.grid(rng.normal(size=(5, 7, 7)), labels=list("abcde"), x="h", y="g", value="weight"),
        figure.phase(
            sizes,
            [0.1, 0.3, 0.5],
            rng.random((3, 4)),
            x=Axis("group order M", scale="log"),
            y="training fraction",
            theory=[Series("log M / M", sizes, np.log(sizes) / sizes), Series("other", sizes, 1 / sizes)],
        ),
        figure.staircase(
            epochs, np.exp(-epochs / 20), levels=[1, 0.5, 0.1], jumps=[20, 60], x=Axis("time", "s"), y="loss"
        ),
        figure.alignment([[0.9, -0.2], [np.nan, 1.0]], rows=["layers.0", "head"], columns=["FACT", "√AGOP"]),
        figure.scatter(
            [Series("runs", sizes, 1 / sizes, lower=0.8 / sizes, upper=1.2 / sizes)],
            x=Axis("M", scale="log"),
            y=Axis("error", scale="log"),
            fits=[Series("slope −1", sizes, 1 / sizes)],
            identity=True,
        ),
        figure.bars(
            ["iris", "breast cancer", "covertype"],
            {"RFM": [0.9, 0.8, 0.7], "ridge": [0.8, 0.7, 0.6]},
            errors={"RFM": [0.1, 0.02, 0.03]},
            x="data set",
            y="accuracy",
        ),
        figure.circles(np.stack([np.cos(angle), np.sin(angle)], 1), x="first", y="second", connect=True),
        figure.histogram(
            {"before": rng.normal(size=200), "after": rng.normal(size=50)},
            x="preactivation",
            theory=[Series("normal", [-1, 0, 1], [10.0, 20, 10])],
        ),
    ]
    named = {example.kind: example for example in made}
    named["panels"] = figure.panels([named["curves"], named["phase"], named["circles"]], title="Together")
    return named


def awkward() -> dict[str, FigureData]:
    nan, inf = np.nan, np.inf
    long = [f"a rather long series name, number {i}" for i in range(9)]
    log = Axis("loss", scale="log")
    hostile = Axis(HOSTILE)
    return {
        "no series": figure.curves([], x="x", y="y"),
        "no points": figure.curves([Series("a", [], [])], x=Axis("x", scale="log"), y=log),
        "one point": figure.curves([Series("a", [3], [2.0])], x="x", y="y"),
        "constant": figure.curves([Series("a", [0, 1], [5.0, 5.0])], x="x", y=log),
        "not positive": figure.curves([Series("a", [0, 1, 2], [0.0, -1.0, 0.0], [-1.0] * 3, [1.0] * 3)], x="x", y=log),
        "not finite": figure.curves([Series("a", [0, 1, 2, 3], [1.0, inf, nan, 2.0])], x="x", y="y"),
        "step zero": figure.curves(
            [Series("a", [0, 1, 100], [1, 2, 3])],
            x=Axis("step", scale="log"),
            y="y",
            stages=[("start", 0, 0), ("rest", 0, 200)],
            vertical={"zero": 0, "end": 300},
        ),
        "narrow range": figure.curves([Series("a", [0, 1], [0.99, 1.01])], x="x", y=log),
        "huge": figure.curves([Series("a", [0, 1e9], [1e-9, 2e-9])], x="x", y="y"),
        "symlog": figure.curves([Series("a", [-10, 0, 10], [-1e3, 0, 1e3])], x="x", y=Axis("y", scale="symlog")),
        "crowded": figure.curves(
            [Series(name, [0, 1], [i, i + 1]) for i, name in enumerate(long)],
            x="x",
            y="y",
            stages=[("a stage too short for its name", 0.0, 0.01), ("b", 0.01, 1)],
            horizontal={"one": 1.0},
        ),
        "all missing": figure.heatmap(np.full((3, 3), nan), x="x", y="y", value="v"),
        "flat": figure.heatmap(np.ones((1, 200)), x="x", y="y", value="v"),
        "many names": figure.heatmap(
            np.eye(60), x="x", y="y", value="v", rows=[f"row {i}" for i in range(60)], columns=["c"] * 60
        ),
        "no maps": figure.grid(np.zeros((0, 2, 2)), labels=[], x="x", y="y", value="v"),
        "one cell": figure.phase([1], [1], [[nan]], x="x", y="y"),
        "no jump": figure.staircase([0, 1], [1, 1], levels=[1], jumps=[], x="x", y="y"),
        "no bars": figure.bars([], {}, x="x", y="y"),
        "no samples": figure.histogram({"a": []}, x="x"),
        "no circle": figure.circles(np.zeros((0, 2)), x="x", y="y"),
        "log stems": figure.spectrum({"a": [0.0, 1e-3], "b": [1.0, nan]}, at=["p", "q"], x="x", y=log),
        "hostile": figure.curves([Series(HOSTILE, [0, 1], [0, 1])], x=hostile, y=hostile, title=HOSTILE),
    }
