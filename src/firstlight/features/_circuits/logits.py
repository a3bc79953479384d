"""The part of a table of logits that depends on the product alone, irrep by irrep.

A table of logits L (M, M, M) holds the output c of the network for the pair (a, b). Functions of the product ab are
the generalising part: for Z_p they are Nanda's waves cos ω_k(a+b) and sin ω_k(a+b), one pair for each frequency k; for
any group they are the matrix entries of ρ(ab), one real component for each irrep ρ and its conjugate.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from firstlight.features._arrays import asarray_like, namespace
from firstlight.features._energy.content import _membership
from firstlight.groups import Group

KEY_SHARE = 0.5
"""A component is key from this multiple of the share that it would have if all components had equal weight."""


def product_mean(
    logits: Float[Any, "M M M"], group: Group, pairs: Float[Any, "M M"] | None = None
) -> Float[Any, "M M"]:
    r"""Return the mean logit of each output over the pairs with the same product.

    $$\bar f(g, c) = \frac{1}{M} \sum_{ab = g} L(a, b, c)$$

    **Arguments:**

    - `logits`: L, one row of outputs for each pair (a, b).
    - `group`: the group of order M.
    - `pairs`: weight of each pair, such as 1 for held-out pairs and 0 for others; all count equally if not given. A
      product without pairs has mean 0.

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> sums = np.eye(3)[cyclic(3).table]
    >>> product_mean(sums, cyclic(3))
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    _check(logits, group)
    xp = namespace(logits)
    a = np.arange(group.order)[:, None]
    b = group.table[group.inverse]  # b[a, g] = a⁻¹g
    if pairs is None:
        return xp.mean(logits[a, b], axis=0)
    weights = pairs[a, b]
    total = xp.sum(weights, axis=0)
    summed = xp.sum(logits[a, b] * weights[..., None], axis=0)
    return summed / xp.where(total > 0, total, xp.ones_like(total))[:, None]


def component_part(mean: Float[Any, "M M"], group: Group, components: Any) -> Float[Any, "M M"]:
    """Return the part of functions on the group (columns) that lies in some real components.

    **Arguments:**

    - `mean`: (M, M), such as `product_mean`; functions of the row.
    - `group`: group of order M, with C real components.
    - `components`: (C,) booleans or weights.
    """
    basis = asarray_like(group.real_basis(), mean)
    weights = asarray_like(_membership(group), mean) @ _as_weights(components, mean)
    return basis @ (weights[:, None] * (basis.T @ mean))


def restricted_logits(logits: Float[Any, "M M M"], group: Group, keys: Any) -> Float[Any, "M M M"]:
    """Return the logits with every term removed but the constant and the key components of the product.

    Nanda et al. (2023), Section 5.1, for any finite group: the loss of these logits is the restricted loss.

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> sums = np.eye(3)[cyclic(3).table]
    >>> bool(np.allclose(restricted_logits(sums, cyclic(3), np.array([False, True])), sums))
    True
    """
    keys = _as_weights(keys, logits)
    trivial = asarray_like(np.eye(len(keys))[0], logits)
    xp = namespace(logits)
    return _of_pairs(component_part(product_mean(logits, group), group, xp.maximum(keys, trivial)), group)


def excluded_logits(logits: Float[Any, "M M M"], group: Group, keys: Any) -> Float[Any, "M M M"]:
    """Return the logits with the key components of the product removed and every other term left as it is.

    Nanda et al. (2023), Section 5.1: the loss of these logits on the training pairs is the excluded loss.
    """
    keys = _as_weights(keys, logits)
    trivial = asarray_like(np.eye(len(keys))[0], logits)
    return logits - _of_pairs(component_part(product_mean(logits, group), group, keys * (1 - trivial)), group)


def product_shares(
    logits: Float[Any, "M M M"], group: Group, pairs: Float[Any, "M M"] | None = None
) -> Float[Any, " C"]:
    """Return the share of the logits' variance over pairs that each component of the product explains.

    The mean over outputs is removed first, since neither softmax nor a projected squared error sees it. On all pairs
    the shares of all components sum to at most 1; the share of the trivial component is 0. Measured on held-out pairs
    (`pairs`), a network that has only memorised has shares near 1/M in total.

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> product_shares(np.eye(5)[cyclic(5).table], cyclic(5)).round(6)
    array([0. , 0.5, 0.5])
    """
    xp = namespace(logits)
    pairs = xp.ones_like(logits[..., 0]) if pairs is None else pairs
    weights = pairs / xp.maximum(xp.sum(pairs), 1e-30 * xp.ones_like(xp.sum(pairs)))
    centred = logits - xp.mean(logits, axis=-1)[..., None]
    centred = centred - xp.sum(centred * weights[..., None], axis=(0, 1))
    total = xp.sum(xp.sum(centred**2, axis=-1) * weights)
    mean = product_mean(centred, group, pairs)
    squares = xp.sum((asarray_like(group.real_basis(), logits).T @ mean) ** 2, axis=1) / group.order
    energies = squares @ asarray_like(_membership(group), logits)
    nontrivial = asarray_like(1 - np.eye(energies.shape[0])[0], logits)
    return nontrivial * energies / xp.where(total > 0, total, xp.ones_like(total))


def key_components(shares: Float[Any, " C"], group: Group) -> Bool[Any, " C"]:
    """Return which components are key: their share is at least half of what equal weights would give them.

    Components of size d² (or 2d²) would each have the share size/(M − 1) if all had equal weight.

    >>> import numpy as np
    >>> from firstlight.groups import cyclic
    >>> key_components(np.array([0.0, 0.02, 0.9]), cyclic(5))
    array([False, False,  True])
    """
    sizes = np.array([c.size for c in group.real_components()], float)
    level = KEY_SHARE * sizes / max(group.order - 1, 1)
    level[0] = 2.0  # the trivial component is a constant, never a key
    return shares >= asarray_like(level, shares)


class Formula(NamedTuple):
    """The least-squares fit of the logit formula.

    **Attributes:**

    - `coefficients`: (C,) α of each component; 0 if it is not key.
    - `fit`: share of the logits' variance that the formula explains, 1 for a perfect fit.
    """

    coefficients: Any
    fit: Any


def logit_formula(logits: Float[Any, "M M M"], group: Group, keys: Any) -> Formula:
    r"""Fit the logits by characters of the key irreps.

    $$L(a, b, c) \approx \text{const}(a, b) + \sum_{\rho \text{ key}} \alpha_\rho \,\mathrm{Re}\,\chi_\rho(a b c^{-1})$$

    For Z_p this is Σ_k α_k cos ω_k(a + b − c) (Nanda et al. 2023, eq. 1); for any group it is the formula of Chughtai,
    Chan and Nanda (2023). Characters of different irreps are orthogonal, so each coefficient is a projection.

    **Arguments:**

    - `logits`: L (M, M, M).
    - `group`: the group of order M, with C real components.
    - `keys`: (C,) which components the formula has.

    >>> import numpy as np
    >>> from firstlight.groups import symmetric
    >>> S3 = symmetric(3)
    >>> formula = logit_formula(np.eye(6)[S3.table], S3, np.array([False, True, True]))
    >>> formula.coefficients.round(6), round(float(formula.fit), 6)
    (array([0.      , 0.166667, 0.333333]), 1.0)
    """
    xp = namespace(logits)
    components = group.real_components()
    centred = logits - xp.mean(logits, axis=-1)[..., None]
    mean, basis = product_mean(centred, group), asarray_like(group.real_basis(), logits)
    # The projection P on a component has the entries (d/M)·χ(gc⁻¹), or (2d/M)·Re χ for a pair of conjugate irreps.
    diagonal = xp.sum(basis * (mean @ basis), axis=0) @ asarray_like(_membership(group), logits)
    sizes = asarray_like(np.array([c.size for c in components], float), logits)
    per_character = np.array([(2 if c.kind == "complex" else 1) * c.dim / group.order for c in components])
    keys = _as_weights(keys, logits) * asarray_like(1 - np.eye(len(components))[0], logits)
    beta = keys * diagonal / sizes
    total = xp.sum(centred**2)
    explained = group.order * xp.sum(beta**2 * sizes)
    fit = explained / xp.where(total > 0, total, xp.ones_like(total))
    return Formula(beta * asarray_like(per_character, logits), fit)


def _of_pairs(of_product: Any, group: Group) -> Any:
    """Return the function of pairs (a, b) ↦ f(ab)."""
    # A copy: JAX caches the conversion of a read-only array, in the precision of the first caller.
    return of_product[np.array(group.table)]


def _as_weights(components: Any, like: Any) -> Any:
    if isinstance(components, np.ndarray | list | tuple):
        return asarray_like(np.asarray(components, float), like)
    return components * namespace(like).ones_like(like.reshape(-1)[:1])  # booleans become numbers


def _check(logits: Any, group: Group) -> None:
    if logits.shape != (group.order,) * 3:
        raise ValueError(
            f"logits of {group.name} must have shape {(group.order,) * 3}, a row of outputs for each pair, got "
            f"{tuple(logits.shape)}; evaluate the network on all pairs and reshape"
        )
