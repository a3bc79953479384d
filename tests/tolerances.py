"""How far two ways to compute one number may differ, on any processor: never a number found by trying."""

import numpy as np


def rounding(size: float, terms: float = 1, dtype=np.float64, factor: float = 32) -> float:
    """Return factor · eps(dtype) · size · √terms, the rounding error allowed to a sum.

    XLA, OpenBLAS and torch add in an order that depends on the instruction set, so two machines differ by a few
    units in the last place of the *largest term added or cancelled*, times a random walk over the terms.

    **Arguments:**

    - `size`: the largest absolute value among the terms, which is not the size of the sum where terms cancel.
    - `terms`: how many are added.
    - `dtype`: the precision of the less precise of the two computations.
    - `factor`: 8 to 64; the operations per term, and a margin.
    """
    return float(factor * np.finfo(dtype).eps * size * np.sqrt(terms))
