r"""Updates of the metric M from a fitted machine (FACT, Section 4.2 and Appendix E)."""

from typing import Literal

import numpy as np
from jaxtyping import Float

from firstlight.features import matrix_power, symmetrised
from firstlight.rfm._solvers.matrices import FLOOR, FeatureMatrices

Metric = Float[np.ndarray, "d d"]
Update = Literal["fact", "fact_geometric", "nfa"]
Normalize = Literal["trace", "max"]
UPDATES: tuple[Update, ...] = ("fact", "fact_geometric", "nfa")


def updated(update: Update, M: Metric, matrices: FeatureMatrices, power: float = 0.5) -> Metric:
    r"""Return the next metric; the paper has power s = ½.

    $$\text{nfa: } \mathrm{AGOP}^s, \qquad \text{fact: } (F F^\top)^s, \qquad
      \text{fact\_geometric: } ((FM)(FM)^\top)^{s/2}$$

    with F = FACT. The paper's powers ¼ and ⅛ are powers for W = M^{1/2}.

    >>> F = np.diag([4.0, 1.0])
    >>> updated("fact", np.eye(2), FeatureMatrices(F, None)).diagonal()
    array([4., 1.])
    >>> updated("fact_geometric", np.eye(2), FeatureMatrices(F, None)).diagonal()
    array([2., 1.])
    """
    if update == "nfa":
        if matrices.agop is None:
            raise ValueError("the update 'nfa' needs AGOP, which was not computed; ask for it with agop=True")
        return matrices.agop_root if power == 0.5 else np.asarray(matrix_power(matrices.agop, power, FLOOR))
    if update == "fact":
        return matrices.fact_root if power == 0.5 else np.asarray(symmetrised(matrices.fact, 2 * power, FLOOR))
    if update == "fact_geometric":
        return np.asarray(symmetrised(matrices.fact @ M, power, FLOOR))
    raise ValueError(f"update must be one of {', '.join(UPDATES)}; got {update!r}")


def normalized(M: Metric, how: Normalize | None, trace: float | None = None) -> Metric:
    """Scale M to trace d ("trace") or to largest entry 1 ("max"); None returns M unchanged.

    `trace` replaces d, for a metric in fewer coordinates than the table has columns.

    >>> normalized(np.diag([3.0, 1.0]), "trace").diagonal()
    array([1.5, 0.5])
    """
    if how is None:
        return M
    size = np.trace(M) / (trace or len(M)) if how == "trace" else np.abs(M).max()
    return M / size if size > 0 else M
