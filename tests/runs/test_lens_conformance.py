"""Every lens keeps one contract: columns, figures, words for time, plain sentences, a verdict, and its cost."""

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest

from firstlight import flow, runs
from firstlight.records import FigureData, RunRecord, RunSpec, Table, TheoryVerdict, figure

LENSES = runs.lenses()

PREFIXES = {"norms": ("norm.", "step_norm.")}
"""Columns that are not called after their lens: `flow` offers these observables without a lens."""

NAN_COLUMNS = {"manifold.distance", "manifold.tangential", "manifold.descent"}
"""Columns documented to hold NaN at the recorded steps that are not measured."""

STANDARD = {"train_loss", "test_loss", "train_accuracy", "test_accuracy"}

PLAIN = re.compile(r"[A-Za-z0-9 .,;:()/%+\-–'’\[\]=_^]+")
"""Letters, digits and punctuation: no Greek, no norms, no subscripts."""

NAMES = ("Li₂", "⊕")
"""Signs that a page defines: the name of a theory, and labels of irreps."""

TASK = {"group": "Z5", "split": {"fraction": 0.7}}
SPECS = {
    "Z5 by Adam": {
        "task": TASK,
        "model": {"width": 24},
        "optimizer": {"learning_rate": 0.01, "weight_decay": 1e-3},
    },
    "Z5 by AdamW on batches": {
        "task": TASK,
        "model": {"width": 8},
        "optimizer": {"name": "adamw", "learning_rate": 0.01, "weight_decay": 0.1, "batch_size": 8},
    },
    "S3 in depth": {
        "task": {"group": "S3", "split": {"fraction": 0.7}},
        "model": {"kind": "deep", "widths": [32, 32]},
        "optimizer": {"name": "sgd", "learning_rate": 0.2, "weight_decay": 1e-3},
    },
    "Z5 by a transformer": {
        "task": TASK,
        "model": {"kind": "transformer", "width": 16, "heads": 4, "mlp": 24},
        "optimizer": {"name": "adamw", "learning_rate": 0.01, "weight_decay": 1.0},
    },
    "S3 by a transformer on batches, by cross-entropy": {
        "task": {"group": "S3", "split": {"fraction": 0.7}},
        "model": {"kind": "transformer", "width": 8, "heads": 2, "mlp": 0},
        "loss": {"kind": "cross_entropy", "projection": "none"},
        "optimizer": {"name": "adamw", "learning_rate": 0.01, "weight_decay": 1.0, "batch_size": 8},
    },
    "S3 by an embedding MLP": {
        "task": {"group": "S3", "split": {"fraction": 0.7}},
        "model": {"kind": "embedding", "width": 32, "embedding": 8},
        "optimizer": {"name": "sgd", "learning_rate": 0.2, "weight_decay": 1e-3},
    },
    "parity from small weights": {
        "task": {"kind": "parity", "dimension": 6, "samples": 40},
        "loss": {"projection": "none"},
        "model": {"width": 16, "scale": 0.01},
        "optimizer": {"name": "sgd", "learning_rate": 0.05},
        "recording": {"points": 20},
    },
    "arrays": {
        "task": {"kind": "arrays"},
        "loss": {"projection": "none"},
        "model": {"width": 16, "activation": "tanh"},
        "optimizer": {"name": "sgd", "learning_rate": 0.05, "weight_decay": 1e-2, "batch_size": 10},
    },
}


def _spec(name: str, folder) -> RunSpec:
    """The spec with every lens that applies to it."""
    fields = {"recording": {"every": 4}, "steps": 80, **SPECS[name]}
    if name == "arrays":
        X = np.random.default_rng(0).standard_normal((40, 5))
        np.savez(folder / "rows.npz", X=X, y=X[:, :1] * X[:, 1:2])
        fields["task"] = {"kind": "arrays", "path": str(folder / "rows.npz")}
    spec = RunSpec.model_validate(fields)
    reasons = {lens: LENSES[lens].reason_not_applicable(spec) for lens in LENSES}
    assert all(isinstance(reason, str) for reason in reasons.values())
    return spec.model_copy(update={"lenses": tuple(lens for lens, reason in reasons.items() if not reason)})


def _other_clock(spec: RunSpec) -> re.Pattern:
    return re.compile(rf"\b{ {'epoch': 'step', 'step': 'epoch'}[spec.clock] }s?\b", re.IGNORECASE)


def _panels(shown: FigureData) -> tuple[FigureData, ...]:
    return tuple(figure.unpack_panels(shown)) if shown.kind == "panels" else (shown,)


def _leaves(value, kind: type) -> Iterator:
    """Every value of one type inside nested mappings and sequences."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(key, kind)
            yield from _leaves(item, kind)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item, kind)


def _is_plain(sentence: str) -> bool:
    for sign in NAMES:
        sentence = sentence.replace(sign, "")
    return bool(PLAIN.fullmatch(sentence))


def columns(lens: flow.Lens, record: RunRecord) -> Iterator[str]:
    """A lens has columns of its own, with a row for each recorded step and NaN only where documented."""
    table, prefixes = record.table, PREFIXES.get(lens.name, (f"{lens.name}.",))
    own = [column for column in table.columns if column.startswith(prefixes)]
    if not own:
        yield "recorded no column"
    known = tuple(p for name in record.spec.lenses for p in PREFIXES.get(name, (f"{name}.",)))
    yield from (f"column {c} of no lens" for c in set(table.columns) - STANDARD if not c.startswith(known))
    for column in own:
        if len(table[column]) != len(table.step):
            yield f"{column} has {len(table[column])} rows"
        if column not in NAN_COLUMNS and np.isnan(table[column]).any():
            yield f"{column} holds NaN"


def figures(lens: flow.Lens, record: RunRecord) -> Iterator[str]:
    """Figures have titles, and an axis of time labelled with the clock of the run."""
    shown = lens.figure_data(record)
    if not shown:
        yield "draws nothing"
        return
    panels = [panel for parts in shown for panel in _panels(parts)]
    yield from ("a figure without title" for drawn in (*shown, *panels) if not drawn.title)
    texts = [text for drawn in (*shown, *panels) for text in _leaves(drawn.header(), str)]
    if record.spec.clock not in texts:
        yield f"no axis is labelled {record.spec.clock}"
    yield from (f"a figure says {text!r}" for text in (*texts, lens.title) if _other_clock(record.spec).search(text))


def summary(lens: flow.Lens, record: RunRecord) -> Iterator[str]:
    """A summary holds no NaN and a story in plain words, with one word for time."""
    values = lens.summarise(record)
    if any(math.isnan(number) for number in _leaves(values, float)):
        yield "the summary holds NaN"
    story = values.get("story", "")
    if not _is_plain(story):
        yield f"the story is not plain: {story!r}"
    yield from (f"the summary says {text!r}" for text in _leaves(values, str) if _other_clock(record.spec).search(text))


def verdict(lens: flow.Lens, record: RunRecord) -> Iterator[str]:
    """A theory's lens gives a verdict in plain words, kept in the record, that names one of its figures."""
    given = lens.verdict(record)
    if lens.name == "norms":  # a measurement without a theory
        return
    if not isinstance(given, TheoryVerdict) or given.theory != lens.name or given not in record.verdicts:
        yield f"the verdict is {given!r}"
        return
    texts = f"{given.predicted} {given.measured} {given.sentence}"
    if given.agrees != "does not apply" and not (given.predicted and given.measured):
        yield "a verdict needs a prediction and a measurement"
    if not _is_plain(given.sentence) or not given.sentence.endswith("."):
        yield f"the sentence is not plain: {given.sentence!r}"
    if _other_clock(record.spec).search(texts) or "nan" in texts:
        yield f"the verdict says {texts!r}"
    if given.look_at not in ("", *(shown.title for shown in lens.figure_data(record))):
        yield f"no figure is called {given.look_at!r}"


def without_rows(lens: flow.Lens, record: RunRecord) -> Iterator[str]:
    """A run that recorded nothing has no figure and no verdict; a run of NaN raises nothing."""
    empty = RunRecord(spec=record.spec, status="interrupted")
    if lens.verdict(empty) is not None or lens.figure_data(empty) != ():
        yield "a run without rows has a verdict or a figure"
    if not isinstance(lens.summarise(empty), Mapping):
        yield "a run without rows has no summary"
    gone = {name: np.full(np.shape(column), np.nan) for name, column in record.table.columns.items()}
    given = lens.verdict(record.model_copy(update={"table": Table(record.table.step, gone)}))
    if given is not None and "nan" in f"{given.predicted} {given.measured} {given.sentence}":
        yield f"a run of NaN has the verdict {given!r}"


def cost(lens: flow.Lens, record: RunRecord) -> Iterator[str]:
    """Summary, figures and verdict of a hundred rows take less than a second."""
    rows = np.sort(np.resize(np.arange(len(record.table)), 100))
    longer = {name: np.asarray(column)[rows] for name, column in record.table.columns.items()}
    long = record.model_copy(update={"table": Table(np.arange(100), longer)})

    def seconds() -> float:
        start = time.process_time()
        for function in (lens.summarise, lens.figure_data, lens.verdict):
            function(long)
        return time.process_time() - start

    # The first call may compile.
    if seconds() >= 1.0 and (least := min(seconds() for _ in range(2))) >= 1.0:
        yield f"a hundred rows take {least:.1f} s"


RULES: tuple[Callable[[flow.Lens, RunRecord], Iterator[str]], ...] = (
    columns,
    figures,
    summary,
    verdict,
    without_rows,
    cost,
)


@pytest.mark.parametrize("name", SPECS)
def test_every_lens_that_applies_keeps_the_contract(name, tmp_path):
    record = runs.run(_spec(name, tmp_path), progress="off")
    assert record.status == "finished"
    assert len(record.table) > 3
    problems = [
        f"{lens}: {problem}" for lens in record.spec.lenses for rule in RULES for problem in rule(LENSES[lens], record)
    ]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("name", "lenses"),
    {
        "Z5 by a transformer": {"norms", "manifold", "fact", "progress"},
        "S3 by a transformer on batches, by cross-entropy": {"norms", "fact", "progress"},
        "S3 by an embedding MLP": {"norms", "manifold", "fact", "progress"},
    }.items(),
)
def test_the_other_lenses_give_a_reason_for_networks_that_embed_their_inputs(name, lenses, tmp_path):
    spec = _spec(name, tmp_path)
    assert set(spec.lenses) == lenses
    for lens in set(LENSES) - lenses:
        assert LENSES[lens].reason_not_applicable(spec)


def test_fact_is_measured_on_every_matrix_of_a_transformer(tmp_path):
    spec = _spec("Z5 by a transformer", tmp_path).model_copy(update={"steps": 4, "lenses": ("fact",)})
    record = runs.run(spec, progress="off")
    measured = {column.split(".")[1] for column in record.table.columns if column.endswith(".fact")}
    assert measured == {"W_E", "W_pos", "W_Q", "W_K", "W_V", "W_O", "W_in", "W_out", "W_U"}


def test_every_lens_meets_both_clocks_or_cannot(tmp_path):
    specs = [_spec(name, tmp_path) for name in SPECS]
    met = {(lens, spec.clock) for spec in specs for lens in spec.lenses}
    assert met == {(lens, clock) for lens in LENSES for clock in ("epoch", "step")}


def test_the_rules_find_what_they_forbid():
    table = Table([0, 10], {"bad.size": [1.0, math.nan], "train_loss": [1.0, 0.5]})
    spec = RunSpec(lenses=("bad",))
    record = RunRecord(spec=spec, status="finished", table=table)
    series = [figure.Series("size", table.step, [1.0, 2.0])]
    given = TheoryVerdict(theory="bad", agrees="yes", sentence="‖θ‖ fell", look_at="Nowhere")
    bad = flow.Lens(
        name="bad",
        title="A bad lens",
        summarise=lambda record: {"size": math.nan, "story": "after 10 steps ‖θ‖ = 1"},
        figure_data=lambda record: (figure.curves(series, x="step", y="size", title="Size"),),
        verdict=lambda record: given,
    )
    problems = {rule.__name__: list(rule(bad, record)) for rule in RULES}
    assert problems["columns"] == ["bad.size holds NaN"]
    assert problems["figures"] == [
        "no axis is labelled epoch",
        *["a figure says 'step'"] * len(problems["figures"][1:]),
    ]
    assert len(problems["summary"]) == 3
    assert "not in record" not in problems["verdict"][0]
    assert problems["without_rows"][0] == "a run without rows has a verdict or a figure"
    verdicts = list(verdict(bad, record.model_copy(update={"verdicts": (given,)})))
    assert [problem.split(":")[0] for problem in verdicts] == [
        "a verdict needs a prediction and a measurement",
        "the sentence is not plain",
        "no figure is called 'Nowhere'",
    ]
