"""What a layer looks at: the leading directions of its feature matrix, as images or named columns. Needs no torch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from firstlight.records import FigureData, figure


@dataclass(frozen=True, eq=False)
class Directions:
    """The leading directions of a layer's feature matrix.

    **Attributes:**

    - `layer`: name of the layer.
    - `vectors`: (k, inputs) unit vectors, each with its largest entry positive.
    - `shares`: share of each direction in the trace of the feature matrix.
    - `columns`: names of the inputs, or ().
    - `shape`: shape of the inputs, or ().
    """

    layer: str
    vectors: Float[np.ndarray, "k inputs"]
    shares: tuple[float, ...]
    columns: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()

    def images(self) -> np.ndarray:
        """Return the directions as (k, *shape)."""
        if not self.shape:
            raise ValueError(f"the inputs of {self.layer} have no shape; give top_directions(…, shape=(height, width))")
        return self.vectors.reshape(len(self.vectors), *self.shape)

    def table(self) -> pd.DataFrame:
        """Return one row per input and one column per direction, the most important input first."""
        names = self.columns or [f"input {i}" for i in range(self.vectors.shape[1])]
        titles = [f"{i + 1} ({share:.0%})" for i, share in enumerate(self.shares)]
        frame = pd.DataFrame(self.vectors.T, index=pd.Index(names, name="input"), columns=titles)
        weight = (self.vectors**2 * np.array(self.shares)[:, None]).sum(axis=0)
        return frame.iloc[np.argsort(-weight, kind="stable")]

    def figure_data(self) -> FigureData:
        """Show the directions as rows of a map; images are laid out row by row."""
        return figure.alignment(
            np.clip(self.vectors, -1, 1),
            rows=[f"{i + 1} ({share:.0%})" for i, share in enumerate(self.shares)],
            columns=list(self.columns) or [str(i) for i in range(self.vectors.shape[1])],
            x="input",
            y="direction",
            value="entry",
            title=f"Leading directions of {self.layer}",
        )


def top_directions(
    layer: str,
    vectors: np.ndarray,
    spectrum: Sequence[float],
    k: int,
    columns: Sequence[str] | None,
    shape: tuple[int, ...],
) -> Directions:
    """Return the first k directions, with names or a shape that fit the inputs."""
    if not len(vectors):
        raise ValueError(f"{layer} has no single feature matrix (a convolution in groups), so it has no directions")
    if not 1 <= k <= len(vectors):
        raise ValueError(f"k must be between 1 and {len(vectors)} for {layer}, got {k}")
    inputs = vectors.shape[1]
    if columns is not None and len(columns) != inputs:
        raise ValueError(f"{layer} has {inputs} inputs, got {len(columns)} names of columns")
    if shape and math.prod(shape) != inputs:
        raise ValueError(f"{layer} has {inputs} inputs, which do not fill the shape {shape}")
    return Directions(layer, vectors[:k], tuple(spectrum[:k]), tuple(columns or ()), tuple(shape))
