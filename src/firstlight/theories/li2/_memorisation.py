"""Theorem 5: the maxima of the energy when all samples share one target, which only memorise."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from scipy.optimize import root_scalar

from firstlight.features import numpy_activation
from firstlight.groups import Group

BUDGET = np.sqrt(2.0)
"""Largest pair sum of a hidden unit of norm 1: s_g = u_g + v_{g⁻¹h} ≤ √2."""

_SMALLEST, _LARGEST = 1e-12, 1.001 * BUDGET

Shape = Literal["focused", "spreading", "mixed"]


def phi(activation: Any, x: Float[np.ndarray, "*x"]) -> Float[np.ndarray, "*x"]:
    """Evaluate φ(x) = σ′(x)/x for x > 0: memories are focused if φ does not decrease, spreading if it does.

    >>> import numpy as np
    >>> phi("quadratic", np.array([0.5, 1.0])), phi("relu", np.array([0.5, 1.0]))
    (array([2., 2.]), array([2., 1.]))
    """
    x = np.asarray(x, float)
    if (x <= 0).any():
        raise ValueError(f"φ(x) = σ′(x)/x requires x > 0, got {x.min()}")
    return np.asarray(numpy_activation(activation)[1](x) / x)


def memory_shape(activation: Any) -> Shape:
    """Classify φ on (0, √2]: nondecreasing ("focused"), strictly decreasing ("spreading") or neither ("mixed").

    >>> [memory_shape(name) for name in ("quadratic", "power3", "relu", "silu", "tanh", "sigmoid")]
    ['focused', 'focused', 'spreading', 'spreading', 'spreading', 'spreading']
    """
    x = np.linspace(0, BUDGET, 2001)[1:]
    values = phi(activation, x)
    change, rounding = np.diff(values), 1e-12 * np.abs(values[1:])
    if (change >= -rounding).all():
        return "focused"
    return "spreading" if (change < 0).all() else "mixed"


@dataclass(frozen=True, eq=False)
class Memory:
    """The memory of largest energy.

    **Attributes:**

    - `shape`: "focused", "spreading" or "mixed".
    - `s`: (M,) pair sums s_g.
    - `lam`: multiplier λ.
    - `value`: F = Σ p_g σ(s_g).
    """

    shape: Shape
    s: Float[np.ndarray, " M"]
    lam: float
    value: float

    def node(self, group: Group, h: int) -> Float[np.ndarray, " twoM"]:
        """Return w = ½ Σ_g s_g [e_g; e_{g⁻¹h}], the hidden unit of norm 1 with these pair sums."""
        w = np.zeros(2 * group.order)
        w[: group.order] = self.s / 2
        w[group.order + group.table[group.inverse, h]] = self.s / 2
        return w


def memorise(p: Float[np.ndarray, " M"], activation: Any) -> Memory:
    r"""Maximise F(s) = Σ_g p_g σ(s_g) over s ≥ 0, Σ s_g² ≤ 2 (Li₂, Theorem 5 and Lemmas 5, 6).

    $$p_g\,\varphi(s_g) = 2\lambda \text{ where } s_g > 0, \qquad \sum_g s_g^2 = 2$$

    If φ = σ′(x)/x is nondecreasing, the whole budget goes to the most frequent pair. If φ is strictly decreasing,
    s_g = φ⁻¹(2λ/p_g), and 0 where 2λ/p_g ≥ φ(0⁺).

    **Arguments:**

    - `p`: (M,) how often the pair (g, g⁻¹h) is sampled, with a unique maximum if the memory is focused.
    - `activation`: σ, with σ′ > 0 on (0, √2], so that the whole budget is used.

    >>> import numpy as np
    >>> p = np.array([0.5, 0.3, 0.2])
    >>> memorise(p, "quadratic").s.round(4), memorise(p, "relu").s.round(4)
    (array([1.4142, 0.    , 0.    ]), array([1.1471, 0.6882, 0.4588]))
    """
    p = np.asarray(p, float)
    if p.ndim != 1 or not ((p >= 0).all() and p.sum() > 0 and np.isfinite(p).all()):
        raise ValueError(f"p must be frequencies ≥ 0 and not all 0, got {p}")
    if not (phi(activation, np.linspace(0, BUDGET, 2001)[1:]) > 0).all():
        raise ValueError(f"σ must rise on (0, √2], got {activation!r}, which does not; Theorem 5 needs σ′ > 0")
    sigma = numpy_activation(activation)[0]
    shape = memory_shape(activation)
    if shape == "mixed":
        raise ValueError(
            f"φ = σ′(x)/x of {activation!r} neither decreases nor increases on (0, √2], which Theorem 5 does not "
            "cover; ascend E instead"
        )
    if shape == "focused":
        s = np.where(np.arange(len(p)) == p.argmax(), BUDGET, 0.0)
        lam = float(p.max() * phi(activation, np.array(BUDGET)) / 2)
    else:
        s, lam = _spread(p, activation)
    return Memory(shape, s, lam, float(p @ sigma(s)))


def _spread(p: Float[np.ndarray, " M"], activation: Any) -> tuple[Float[np.ndarray, " M"], float]:
    """Solve p φ(s) = 2λ and Σs² = 2 for s and λ: a root search in log λ, with an inner search for all s at once."""
    # λ is smallest if s = √2 at the most frequent pair only, and a slightly smaller λ exceeds the budget despite
    # rounding; λ is largest as s → 0 everywhere.
    low = np.log(p.max() * phi(activation, np.array(0.5 * (BUDGET + _LARGEST))) / 2)
    high = low + 1.0
    while _budget(p, activation, high) > 2:
        high += 1.0
    log_lam = root_scalar(lambda x: _budget(p, activation, x) - 2, bracket=(low, high), xtol=1e-14).root
    return _inverse(p, activation, log_lam), float(np.exp(log_lam))


def _budget(p: Float[np.ndarray, " M"], activation: Any, log_lam: float) -> float:
    return float((_inverse(p, activation, log_lam) ** 2).sum())


def _inverse(p: Float[np.ndarray, " M"], activation: Any, log_lam: float) -> Float[np.ndarray, " M"]:
    """Return φ⁻¹(2λ/p) in [0, 1.001·√2], and 0 where φ(0⁺) is too small or p = 0."""
    target = 2 * np.exp(log_lam) / np.where(p > 0, p, 1.0)
    low, high = np.full(p.shape, _SMALLEST), np.full(p.shape, _LARGEST)
    active = (p > 0) & (phi(activation, low) > target)
    parts, each = np.linspace(0, 1, 65), np.arange(len(p))
    # Nine searches among 64 parts each are as exact as 54 bisections, with a sixth of the calls.
    for _ in range(9):
        grid = low[:, None] + (high - low)[:, None] * parts
        last = np.clip((phi(activation, grid) > target[:, None]).sum(axis=1) - 1, 0, 63)
        low, high = grid[each, last], grid[each, last + 1]
    return np.where(active, 0.5 * (low + high), 0.0)


def memory_energy(
    w: Float[np.ndarray, " twoM"], p: Float[np.ndarray, " M"], group: Group, h: int, activation: Any
) -> float:
    """Compute F(w) = Σ_g p_g σ(u_g + v_{g⁻¹h}); E = ½(nF)² for uncentred Y and one target h.

    If Y is centred over samples that all have one target, Ỹ = 0 and E vanishes identically.

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> p = np.array([0.5, 0.3, 0.2])
    >>> w = memorise(p, "quadratic").node(cyclic(3), 1)
    >>> round(memory_energy(w, p, cyclic(3), 1, "quadratic"), 12)  # 2 max p
    1.0
    """
    partner = group.table[group.inverse, h]
    return float(p @ numpy_activation(activation)[0](w[: group.order] + w[group.order + partner]))
