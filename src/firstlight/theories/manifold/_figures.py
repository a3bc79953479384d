"""The figures of Section 7 as figure data."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstlight import _canonical as canonical
from firstlight.records import FigureData, figure
from firstlight.theories.manifold._representation import (
    Embedding,
    cosines,
    embedding_features,
    fourier_features,
    unit_similarity,
)
from firstlight.theories.manifold._simulation import Simulation


def figure_4(runs: Mapping[int, Simulation], first: Embedding, last: Embedding, caption: str = "") -> FigureData:
    """Return the panels of Figure 4: test accuracy of each seed, then the Fourier features of one embedding.

    **Arguments:**

    - `runs`: simulations by seed.
    - `first`, `last`: (p, K) the same embedding before and after.
    - `caption`: of the figure.

    >>> E = np.random.default_rng(0).standard_normal((7, 16))
    >>> figure_4({}, E, E).kind
    'panels'
    """
    panels = [_accuracies(runs), _norms(first, last)]
    for what, of, signed in (("Cosines", cosines, True), ("Shared units", unit_similarity, False)):
        for when, E in _both(first, last):
            features = embedding_features(E)
            panels.append(_map(of(features), features.labels, f"{what}, {when}", signed))
    return figure.panels(panels, columns=2, title="The embedding on its own", caption=caption)


def _both(first: Embedding, last: Embedding) -> Sequence[tuple[str, Embedding]]:
    return ("first", first), ("last", last)


def _accuracies(runs: Mapping[int, Simulation]) -> FigureData:
    series = [
        figure.Series(f"seed {seed}", run.frame["step"], run.frame["test_accuracy"]) for seed, run in runs.items()
    ]
    return figure.curves(series, x="step", y="test accuracy", title="Delayed generalisation")


def _norms(first: Embedding, last: Embedding) -> FigureData:
    series = []
    for when, E in _both(first, last):
        F = fourier_features(E)
        norms = [np.linalg.norm(part, axis=1) for part in (np.real(F), np.imag(F))]
        series.append(figure.Series(when, *norms, style="points"))
    return figure.scatter(
        series, x="norm of Re F_k", y="norm of Im F_k", title="Size of each circle's two axes", identity=True
    )


def _map(matrix: np.ndarray, frequencies: Sequence[str], title: str, signed: bool) -> FigureData:
    axis, names = "Re and Im of each frequency", [f"{part} {k}" for k in frequencies for part in ("Re", "Im")]
    return figure.heatmap(
        matrix,
        x=axis,
        y=axis,
        value="cosine",
        title=title,
        rows=names,
        columns=names,
        palette="diverging" if signed else "sequential",
        limits=(-1.0 if signed else 0.0, 1.0),
    )


def embedding_circles(E: Embedding, frequencies: Sequence[int] = (), caption: str = "") -> FigureData:
    """Show the embedding of Z_p in the plane of Re F_k and Im F_k of the given, or the six strongest, frequencies.

    Points are in the order 0, …, p − 1, which goes k times round a circle of frequency k.

    >>> E = np.random.default_rng(0).standard_normal((7, 16))
    >>> embedding_circles(E).meta["columns"]
    3
    """
    F = fourier_features(E)
    strongest = 1 + canonical.descending(np.linalg.norm(F, axis=1))[:6]
    panels = []
    for k in frequencies or sorted(int(k) for k in strongest):
        plane = np.stack([np.real(F[k - 1]), np.imag(F[k - 1])])
        points = E @ np.linalg.pinv(plane)
        panels.append(figure.circles(points, x="Re", y="Im", value="element", title=f"frequency {k}"))
    title = "The embedding seen in the plane of each frequency"
    return figure.panels(panels, columns=3, title=title, caption=caption)
