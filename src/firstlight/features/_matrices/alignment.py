"""Cosine and correlation of two matrices, and the weight-decay budget that FACT needs to hold."""

import math
from collections.abc import Iterable
from typing import Any

from jaxtyping import Float

from firstlight.features._arrays import namespace

Matrix = Float[Any, "d e"]


def cosine(A: Matrix, B: Matrix) -> Float[Any, ""]:
    r"""Return ⟨A, B⟩/‖A‖‖B‖ over entries (FACT: Theorem 3.4, Figures 4 and 11); NaN if a matrix is zero.

    >>> import numpy as np
    >>> float(cosine(np.eye(2), np.ones((2, 2))).round(6))
    0.707107
    """
    xp = namespace(A)
    # Scale first: the squares of small gradients would underflow in single precision.
    A, B = _scaled(A), _scaled(B)
    size = xp.sqrt(xp.sum(A * A) * xp.sum(B * B))
    return xp.sum(A * B) / xp.where(size > 0, size, xp.full_like(size, math.nan))


def pearson(A: Matrix, B: Matrix) -> Float[Any, ""]:
    r"""Return Pearson's correlation of the entries, which is the cosine after centring.

    Reference: FACT, Tables 1 and 2, Figures 3 and 8 to 10.

    >>> import numpy as np
    >>> float(pearson(np.eye(2), 3 + 5 * np.eye(2)).round(6))
    1.0
    """
    xp = namespace(A)
    return cosine(A - xp.mean(A), B - xp.mean(B))


def decay_budget(learning_rates: Iterable[float], weight_decay: float, momentum: float = 0.0) -> float:
    r"""Return the budget b = wd·Σ lr/(1 − momentum): weight decay alone multiplies the weights by e⁻ᵇ.

    WWᵀ is a moving average of sym FACT over this budget, so FACT can hold only if the budget is well above 1.

    **Arguments:**

    - `learning_rates`: learning rate of every step taken.
    - `weight_decay`: weight decay of the optimizer.
    - `momentum`: momentum of SGD; 0 for other optimizers.

    >>> round(decay_budget([0.1] * 1000, weight_decay=1e-3, momentum=0.9), 9)
    1.0
    """
    if not 0 <= momentum < 1:
        raise ValueError(f"momentum must be in [0, 1), got {momentum}")
    return weight_decay * math.fsum(learning_rates) / (1 - momentum)


def _scaled(A: Matrix) -> Matrix:
    xp = namespace(A)
    size = xp.max(xp.abs(A))
    return A / xp.where(size > 0, size, xp.ones_like(size))
