"""The elements of a group as points on one irrep of an embedding, with the distances that the embedding gives them."""

import numpy as np
from jaxtyping import Float

from firstlight import _canonical as canonical
from firstlight.groups import Group


def component_points(W: Float[np.ndarray, "rows e"], group: Group, place: int) -> Float[np.ndarray, "M size"]:
    r"""Return a point for each element whose distances are those of the embedding on one real component.

    $$x_g = B_g\,(AA^\top)^{1/2}, \qquad A = B^\top W,$$

    with the component's basis B (M, size). The rows of $P_cW = BA$ have the same inner products $BAA^\top B^\top$. The
    square root needs no choice of a basis, so points of one training step can be compared with those of the next. On a
    cyclic group the points of a trained embedding lie on a circle.

    **Arguments:**

    - `W`: (mM, e), m blocks of M rows, a row for each element; the blocks are taken side by side.
    - `group`: group of order M.
    - `place`: the place of the component in `group.real_components()`.

    >>> from firstlight.groups import cyclic
    >>> angle = 2 * np.pi * np.arange(5) / 5
    >>> W = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> np.linalg.norm(component_points(W, cyclic(5), 1), axis=1).round(9)
    array([1., 1., 1., 1., 1.])
    """
    if W.ndim != 2 or W.shape[0] == 0 or W.shape[0] % group.order:
        raise ValueError(
            f"an embedding of {group.name} has a multiple of {group.order} rows, one per element, got shape {W.shape}; "
            "transpose so that elements are rows"
        )
    B = group.real_components()[place].basis
    A = B.T @ np.hstack(list(np.asarray(W, float).reshape(-1, group.order, W.shape[1])))
    values, vectors = np.linalg.eigh(A @ A.T)
    return B @ (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def widest_plane(points: Float[np.ndarray, "M size"]) -> Float[np.ndarray, "size two"]:
    """Return the two directions in which points spread most, as orthonormal columns; only one on a line.

    In two dimensions the directions are the axes, so that a circle is not turned from one step to the next.

    >>> widest_plane(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 3.0]]))
    array([[0., 0.],
           [0., 1.],
           [1., 0.]])
    """
    size = points.shape[1]
    if size <= 2:
        return np.eye(size)
    _, vectors = canonical.eigh(points.T @ points)
    return vectors[:, ::-1][:, :2]
