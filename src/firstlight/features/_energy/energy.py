"""Li₂'s energy of a hidden unit over a full or sampled group table, with its gradient and its split by irreps."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from firstlight.groups import Group, convolve, isotypic_energies

Weights = Float[np.ndarray, "twoM K"]
Elementwise = Callable[[np.ndarray], np.ndarray]

_SMALLEST_BATCH = 1024
_SMALL_TABLE = 30_000


@dataclass(frozen=True, eq=False)
class GroupEnergy:
    r"""The energy E(w) = ½‖Ỹᵀσ(Xw)‖² for X = (e_g, e_g′), Y = e_{gg′}, evaluated on many hidden units at once.

    $$E(w) = \tfrac12 \sum_h (z_h - \bar z)^2, \quad z_h = \sum_{gg'=h} \sigma(a(g) + b(g')), \quad w = [a; b]$$

    (Li₂, Theorem 1). Over the whole table, only the cross term of a quadratic σ = c₀ + c₁x + c₂x² remains:
    E = 2c₂²‖a ∗ b − mean‖², computed by group convolution. All other cases sum over the pairs.

    **Arguments:**

    - `group`: group of order M.
    - `activation`: σ, a name or anything that `models.activation` takes.
    - `rows`: indices gM + g′ of the sampled pairs (`tasks.Split.train`); None for all M² pairs.
    - `residualised`: whether to remove from Y the part that depends on g alone or on g′ alone, not only the mean.
    """

    group: Group
    activation: Any = "quadratic"
    rows: Shaped[np.ndarray, " n"] | None = None
    residualised: bool = False

    def __post_init__(self) -> None:
        M = self.group.order
        if self.rows is not None and not np.issubdtype(np.asarray(self.rows).dtype, np.integer):
            raise ValueError(
                f"rows must be indices of pairs, gM + g′, got {np.asarray(self.rows).dtype} values; "
                "turn a mask into indices with np.flatnonzero"
            )
        if self.rows is not None and (len(self.rows) == 0 or self.rows.min() < 0 or self.rows.max() >= M * M):
            raise ValueError(
                f"rows must be pairs gM + g′ of {self.group.name}, 0…{M * M - 1}, got "
                f"{'none' if len(self.rows) == 0 else f'{self.rows.min()} to {self.rows.max()}'}; "
                "pass split.train of tasks.group_task"
            )

    def __call__(self, W: Weights) -> Float[np.ndarray, " K"]:
        """Return E of every column of W (2M, K)."""
        a, b = self.halves(W)
        if self.cross_term is not None:
            return 0.5 * (self._cross(a, b) ** 2).sum(axis=1)
        return 0.5 * (self._correlations(self._sigma[0](a[self._pairs[0]] + b[self._pairs[1]])) ** 2).sum(axis=0)

    def gradient(self, W: Weights) -> tuple[Float[np.ndarray, " K"], Weights]:
        """Return E and ∇E = XᵀDỸỸᵀσ(Xw), the right side of eq. 7, of every column of W (2M, K)."""
        a, b = self.halves(W)
        if self.cross_term is not None:
            t, group = self._cross(a, b), self.group
            back = group.inverse
            # ∂/∂a(g) = Σ_h b(h) t(gh) = (t ∗ Pb)(g), ∂/∂b(h) = Σ_g a(g) t(gh) = (Pa ∗ t)(h).
            left, right = convolve(group, t, b.T[:, back]), convolve(group, a.T[:, back], t)
            return 0.5 * (t**2).sum(axis=1), self.cross_term * np.vstack([left.T, right.T])
        g, h = self._pairs
        x = a[g] + b[h]
        sigma, slope = self._sigma
        z = self._correlations(sigma(x))
        back = slope(x) * self._clean(z[self._labels])
        return 0.5 * (z**2).sum(axis=0), self._sums[0] @ back

    def by_component(self, W: Weights) -> Float[np.ndarray, "K C"]:
        r"""Split E into the parts of the real components; the trivial part is 0, and rows sum to E.

        Corrected eq. 21: E = (M/2) Σ_{k≠0} (1/d_k) ‖Σ_r Ŝ_{k,r}‖_F², with the Frobenius norm in place of the printed
        trace. This equals ½‖P_c z‖² summed over components c.
        """
        a, b = self.halves(W)
        if self.cross_term is not None:
            return 0.5 * isotypic_energies(self.group, self._cross(a, b))
        z = self._correlations(self._sigma[0](a[self._pairs[0]] + b[self._pairs[1]]))
        return 0.5 * isotypic_energies(self.group, z.T)

    def halves(self, W: Weights) -> tuple[np.ndarray, np.ndarray]:
        """Check the shape of W = [a; b] and return the halves a and b (M, K)."""
        M = self.group.order
        if W.shape[0] != 2 * M:
            raise ValueError(
                f"hidden units on {self.group.name} have {2 * M} weights, one column each, got shape {W.shape}; "
                "stack the halves a and b as rows of W"
            )
        return W[:M], W[M:]

    @cached_property
    def cross_term(self) -> float | None:
        """2c₂ if E depends on the cross term 2c₂ a(g) b(g′) alone (quadratic σ, whole table), else None."""
        from firstlight.models import activation

        polynomial = activation(self.activation).polynomial
        if self.rows is not None or polynomial is None or len(polynomial) > 3:
            return None
        return 2.0 * (*polynomial, 0.0, 0.0)[2]

    def _cross(self, a: np.ndarray, b: np.ndarray) -> Float[np.ndarray, "K M"]:
        t = convolve(self.group, a.T, b.T)
        return self.cross_term * (t - t.mean(axis=1, keepdims=True))

    @cached_property
    def _sigma(self) -> tuple[Elementwise, Elementwise]:
        return numpy_activation(self.activation)

    @cached_property
    def _pairs(self) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
        M = self.group.order
        return np.divmod(np.arange(M * M) if self.rows is None else self.rows, M)

    @cached_property
    def _labels(self) -> Int[np.ndarray, " n"]:
        return self.group.table[self._pairs]

    @cached_property
    def _sums(self) -> tuple[Any, Any]:
        """Xᵀ (2M, n) and Yᵀ (M, n), which sum samples by (g, g′) and by gg′; sparse unless small."""
        from scipy.sparse import csc_array

        (g, h), n, M = self._pairs, len(self._labels), self.group.order
        X = csc_array((np.ones(2 * n), np.stack([g, M + h], axis=1).ravel(), 2 * np.arange(n + 1)), shape=(2 * M, n))
        Y = csc_array((np.ones(n), self._labels, np.arange(n + 1)), shape=(M, n))
        small = n * M <= _SMALL_TABLE
        return (X.toarray(), Y.toarray()) if small else (X.tocsr(), Y.tocsr())

    def _correlations(self, f: Float[np.ndarray, "n K"]) -> Float[np.ndarray, "M K"]:
        """Return Ỹᵀf."""
        return self._sums[1] @ self._clean(f)

    @cached_property
    def _explained(self) -> Float[np.ndarray, "twoM twoM"]:
        """(XᵀX)⁺ of the sampled pairs."""
        M, (g, h) = self.group.order, self._pairs
        counts = np.zeros((M, M))
        np.add.at(counts, (g, h), 1.0)
        gram = np.block([[np.diag(counts.sum(1)), counts], [counts.T, np.diag(counts.sum(0))]])
        return np.linalg.pinv(gram, hermitian=True)

    def _clean(self, f: Float[np.ndarray, "n K"]) -> Float[np.ndarray, "n K"]:
        """Subtract from f its mean, or if residualised the least-squares fit by functions of g and of g′."""
        if not self.residualised:
            return f - f.mean(axis=0)
        (g, h), M = self._pairs, self.group.order
        fitted = self._explained @ (self._sums[0] @ f)
        return f - fitted[:M][g] - fitted[M:][h]


def energy(
    W: Float[np.ndarray, "twoM *K"],
    group: Group,
    activation: Any = "quadratic",
    *,
    rows: Int[np.ndarray, " n"] | None = None,
    residualised: bool = False,
) -> Float[np.ndarray, "*K"]:
    """Return E(w) = ½‖Ỹᵀσ(Xw)‖² of a hidden unit w (2M,) or of every column of W (2M, K).

    **Arguments:**

    - `W`: a hidden unit (2M,) or hidden units as columns (2M, K).
    - `group`: group of order M.
    - `activation`: σ, a name or anything that `models.activation` takes.
    - `rows`: indices gM + g′ of the sampled pairs; None for all M² pairs.
    - `residualised`: whether to remove from Y the part that depends on g alone or on g′ alone, not only the mean.

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> wave = np.cos(2 * np.pi * np.arange(7) / 7)
    >>> w = np.concatenate([wave, wave])
    >>> round(float(energy(w / np.linalg.norm(w), cyclic(7))), 12)  # M/4
    1.75
    """
    E = GroupEnergy(group, activation, rows, residualised)
    return E(W) if W.ndim == 2 else np.asarray(E(W[:, None])[0])


def energy_gradient(
    W: Float[np.ndarray, "twoM *K"],
    group: Group,
    activation: Any = "quadratic",
    *,
    rows: Int[np.ndarray, " n"] | None = None,
    residualised: bool = False,
) -> Float[np.ndarray, "twoM *K"]:
    """Return ∇E = XᵀDỸỸᵀσ(Xw), the gradient flow of an independent hidden unit (Li₂, eq. 7).

    The arguments are those of `energy`.

    >>> import numpy as np
    >>> from firstlight.groups import symmetric
    >>> w = np.arange(12.0)
    >>> bool(np.isclose(w @ energy_gradient(w, symmetric(3)), 4 * energy(w, symmetric(3))))  # Euler: degree 4
    True
    """
    E = GroupEnergy(group, activation, rows, residualised)
    return E.gradient(W)[1] if W.ndim == 2 else E.gradient(W[:, None])[1][:, 0]


def numpy_activation(activation: Any) -> tuple[Elementwise, Elementwise]:
    """Return σ and σ′ as functions of float64 NumPy arrays.

    >>> import numpy as np
    >>> sigma, slope = numpy_activation("quadratic")
    >>> sigma(np.array([3.0])), slope(np.array([3.0]))
    (array([9.]), array([6.]))
    """
    from firstlight.models import activation as named

    sigma = named(activation)
    if sigma.polynomial is not None:
        c = np.array(sigma.polynomial)
        return partial(_horner, c), partial(_horner, c[1:] * np.arange(1, len(c)))
    return _in_float64(sigma, 0), _in_float64(sigma, 1)


def _horner(c: Float[np.ndarray, " q"], x: np.ndarray) -> np.ndarray:
    """Return Σ c_i xⁱ, without adding zero coefficients."""
    value: Any = 0.0
    for coefficient in c[::-1]:
        value = value * x + coefficient if coefficient else value * x
    return np.broadcast_to(value, np.shape(x))


@lru_cache(maxsize=64)
def _in_float64(sigma: Any, derivatives: int) -> Elementwise:
    """Compile σ or σ′. Inputs are padded to a few sizes, because JAX compiles again for every new shape."""
    import jax

    compiled = jax.jit(sigma.derivative if derivatives else sigma)

    def evaluate(x: np.ndarray) -> np.ndarray:
        size = _SMALLEST_BATCH
        while size < x.size:
            size *= 4
        padded = np.zeros(size)
        padded[: x.size] = np.ravel(x)
        with jax.enable_x64(True):
            return np.asarray(compiled(padded))[: x.size].reshape(x.shape)

    return evaluate
