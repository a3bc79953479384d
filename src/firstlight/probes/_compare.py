"""Alignments of one layer from its weights, gradient and second moments, with error bars; never larger than needed.

A layer W (p, q) with q < p is written as W = QT with orthonormal Q (p, q). All matrices are then QSQᵀ with a small S,
and FACT is QR with R = −TGᵀ/λ. Alignments come from S and R; the p×p matrices are formed only on request.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float

from firstlight import features
from firstlight.probes._result import MEASURES

Stack = Float[torch.Tensor, "g p q"]
ALIGNMENTS = ("pearson", "cosine")

ROWS = 64
"""Rows of a large matrix that are brought to double precision at a time."""

EXACT = 256
"""Up to this many rows decompositions are in double precision."""


@dataclass(frozen=True, eq=False)
class Moments:
    """A sum of outer products on one side of a layer, in two parts that are stacks over groups.

    `direct` is in the space of this side, `beyond` in the space of the other side; the sum is direct + W·beyond·Wᵀ.
    """

    direct: Float[torch.Tensor, "g p p"] | None = None
    beyond: Float[torch.Tensor, "g q q"] | None = None


@dataclass(frozen=True, eq=False)
class Given:
    """What a pass over (a share of) the data gives for one side of a layer; parts of the data add up to the whole.

    `gradient` is ∂L/∂W (g, p, q) or the optimizer's mean direction; None if FACT does not apply.
    """

    gradient: Stack | None
    enfa: Moments
    agop: Moments
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class Comparison:
    """The alignment of each measure with the feature matrix, its error bar, and the matrices if requested.

    `size` is ⟨FACT, NFM⟩/⟨NFM, NFM⟩ and `residual` ‖NFM − FACT‖/‖NFM‖: 1 and 0 at a critical point.
    `agop_norm` is ‖AGOP‖. `rank` is the effective rank (Σσ²)²/Σσ⁴ of W. `directions` are leading eigenvectors of NFM in
    rows, with their shares of its trace.
    """

    alignments: dict[str, float]
    errors: dict[str, float] = field(default_factory=dict)
    size: float = math.nan
    residual: float = math.nan
    rank: float = math.nan
    spectrum: tuple[float, ...] = ()
    directions: Float[np.ndarray, "k p"] | None = None
    matrices: dict[str, np.ndarray] = field(default_factory=dict)


def compare(
    W: Stack,
    given: Given,
    weight_decay: float,
    alignment: str = "pearson",
    *,
    parts: Sequence[Callable[[], Given]] = (),
    roots: bool = True,
    keep: bool = False,
    directions: int = 0,
) -> Comparison:
    """Compute all measures on one side of a layer.

    **Arguments:**

    - `W`: (g, p, q) weights, as (in, out) for the forward side and (out, in) for the backward side.
    - `given`: gradient and second moments.
    - `weight_decay`: λ.
    - `alignment`: "pearson" or "cosine".
    - `parts`: functions that return the same for groups of batches, for error bars.
    - `roots`: whether to compute the measures with a square root, which need eigenvalues.
    - `keep`: whether to return the matrices.
    - `directions`: number of leading eigenvectors of NFM to return.
    """
    blocks = [_Block(w, i, given, weight_decay, roots) for i, w in enumerate(W)]
    centred, count = alignment == "pearson", len(blocks) * W.shape[1] ** 2
    nfm = _Moment.of([block.forms["NFM"].sums(block) for block in blocks], count, centred)
    alignments: dict[str, float] = dict.fromkeys(MEASURES, math.nan)
    errors = dict(alignments)
    slopes: dict[str, list[_Slope]] = {}
    for name in MEASURES:
        if any(name not in block.forms for block in blocks):
            continue
        own = _Moment.of([block.forms[name].sums(block) for block in blocks], count, centred)
        size = math.sqrt(max(own.square, 0.0) * max(nfm.square, 0.0))
        if not size > 0:
            continue
        alignments[name] = own.inner / size
        if len(parts) > 1:
            slopes[name] = [
                block.forms[name].slope(block, own, nfm, own.inner / size, weight_decay, given) for block in blocks
            ]
    errors |= _jackknife(slopes, given, parts)
    size = residual = math.nan
    if given.gradient is not None and nfm.raw_square > 0:
        fact = _Moment.of([block.forms["FACT"].sums(block) for block in blocks], count, False)
        size = fact.inner / nfm.raw_square
        residual = math.sqrt(sum(block.residual for block in blocks) / nfm.raw_square)
    matrices = {}
    if keep:
        names = [name for name in ("NFM", *MEASURES) if all(name in block.forms for block in blocks)]
        matrices = {
            name: torch.cat([block.forms[name].dense(block) for block in blocks]).double().cpu().numpy()
            for name in names
        }
    trace = sum(float(block.forms["NFM"].S.diagonal().sum()) for block in blocks)
    spectrum, vectors = _leading(blocks, directions)
    return Comparison(
        alignments,
        errors,
        size,
        residual,
        trace**2 / nfm.raw_square if nfm.raw_square > 0 else math.nan,
        tuple(float(value) for value in spectrum / trace) if trace > 0 else (),
        vectors,
        matrices,
    )


@dataclass(frozen=True)
class _Moment:
    """Sums over entries of a measure X and the feature matrix N: ‖X‖², ⟨X, N⟩, centred if requested, and the mean."""

    square: float
    inner: float
    mean: float
    raw_square: float

    @classmethod
    def of(cls, sums: list[tuple[float, float, float, float]], count: int, centred: bool) -> "_Moment":
        square, inner, total, other = (math.fsum(column) for column in zip(*sums, strict=True))
        if not centred:
            return cls(square, inner, 0.0, square)
        return cls(square - total**2 / count, inner - total * other / count, total / count, square)


@dataclass(frozen=True, eq=False)
class _Form:
    """A matrix Q S Qᵀ, or Q R for FACT; `vectors` and `values` are eigenvectors and roots of S if it is a root."""

    name: str
    S: torch.Tensor
    values: torch.Tensor | None = None
    vectors: torch.Tensor | None = None

    def sums(self, block: "_Block") -> tuple[float, float, float, float]:
        N, ones = block.forms["NFM"].S, block.ones.to(self.S.dtype)
        inside = self.S if self.name != "FACT" or block.Q is None else self.S @ block.Q
        ends = ones if self.name != "FACT" or block.Q is None else torch.ones_like(self.S[0])
        total = float((ones @ self.S) @ ends)
        other = float(block.ones @ N @ block.ones)
        return _inner(self.S, self.S), _inner(inside, N), total, other

    def dense(self, block: "_Block") -> torch.Tensor:
        if block.Q is None:
            return self.S
        Q = block.Q.to(self.S.dtype)
        return Q @ self.S if self.name == "FACT" else Q @ self.S @ Q.T

    def slope(
        self, block: "_Block", own: _Moment, nfm: _Moment, a: float, weight_decay: float, given: Given
    ) -> "_Slope":
        """Return the derivative of the alignment in what it was computed from."""
        scale = math.sqrt(own.square * nfm.square)
        N, S = block.forms["NFM"].S, self.S
        if self.name == "FACT":
            # −CᵀT/λ with C = (NQᵀ − n̄·11ᵀ)/scale − a/‖R‖²·(R − r̄·11ᵀ), without ever forming C.
            inner = N @ block.T / (-weight_decay * scale)
            gradient = inner if block.Q is None else block.Q @ inner
            gradient.addmm_(S.T, block.T, alpha=a / own.square / weight_decay)
            edge = (nfm.mean / scale - a / own.square * own.mean) / weight_decay
            return _Slope(gradient=gradient.addr_(torch.ones_like(S[0]), block.ones @ block.T, alpha=edge))
        edge = torch.outer(block.ones, block.ones)
        C = (N - nfm.mean * edge) / scale - a / own.square * (S - own.mean * edge)
        if self.values is not None and self.vectors is not None:
            C = _through_root(C, self.values, self.vectors)
        if self.name == "√FACT·FACTᵀ":
            R = block.forms["FACT"].S
            return _Slope(gradient=R.T.to(C.dtype) @ (C.T @ block.T.to(C.dtype) * (-2 / weight_decay)))
        moments, T = given.agop if "AGOP" in self.name else given.enfa, block.T.to(C.dtype)
        return _Slope(
            direct=None if moments.direct is None else C, beyond=None if moments.beyond is None else T.T @ C @ T
        )


@dataclass(frozen=True, eq=False)
class _Slope:
    gradient: torch.Tensor | None = None
    direct: torch.Tensor | None = None
    beyond: torch.Tensor | None = None

    def along(self, i: int, name: str, given: Given) -> float:
        """Return the change of the alignment along a part of the data, for group i of the layer."""
        if self.gradient is not None:
            return 0.0 if given.gradient is None else _inner(self.gradient, given.gradient[i])
        moments, change = (given.agop if "AGOP" in name else given.enfa), 0.0
        if moments.direct is not None and self.direct is not None:
            change += _inner(self.direct, moments.direct[i])
        if moments.beyond is not None and self.beyond is not None:
            change += _inner(self.beyond, moments.beyond[i])
        return change


class _Block:
    """One group of a layer in the smaller coordinates; Q is None if the side is not larger than the other."""

    def __init__(self, w: torch.Tensor, i: int, given: Given, weight_decay: float, roots: bool) -> None:
        direct = given.agop.direct is not None or given.enfa.direct is not None
        if w.shape[1] < w.shape[0] and not direct:
            self.Q, self.T = torch.linalg.qr(w)
            self.ones = self.Q.sum(0)
        else:
            self.Q, self.T = None, w
            self.ones = torch.ones_like(w[:, 0])
        self.forms = {"NFM": _Form("NFM", features.nfm(self.T))}
        self.residual = math.nan
        if given.gradient is not None:
            gradient = given.gradient[i].to(w.dtype)
            R = (self.T @ gradient.T) / (-weight_decay)
            self.forms["FACT"] = _Form("FACT", R)
            self.residual = self._residual(R)
            if roots:
                self.forms["√FACT·FACTᵀ"] = _symmetrised("√FACT·FACTᵀ", R)
        for name, moments in (("AGOP", given.agop), ("eNFA", given.enfa)):
            S = None
            if moments.beyond is not None:
                S = features.pulled_back(self.T, moments.beyond[i].to(w.dtype))
            if moments.direct is not None:
                own = moments.direct[i].to(w.dtype)
                S = own if S is None else S + own
            if S is not None:
                self.forms[name] = _Form(name, S)
                if roots:
                    self.forms[f"√{name}"] = _root(f"√{name}", S)

    def _residual(self, R: torch.Tensor) -> float:
        """Return ‖NFM − FACT‖², some rows at a time."""
        square = 0.0
        for N, part in zip(self.forms["NFM"].S.split(ROWS), R.split(ROWS), strict=True):
            rest = (N if self.Q is None else N @ self.Q.T) - part
            square += float(rest.double().square_().sum())
        return square


def _inner(a: torch.Tensor, b: torch.Tensor) -> float:
    """Return ⟨a, b⟩ in double precision, some rows at a time."""
    return math.fsum(
        float((first.double() * second.double()).sum())
        for first, second in zip(a.split(ROWS), b.split(ROWS), strict=True)
    )


def _root(name: str, A: torch.Tensor) -> _Form:
    """Return √A of a positive matrix with its eigenvectors, which error bars use again."""
    A = _precise(features.symmetric_part(A))
    values, vectors = torch.linalg.eigh(A)
    least = torch.finfo(A.dtype).eps * (len(values) if A.dtype is torch.float64 else 1) * values.max()
    values = torch.where(values > least, values, torch.zeros_like(values)).sqrt()
    return _Form(name, (vectors * values) @ vectors.T, values, vectors)


def _symmetrised(name: str, R: torch.Tensor) -> _Form:
    """Return √(RRᵀ) from the singular values of R; the product RRᵀ, whose rounding is larger, is never formed."""
    R = _precise(R)
    if R.shape[1] > R.shape[0]:
        R = torch.linalg.qr(R.T, mode="r")[1].T
    U, S, _ = torch.linalg.svd(R, full_matrices=False)
    return _Form(name, (U * S) @ U.T, S, U)


def _precise(A: torch.Tensor) -> torch.Tensor:
    return A.double() if A.shape[0] <= EXACT else A


def _through_root(C: torch.Tensor, values: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """Carry a derivative in √A to one in A: in the eigenvectors it is divided by √λᵢ + √λⱼ."""
    C = C.to(vectors.dtype)
    sums = values[:, None] + values[None, :]
    least = 1e-6 * float(values.max()) if len(values) else 0.0
    inner = vectors.T @ ((C + C.T) / 2) @ vectors
    return (
        vectors @ torch.where(sums > least, inner / sums.clamp_min(least or 1.0), torch.zeros_like(inner)) @ vectors.T
    )


def _jackknife(
    slopes: Mapping[str, list[_Slope]], given: Given, parts: Sequence[Callable[[], Given]]
) -> dict[str, float]:
    """Return the standard error of each alignment from its changes along groups of batches.

    This is the infinitesimal jackknife: u_j = ⟨∇a, θ_j⟩ − share_j·⟨∇a, θ⟩ with θ = Σ θ_j, and √(J/(J − 1)·Σ u_j²).
    """

    def along(name: str, given: Given) -> float:
        return sum(slope.along(i, name, given) for i, slope in enumerate(slopes[name]))

    whole = {name: along(name, given) for name in slopes}
    squares = dict.fromkeys(slopes, 0.0)
    for make in parts if slopes else ():
        part = make()
        for name in slopes:
            squares[name] += (along(name, part) - part.share * whole[name]) ** 2
    return {name: math.sqrt(len(parts) / (len(parts) - 1) * square) for name, square in squares.items()}


def _leading(blocks: list[_Block], count: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the leading eigenvalues of NFM and its eigenvectors in rows, each with its largest entry positive."""
    if len(blocks) > 1 or not count:
        return np.array([]), None
    block = blocks[0]
    S = _precise(block.forms["NFM"].S)
    if not bool(torch.isfinite(S).all()):
        return np.array([]), None
    values, vectors = torch.linalg.eigh(S) if len(S) <= EXACT else _subspace(S, count)
    values, vectors = values.flip(0)[:count], vectors.flip(1)[:, :count].to(block.T.dtype)
    rows = (vectors if block.Q is None else block.Q @ vectors).T.double().cpu().numpy()
    signs = np.sign(rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)])
    return values.clamp_min(0).double().cpu().numpy(), rows * signs[:, None]


def _subspace(S: torch.Tensor, count: int, rounds: int = 12) -> tuple[torch.Tensor, torch.Tensor]:
    """Return about `count` leading eigenpairs of a positive matrix, rising, by subspace iteration with a margin."""
    generator = torch.Generator().manual_seed(0)
    basis = torch.randn(len(S), min(4 * count, len(S)), generator=generator, dtype=torch.float64).to(S)
    for _ in range(rounds):
        basis = torch.linalg.qr(S @ basis)[0]
    values, inner = torch.linalg.eigh(basis.T @ S @ basis)
    return values, basis @ inner
