"""Ascents of the energy on the unit sphere from many starts at once."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Complex, Float

from firstlight.features._energy.energy import GroupEnergy, Weights
from firstlight.features._energy.maxima import require_features
from firstlight.groups import Group, fourier, inverse_fourier

LARGEST_STEP = 16.0

PATIENCE, PROGRESS = 50, 1e-10
"""An ascent has stalled if `PATIENCE` steps raise E by less than the fraction `PROGRESS`. In 50 steps τ can be halved
from its largest value to 1e-14."""

KINK_RADII = (1e-3, 1e-5, 1e-7)
"""Radii around a stalled point at which gradients are sampled."""

VANISHING = 1e-28
"""Energies up to this are zero up to rounding, at ‖w‖ = 1."""


@dataclass(frozen=True, eq=False)
class Ascent:
    """The end points of ascents.

    **Attributes:**

    - `W`: (2M, K) end points, one hidden unit per column.
    - `energy`: (K,) energy of every end point.
    - `converged`: (K,) whether the ascent reached a maximum.
    - `steps`: number of steps taken.
    """

    W: Weights
    energy: Float[np.ndarray, " K"]
    converged: Bool[np.ndarray, " K"]
    steps: int


def random_starts(group: Group, count: int, seed: int) -> Float[np.ndarray, "twoM count"]:
    """Draw hidden units uniformly from the unit sphere, as columns.

    >>> from firstlight.groups import cyclic
    >>> random_starts(cyclic(5), 3, seed=0).shape
    (10, 3)
    """
    W = np.random.default_rng(seed).standard_normal((2 * group.order, count))
    return W / np.linalg.norm(W, axis=0)


def ascend(
    E: GroupEnergy, W: Weights, *, steps: int = 2000, tolerance: float = 1e-9, fitted: Collection[int] = ()
) -> Ascent:
    r"""Follow ∇E on the unit sphere from every column of W to a maximum.

    $$w \leftarrow \frac{w + \tau\nabla E/(w\cdot\nabla E)}{\|\cdot\|}$$

    Near a maximum, a step with τ = 1 halves the part of w in other irreps. Over the whole table with quadratic σ all
    steps are taken in the Fourier domain, at a cost of O(M) each for an Abelian group. Otherwise every hidden unit has
    its own τ, which grows while the energy rises and is halved when the energy would fall.

    **Arguments:**

    - `E`: the energy.
    - `W`: (2M, K) starts, with norms above 0.
    - `steps`: maximal number of steps.
    - `tolerance`: an ascent has converged if ‖∇E − (w·∇E)w‖ ≤ tolerance · |w·∇E|. It has also converged if it stalled
      (`PATIENCE` steps without a rise of E by the fraction `PROGRESS`) and gradient sampling finds no higher point:
      this happens at a kink of σ, where ∇E does not vanish. A start with E = 0 has no gradient: it stays, and does not
      count as converged.
    - `fitted`: indices in `group.irreps()` of irreps that are left out of E (E_S of Li₂, Theorem 7); only over the
      whole table with quadratic σ.

    >>> from firstlight.groups import quaternion
    >>> E = GroupEnergy(quaternion())
    >>> end = ascend(E, random_starts(E.group, 20, seed=0))
    >>> sorted({round(float(e), 9) for e in end.energy}), bool(end.converged.all())
    ([1.0, 4.0], True)
    """
    require_features(E.group)
    if W.ndim != 2:
        raise ValueError(f"starts are columns of W (2M, K), got shape {W.shape}; draw them with random_starts")
    E.halves(W)
    norms = np.linalg.norm(W, axis=0)
    if not ((norms > 0) & np.isfinite(norms)).all():
        raise ValueError("starts are columns of W (2M, K) with a norm above 0; draw them with random_starts")
    if E.cross_term == 0:
        raise ValueError(f"E vanishes over a whole table for σ = {E.activation!r}; choose a σ with an x² term")
    if E.cross_term is not None:
        return _ascend_blocks(E, W / norms, steps, tolerance, fitted)
    if fitted:
        raise ValueError("irreps can be left out over the whole table with quadratic σ only; pass fitted=()")
    return _ascend_samples(E, W / norms, steps, tolerance)


def _ascend_samples(E: GroupEnergy, W: Weights, steps: int, tolerance: float) -> Ascent:
    """Ascend by gradients over the sampled pairs, with a step size per hidden unit."""
    W = W.copy()
    K = W.shape[1]
    value, gradient = E.gradient(W)
    mark, since = value.copy(), np.zeros(K, dtype=int)
    tau, moving, done = np.ones(K), np.flatnonzero(value > VANISHING), 0
    converged = np.zeros(K, dtype=bool)
    while len(moving) and done < steps:
        done += 1
        w, g = W[:, moving], gradient[:, moving]
        along = (w * g).sum(axis=0)
        off = np.linalg.norm(g - along * w, axis=0)
        rest = off <= tolerance * np.abs(along)
        for place in np.flatnonzero(~rest & (since[moving] >= PATIENCE)):
            j = moving[place]
            higher = _along_a_kink(E, W[:, j], float(value[j]))
            rest[place] = higher is None
            if higher is not None:
                W[:, j], since[j], tau[j] = higher, 0, 1e-6
                value[j : j + 1], gradient[:, j : j + 1] = E.gradient(higher[:, None])
        converged[moving[rest]] = True
        moving = moving[~rest]
        w, g = W[:, moving], gradient[:, moving]
        # If σ is not homogeneous, w·∇E may be small or negative; ‖∇E‖ then sets the length of the step.
        along = np.maximum((w * g).sum(axis=0), 0.25 * np.linalg.norm(g, axis=0))
        trial = w + tau[moving] * g / along
        trial /= np.linalg.norm(trial, axis=0)
        trial_value, trial_gradient = E.gradient(trial)
        better = trial_value >= value[moving] * (1 - 1e-14)
        accepted = moving[better]
        W[:, accepted], value[accepted] = trial[:, better], trial_value[better]
        gradient[:, accepted] = trial_gradient[:, better]
        tau[moving] = np.where(better, np.minimum(LARGEST_STEP, 1.5 * tau[moving]), 0.5 * tau[moving])
        risen = value[moving] > mark[moving] * (1 + PROGRESS)
        mark[moving] = np.where(risen, value[moving], mark[moving])
        since[moving] = np.where(risen, 0, since[moving] + 1)
    return Ascent(W, value, converged, done)


def _along_a_kink(E: GroupEnergy, w: Float[np.ndarray, " twoM"], value: float) -> Float[np.ndarray, " twoM"] | None:
    """Return a higher point near w, or None, by gradient sampling (Burke, Lewis and Overton, 2005).

    At a kink of σ an ascent along ∇E crosses the kink back and forth and stalls. The shortest convex combination of
    gradients around w is the direction of steepest ascent along the kink; it vanishes at a maximum.
    """
    rng, start = np.random.default_rng(0), value
    for radius in KINK_RADII:
        for _ in range(PATIENCE):
            trial = _beyond_kinks(E, w, radius, rng)
            reached = E(trial)
            if not reached.max() > value * (1 + PROGRESS):
                break
            w, value = trial[:, reached.argmax()], float(reached.max())
    return w if value > start else None


def _beyond_kinks(
    E: GroupEnergy, w: Float[np.ndarray, " twoM"], radius: float, rng: np.random.Generator
) -> Float[np.ndarray, "twoM six"]:
    """Return points at several distances from w along the shortest convex combination of gradients around w."""
    from scipy.optimize import nnls

    around = rng.standard_normal((len(w), 2 * len(w)))
    around = w[:, None] + radius * np.column_stack([0 * w, around / np.linalg.norm(around, axis=0)])
    G = E.gradient(around / np.linalg.norm(around, axis=0))[1]
    G = G - w[:, None] * (w @ G)
    size = np.linalg.norm(G, axis=0).max()
    # Minimise ‖Gλ‖ over λ ≥ 0; the constraint Σλ = 1 is a row with a large weight.
    share = nnls(np.vstack([G / size, np.full(G.shape[1], 1e3)]), np.append(np.zeros(len(w)), 1e3))[0]
    d = G @ share
    lengths = radius * np.array([100.0, 10.0, 3.0, 1.0, 0.3, 0.1])
    trial = w[:, None] + lengths * (d / max(np.linalg.norm(d), np.finfo(float).tiny))[:, None]
    return trial / np.linalg.norm(trial, axis=0)


Blocks = list[Complex[np.ndarray, "..."]]
"""One (2, K, irreps, d, d) array per dimension d: both halves of K hidden units."""


@dataclass(frozen=True, eq=False)
class _Frame:
    """Fourier blocks of both halves a and b: irreps of equal dimension stacked, one irrep of each conjugate pair.

    In the scaled blocks A = √(m d/M) â, with m = 2 for a complex pair and 1 otherwise, ‖w‖² is the sum of squares over
    both halves, and E ∝ Σ_k ‖B_k A_k‖² / m_k d_k.
    """

    group: Group
    indices: list[np.ndarray]
    scales: list[Float[np.ndarray, "..."]]

    @classmethod
    def of(cls, group: Group, fitted: Collection[int] = ()) -> "_Frame":
        irreps = group.irreps()
        closed = set(fitted) | {irreps[k].conjugate for k in fitted}
        free = [rho for rho in irreps if not rho.is_trivial and rho.index <= rho.conjugate and rho.index not in closed]
        if not free:
            raise ValueError(f"every irrep of {group.name} is fitted, so E is zero; remove one irrep from fitted")
        dims = sorted({rho.dim for rho in free})
        by_dim = [[rho for rho in free if rho.dim == d] for d in dims]
        multiplicities = [np.array([1.0 if rho.index == rho.conjugate else 2.0 for rho in same]) for same in by_dim]
        scales = [np.sqrt(m * d / group.order)[:, None, None] for m, d in zip(multiplicities, dims, strict=True)]
        return cls(group, [np.array([rho.index for rho in same]) for same in by_dim], scales)

    def split(self, W: Weights) -> Blocks:
        blocks = fourier(self.group, W.reshape(2, self.group.order, -1).swapaxes(1, 2))
        stacked = (np.stack([blocks[i] for i in index], axis=2) for index in self.indices)
        return [s * block for s, block in zip(self.scales, stacked, strict=True)]

    def join(self, parts: Blocks) -> Weights:
        irreps, K = self.group.irreps(), parts[0].shape[1]
        blocks = [np.zeros((2, K, rho.dim, rho.dim), complex) for rho in irreps]
        for index, s, part in zip(self.indices, self.scales, parts, strict=True):
            for place, i in enumerate(index):
                blocks[i] = part[:, :, place] / s[place]
                blocks[irreps[i].conjugate] = blocks[i] if irreps[i].conjugate == i else blocks[i].conj()
        halves = np.real(inverse_fourier(self.group, blocks)).swapaxes(1, 2)
        return halves.reshape(2 * self.group.order, K)


def _ascend_blocks(E: GroupEnergy, W: Weights, steps: int, tolerance: float, fitted: Collection[int]) -> Ascent:
    """Ascend in Fourier blocks, where E is a sum over irreps; converged hidden units leave the batch."""
    frame = _Frame.of(E.group, fitted)
    X = frame.split(W)
    alive = _total(X, [_block_gradient(x, s) for x, s in zip(X, frame.scales, strict=True)]) > VANISHING
    moving, converged, done = np.flatnonzero(alive), np.zeros(W.shape[1], dtype=bool), 0
    ends, X = [x.copy() for x in X], [x[:, alive] for x in X]
    while len(moving) and done < steps:
        done += 1
        norm = np.sqrt(_total(X, X))
        X = [x / norm[:, None, None, None] for x in X]
        G = [_block_gradient(x, s) for x, s in zip(X, frame.scales, strict=True)]
        along = _total(X, G)
        G = [g / along[:, None, None, None] for g in G]
        for end, x in zip(ends, X, strict=True):
            end[:, moving] = x
        off = [g - x for x, g in zip(X, G, strict=True)]
        rest = np.sqrt(_total(off, off)) <= tolerance
        converged[moving[rest]] = True
        moving = moving[~rest]
        X = [(x + g)[:, ~rest] for x, g in zip(X, G, strict=True)]
    W = W.copy()
    if alive.any():
        risen = frame.join([end[:, alive] for end in ends])
        W[:, alive] = risen / np.linalg.norm(risen, axis=0)
    return Ascent(W, E(W), converged, done)


def _block_gradient(x: Complex[np.ndarray, "two K k d d"], s: Float[np.ndarray, "k one one"]) -> np.ndarray:
    """∇ of ½Σ‖BA/s‖² for the halves (A, B) = x: (B*T, TA*) with T = BA/s²."""
    A, B = x
    if x.shape[-1] == 1:
        size = (np.real(x) ** 2 + np.imag(x) ** 2) / s**2
        return x * size[::-1]
    T = (B @ A) / s**2
    return np.stack([B.conj().swapaxes(-1, -2) @ T, T @ A.conj().swapaxes(-1, -2)])


def _total(X: Blocks, Y: Blocks) -> Float[np.ndarray, " K"]:
    """Return Re⟨x, y⟩ of every hidden unit, summed over all blocks of both halves."""
    products = [np.real(x) * np.real(y) + np.imag(x) * np.imag(y) for x, y in zip(X, Y, strict=True)]
    return np.sum([p.sum(axis=(0, 2, 3, 4)) for p in products], axis=0)
