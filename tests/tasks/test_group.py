"""Group arithmetic against brute force over the elements."""

import itertools
from math import comb

import numpy as np
import pytest

from firstlight import groups
from firstlight.tasks import ENCODINGS, group_task

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("factors", [2, 3])
@pytest.mark.parametrize("name", ["Z5", "S3", "Z2xZ3"])
def test_targets_are_the_products_of_all_tuples_in_order(name: str, factors: int):
    group = groups.parse(name)
    task = group_task(group, factors)
    M, tuples = group.order, list(itertools.product(range(group.order), repeat=factors))
    assert len(task) == M**factors
    for row, (elements, target) in enumerate(zip(tuples, task.targets, strict=True)):
        product = elements[0]
        for g in elements[1:]:
            product = group.table[product, g]
        assert target == product
        assert task.inputs.rows[row].tolist() == [g + j * M for j, g in enumerate(elements)]
    blocks = task.inputs.dense().reshape(-1, factors, M)
    assert np.array_equal(blocks, np.eye(M)[np.array(tuples)])
    assert (task.outputs, task.group, task.encoding) == (M, group, "onehot")
    assert task.is_classification


@pytest.mark.parametrize(("name", "factors"), [("Z5", 2), ("Z37", 2), ("Z2xZ3", 3)])
def test_summed_inputs_of_an_abelian_group_are_unordered_tuples(name: str, factors: int):
    task = group_task(name, factors, encoding="summed")
    M = task.outputs
    assert len(task) == comb(M + factors - 1, factors)
    X = task.inputs.dense()
    assert X.shape == (len(task), M)
    assert len(np.unique(X, axis=0)) == len(task)
    assert (X.sum(axis=1) == factors).all()
    assert (np.diff(task.inputs.rows, axis=1) >= 0).all()
    assert np.array_equal(task.targets, task.group.multiply(*task.inputs.rows.T))


def test_summed_inputs_of_another_group_keep_every_ordered_row():
    task = group_task("S3", encoding="summed")
    assert len(task) == 36
    assert len(np.unique(task.inputs.dense(), axis=0)) == 21


def test_template_is_a_cyclic_shift_on_z_p():
    p, x = 7, RANDOM.normal(size=7)
    task = group_task(f"Z{p}", encoding="template", template=x)
    for row, (a, b) in enumerate(itertools.product(range(p), repeat=2)):
        expected = np.concatenate([np.roll(x, a), np.roll(x, b)])
        assert np.array_equal(task.inputs.take([row]).dense()[0], expected)
        assert np.array_equal(task.targets[row], np.roll(x, a + b))
    # (a·x)[j] = x[j − a] multiplies the transform of x by e^{−2πika/p}.
    shifted = np.fft.fft(task.inputs.dense()[p * 3 + 1][:p])
    np.testing.assert_allclose(shifted, np.fft.fft(x) * np.exp(-2j * np.pi * 3 * np.arange(p) / p), atol=1e-12)
    assert not task.is_classification


@pytest.mark.parametrize("name", ["S3", "Q8", "Z2xZ4"])
def test_template_is_a_left_action_and_the_identity_vector_gives_one_hot(name: str):
    group = groups.parse(name)
    M, x = group.order, RANDOM.normal(size=group.order)
    task = group_task(group, encoding="template", template=x)
    orbit = task.inputs.table[:M, :M]
    assert np.array_equal(orbit[group.identity], x)
    for a, b in itertools.product(range(M), repeat=2):
        # a·(b·x) = (ab)·x
        assert np.array_equal(orbit[b][group.table[group.inverse[a]]], orbit[group.table[a, b]])
        assert np.array_equal(task.targets[a * M + b], orbit[group.table[a, b]])
    unit = group_task(group, encoding="template", template=np.eye(M)[group.identity])
    onehot = group_task(group)
    assert np.array_equal(unit.inputs.dense(), onehot.inputs.dense())
    assert np.array_equal(unit.targets, np.eye(M)[onehot.targets])


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_label_noise_changes_the_stated_number_of_rows_and_spares_the_test(encoding: str):
    template = RANDOM.normal(size=11) if encoding == "template" else None
    clean = group_task("Z11", encoding=encoding, template=template)
    noisy = group_task("Z11", encoding=encoding, template=template, label_noise=0.25, noise_seed=3)
    again = group_task("Z11", encoding=encoding, template=template, label_noise=0.25, noise_seed=3)
    other = group_task("Z11", encoding=encoding, template=template, label_noise=0.25, noise_seed=4)
    wrong = (noisy.targets != clean.targets).reshape(len(clean), -1).any(axis=1)
    assert wrong.sum() == round(0.25 * len(clean))
    assert np.array_equal(noisy.targets, again.targets)
    assert not np.array_equal(noisy.targets, other.targets)
    split = noisy.split(fraction=0.5)
    assert np.array_equal(split.train_targets, noisy.targets[split.train])
    assert np.array_equal(split.test_targets, clean.targets[split.test])


def test_noisy_labels_are_uniform_over_the_other_classes():
    clean, noisy = group_task("Z5xZ6"), group_task("Z5xZ6", label_noise=0.99)
    shifts = (noisy.targets - clean.targets) % 30
    counts = np.bincount(shifts[shifts != 0], minlength=30)[1:]
    # χ² with 28 degrees of freedom: mean 28, standard deviation √56.
    assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 28 + 4 * np.sqrt(56)


def test_sampling_by_row_by_tuple_and_by_element_agree():
    p = RANDOM.random(5)
    by_element = group_task("Z5", sampling=p).sampling
    assert np.allclose(by_element.reshape(5, 5), np.outer(p, p) / p.sum() ** 2)
    assert np.allclose(group_task("Z5", sampling=np.outer(p, p)).sampling, by_element)
    assert np.allclose(group_task("Z5", sampling=np.outer(p, p).ravel()).sampling, by_element)
    summed = group_task("Z5", encoding="summed", sampling=p)
    for (a, b), weight in zip(summed.inputs.rows, summed.sampling, strict=True):
        assert np.isclose(weight, (1 if a == b else 2) * p[a] * p[b] / p.sum() ** 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"group": "Zz5"}, r"unknown group"),
        ({"factors": 1}, r"factors must be at least 2, got 1"),
        ({"factors": 20}, r"20 factors of Z5 make 95,367,431,640,625 rows.*fewer factors"),
        (
            {"encoding": "onehott"},
            r"unknown encoding 'onehott'; did you mean 'onehot'\? Known: onehot, summed",
        ),
        ({"encoding": "template"}, r"needs a template of 5 numbers.*template=None"),
        ({"template": [1.0] * 5}, r"only it, needs a template.*encoding='onehot'"),
        ({"encoding": "template", "template": [1.0, 2.0]}, r"template must be 5 finite numbers.*got \(2,\)"),
        ({"encoding": "template", "template": [np.nan] * 5}, r"5 finite numbers"),
        ({"label_noise": 1.0}, r"label_noise must lie in \[0, 1\), got 1.0"),
        ({"label_noise": -0.1}, r"got -0.1"),
        ({"sampling": np.ones(3)}, r"sampling must have shape \(25,\), \(5, 5\) or \(5,\), got \(3,\)"),
        ({"sampling": -np.ones(25)}, r"25 finite numbers ≥ 0"),
        ({"sampling": np.zeros(25)}, r"not all 0"),
    ],
)
def test_bad_options_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        group_task(**{"group": "Z5", **arguments})
