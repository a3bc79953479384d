"""Reading networks: crafted ones exactly, trained ones into blocks that sum to their nodes."""

import functools

import numpy as np
import pytest

from firstlight import flow, models, runs, tasks
from firstlight.groups import cyclic, parse, symmetric
from firstlight.records import spec_from_mapping
from firstlight.theories.cogo import Solution, craft, fourier_four, fourier_six, order_census, table_loss
from firstlight.theories.cogo.lemmas import observe_potentials
from tests.tolerances import rounding


def shuffled(solution, seed):
    """The same network with its nodes permuted and the sign of (a, b) of some changed."""
    rng = np.random.default_rng(seed)
    W, V = solution.weights
    order = rng.permutation(W.shape[1])
    return (W * rng.choice([-1, 1], W.shape[1]))[:, order], V[order]


@pytest.mark.parametrize("name", ["Z11", "Z12", "Z4xZ6"])
@pytest.mark.parametrize(("kind", "block"), [("F6", "F6"), ("F4", "F4"), ("F4+repair", "F4")])
def test_crafted_networks_are_read_back(name, kind, block):
    group = parse(name)
    census = order_census(*shuffled(craft(group, kind, seed=1), 0), group)
    real = len(census.solution.frequencies.real)
    assert census.counts == {block: len(census.groups) - real} | ({"real": real} if real else {})
    assert max(g.residual for g in census.groups) < 1e-12
    assert np.allclose([g.amplitude for g in census.groups], 1)
    assert len(census.idle) == len(census.constant) == (2 if kind == "F4+repair" else 0)
    if kind != "F4+repair":
        assert census.distance < 1e-7


def test_the_census_does_not_see_how_nodes_are_scaled():
    group, rng = cyclic(11), np.random.default_rng(0)
    W, V = shuffled(craft(group, "F4+F6", seed=3), 0)
    s = 10.0 ** rng.uniform(-1.5, 1.5, W.shape[1])
    # Nodes without an output do not count, however large.
    dead = 10 * rng.standard_normal((22, 2))
    census = order_census(
        np.concatenate([W * s, dead], axis=1), np.concatenate([V / s[:, None] ** 2, np.zeros((2, 11))]), group
    )
    assert census.counts == {"F4": 4, "F6": 1}
    assert max(g.residual for g in census.groups if g.name == "F4") < 1e-12
    assert census.idle == (22, 23)


def test_factors_multiply_to_the_block_up_to_signs():
    group = cyclic(7)
    optimizer = fourier_six(group, 1, 0.3, 0.4, 0.7) + fourier_four(group, 2, 1.0, 5.0) + fourier_six(group, 3)
    for block in order_census(*shuffled(optimizer, 1), group).groups:
        first, second = block.factors.values()
        product, own = first * second, block.fit
        # (−a, −b) is the same node: compare what does not see the sign.
        assert even(product) == even(own)


def even(solution):
    a, b, c = solution.z
    return Solution(solution.group, np.stack([a * a, a * b, c]))


@pytest.fixture(scope="module")
def trained():
    task = tasks.group_task("Z23")
    make = functools.partial(models.TwoLayer.init, inputs=46, width=128, outputs=23)
    optimizer = flow.Optimizer(learning_rate=0.02, weight_decay=5e-4, schedule=flow.Schedule(shape="cosine"))
    run = flow.train(
        make,
        task.split(fraction=1.0),
        optimizer=optimizer,
        steps=1500,
        recording=flow.Recording(every=1500),
        observables=(flow.standard, observe_potentials),
        progress="off",
    )
    return run.lanes[0]


def test_a_trained_network_is_blocks_of_four_and_six_that_sum_to_its_nodes(trained):
    group = cyclic(23)
    census = order_census(trained.model.W, trained.model.V, group)
    assert set(census.counts) <= {"F4", "F6", "F6′"}
    assert sum(census.counts.values()) == 11
    nodes = sorted(node for g in census.groups for node in g.hidden_units)
    assert not census.shared
    assert sorted([*nodes, *census.idle]) == list(range(128))
    assert {g.order for g in census.groups} == {4, 6}
    # Idle nodes are dead, so the groups alone are the network, and the recognised blocks are most of it.
    alive = census.solution.select(nodes)
    W, V = (np.asarray(part, float) for part in (trained.model.W, trained.model.V))
    assert np.isclose(table_loss(*alive.weights, group), table_loss(W, V, group), atol=1e-5)
    assert census.distance < 0.2
    assert "F4" in census._repr_html_() or "pair" in census._repr_html_()


def test_the_observable_says_what_the_census_says(trained):
    census = order_census(trained.model.W, trained.model.V, cyclic(23))
    row = trained.rows[-1]
    assert tuple(row["cogo.orders"].astype(int)) == census.orders
    limit = 22 / 46
    assert 0.95 < float(row["cogo.sum_diagonal"]) / limit < 1
    a, _, c = census.solution.z
    halves = list(census.solution.frequencies.halves)
    terms = np.abs(a[halves]) ** 2 * c[halves]
    error = rounding(np.abs(terms).max(), terms.shape[1], np.float32)
    np.testing.assert_allclose(row["cogo.a0kk"], np.abs(np.sum(terms, axis=1)), rtol=0, atol=error)


def test_the_lens_summarises_and_refuses():
    spec = {"model": {"width": 32}, "steps": 20, "lenses": ["cogo"]}
    record = runs.run(spec_from_mapping(spec | {"task": {"group": "Z5"}}), progress="off")
    assert sum(record.summary["cogo"][f"order_{n}"] for n in (0, 4, 6, "other")) == 2
    assert "potentials of matching frequencies sum to" in record.summary["cogo"]["story"]
    assert len(record.figures) >= 3  # the learning curves are one figure
    for change, reason in [({"task": {"group": "S3"}}, "needs an Abelian group, and S3 is not one")]:
        with pytest.raises(ValueError, match=reason):
            runs.run(spec_from_mapping(spec | change), progress="off")


def test_errors_name_what_is_needed():
    with pytest.raises(ValueError, match="threshold is a share of the amplitude, between 0 and 1; got 2"):
        order_census(np.zeros((10, 2)), np.zeros((2, 5)), cyclic(5), threshold=2.0)
    with pytest.raises(ValueError, match="weights must be finite"):
        order_census(np.full((10, 2), np.inf), np.zeros((2, 5)), cyclic(5))
    with pytest.raises(ValueError, match="Abelian"):
        order_census(np.zeros((12, 2)), np.zeros((2, 6)), symmetric(3))
    empty = order_census(np.zeros((10, 2)), np.zeros((2, 5)), cyclic(5))
    assert empty.orders == (0, 0)
    assert empty.counts == {"none": 2}
    assert empty.distance == 0
    assert empty.idle == (0, 1)
