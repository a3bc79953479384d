"""Figures made of bars: spectra over frequencies or irreps, grouped bars, histograms."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstlight.records.figure._data import Axis, FigureData, as_axis
from firstlight.records.figure._series import Numbers, Series, as_floats, as_names, pack_series


def spectrum(
    values: Mapping[str, Numbers],
    *,
    at: Numbers | Sequence[str],
    x: Axis | str,
    y: Axis | str,
    title: str = "",
    caption: str = "",
) -> FigureData:
    """Return a stem plot over frequencies (numbers) or irreps (names), one set (n,) for each name in `values`.

    **Arguments:**

    - `values`: name → heights (n,).
    - `at`: the n frequencies (numbers) or irreps (names).
    - `x`: the horizontal axis, or its label.
    - `y`: the vertical axis, or its label.
    - `title`: the heading of the figure.
    - `caption`: the text below the figure.

    >>> spectrum({"node 3": [0.1, 0.9]}, at=["trivial", "sign"], x="irrep", y="power").meta["ticks"]
    ('trivial', 'sign')
    """
    named = len(at) > 0 and all(isinstance(place, str) for place in at)  # type: ignore[arg-type]
    places = np.arange(len(at), dtype=float) if named else as_floats("at", at, (None,))  # type: ignore[arg-type]
    series = [Series(label, places, heights, style="points") for label, heights in values.items()]
    meta, arrays = pack_series("series", series)
    words = {"series": meta, "ticks": [str(place) for place in at] if named else None}  # type: ignore[union-attr]
    return FigureData("spectrum", title, caption, as_axis(x), as_axis(y), meta=words, arrays=arrays)


def bars(
    groups: Sequence[str],
    values: Mapping[str, Numbers],
    *,
    x: Axis | str,
    y: Axis | str,
    errors: Mapping[str, Numbers] | None = None,
    title: str = "",
    caption: str = "",
) -> FigureData:
    """Return grouped bars: heights (groups,) for each name in `values`, with symmetric `errors` of the same shape.

    **Arguments:**

    - `groups`: names of the groups of bars.
    - `values`: name of a series → heights (groups,).
    - `x`: the horizontal axis, or its label.
    - `y`: the vertical axis, or its label.
    - `errors`: name of a series → half lengths (groups,) of its error bars.
    - `title`: the heading of the figure.
    - `caption`: the text below the figure.

    >>> accuracy = {"RFM": [0.96, 0.98]}
    >>> bars(["iris", "wine"], accuracy, errors={"RFM": [0.01, 0.01]}, x="data set", y="accuracy").kind
    'bars'
    """
    names = as_names("groups", groups, len(groups))
    errors = errors or {}
    unknown = set(errors) - set(values)
    if unknown:
        raise ValueError(f"errors must name series of values ({list(values)}); received {sorted(unknown)}")
    arrays = {}
    for number, (label, heights) in enumerate(values.items()):
        arrays[f"height{number}"] = as_floats(f"values {label!r}", heights, (len(names),))
        if label in errors:
            arrays[f"error{number}"] = as_floats(f"errors {label!r}", errors[label], (len(names),))
    words = {"groups": names, "labels": [str(label) for label in values]}
    return FigureData("bars", title, caption, as_axis(x), as_axis(y), meta=words, arrays=arrays)


def histogram(
    samples: Mapping[str, Numbers],
    *,
    x: Axis | str,
    y: Axis | str = "count",
    bins: int | Numbers = 30,
    density: bool = False,
    theory: Sequence[Series] = (),
    title: str = "",
    caption: str = "",
) -> FigureData:
    """Return histograms of samples (n,) in common bins, as counts or as a density, with theory curves.

    **Arguments:**

    - `samples`: name → samples (n,); samples that are not finite are left out.
    - `x`: the horizontal axis, or its label.
    - `y`: the vertical axis, or its label.
    - `bins`: the number of common bins, or their edges.
    - `density`: whether to normalise each histogram to area 1.
    - `theory`: curves to draw over the histograms.
    - `title`: the heading of the figure.
    - `caption`: the text below the figure.

    >>> histogram({"a": [0.0, 0.0, 1.0]}, x="energy", bins=2).arrays["counts0"]
    array([2., 1.])
    """
    columns = {label: as_floats(f"samples {label!r}", values, (None,)) for label, values in samples.items()}
    columns = {label: values[np.isfinite(values)] for label, values in columns.items()}
    pooled = np.concatenate([*columns.values(), np.zeros(0)])
    edges = np.histogram_bin_edges(pooled, bins=bins if isinstance(bins, int) else np.asarray(bins, float))
    arrays = {"edges": edges}
    for number, values in enumerate(columns.values()):
        counts = np.histogram(values, edges)[0].astype(float)
        width = np.diff(edges) * max(counts.sum(), 1.0)
        arrays[f"counts{number}"] = counts / width if density else counts
    theory_meta, theory_arrays = pack_series("theory", theory)
    words = {"labels": [str(label) for label in columns], "theory": theory_meta}
    return FigureData("histogram", title, caption, as_axis(x), as_axis(y), meta=words, arrays=arrays | theory_arrays)
