"""Alignments of one layer from its weights, gradient and second moments; NumPy only."""

import math
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from firstlight import features

Stack = Float[np.ndarray, "g p q"]
MEASURES = ("FACT", "√FACT·FACTᵀ", "AGOP", "√AGOP", "eNFA", "√eNFA")
ALIGNMENTS = {"pearson": features.pearson, "cosine": features.cosine}


@dataclass(frozen=True, eq=False)
class Moments:
    """A sum of outer products on one side of a layer, in two parts that are stacks over groups.

    `direct` is in the space of this side, `beyond` in the space of the other side; the sum is direct + W·beyond·Wᵀ.
    """

    direct: Float[np.ndarray, "g p p"] | None = None
    beyond: Float[np.ndarray, "g q q"] | None = None

    def matrix(self, W: Float[np.ndarray, "p q"], group: int, power: float = 1.0) -> Float[np.ndarray, "p p"] | None:
        """Return the sum for one group, raised to a power."""
        if self.direct is None:
            if self.beyond is None:
                return None
            if power == 1:
                return features.pulled_back(W, self.beyond[group])
            return features.pulled_back_power(W, self.beyond[group], power)
        total = self.direct[group]
        if self.beyond is not None:
            total = total + features.pulled_back(W, self.beyond[group])
        return total if power == 1 else features.matrix_power(total, power)


@dataclass(frozen=True, eq=False)
class Comparison:
    """The alignment of each measure with the feature matrix, and the matrices (groups stacked on rows).

    `size` is ⟨FACT, NFM⟩/⟨NFM, NFM⟩ and `residual` ‖NFM − FACT‖/‖NFM‖: 1 and 0 at a critical point.
    """

    alignments: dict[str, float]
    size: float = math.nan
    residual: float = math.nan
    matrices: dict[str, np.ndarray] = field(default_factory=dict)


def compare(
    W: Stack, gradient: Stack | None, weight_decay: float, enfa: Moments, agop: Moments, alignment: str = "pearson"
) -> Comparison:
    """Compute all measures on one side of a layer.

    **Arguments:**

    - `W`: (g, p, q) weights, as (in, out) for the forward side and (out, in) for the backward side.
    - `gradient`: (g, p, q) ∂L/∂W or the optimizer's mean direction; None if FACT does not apply.
    - `weight_decay`: λ.
    - `enfa`: second moments of the gradients of the loss, on the same side.
    - `agop`: second moments of the gradients of the outputs, on the same side.
    - `alignment`: "pearson" or "cosine".
    """
    names = ["NFM", *MEASURES]
    parts: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for i, w in enumerate(W):
        blocks: dict[str, np.ndarray | None] = {"NFM": features.nfm(w)}
        if gradient is not None:
            blocks["FACT"] = features.fact(w, gradient[i], weight_decay)
            blocks["√FACT·FACTᵀ"] = features.symmetrised_product(w, gradient[i]) / weight_decay
        for name, moments in (("AGOP", agop), ("eNFA", enfa)):
            blocks[name] = moments.matrix(w, i)
            blocks[f"√{name}"] = moments.matrix(w, i, 0.5)
        for name, matrix in blocks.items():
            if matrix is not None:
                parts[name].append(matrix)
    matrices = {name: np.concatenate(groups) for name, groups in parts.items() if groups}
    nfm = matrices["NFM"]
    align = ALIGNMENTS[alignment]
    values = {name: float(align(matrices[name], nfm)) if name in matrices else math.nan for name in MEASURES}
    if "FACT" not in matrices:
        return Comparison(values, matrices=matrices)
    square = float(np.sum(nfm * nfm))
    size = float(np.sum(matrices["FACT"] * nfm)) / square if square > 0 else math.nan
    residual = float(np.linalg.norm(nfm - matrices["FACT"])) / math.sqrt(square) if square > 0 else math.nan
    return Comparison(values, size, residual, matrices)
