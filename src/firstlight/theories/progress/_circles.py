"""The embedding on the key irreps, as points in a plane."""

from collections.abc import Sequence

import numpy as np

from firstlight import _canonical as canonical
from firstlight import features
from firstlight.groups import Group
from firstlight.models import Model
from firstlight.records import FigureData, figure

SHOWN = 6
"""Irreps drawn if no keys are given, strongest first."""


def circles_figure(model: Model, group: Group, keys: Sequence[str] = ()) -> FigureData:
    """Show the embedding on some irreps, each in the plane of its two largest principal directions.

    On an irrep of a cyclic group the elements of a trained embedding lie on a circle. An irrep of dimension d fills up
    to d² (or 2d²) directions, of which a plane shows two; `features.orbit_shares` measures all of them.

    **Arguments:**

    - `model`: a network whose `embedding` has a row for each element.
    - `group`: the group of the task.
    - `keys`: labels of the irreps; the six strongest in the embedding if not given.

    >>> import jax
    >>> from firstlight import groups, models
    >>> model = models.EmbeddingMLP.init(jax.random.key(0), inputs=14, outputs=7, embedding=8)
    >>> circles_figure(model, groups.parse("Z7"), ("±2",)).title
    'Embedding by irrep'
    """
    W = np.asarray(model.embedding, float)
    components = group.real_components()
    norms, orbits = features.component_norms(W, group), features.orbit_shares(W, group)
    strongest = np.argsort(-norms[1:], kind="stable") + 1
    labels = [component.label for component in components]
    places = [labels.index(key) for key in keys] if keys else [int(place) for place in strongest[:SHOWN]]
    rows = np.hstack(list(W.reshape(-1, group.order, W.shape[1])))
    panels = []
    for place in places:
        U = components[place].basis
        panels.append(
            figure.circles(
                _plane(U @ (U.T @ rows)),
                x="first direction",
                y="second direction",
                value="element",
                cyclic=group.is_abelian,
                title=f"{labels[place]}: orbit share {orbits[place]:.2f}",
            )
        )
    caption = "An orbit share of 1 means that distances between elements depend on their quotient alone."
    return figure.panels(panels, columns=3, title="Embedding by irrep", caption=caption)


def _plane(part: np.ndarray) -> np.ndarray:
    """Return the two largest principal coordinates (M, 2) of points, 0 where there is only one."""
    U, s, _ = canonical.svd(part)
    coordinates = (U * s)[:, :2]
    return np.pad(coordinates, ((0, 0), (0, 2 - coordinates.shape[1])))
