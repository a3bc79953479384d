"""Each column of the lens against its definition, written out with full matrices in float64."""

import functools

import jax
import numpy as np
import pytest

from firstlight import features, flow, groups, models, tasks
from firstlight.features import dominates
from firstlight.records import RunRecord, RunSpec, Table
from firstlight.theories import li2
from firstlight.theories.li2 import _lens as view
from firstlight.theories.li2 import _observe as lens
from tests.tolerances import rounding


@functools.cache
def seen(activation="quadratic", group="S3", deep=False):
    task = tasks.group_task(group)
    split = task.split(fraction=0.7, seed=1)
    inputs, M = task.inputs.dim, task.outputs
    if deep:
        make = functools.partial(models.Deep.init, inputs=inputs, widths=(20, 16), outputs=M, activation=activation)
    else:
        make = functools.partial(models.TwoLayer.init, inputs=inputs, width=20, outputs=M, activation=activation)
    model, previous = make(jax.random.key(0)), make(jax.random.key(1))
    return model, previous, split, li2.read(model, split, previous=previous)


def dense(model, split, activation):
    X = split.train_inputs.dense()
    Y = np.eye(split.task.outputs)[split.train_targets]
    sigma, _ = features.numpy_activation(activation)
    weights = (model.W, model.V) if model.hidden_units is not None else model.weights
    F = X
    for W in weights[:-1]:
        F = sigma(F @ np.asarray(W, np.float64))
    return X, Y, F, [np.asarray(W, np.float64) for W in weights]


@pytest.mark.parametrize(
    ("activation", "group", "deep"), [("quadratic", "S3", False), ("relu", "Z7", False), ("silu", "Q8", True)]
)
def test_every_column_is_what_it_says(activation, group, deep):
    model, previous, split, values = seen(activation, group, deep)
    _, Y, F, weights = dense(model, split, activation)
    V, W = weights[-1], weights[0]
    centred = lambda A: A - A.mean(0)  # noqa: E731
    G, ideal = features.feature_gradient(F, Y, V), centred(Y) @ (centred(Y).T @ F)
    assert values["li2.G_F"] == pytest.approx(np.linalg.norm(G), rel=1e-10)
    cosine = np.sum(G * ideal) / np.linalg.norm(G) / np.linalg.norm(ideal)
    assert values["li2.alignment"] == pytest.approx(cosine, rel=1e-9)
    n = len(F)
    for name, gram in {"nodes": centred(F).T @ centred(F), "samples": (np.eye(n) - 1 / n) @ F @ F.T}.items():
        off = gram - np.diag(np.diag(gram))
        mean = np.abs(off).sum() / (off.size - len(off)) / np.abs(np.diag(gram)).mean()
        assert values[f"li2.off_{name}"] == pytest.approx(mean, rel=1e-9)
        whole = np.linalg.norm(off) / np.linalg.norm(gram)
        assert values[f"li2.off_{name}_norm"] == pytest.approx(whole, rel=1e-9)
    before = np.asarray(previous.V if not deep else previous.weights[-1], np.float64)
    distance = 1 - np.sum(V * before) / np.linalg.norm(V) / np.linalg.norm(before)
    assert values["li2.step_V"] == pytest.approx(distance, rel=1e-9)
    content = features.irrep_content(W, split.task.group)
    np.testing.assert_allclose(values["li2.content"], content, atol=1e-12)
    if deep:
        assert values["li2.energy"] == pytest.approx(np.mean(values["li2.energies"]))
    purity = np.average(content[:, 1:].max(1), weights=(W**2).sum(0))
    assert values["li2.purity"] == pytest.approx(purity)
    np.testing.assert_allclose(values["li2.irreps"], np.average(content, axis=0, weights=(W**2).sum(0)), rtol=1e-9)


def test_energies_are_those_of_unit_nodes_where_the_activation_is_homogeneous():
    for activation in ("quadratic", "relu"):
        model, _, split, values = seen(activation, "S3")
        W = np.asarray(model.W, np.float64)
        E = features.energy(W / np.linalg.norm(W, axis=0), split.task.group, activation, rows=split.train)
        np.testing.assert_allclose(values["li2.energies"], E, rtol=1e-9)
        assert values["li2.energy"] == pytest.approx(np.average(E, weights=(W**2).sum(0)))


def test_repulsion_is_the_share_of_the_other_nodes():
    model, _, split, _ = seen()
    _, _, F, _ = dense(model, split, "quadratic")
    eta = 0.05
    centred = F - F.mean(0)
    B = li2.lemmas.repulsion_matrix(F, eta)
    own = np.linalg.norm(centred * np.diag(B), axis=0)
    others = np.linalg.norm(centred @ B - centred * np.diag(B), axis=0)
    assert lens.repulsion(centred.T @ centred, eta) == pytest.approx(np.mean(others / own), rel=1e-8)


def test_the_ridge_is_read_off_a_ridge_solution():
    model, _, split, _ = seen()
    _, Y, F, _ = dense(model, split, "quadratic")
    with jax.enable_x64(True):
        V = features.ridge(F, Y, 0.3)
        net = models.TwoLayer(np.asarray(model.W, np.float64), V, activation="quadratic")
    assert li2.read(net, split)["li2.ridge"] == pytest.approx(0.3, rel=1e-8)


def test_a_sample_of_nodes_stands_for_all():
    task = tasks.group_task("Z13")
    model = models.TwoLayer.init(jax.random.key(0), inputs=26, width=599, outputs=13)
    exact = li2.read(model, task)
    Y = jax.nn.one_hot(task.targets, 13)

    @jax.jit
    def look(net):
        seen = lens.see_in_blocks(net.hidden_units, task.inputs, Y, 256, net.apply(task.inputs.project))
        return lens.measure(net, net, seen, Y, task.group)

    some = look(model)
    assert set(some) == set(exact) | {"li2.step_V", "li2.step_W"}
    for name in ("li2.off_nodes", "li2.off_nodes_norm", "li2.off_samples", "li2.off_samples_norm"):
        assert float(some[name]) == pytest.approx(exact[name], rel=0.06), name
    for name in ("li2.G_F", "li2.alignment", "li2.energy", "li2.purity"):
        assert float(some[name]) == pytest.approx(exact[name], rel=2e-3, abs=2e-3), name
    assert some["li2.content"].shape == (lens.SHOWN, 7)


def test_the_lens_says_where_it_does_not_apply():
    def refusal(**fields):
        return li2.LENSES[0].reason_not_applicable(RunSpec.model_validate(fields))

    assert refusal() == "" == refusal(model={"kind": "deep"}) == refusal(task={"group": "S4"})
    assert "the task is parity" in refusal(task={"kind": "parity"})
    assert "the loss is cross_entropy" in refusal(loss={"kind": "cross_entropy"})
    with pytest.raises(ValueError, match="inputs of dimension 12, the task Z7 has 14"):
        li2.read(seen()[0], tasks.group_task("Z7"))
    with pytest.raises(ValueError, match="the model has 3 outputs, the task S3 has 6"):
        li2.read(models.TwoLayer(np.ones((12, 4)), np.ones((4, 3))), tasks.group_task("S3"))


@pytest.mark.filterwarnings("error")
def test_weights_of_zero_have_no_repulsion_and_nothing_overflows():
    for scale in (0.0, 1e-160):
        net = models.TwoLayer(np.full((12, 4), scale), np.full((4, 6), scale))
        values = li2.read(net, tasks.group_task("S3"))
        assert all(np.isfinite(v).all() for v in values.values())
        assert values["li2.repulsion"] == 0
    for G in (np.zeros((3, 3)), np.full((3, 3), 1e-300), 1e300 * np.eye(3)):
        assert np.isfinite(lens.repulsion(G, 1.0))


@pytest.mark.parametrize("K", [3, 131])
def test_any_width_is_seen_in_few_blocks(K):
    """Prime widths too: padded nodes leave no trace, also where σ(0) is not 0 and with biases."""
    task, random = tasks.group_task("Z3"), np.random.default_rng(K)
    W, V, b = (random.standard_normal(shape) for shape in ((6, K), (K, 3), (K,)))
    net = models.TwoLayer(W, V, b=b, activation="sigmoid")
    Y = np.asarray(np.eye(3)[task.targets], np.float32)
    whole = lens.see(np.asarray(net.features(task.inputs.project)), np.asarray(net.V), Y, 256)
    blocks = lens.see_in_blocks(
        net.hidden_units, task.inputs, jax.numpy.asarray(Y), 256, net.apply(task.inputs.project)
    )
    for mine, theirs in zip(blocks, whole, strict=True):
        error = rounding(max(1, np.abs(theirs).max()), K, np.float32)
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=error)


def test_purity_and_rule_are_told_against_chance():
    """Random nodes on A4 are 75 % one irrep, and a share above one half would rule 97 % of them."""
    group = groups.parse("A4")
    W = np.random.default_rng(0).standard_normal((24, 256))
    content = features.irrep_content(W, group)
    nodes = np.stack([dominates(content, group).mean(0)] * 2)
    table = Table([0, 10], _columns(purity=features.purity(content).mean()) | {"li2.nodes": nodes})
    summary = li2.LENSES[0].summarise(_record("A4", table))
    assert summary["learned_irreps"] == 0
    assert summary["chance_purity"] == pytest.approx(0.75, abs=0.01)
    assert "The strongest irrep of a hidden unit holds 76% of its weights (75% by chance)" in summary["story"]
    assert "no irrep dominates more hidden units than chance would give" in summary["story"]
    assert (content > 0.5).any(1).mean() > 0.9


def _columns(purity):
    flat = dict.fromkeys(("G_F", "alignment", "repulsion", "ridge", "step_V"), np.zeros(2))
    columns = {f"li2.{name}": values for name, values in (flat | {"purity": np.full(2, purity)}).items()}
    return columns | {"train_accuracy": np.ones(2), "test_accuracy": np.zeros(2)}


def test_the_decay_of_a_loss_becomes_the_ridge_of_the_paper():
    task = tasks.group_task("Z5")
    loss = flow.Loss(projection="samples", reduction="mean", factor=0.7)
    decay = 0.02
    eta = li2.decay_ridge(len(task), decay, loss)
    X, Y = task.inputs.dense(), np.eye(5)[task.targets]
    F = (X @ np.random.default_rng(0).normal(size=(10, 8))) ** 2
    V = features.ridge(F, Y, eta)
    with jax.enable_x64(True):
        y = jax.numpy.asarray(task.targets)
        total = lambda V: flow.objective(F @ V, y, loss) + 0.5 * decay * jax.numpy.sum(V**2)  # noqa: E731
        assert abs(np.asarray(jax.grad(total)(jax.numpy.asarray(V)))).max() < 1e-12


def test_components_have_labels_for_every_group():
    for name in ("D5", "Z2xZ3"):
        assert len(view._labels(_record(name))) == len(groups.parse(name).real_components())


def test_the_ridge_of_a_decay_counts_samples_as_the_split_does():
    spec = {"task": {"group": "Z10", "split": {"fraction": 0.29}}, "optimizer": {"weight_decay": 2e-3}}
    record = RunRecord(spec=RunSpec.model_validate(spec), status="finished")
    assert view._decay(record) == pytest.approx(29 * 1e-3)


def _record(group, table=None):
    spec = RunSpec.model_validate({"task": {"group": group}, "model": {"width": 256}})
    return RunRecord(spec=spec, status="finished", **({} if table is None else {"table": table}))
