"""Figures made of lines and points: learning curves, staircases, scatter plots."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstlight.records.figure._data import Axis, FigureData, as_axis
from firstlight.records.figure._series import Number, Numbers, Series, as_floats, as_levels, pack_series


def curves(
    series: Sequence[Series],
    *,
    x: Axis | str,
    y: Axis | str,
    title: str = "",
    caption: str = "",
    stages: Sequence[tuple[str, Number, Number]] = (),
    horizontal: Mapping[str, Number] | None = None,
    vertical: Mapping[str, Number] | None = None,
) -> FigureData:
    """Return named curves, with stage bands (label, start, end) behind them and labelled reference lines.

    **Arguments:**

    - `series`: the curves.
    - `x`: the horizontal axis, or its label.
    - `y`: the vertical axis, or its label.
    - `title`: the heading of the figure.
    - `caption`: the text below the figure.
    - `stages`: bands (label, start, end) along x, behind the curves.
    - `horizontal`: label → y of a horizontal reference line.
    - `vertical`: label → x of a vertical reference line.

    >>> loss = Series("loss", [1, 10, 100], [1.0, 0.5, 0.01], lower=[0.9, 0.4, 0.005], upper=[1.1, 0.6, 0.02])
    >>> step, height = Axis("step", scale="log"), Axis("loss", scale="log")
    >>> curves([loss], x=step, y=height, horizontal={"floor": 1e-3}).kind
    'curves'
    """
    meta, arrays = pack_series("series", series)
    bands = []
    for label, start, end in stages:
        if not (np.isfinite(start) and np.isfinite(end) and start <= end):
            raise ValueError(f"stage {label!r} must run from start to a later end; received {start} to {end}")
        bands.append([str(label), float(start), float(end)])
    words = {
        "series": meta,
        "stages": bands,
        "horizontal": as_levels("horizontal", horizontal or {}),
        "vertical": as_levels("vertical", vertical or {}),
    }
    return FigureData("curves", title, caption, as_axis(x), as_axis(y), meta=words, arrays=arrays)


def staircase(
    time: Numbers,
    loss: Numbers,
    *,
    levels: Numbers,
    jumps: Numbers,
    x: Axis | str,
    y: Axis | str,
    title: str = "",
    caption: str = "",
    measured: str = "measured",
    predicted: str = "predicted",
) -> FigureData:
    """Return a measured loss (n,) and its prediction: k + 1 constant `levels` separated by k `jumps` in time.

    **Arguments:**

    - `time`: times of the measured loss (n,).
    - `loss`: measured loss (n,).
    - `levels`: predicted loss before, between and after the jumps (k + 1,).
    - `jumps`: predicted times of the jumps, in increasing order (k,).
    - `x`: the horizontal axis, or its label.
    - `y`: the vertical axis, or its label.
    - `title`: the heading of the figure.
    - `caption`: the text below the figure.
    - `measured`: label of the measured loss.
    - `predicted`: label of the prediction.

    >>> staircase([0, 1, 2], [1.0, 0.9, 0.1], levels=[1.0, 0.0], jumps=[1.5], x="time", y="loss").kind
    'staircase'
    """
    measured_meta, arrays = pack_series("series", [Series(measured, time, loss)])
    arrays["levels"] = as_floats("levels", levels, (None,))
    if not len(arrays["levels"]):
        raise ValueError("levels must hold at least the level before the first jump; received none")
    arrays["jumps"] = as_floats("jumps", jumps, (len(arrays["levels"]) - 1,))
    if not (np.diff(arrays["jumps"]) >= 0).all():
        raise ValueError(f"jumps must be in increasing order of time; received {arrays['jumps'].tolist()}")
    words = {"series": measured_meta, "predicted": predicted}
    return FigureData("staircase", title, caption, as_axis(x), as_axis(y), meta=words, arrays=arrays)


def scatter(
    series: Sequence[Series],
    *,
    x: Axis | str,
    y: Axis | str,
    title: str = "",
    caption: str = "",
    fits: Sequence[Series] = (),
    identity: bool = False,
) -> FigureData:
    """Return a scatter plot with fitted lines, labelled with the fit; `identity` adds the line y = x.

    **Arguments:**

    - `series`: the sets of points.
    - `x`: the horizontal axis, or its label.
    - `y`: the vertical axis, or its label.
    - `title`: the heading of the figure.
    - `caption`: the text below the figure.
    - `fits`: fitted lines, labelled with the fit.
    - `identity`: whether to draw the line y = x.

    >>> cloud = Series("runs", [1, 2, 4], [1.1, 0.5, 0.24])
    >>> scatter([cloud], x="n", y="error", fits=[Series("slope −1.1", [1, 4], [1.1, 0.24])]).meta["identity"]
    False
    """
    meta, arrays = pack_series("series", series)
    fit_meta, fit_arrays = pack_series("fits", fits)
    words = {"series": meta, "fits": fit_meta, "identity": identity}
    return FigureData("scatter", title, caption, as_axis(x), as_axis(y), meta=words, arrays=arrays | fit_arrays)
