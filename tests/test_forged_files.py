"""A file that is not what was written is refused with a `FileError`, and what is loaded can be used."""

import functools
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest

from firstlight import flow, models, plots, rfm, tasks
from firstlight.probes._result import LayerReport, ProbeResult
from firstlight.probes._verdict import Verdict
from firstlight.records import FigureData, FileError, figure
from firstlight.records.figure import FIGURE_KINDS
from tests.forging import Forger

SOAK = 200
CHECKPOINT = "lane-0-seed-0.safetensors"
X = np.random.default_rng(0).standard_normal((24, 3))


def _estimator(estimator, y):
    def write(path):
        return estimator.fit(X, y).save(path)

    def use(path):
        model = rfm.load(path)
        with np.errstate(all="ignore"):
            assert len(model.predict(X)) == len(X)
            if isinstance(model, rfm.RFMClassifier):
                assert model.predict_proba(X).shape == (len(X), len(model.classes_))
                model.decision_function(X)
            assert model.feature_importances_.shape == (3,)
            for what in ("importances", "matrix", "directions", "history"):
                model.figure_data(what)
            repr(model)
        model.save(path)

    return write, use


def _checkpoint():
    task = tasks.group_task("Z5")
    make = functools.partial(models.TwoLayer.init, inputs=10, width=4, outputs=5)

    def train(folder, steps, resume):
        options = {"recording": flow.Recording(every=2), "snapshots": (2,), "progress": "off", "seeds": (0,)}
        return flow.train(
            make, lambda seed: task.split(0.6, seed=seed), steps=steps, checkpoint=folder, resume=resume, **options
        )

    def write(path):
        train(path.parent, 4, False)
        return (path.parent / CHECKPOINT).rename(path)

    def use(path):
        (path.parent / CHECKPOINT).write_bytes(path.read_bytes())
        assert len(train(path.parent, 8, True).lanes[0].rows) >= 1

    return write, use


def _figures():
    line = figure.Series("a", [1.0, 2.0], [0.5, 0.1], lower=[0.4, 0.0], upper=[0.6, 0.2])
    axes: dict[str, Any] = {"x": "step", "y": "loss"}
    shown = [
        figure.curves([line], stages=[("I", 0.0, 1.0)], horizontal={"floor": 0.1}, **axes),
        figure.staircase([0, 1, 2], [1.0, 0.9, 0.1], levels=[1.0, 0.0], jumps=[1.5], **axes),
        figure.bars(["a", "b"], {"u": [1.0, 2.0]}, errors={"u": [0.1, 0.1]}, **axes),
        figure.histogram({"a": [0.0, 0.0, 1.0]}, x="energy", bins=2),
        figure.heatmap([[1.0, -1.0], [0.0, 1.0]], value="weight", rows=["r", "s"], **axes),
        figure.circles([[1, 0], [0, 1]], **axes),
        figure.phase([10, 20], [0.1, 0.2], [[0, 0.5], [0.5, 1]], theory=[line], **axes),
    ]
    return [*shown, figure.panels(shown[:2])]


def _figure(number):
    def use(path):
        shown = FigureData.load(path)
        assert plots.svg(shown).startswith("<svg")

    return (lambda path: _figures()[number].save(path)), use


def _probe():
    def write(path):
        layer = LayerReport(
            "fc", "Linear", 3, 2, 1, "in", 0.1, "L2", {"FACT": 0.9}, 1.0, 0.1, Verdict("learning", "FACT 0.9"),
            matrices={"NFM": np.eye(3)},
        )  # fmt: skip
        return ProbeResult((layer,), {"bias": "a vector"}, 24, "pearson").save(path)

    def use(path):
        result = ProbeResult.load(path)
        result.table()
        if result.layers:
            result.figure_data()
        result.save(path)

    return write, use


FORMS = {
    "classifier": _estimator(rfm.RFMClassifier(iterations=1), np.arange(24) % 3),
    "labels": _estimator(
        rfm.RFMClassifier(iterations=0, kernel="gaussian"), np.array(["no", "yes"])[np.arange(24) % 2]
    ),
    "regressor": _estimator(rfm.RFMRegressor(iterations=1, kernel="quadratic"), X[:, 0] * X[:, 1]),
    "outputs": _estimator(rfm.RFMRegressor(iterations=0, precision="single"), X[:, :2]),
    "checkpoint": _checkpoint(),
    "probe": _probe(),
    **{_figures()[i].kind: _figure(i) for i in range(len(_figures()))},
}


def _attacked(path, content, use, count, seed):
    """How many forged files were refused and how many could be used; anything else is raised."""
    forger, outcomes = Forger(content, seed), Counter()
    for _ in range(count):
        path.write_bytes(forger())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                use(path)
        except FileError as error:
            outcomes["refused" if len(str(error)) < 2000 else "too long"] += 1
        else:
            outcomes["used"] += 1
    return outcomes


@pytest.mark.parametrize("name", FORMS)
def test_a_forged_file_is_refused_or_can_be_used(tmp_path, name):
    count = 4 if name in FIGURE_KINDS else 16  # drawing takes a tenth of a second
    outcomes = _outcomes(tmp_path, name, count, seed=1)
    assert outcomes["refused"] >= count / 2
    assert not outcomes["too long"]


@pytest.mark.soak
@pytest.mark.parametrize("name", FORMS)
def test_many_forged_files_are_refused_or_can_be_used(tmp_path, name):
    outcomes = _outcomes(tmp_path, name, SOAK, seed=2)
    assert outcomes["refused"] > SOAK / 2
    assert not outcomes["too long"]


def _outcomes(folder, name, count, seed):
    write, use = FORMS[name]
    path = folder / "file.safetensors"
    content = write(path).read_bytes()
    use(path)
    return _attacked(path, content, use, count, seed)
