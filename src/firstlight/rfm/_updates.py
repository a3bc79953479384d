r"""How the metric M follows from a fitted machine (FACT, Section 4.2 and Appendix E)."""

from typing import Literal

import numpy as np
from jaxtyping import Float

from firstlight.features import matrix_power, symmetrised
from firstlight.rfm._solvers.matrices import FLOOR, FeatureMatrices

Metric = Float[np.ndarray, "d d"]
Update = Literal["fact", "fact_geometric", "nfa"]
Normalize = Literal["trace", "max"]
UPDATES: tuple[Update, ...] = ("fact", "fact_geometric", "nfa")


def updated(update: Update, M: Metric, found: FeatureMatrices, power: float = 0.5) -> Metric:
    r"""The next metric, at power s = ½ as in the paper.

    $$\text{nfa: } \mathrm{AGOP}^s, \qquad \text{fact: } (F F^\top)^s, \qquad
      \text{fact\_geometric: } ((FM)(FM)^\top)^{s/2}$$

    with F = FACT. The paper's powers ¼ and ⅛ are of W = M^{1/2}.

    >>> F = np.diag([4.0, 1.0])
    >>> updated("fact", np.eye(2), FeatureMatrices(F, None)).diagonal()
    array([4., 1.])
    >>> updated("fact_geometric", np.eye(2), FeatureMatrices(F, None)).diagonal()
    array([2., 1.])
    """
    if update == "nfa":
        if found.agop is None:
            raise ValueError("the update 'nfa' needs AGOP, which was not computed; ask for it with agop=True")
        return found.agop_root if power == 0.5 else np.asarray(matrix_power(found.agop, power, FLOOR))
    if update == "fact":
        return found.fact_root if power == 0.5 else np.asarray(symmetrised(found.fact, 2 * power, FLOOR))
    if update == "fact_geometric":
        return np.asarray(symmetrised(found.fact @ M, power, FLOOR))
    raise ValueError(f"update is one of {', '.join(UPDATES)}; got {update!r}")


def normalized(M: Metric, how: Normalize | None) -> Metric:
    """M scaled so that its trace is d ("trace"), or its largest entry 1 ("max"); as it is for None.

    >>> normalized(np.diag([3.0, 1.0]), "trace").diagonal()
    array([1.5, 0.5])
    """
    if how is None:
        return M
    size = np.trace(M) / len(M) if how == "trace" else np.abs(M).max()
    return M / size if size > 0 else M
