"""Arithmetic in a finite group, in the encodings of the papers."""

import math
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from firstlight import groups
from firstlight._suggest import did_you_mean
from firstlight.groups import Group
from firstlight.tasks._inputs import IndexInputs
from firstlight.tasks._task import Task

ENCODINGS = ("onehot", "summed", "template")
"""The names of the encodings."""

MAX_ROWS = 50_000_000
MAX_FACTORS = 25  # 2^26 tuples exceed MAX_ROWS


def group_task(
    group: Group | str | Path | np.ndarray | Sequence,
    factors: int = 2,
    encoding: str = "onehot",
    template: Sequence | np.ndarray | None = None,
    label_noise: float = 0.0,
    noise_seed: int = 0,
    sampling: Sequence | np.ndarray | None = None,
) -> Task:
    """Predict g₁g₂…g_k from (g₁, …, g_k), for all tuples of a group of order M.

    | encoding | input of a row | target | rows |
    |---|---|---|---|
    | `onehot` | (e_{g₁}, …, e_{g_k}), dimension kM (Li₂ 5.2.1, CoGO 2) | class of the product | M^k |
    | `summed` | e_{g₁} + … + e_{g_k}, dimension M (geometry of grokking 7.1) | class | see below |
    | `template` | (g₁·x, …, g_k·x), dimension kM (AGF 5) | the vector (g₁…g_k)·x | M^k |

    Rows are in lexicographic order, so `targets.reshape((M,) * k)` is the product table. Summed inputs do not
    show the order of the factors. For an Abelian group the task therefore has only the rows with g₁ ≤ … ≤ g_k; for
    any other group it has all rows, and the input does not determine the target. The group acts by
    (a·x)[j] = x[a⁻¹j], which is x[j − a] on Z_p. The template x = e_identity gives the one-hot encoding. AGF centres
    the template: subtract the mean of x to do the same.

    **Arguments:**

    - `group`: a group, its name such as "Z71", "S4" or "Z5xZ6", its Cayley table (M, M), or a `.csv`, `.txt` or
      `.npy` file with the table.
    - `factors`: k ≥ 2.
    - `encoding`: "onehot", "summed" or "template".
    - `template`: x (M,), for the template encoding.
    - `label_noise`: share of rows, in [0, 1), whose product is replaced by another, uniformly drawn element.
    - `noise_seed`: seed of the label noise.
    - `sampling`: probabilities with which rows are drawn for training, up to a factor: (N,) per row, (M, …, M)
      per tuple, or (M,) per element, for factors drawn independently.

    >>> task = group_task("Z3")
    >>> task.targets.reshape(3, 3)
    array([[0, 1, 2],
           [1, 2, 0],
           [2, 0, 1]], dtype=int32)
    >>> group_task("Z3", encoding="template", template=[5.0, 1.0, 0.0]).inputs.dense()[1]
    array([5., 1., 0., 0., 5., 1.])
    """
    group = groups.as_group(group)  # type: ignore[arg-type]
    _check_options(group, factors, encoding, template, label_noise)
    elements = _tuples(group.order, factors)
    unordered = encoding == "summed" and group.is_abelian
    chosen = np.all((np.diff(elements, axis=1) >= 0) | (not unordered), axis=1)
    p = None if sampling is None else _row_weights(np.asarray(sampling, float), elements, chosen, group.order)
    elements = elements[chosen]
    products = np.asarray(group.multiply(*elements.T))
    noisy = _with_noise(products, group.order, label_noise, noise_seed)
    orbit = None if template is None else _orbit(group, template)
    targets, truth = (noisy, products) if orbit is None else (orbit[noisy], orbit[products])
    return Task(
        name=_name(group, factors, encoding, label_noise),
        inputs=_inputs(elements, encoding, group.order, orbit),
        targets=targets,
        outputs=group.order,
        group=group,
        encoding=encoding,
        sampling=p,
        truth=truth if label_noise else None,
    )


def tuple_count(order: int, factors: int, name: str) -> int:
    """Return M^k, the number of tuples; raise ValueError above the limit.

    >>> tuple_count(71, 2, "Z71")
    5041
    """
    if factors > MAX_FACTORS:
        raise ValueError(f"factors must be at most {MAX_FACTORS}, got {factors}; 2 is g₁g₂")
    if order**factors > MAX_ROWS:
        shown = f"{order**factors:,}" if order**factors < 10**15 else f"over 10^{int(factors * math.log10(order))}"
        raise ValueError(
            f"{factors} factors of {name} make {shown} rows, more than the limit of {MAX_ROWS:,}; "
            "use fewer factors or a smaller group"
        )
    return order**factors


def _tuples(order: int, factors: int) -> Int[np.ndarray, "N k"]:
    return np.indices((order,) * factors).reshape(factors, -1).T


def _inputs(
    elements: Int[np.ndarray, "N k"], encoding: str, order: int, orbit: Float[np.ndarray, "M M"] | None
) -> IndexInputs:
    if encoding == "summed":
        return IndexInputs(elements, order)
    factors = elements.shape[1]
    rows = elements + order * np.arange(factors)
    table = None if orbit is None else np.kron(np.eye(factors), orbit)
    return IndexInputs(rows, factors * order, table)


def _orbit(group: Group, template: Sequence | np.ndarray) -> Float[np.ndarray, "M M"]:
    """Return the matrix with row a equal to a·x, where (a·x)[j] = x[a⁻¹j]."""
    x = np.asarray(template, float)
    if x.shape != (group.order,) or not np.isfinite(x).all():
        raise ValueError(
            f"template must be {group.order} finite numbers, one per element of {group.name}, got {x.shape}"
        )
    return x[group.table[group.inverse]]


def _with_noise(products: Int[np.ndarray, " N"], order: int, share: float, seed: int) -> Int[np.ndarray, " N"]:
    random = np.random.default_rng(seed)
    wrong = random.permutation(len(products))[: round(share * len(products))]
    noisy = products.copy()
    noisy[wrong] = (noisy[wrong] + random.integers(1, order, size=len(wrong))) % order
    return noisy


def _row_weights(
    p: Float[np.ndarray, "..."], elements: Int[np.ndarray, "T k"], chosen: np.ndarray, order: int
) -> Float[np.ndarray, " N"]:
    factors = elements.shape[1]
    if p.shape == (chosen.sum(),):
        return p
    if p.shape == (order,):
        p = np.asarray(math.prod(p[column] for column in elements.T))
    elif p.shape != (order,) * factors:
        raise ValueError(
            f"sampling must have shape ({chosen.sum()},), {(order,) * factors} or ({order},), got {p.shape}; "
            "give a weight per row, per tuple of elements, or per element"
        )
    # If only sorted tuples are rows, tuples that differ in the order of their factors share a row.
    row_tuples = elements if chosen.all() else np.sort(elements, axis=1)
    row_of = (np.cumsum(chosen) - 1)[np.ravel_multi_index(tuple(row_tuples.T), (order,) * factors)]
    return np.bincount(row_of, weights=p.ravel())


def _name(group: Group, factors: int, encoding: str, label_noise: float) -> str:
    parts = [
        group.name,
        f"{factors} factors" if factors != 2 else "",
        encoding if encoding != "onehot" else "",
        f"label noise {label_noise:g}" if label_noise else "",
    ]
    return ", ".join(filter(None, parts))


def _check_options(
    group: Group, factors: int, encoding: str, template: Sequence | np.ndarray | None, label_noise: float
) -> None:
    if isinstance(factors, bool) or not isinstance(factors, Integral):
        raise ValueError(f"factors must be a whole number of at least 2, got {factors!r}; 2 is g₁g₂")
    if factors < 2:
        raise ValueError(f"factors must be at least 2, got {factors}; 2 is g₁g₂")
    tuple_count(group.order, factors, group.name)
    if encoding not in ENCODINGS:
        hint = did_you_mean(str(encoding), ENCODINGS)
        raise ValueError(f"unknown encoding {encoding!r}; {hint}Known: {', '.join(ENCODINGS)}")
    if (encoding == "template") != (template is not None):
        raise ValueError(
            f"the template encoding, and only it, needs a template of {group.order} numbers, got "
            f"encoding={encoding!r} and template={'None' if template is None else 'a vector'}"
        )
    if not 0 <= label_noise < 1:
        raise ValueError(f"label_noise must lie in [0, 1), got {label_noise}; 0.1 makes 10 % of the labels wrong")
    if label_noise and group.order < 2:
        raise ValueError(f"label_noise needs at least two classes, but {group.name} has one element")
