"""The structure of a trained embedding: circles, their planes, and the hidden units they use (Section 7.4.2)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex, Float

from firstlight.groups import Group, parse

Embedding = Float[np.ndarray, "p K"]


def fourier_features(E: Embedding) -> Complex[np.ndarray, "f K"]:
    r"""Compute the Fourier features of an embedding of Z_p, for frequencies k = 1, …, ⌊(p − 1)/2⌋.

    $$F_k = \frac1p \sum_j e^{-2\pi i jk/p} E_j$$

    >>> E = np.cos(2 * np.pi * np.arange(5) / 5)[:, None]
    >>> (fourier_features(E).real.round(12) + 0.0).ravel().tolist()
    [0.5, 0.0]
    """
    p = len(E)
    if p < 3:
        raise ValueError(f"circles need an embedding of at least 3 elements, one per row; got {p}")
    return np.fft.fft(np.asarray(E, np.float64), axis=0)[1 : (p - 1) // 2 + 1] / p


@dataclass(frozen=True)
class EmbeddingFeatures:
    """The coordinates of an embedding in each real irreducible part of the group's functions.

    **Attributes:**

    - `labels`: one per part: a frequency, or an irrep.
    - `blocks`: one (size, K) per part; its rows span the part's subspace of the hidden units.
    """

    labels: tuple[str, ...]
    blocks: tuple[Float[np.ndarray, "_ K"], ...]

    @property
    def rows(self) -> Float[np.ndarray, "r K"]:
        """All blocks, stacked."""
        return np.concatenate(self.blocks)

    @property
    def owner(self) -> np.ndarray:
        """The index of the part to which each row belongs."""
        return np.repeat(np.arange(len(self.blocks)), [len(block) for block in self.blocks])


def embedding_features(E: Embedding, group: Group | str | None = None) -> EmbeddingFeatures:
    """Split an embedding into Re F_k and Im F_k on Z_p (without a group), or into the nontrivial irreps of a group.

    On Z_p both give the same circles up to a common factor.

    **Arguments:**

    - `E`: (p, K), one row per group element; of a network with concatenated inputs, the rows of one factor.
    - `group`: a group, its name, or None for Z_p.

    >>> E = np.random.default_rng(0).standard_normal((6, 8))
    >>> embedding_features(E, "S3").labels, [block.shape for block in embedding_features(E, "S3").blocks]
    (('[1,1,1]', '[2,1]'), [(1, 8), (4, 8)])
    """
    if group is None:
        F = fourier_features(E)
        return EmbeddingFeatures(tuple(str(k + 1) for k in range(len(F))), tuple(np.stack([f.real, f.imag]) for f in F))
    group = parse(group) if isinstance(group, str) else group
    if len(E) != group.order:
        raise ValueError(f"the embedding must have {group.order} rows, one per element of {group.name}, got {len(E)}")
    basis, parts = group.real_basis(), group.real_components()[1:]
    blocks = tuple(basis[:, part.columns].T @ np.asarray(E, np.float64) for part in parts)
    return EmbeddingFeatures(tuple(part.label for part in parts), blocks)


def aspect_ratio(features: EmbeddingFeatures) -> Float[np.ndarray, " f"]:
    """Return the shortest over the longest axis of each part's ellipsoid: 1 for a circle of any phase.

    The ratio needs no basis, unlike ‖Re F_k‖/‖Im F_k‖, which is also 1 for a line at 45°.

    >>> line = EmbeddingFeatures(("1",), (np.array([[1.0, 1.0], [1.0, 1.0]]),))
    >>> aspect_ratio(line).round(12).tolist()
    [0.0]
    """
    values = [np.linalg.svd(block, compute_uv=False) for block in features.blocks]
    return np.array([s[-1] / s[0] if s[0] > 0 else np.nan for s in values])


def cosines(features: EmbeddingFeatures) -> Float[np.ndarray, "r r"]:
    """Return the cosine of every pair of feature rows (Figure 4, bottom left); NaN for zero rows."""
    return _cosines(features.rows)


def unit_similarity(features: EmbeddingFeatures) -> Float[np.ndarray, "r r"]:
    """Return the cosine of the absolute values of every pair of rows, near 1 for shared units (bottom right)."""
    return _cosines(np.abs(features.rows))


def _cosines(rows: Float[np.ndarray, "r K"]) -> Float[np.ndarray, "r r"]:
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(sizes > 0, sizes, np.nan)
    return unit @ unit.T


@dataclass(frozen=True)
class EmbeddingMeasures:
    """Figure 4's statements as numbers.

    **Attributes:**

    - `log_ratio`: mean |log ‖Re F_k‖/‖Im F_k‖|, NaN where parts are not planes.
    - `aspect`: mean shortest over longest axis of a part.
    - `spread`: standard deviation over mean of the parts' norms; equally sized circles have 0.
    - `cosine`: mean |cos| of different feature rows.
    - `same`, `other`: mean similarity of absolute values within a part and between parts.
    """

    log_ratio: float
    aspect: float
    spread: float
    cosine: float
    same: float
    other: float


def measure_embedding(E: Embedding, group: Group | str | None = None) -> EmbeddingMeasures:
    """Measure how far an embedding consists of equal circles in orthogonal planes on separate units.

    Features that are zero have no direction and count only in `spread`.

    >>> angle = 2 * np.pi * np.outer(np.arange(5), [1, 2]) / 5
    >>> E = np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
    >>> measures = measure_embedding(E)
    >>> round(measures.aspect, 9), round(abs(measures.cosine), 9), abs(round(measures.other, 9))
    (1.0, 0.0, 0.0)
    """
    if not np.isfinite(E).all():
        raise ValueError("the embedding must be finite; it holds NaN or infinities")
    features = embedding_features(E, group)
    norms = np.array([np.linalg.norm(block) for block in features.blocks])
    # The transform of a constant embedding is zero only up to rounding, 1e-16.
    if norms.max() <= 1e-12 * np.linalg.norm(E):
        raise ValueError("every feature of the embedding is zero: its rows are all the same, so there is no circle")
    same_part = features.owner[:, None] == features.owner
    different = ~np.eye(len(same_part), dtype=bool)
    similarity = unit_similarity(features)
    planes = all(len(block) == 2 for block in features.blocks)
    ratios = [_log_ratio(block) for block in features.blocks if np.linalg.norm(block, axis=1).all()]
    return EmbeddingMeasures(
        log_ratio=_mean(np.array(ratios)) if planes else float("nan"),
        aspect=_mean(aspect_ratio(features)),
        spread=float(norms.std() / norms.mean()),
        cosine=_mean(np.abs(cosines(features)[different])),
        same=_mean(similarity[same_part & different]),
        other=_mean(similarity[~same_part]),
    )


def _log_ratio(block: Float[np.ndarray, "_ K"]) -> float:
    return float(abs(np.log(np.linalg.norm(block[0]) / np.linalg.norm(block[-1]))))


def _mean(values: Float[np.ndarray, " n"]) -> float:
    there = values[np.isfinite(values)]
    return float(there.mean()) if there.size else float("nan")
