"""Choice of the training rows: seeded draws without replacement, uniform, weighted or stratified."""

import math
from numbers import Integral, Real

import numpy as np
from jaxtyping import Bool, Float, Int


def train_count(rows: int, fraction: float | None, count: int | None) -> int:
    """Return the number of training rows, ⌊fraction·rows⌋ as in the papers; raise ValueError if it is invalid.

    >>> train_count(71**2, 0.4, None), train_count(127**2, 0.2, None)
    (2016, 3225)
    """
    if (fraction is None) == (count is None):
        raise ValueError(
            f"give either fraction or count, got fraction={fraction}, count={count}; e.g. split(fraction=0.4)"
        )
    if fraction is None:
        return _checked_count(rows, count)
    if isinstance(fraction, bool) or not isinstance(fraction, Real) or not 0 < fraction <= 1:
        raise ValueError(f"fraction must lie in (0, 1], got {fraction!r}; 0.4 trains on 40 % of the rows")
    # In floating point, 0.29·100 lies a rounding error below 29.
    size = math.floor(fraction * rows * (1 + 1e-12))
    if size == 0:
        raise ValueError(f"fraction {fraction} of {rows} rows leaves no training row; use at least {1 / rows:.3g}")
    if size == rows and fraction != 1:
        raise ValueError(f"fraction {fraction} of {rows} rows leaves no test rows; {_FULL}")
    return size


_FULL = "use fewer training rows, or fraction=1 to train on the full table on purpose"


def _checked_count(rows: int, count: int | None) -> int:
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
        raise ValueError(f"count must be an integer of at least 1, got {count!r}; it is the number of training rows")
    if count > rows:
        raise ValueError(f"count must be at most the {rows} rows of the task, got {count}")
    if count == rows:
        raise ValueError(f"count {count} of {rows} rows leaves no test rows; {_FULL}")
    return int(count)


def draw_rows(
    count: int,
    rows: int,
    seed: int,
    classes: Int[np.ndarray, " N"] | None = None,
    probabilities: Float[np.ndarray, " N"] | None = None,
) -> Int[np.ndarray, " count"]:
    """Return the sorted indices of `count` rows, drawn one after the other with p, without replacement.

    Row i gets the key e_i/p_i with e_i ~ Exp(1), and the smallest keys are drawn (Efraimidis & Spirakis, 2006).
    Without classes, a smaller draw is therefore a subset of a larger draw with the same seed.

    **Arguments:**

    - `count`: number of rows to draw.
    - `rows`: number of rows to draw from.
    - `seed`: seed of the draw.
    - `classes`: (N,) classes, each of which gets its share of `count`, rounded by largest remainder; or None.
    - `probabilities`: p (N,), or None for uniform; rows with p = 0 are never drawn.

    >>> draw_rows(3, 10, seed=0).tolist()
    [2, 3, 4]
    """
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, got {seed!r}; e.g. split(fraction=0.4, seed=1)")
    random = np.random.default_rng(seed)
    keys = random.exponential(size=rows)
    possible = np.ones(rows, bool) if probabilities is None else probabilities > 0
    if possible.sum() < count:
        raise ValueError(
            f"{count} training rows were asked for, but only {possible.sum()} of {rows} rows have a sampling "
            "probability above 0; ask for fewer"
        )
    if probabilities is not None:
        keys = np.divide(keys, probabilities, where=possible, out=np.full(rows, np.inf))
    order = np.argsort(keys, kind="stable")[: possible.sum()]
    if classes is None:
        return np.sort(order[:count])
    drawn = _first_of_each(classes[order], _quotas(classes[possible], count, random))
    return np.sort(order[drawn])


def _quotas(classes: Int[np.ndarray, " n"], count: int, random: np.random.Generator) -> Int[np.ndarray, " C"]:
    sizes = np.bincount(classes)
    quotas, remainders = np.divmod(count * sizes, len(classes))
    # In a group table all classes have the same size, so ties are broken at random, not by class index.
    ranking = np.lexsort((random.random(len(sizes)), -remainders))
    quotas[ranking[: count - quotas.sum()]] += 1
    return quotas


def _first_of_each(classes: Int[np.ndarray, " n"], quotas: Int[np.ndarray, " C"]) -> Bool[np.ndarray, " n"]:
    """Return a mask of the entries among the first quotas[c] of their class c."""
    by_class = np.argsort(classes, kind="stable")
    sizes = np.bincount(classes, minlength=len(quotas))
    rank = np.empty(len(classes), np.intp)
    rank[by_class] = np.arange(len(classes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rank < quotas[classes]
