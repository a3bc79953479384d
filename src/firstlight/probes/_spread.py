"""The error of an AGOP that comes from some rows and some random projections, from the spread between samples.

With A_i the sum of ggᵀ of sample i, AGOP is the mean of A_i. A mean over m of n samples has the relative squared error
(1/m − 1/n)·V_row, and k random projections of the outputs add V_proj/(mk), where V_row is the variance of A_i between
samples and V_proj that of one projection, both over ‖AGOP‖². Norms are estimated by A_iZ with a few random columns Z.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float

from firstlight.probes._layers import Layer, Place, Stack

COLUMNS = 12
"""Random columns Z that estimate Frobenius norms."""


@dataclass
class Share:
    """The coefficients of V_row and V_proj in N²·error², summed over batches."""

    rows: float = 0.0
    projections: float = 0.0

    def add(self, samples: int, used: int, projections: int) -> None:
        """Add a batch of which some samples were used, with some projections; 0 means every output."""
        self.rows += samples**2 * (1 / used - 1 / samples)
        if projections:
            self.projections += samples**2 / (used * projections)


class Spread:
    """The variances of one layer's A_i, collected over batches.

    A layer without a known order of rows has no spread: its error is NaN.
    """

    def __init__(self, layer: Layer, W: Stack, generator: torch.Generator) -> None:
        features = W.shape[1] if layer.side == "in" else W.shape[2]
        Z = torch.randn(features, COLUMNS, generator=generator, dtype=torch.float64).to(W) / math.sqrt(COLUMNS)
        self._W = W if layer.side == "in" else None
        self._beyond = None if self._W is None else W.transpose(1, 2) @ Z
        self._Z, self._metric = Z, None
        self.known = True
        self._between, self._pairs = 0.0, 0
        self._within, self._projected = 0.0, 0
        self._total: torch.Tensor | None = None
        self._samples = 0.0
        self._begin()

    def _begin(self) -> None:
        self._sum: dict[Place, torch.Tensor] = {}
        self._one: dict[Place, torch.Tensor] = {}
        self._squares = 0.0

    def see(
        self, rows: Float[torch.Tensor, "g rows k"], place: Place, order: tuple[int, int] | None, samples: int
    ) -> None:
        """Add the rows of one use to the current projection."""
        if order is None:
            self.known = False
        if not self.known or order is None:
            return
        outer, inner = order
        g, _, k = rows.shape
        by_sample = rows.view(g, outer, samples, inner, k).transpose(1, 2).reshape(g, samples, outer * inner, k)
        columns = self._beyond if place == "outputs" and self._beyond is not None else self._Z
        inward = by_sample @ (columns if columns.ndim == 2 else columns[:, None])
        Y = by_sample.transpose(2, 3) @ inward
        self._one[place] = self._one[place] + Y if place in self._one else Y

    def next_vector(self, random: bool) -> None:
        """Close the current projection or output."""
        if random and self.known and self._one:
            self._squares += float(self._size(self._one).sum())
        for place, Y in self._one.items():
            self._sum[place] = self._sum[place] + Y if place in self._sum else Y
        self._one = {}

    def close(self, samples: int, vectors: int, random: bool) -> None:
        """Close a set of samples that all vectors have been through."""
        if not self.known or not self._sum:
            self._begin()
            return
        share = 1 / vectors if random else 1.0
        mean: dict[Place, torch.Tensor] = {place: Y * share for place, Y in self._sum.items()}
        middle: dict[Place, torch.Tensor] = {place: Y.mean(1, keepdim=True) for place, Y in mean.items()}
        if samples > 1:
            between = float(self._size(_minus(mean, middle)).sum())
            self._between += between
            self._pairs += samples - 1
            if random and vectors == 1:
                # The variance between samples includes that of their single projection, and bounds it.
                self._within += between * samples / (samples - 1)
                self._projected += samples
        if random and vectors > 1:
            within = self._squares - vectors * float(self._size(mean).sum())
            self._within += within / (vectors - 1)
            self._projected += samples
        whole = self._pulled(middle)
        self._total = whole * samples if self._total is None else self._total + whole * samples
        self._samples += samples
        self._begin()

    def variances(self, vectors: int) -> tuple[float, float]:
        """Return (V_row, V_proj) over ‖AGOP‖²; infinite where unknown. `vectors` is 0 if every output was used."""
        if not self.known:
            return math.inf, math.inf
        if self._total is None:
            return 0.0, 0.0
        square = float((self._total / self._samples).square().sum())
        if square == 0:
            return 0.0, 0.0
        unknown = math.inf if vectors else 0.0
        projection = self._within / self._projected / square if self._projected else unknown
        between = self._between / self._pairs / square if self._pairs else math.inf
        noise = projection / vectors if vectors and math.isfinite(projection) else 0.0
        return max(between - noise, 0.0), max(projection, 0.0)

    def error(self, share: Share, samples: int, vectors: int) -> float:
        """Return the relative error of AGOP in the Frobenius norm."""
        if share.rows == 0 and share.projections == 0:
            return 0.0
        if not self.known:
            return math.nan
        row, projection = self.variances(vectors)
        square = (share.rows * row if share.rows else 0.0) + (share.projections * projection if vectors else 0.0)
        return math.sqrt(square) / samples

    def add_over(self, total: Callable[[torch.Tensor], torch.Tensor]) -> None:
        """Add the statistics of several processes with a function that sums a tensor over them."""
        own = [self._between, self._pairs, self._within, self._projected, self._samples, float(not self.known)]
        summed = total(torch.tensor(own, dtype=torch.float64, device=self._Z.device)).tolist()
        self._between, pairs, self._within, projected, self._samples, unknown = summed
        self._pairs, self._projected, self.known = int(pairs), int(projected), unknown == 0
        shape = (1 if self._W is None else self._W.shape[0], 1, *self._Z.shape)
        here = torch.zeros(shape).to(self._Z) if self._total is None else self._total
        self._total = total(here.contiguous()) if self._samples else None

    def _size(self, Y: dict[Place, torch.Tensor]) -> torch.Tensor:
        """Return ‖A_iZ‖² of every sample."""
        if set(Y) == {"outputs"} and self._W is not None and self._W.shape[2] < self._W.shape[1]:
            if self._metric is None:
                self._metric = (self._W.transpose(1, 2) @ self._W)[:, None]
            return (Y["outputs"] * (self._metric @ Y["outputs"])).sum((0, 2, 3))
        return self._pulled(Y).square().sum((0, 2, 3))

    def _pulled(self, Y: dict[Place, torch.Tensor]) -> torch.Tensor:
        if "outputs" not in Y:
            return Y["inputs"]
        far = Y["outputs"] if self._W is None else self._W[:, None] @ Y["outputs"]
        return far + Y["inputs"] if "inputs" in Y else far


def _minus(Y: dict[Place, torch.Tensor], middle: dict[Place, torch.Tensor]) -> dict[Place, torch.Tensor]:
    return {place: part - middle[place] for place, part in Y.items()}
