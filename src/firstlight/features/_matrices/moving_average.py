r"""The feature matrix as a moving average of FACT: when a layer will have become what its loss asks for.

Under gradient flow on L + (λ/2)‖θ‖², d(WWᵀ)/dt = −2λ(WWᵀ − sym FACT): WWᵀ remembers FACT for a time 1/2λ. In
steps of an optimizer, λt is the budget wd·Σlr/(1 − momentum).
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from firstlight.features._arrays import namespace
from firstlight.features._matrices.powers import symmetric_part

Square = Float[Any, "d d"]


def averaged_nfm(
    nfm: Float[np.ndarray, "d d"],
    facts: Float[np.ndarray, "t d d"],
    times: Float[np.ndarray, " t"],
    weight_decay: float,
) -> Float[np.ndarray, "t d d"]:
    r"""WWᵀ at all times from its start and FACT along the way.

    $$N(t) = e^{-2\lambda t}N_0 + 2\lambda\int_0^t e^{-2\lambda(t-s)}\,\mathrm{sym\,FACT}(s)\,ds$$

    exact for FACT linear between the times.

    >>> import numpy as np
    >>> steady = np.ones((2, 1, 1))
    >>> averaged_nfm(np.zeros((1, 1)), steady, np.array([0.0, np.log(2)]), weight_decay=0.5).ravel()
    array([0. , 0.5])
    """
    found = [nfm]
    for i, step in enumerate(np.diff(times)):
        a = 2 * weight_decay * step
        before, after = symmetric_part(facts[i]), symmetric_part(facts[i + 1])
        decayed = math.exp(-a)
        # ∫ of a linear function against the exponential: its end value less the slope's memory.
        kept = -math.expm1(-a) / a if a > 0 else 1.0
        found.append(decayed * found[-1] + (kept - decayed) * before + (1 - kept) * after)
    return np.stack(found)


def budget_to_align(nfm: Square, fact: Square, alignment: float = 0.99) -> float:
    r"""The budget λt after which cos(WWᵀ, sym FACT) reaches `alignment`, were FACT to stay as it is.

    N(t) = F + r(N₀ − F) with r = e^{−2λt} turns towards F: its angle φ has tan φ = rb/((1 − r)‖F‖ + ra), where a and b
    are the parts of N₀ along F and across it. 0 where it is there already, ∞ where F is zero.

    >>> import numpy as np
    >>> round(budget_to_align(np.diag([1.0, 0.0]), np.diag([0.0, 1.0]), alignment=0.99), 3)
    1.041
    """
    if not 0 < alignment < 1:
        raise ValueError(f"alignment must be between 0 and 1, got {alignment}")
    xp, F = namespace(nfm), symmetric_part(fact)
    size = float(xp.sqrt(xp.sum(F * F)))
    if size == 0:
        return math.inf
    along = float(xp.sum(nfm * F)) / size
    across = float(xp.sqrt(xp.sum((nfm - along / size * F) ** 2)))
    tangent = math.sqrt(1 / alignment**2 - 1)
    if across <= tangent * along:
        return 0.0
    return math.log((across + tangent * (size - along)) / (tangent * size)) / 2
