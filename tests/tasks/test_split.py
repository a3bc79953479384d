"""Splits: sizes of the papers, seeds, nesting, stratification, weights, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.tasks import DenseInputs, Split, Task, from_arrays, group_task

Z5 = group_task("Z5")


def classes_of(sizes: list[int]) -> Task:
    targets = np.repeat(np.arange(len(sizes)), sizes)
    return Task("classes", DenseInputs(np.zeros((len(targets), 1))), targets, outputs=len(sizes))


@pytest.mark.parametrize(
    ("name", "encoding", "fraction", "count"),
    [
        ("Z71", "onehot", 0.4, 2016),  # Li₂, Figure 2
        ("Z127", "onehot", 0.2, 3225),  # Li₂, Figure 5
        ("Z61", "onehot", 0.5, 1860),  # FACT, modular addition
        ("Z37", "summed", 0.7, 492),  # geometry of grokking, Section 7
        ("Z10", "onehot", 0.29, 29),  # 0.29·100 = 28.999999999999996
    ],
)
def test_fractions_give_the_sizes_of_the_papers(name: str, encoding: str, fraction: float, count: int):
    split = group_task(name, encoding=encoding).split(fraction=fraction)
    assert (len(split.train), len(split.train_targets), len(split.train_inputs)) == (count,) * 3
    assert len(split.test) == len(split.task) - count


@given(st.integers(1, 24), st.integers(0, 1000), st.booleans())
def test_a_split_is_a_partition_and_is_repeated_by_its_seed(count: int, seed: int, stratified: bool):
    split = Z5.split(count=count, seed=seed, stratified=stratified)
    again = Z5.split(count=count, seed=seed, stratified=stratified)
    assert len(split.train) == count
    assert np.array_equal(np.sort(np.concatenate([split.train, split.test])), np.arange(25))
    assert np.array_equal(split.train, np.sort(split.train))
    assert np.array_equal(split.train, again.train)
    assert np.array_equal(split.test_targets, Z5.targets[split.test])
    assert np.array_equal(split.test_inputs.rows, Z5.inputs.rows[split.test])


@given(st.integers(1, 24), st.integers(1, 24), st.integers(0, 1000))
def test_smaller_splits_are_nested_in_larger_ones(a: int, b: int, seed: int):
    small, large = (set(Z5.split(count=c, seed=seed).train.tolist()) for c in sorted((a, b)))
    assert small <= large


def test_every_row_is_equally_likely_and_seeds_differ():
    draws = np.zeros(25)
    for seed in range(2000):
        draws[Z5.split(fraction=0.4, seed=seed).train] += 1
    # Binomial(2000, 0.4): standard deviation 21.9 per row; four of them.
    assert np.abs(draws - 800).max() < 4 * np.sqrt(2000 * 0.4 * 0.6)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=6), st.data())
def test_stratified_counts_are_the_shares_rounded_and_sum_to_the_count(sizes: list[int], data):
    task = classes_of(sizes)
    count = data.draw(st.integers(1, len(task) - 1))
    split = task.split(count=count, seed=data.draw(st.integers(0, 99)), stratified=True)
    assert len(split.train) == count
    shares = count * np.array(sizes) / len(task)
    counts = np.bincount(split.train_targets, minlength=len(sizes))
    assert (np.abs(counts - shares) < 1).all()


def test_stratified_ties_are_broken_by_lot():
    extra = np.zeros(7)
    for seed in range(200):
        counts = np.bincount(group_task("Z7").split(count=24, seed=seed, stratified=True).train_targets)
        assert sorted(counts) == [3, 3, 3, 3, 4, 4, 4]
        extra += counts == 4
    # Each class gets one of the three extra rows in 3/7 of the draws; four standard errors.
    assert np.abs(extra / 200 - 3 / 7).max() < 4 * np.sqrt(3 / 7 * 4 / 7 / 200)


def test_weighted_draws_follow_p_and_never_take_rows_of_probability_zero():
    p = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    task = Task("p", DenseInputs(np.zeros((5, 1))), np.array([0, 0, 1, 1, 1]), outputs=2, sampling=p)
    first = np.bincount([task.split(count=1, seed=s).train[0] for s in range(3000)], minlength=5) / 3000
    q = p / p.sum()
    assert (np.abs(first - q) <= 4 * np.sqrt(q * (1 - q) / 3000)).all()
    # Without replacement: P({3, 4}) = q₃q₄/(1−q₃) + q₃q₄/(1−q₄).
    pairs = np.mean([task.split(count=2, seed=s).train.tolist() == [3, 4] for s in range(3000)])
    expected = q[3] * q[4] * (1 / (1 - q[3]) + 1 / (1 - q[4]))
    assert abs(pairs - expected) < 4 * np.sqrt(expected * (1 - expected) / 3000)
    assert task.split(count=4, stratified=True).test.tolist() == [0]
    with pytest.raises(ValueError, match=r"5 training rows were asked for, but only 4 of 5 rows"):
        task.split(fraction=1)


def test_the_full_table_is_allowed_only_on_purpose():
    split = Z5.split(fraction=1.0)
    assert split.is_full
    assert len(split.test) == len(split.test_inputs) == len(split.test_targets) == 0
    assert split.test_inputs.project(np.ones((10, 3))).shape == (0, 3)
    assert not Z5.split(fraction=0.5).is_full


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"give either fraction or count, got fraction=None, count=None"),
        ({"fraction": 0.5, "count": 3}, r"give either fraction or count"),
        ({"fraction": 0.0}, r"fraction must lie in \(0, 1\], got 0.0"),
        ({"fraction": 1.2}, r"fraction must lie in \(0, 1\], got 1.2"),
        ({"fraction": float("nan")}, r"got nan"),
        ({"fraction": 0.01}, r"0.01 of 25 rows leaves no training row; use at least 0.04"),
        ({"fraction": 1 - 1e-14}, r"leaves no test rows; .*fraction=1"),
        ({"count": 25}, r"count 25 of 25 rows leaves no test rows; .*fraction=1 to train on the full table"),
        ({"count": 26}, r"count must be at most the 25 rows of the task, got 26"),
        ({"fraction": 0.4, "seed": -1}, r"seed must be a whole number of at least 0, got -1"),
        ({"count": 0}, r"count must be an integer of at least 1, got 0"),
    ],
)
def test_impossible_splits_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Z5.split(**arguments)


def test_a_regression_cannot_be_stratified():
    with pytest.raises(ValueError, match=r"stratified needs classes, but 'arrays' is a regression"):
        from_arrays(np.eye(4), np.arange(4.0)).split(count=2, stratified=True)


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        ([0, 1], [1, 2], r"must differ, got \[1\] in both"),
        ([0, 25], [1], r"train rows must lie in 0…24, got values from 0 to 25"),
        ([], [1], r"needs training rows"),
        ([0], [], r"no test rows must train on all rows"),
    ],
)
def test_hand_made_splits_are_checked(train, test, message):
    with pytest.raises(ValueError, match=message):
        Split(Z5, np.array(train, int), np.array(test, int))


def test_hand_made_splits_are_sorted_and_frozen():
    split = Split(Z5, np.array([3, 1]), np.array([9, 7]))
    assert (split.train.tolist(), split.test.tolist()) == ([1, 3], [7, 9])
    with pytest.raises(ValueError, match="read-only"):
        split.train[0] = 5
