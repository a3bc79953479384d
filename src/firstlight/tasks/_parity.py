"""Sparse parity: the label is independent of any fewer than k coordinates."""

import numpy as np

from firstlight.tasks._inputs import DenseInputs
from firstlight.tasks._task import Task


def sparse_parity(dimension: int = 50, degree: int = 2, samples: int = 1000, seed: int = 0) -> Task:
    """Classify the sign of ∏_{i<k} x_i for signs x ∈ {±1}^d drawn uniformly (FACT, Section 4.3).

    Class 1 is the product +1 and class 0 is −1. The support is the first k coordinates.

    **Arguments:**

    - `dimension`: number of coordinates d.
    - `degree`: size of the support k ≤ d.
    - `samples`: number of rows.
    - `seed`: seed of the draw.

    >>> task = sparse_parity(dimension=6, degree=3, samples=4)
    >>> task
    Task('parity of 3 in 6': 4 rows, inputs of dimension 6, 2 classes)
    >>> bool(((task.inputs.dense()[:, :3].prod(axis=1) > 0) == task.targets).all())
    True
    """
    for name, value in (("dimension", dimension), ("degree", degree), ("samples", samples)):
        if value < 1:
            raise ValueError(f"{name} must be an integer > 0, got {value}")
    if degree > dimension:
        raise ValueError(f"degree must be at most dimension = {dimension}, got {degree}; it is a number of coordinates")
    signs = np.random.default_rng(seed).choice(np.array([-1.0, 1.0], np.float32), size=(samples, dimension))
    return Task(
        name=f"parity of {degree} in {dimension}",
        inputs=DenseInputs(signs),
        targets=(signs[:, :degree].prod(axis=1) > 0).astype(np.int32),
        outputs=2,
        class_names=("-1", "+1"),
    )
