"""The maxima of the energy that random starts reach, and the curvature of the energy there."""

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from firstlight.features._energy.ascent import ascend, random_starts
from firstlight.features._energy.content import irrep_content, purity
from firstlight.features._energy.energy import GroupEnergy, energy
from firstlight.features._energy.maxima import maxima, require_features
from firstlight.groups import Group

ZERO = 1e-6
"""Eigenvalues of the Hessian below this share of w·∇E count as zero."""


def energy_hessian(
    w: Float[np.ndarray, " twoM"], group: Group, basis: Float[np.ndarray, "M s"] | None = None
) -> Float[np.ndarray, "m m"]:
    r"""Return ∇²E at w = [a; b], for E = 2‖t‖², t = a ∗ b − mean: the whole table with σ = x².

    $$\nabla^2 E = 4\begin{pmatrix} L^\top L & L^\top R + T \\ \cdot & R^\top R\end{pmatrix}, \quad
      L_{hg} = \partial t_h/\partial a_g,\; R_{hg} = \partial t_h/\partial b_g,\; T_{gg'} = t(gg').$$

    **Arguments:**

    - `w`: (2M,) weights of a hidden unit.
    - `group`: group of order M.
    - `basis`: (M, s) orthonormal columns; the Hessian is then in these coordinates of both halves, m = 2s. By default
      m = 2M.

    >>> import numpy as np
    >>> from firstlight.features import energy_gradient
    >>> from firstlight.groups import symmetric
    >>> w = np.arange(12.0)
    >>> np.allclose(energy_hessian(w, symmetric(3)) @ w, 3 * energy_gradient(w, symmetric(3)))  # Euler
    True
    """
    M, table, back = group.order, group.table, group.inverse
    a, b = w[:M], w[M:]
    L, R = b[table[back]].T, a[table[:, back]]
    t = L @ a
    T = (t - t.mean())[table]
    if basis is not None:
        L, R, T = L @ basis, R @ basis, basis.T @ T @ basis
    L, R = L - L.mean(axis=0), R - R.mean(axis=0)
    cross = L.T @ R + T
    return 4 * np.block([[L.T @ L, cross], [cross.T, R.T @ R]])


def curvature(w: Float[np.ndarray, " twoM"], group: Group) -> Float[np.ndarray, " m"]:
    """Return the eigenvalues of the Hessian of E on the unit sphere at the critical point w/‖w‖, ascending; m = 2M − 1.

    They are the eigenvalues of ∇²E − (w·∇E) on the tangent space. If w lies in one component, ∇²E vanishes on all
    others, and only this component is decomposed.

    >>> from firstlight.features import maxima
    >>> from firstlight.groups import cyclic
    >>> curvature(maxima(cyclic(3))[0].random_nodes(1, seed=0)[:, 0], cyclic(3)).round(9) + 0.0
    array([-6., -3., -3.,  0.,  0.])
    """
    w = _unit(w)
    M, content = group.order, irrep_content(w[:, None], group)[0]
    pure = content.max() > 1 - ZERO**2
    basis = group.real_components()[int(content.argmax())].basis if pure else np.eye(M)
    H = energy_hessian(w, group, basis)
    v = np.concatenate([w[:M] @ basis, w[M:] @ basis])
    along = v @ H @ v / 3
    # Shift the normal direction below all other eigenvalues, so that it can be dropped.
    normal = -(np.abs(H).sum(axis=1).max() + 2 * abs(along) + 1)
    P = np.eye(len(v)) - np.outer(v, v)
    tangent = P @ (H - along * np.eye(len(v))) @ P + normal * np.outer(v, v)
    inside = np.linalg.eigvalsh(tangent)[1:]
    return np.sort(np.concatenate([inside, np.full(2 * M - len(v), -along)]))


def signature(w: Float[np.ndarray, " twoM"], group: Group) -> Int[np.ndarray, "3"]:
    """Count the positive, zero and negative eigenvalues of `curvature`, at w of any norm above 0.

    >>> from firstlight.features import maxima
    >>> from firstlight.groups import quaternion
    >>> signature(maxima(quaternion())[-1].random_nodes(1, seed=0)[:, 0], quaternion())
    array([0, 6, 9])
    """
    w = _unit(w)
    values = curvature(w, group)
    small = ZERO * 4 * float(energy(w, group))
    return np.array([(values > small).sum(), (np.abs(values) <= small).sum(), (values < -small).sum()])


def _unit(w: Float[np.ndarray, " twoM"]) -> Float[np.ndarray, " twoM"]:
    norm = np.linalg.norm(w)
    if not norm > 0:
        raise ValueError(f"a point of the sphere needs a norm above 0, got {norm}")
    return w / norm


def census(group: Group, starts: int = 100, seed: int = 0, *, curved: int | None = None) -> pd.DataFrame:
    """Ascend E from random starts and compare each end point with the maximum that theory predicts.

    **Arguments:**

    - `group`: group of order M; the energy has σ = x² over the whole table.
    - `starts`: number of ascents.
    - `seed`: seed of the random starts.
    - `curved`: number of end points per component at which to compute the Hessian's eigenvalues, O(M³) each; all by
      default. Counts that were not computed are −1.

    **Returns:**

    One row per start: component (label), kind, dim, energy, predicted, purity, converged, and the counts
    positive, flat, negative of eigenvalues of the Hessian, beside predicted_flat.

    >>> from firstlight.groups import symmetric
    >>> census(symmetric(3), starts=40).groupby("component")[["energy", "flat"]].max().round(9)
               energy  flat
    component
    [1,1,1]       3.0     0
    [2,1]         1.5     3
    """
    require_features(group)
    end = ascend(GroupEnergy(group), random_starts(group, starts, seed))
    content = irrep_content(end.W, group)
    family = content[:, 1:].argmax(axis=1)
    predicted = maxima(group)
    counts = np.full((starts, 3), -1)
    for i in range(len(predicted)):
        for j in np.flatnonzero(family == i)[:curved]:
            counts[j] = signature(end.W[:, j], group)
    return pd.DataFrame(
        {
            "component": [predicted[i].component.label for i in family],
            "kind": [predicted[i].component.kind for i in family],
            "dim": [predicted[i].component.dim for i in family],
            "energy": end.energy,
            "predicted": [predicted[i].energy for i in family],
            "purity": purity(content),
            "converged": end.converged,
            "positive": counts[:, 0],
            "flat": counts[:, 1],
            "negative": counts[:, 2],
            "predicted_flat": [predicted[i].flat for i in family],
        }
    )
