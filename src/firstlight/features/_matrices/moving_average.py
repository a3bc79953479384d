r"""The feature matrix as a moving average of FACT, and the training time until the two align.

Under gradient flow on L + (λ/2)‖θ‖², d(WWᵀ)/dt = −2λ(WWᵀ − sym FACT): WWᵀ averages FACT over a time 1/2λ. For an
optimizer, λt is the decay budget wd·Σlr/(1 − momentum).
"""

import math
from typing import Any

from jaxtyping import Float

from firstlight.features._arrays import namespace
from firstlight.features._matrices.powers import symmetric_part

Square = Float[Any, "d d"]


def averaged_nfm(
    nfm: Square, facts: Float[Any, "t d d"], times: Float[Any, " t"], weight_decay: float
) -> Float[Any, "t d d"]:
    r"""Return WWᵀ at all times, from its initial value and FACT along the way.

    $$N(t) = e^{-2\lambda t}N_0 + 2\lambda\int_0^t e^{-2\lambda(t-s)}\,\mathrm{sym\,FACT}(s)\,ds$$

    exact if FACT is linear between two times. `times` must hold concrete numbers.

    **Arguments:**

    - `nfm`: (d, d) WWᵀ at the first time.
    - `facts`: (t, d, d) FACT at every time.
    - `times`: (t,) increasing.
    - `weight_decay`: λ of L + (λ/2)‖θ‖².

    >>> import numpy as np
    >>> steady = np.ones((2, 1, 1))
    >>> averaged_nfm(np.zeros((1, 1)), steady, np.array([0.0, np.log(2)]), weight_decay=0.5).ravel()
    array([0. , 0.5])
    """
    averages = [nfm]
    for i in range(len(times) - 1):
        a = 2 * weight_decay * float(times[i + 1] - times[i])
        before, after = symmetric_part(facts[i]), symmetric_part(facts[i + 1])
        decayed = math.exp(-a)
        # Mean of e^{-as} over 0 < s < 1; integrating a linear FACT against the exponential gives these two weights.
        mean = -math.expm1(-a) / a if a > 0 else 1.0
        averages.append(decayed * averages[-1] + (mean - decayed) * before + (1 - mean) * after)
    return namespace(nfm).stack(averages)


def budget_to_align(nfm: Square, fact: Square, alignment: float = 0.99) -> float:
    r"""Return the budget λt after which cos(WWᵀ, sym FACT) reaches `alignment`, if FACT stays constant.

    N(t) = F + r(N₀ − F) with r = e^{−2λt} turns towards F: the angle φ between them has
    tan φ = rb/((1 − r)‖F‖ + ra), where a and b are the parts of N₀ along F and across it. The budget is 0 if the
    alignment is already reached, and ∞ if F is zero.

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
