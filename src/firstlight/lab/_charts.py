"""Live charts as BokehJS reads them: built once by the server, fed with rows by the page.

Colours come from the page: its script paints every chart in the colours of the theme, light or dark.
"""

from functools import cache
from typing import Any

_FRAME: dict[str, Any] = {
    "height": 260,
    "sizing_mode": "stretch_width",
    "toolbar_location": None,
    "tools": "",
    "min_border_right": 14,
}


COLUMNS = ("train_accuracy", "test_accuracy", "train_loss", "test_loss", "li2.purity", "fact.W.fact")
"""The columns of a run that the curves draw."""


@cache
def chart(name: str) -> dict[str, Any]:
    """Return the chart with a name as a JSON item; an unknown name raises KeyError."""
    from bokeh.embed import json_item

    return json_item(_CHARTS[name]())  # type: ignore[return-value]


def names() -> tuple[str, ...]:
    """Return the names of all charts."""
    return tuple(_CHARTS)


def _curves(y: str, label: str, *, log: bool = False, pairs: tuple[tuple[str, str], ...]) -> Any:
    """Return two curves over the epochs, with room for stages, the forecast and an earlier run."""
    from bokeh.models import BoxAnnotation, ColumnDataSource, HoverTool, Label, Range1d, Span
    from bokeh.plotting import figure

    columns = ["step", *(column for column, _ in pairs)]
    now = ColumnDataSource({column: [] for column in columns}, name="now")
    before = ColumnDataSource({column: [] for column in columns}, name="before")
    plot = figure(name=y, x_axis_label="epoch", y_axis_label=label, y_axis_type="log" if log else "linear", **_FRAME)
    for place in range(4):
        plot.add_layout(
            BoxAnnotation(name=f"stage-{place}", visible=False, fill_alpha=0.10, line_width=0, level="image")
        )
        plot.add_layout(
            Label(
                name=f"stage-label-{place}", visible=False, x=0, y=6, y_units="screen", text="", text_font_size="11px"
            )
        )
    for name in ("forecast", "forecast-memorise"):
        plot.add_layout(BoxAnnotation(name=name, visible=False, fill_alpha=0.16, line_dash="dashed", level="image"))
    plot.add_layout(Span(name="forecast-middle", visible=False, dimension="height", line_dash="dashed", line_width=2))
    lines = []
    for number, (column, words) in enumerate(pairs, start=1):
        plot.line("step", column, source=before, line_width=1.5, line_alpha=0.45, line_dash="dotted",
                  name=f"series-{number}-before")  # fmt: skip
        lines.append(plot.line("step", column, source=now, line_width=2.5, legend_label=words, name=f"series-{number}"))
    tips = [("epoch", "@step"), *((words, f"@{{{column}}}{{0.0000}}") for column, words in pairs)]
    plot.add_tools(HoverTool(renderers=lines[:1], tooltips=tips, mode="vline"))
    plot.legend.orientation = "horizontal"
    plot.legend.location = "top_left"
    plot.legend.name = "legend"
    plot.add_layout(plot.legend[0], "above")
    if not log and y == "accuracy":
        plot.y_range = Range1d(start=-0.03, end=1.06)
    return plot


def _accuracy() -> Any:
    return _curves(
        "accuracy", "accuracy", pairs=(("train_accuracy", "training pairs"), ("test_accuracy", "held-out pairs"))
    )


def _loss() -> Any:
    return _curves("loss", "loss", log=True, pairs=(("train_loss", "training pairs"), ("test_loss", "held-out pairs")))


def _features() -> Any:
    pairs = (("li2.purity", "purity"), ("fact.W.fact", "match with FACT"))
    return _curves("features", "share, 0 to 1", pairs=pairs)


def _boundary() -> Any:
    """Return the boundary over the order of the group, with the chosen point."""
    from bokeh.models import ColumnDataSource, HoverTool, Range1d
    from bokeh.plotting import figure

    curve = ColumnDataSource({"order": [], "fraction": [], "low": [], "high": []}, name="curve")
    point = ColumnDataSource({"order": [], "fraction": []}, name="point")
    plot = figure(
        name="boundary",
        x_axis_type="log",
        x_axis_label="order of the group M",
        y_axis_label="fraction of the pairs shown",
        y_range=Range1d(start=0, end=1.05),
        **_FRAME,
    )
    plot.xaxis.ticker = [5, 10, 20, 50, 100, 200, 500, 1000]
    plot.varea("order", "low", "high", source=curve, fill_alpha=0.2, name="band")
    line = plot.line("order", "fraction", source=curve, line_width=2, name="boundary-line")
    plot.scatter("order", "fraction", source=point, size=15, marker="circle", line_width=2, name="chosen")
    plot.add_tools(
        HoverTool(renderers=[line], tooltips=[("M", "@order"), ("boundary", "@fraction{0.00}")], mode="vline")
    )
    return plot


def _staircase() -> Any:
    """Return a predicted staircase over time, gradient flow over it, and room for earlier flows."""
    from bokeh.models import ColumnDataSource, HoverTool
    from bokeh.plotting import figure

    plot = figure(name="staircase", x_axis_type="log", x_axis_label="time", y_axis_label="loss", **_FRAME)
    plot.height = 340
    for number in range(1, 4):
        before = ColumnDataSource({"time": [], "loss": []}, name=f"before-{number}")
        plot.line("time", "loss", source=before, line_width=1.5, line_alpha=0.5, name=f"series-{number + 2}-before")
    stairs = ColumnDataSource({"time": [], "loss": []}, name="stairs")
    now = ColumnDataSource({"time": [], "loss": [], "predicted": []}, name="now")
    plot.line("time", "loss", source=stairs, line_width=2, line_dash="dashed", legend_label="AGF, predicted",
              name="series-2")  # fmt: skip
    line = plot.line("time", "loss", source=now, line_width=2.5, legend_label="gradient flow", name="series-1")
    tips = [("time", "@time{0.000}"), ("gradient flow", "@loss{0.0000}"), ("AGF", "@predicted{0.0000}")]
    plot.add_tools(HoverTool(renderers=[line], tooltips=tips, mode="vline"))
    plot.legend.orientation = "horizontal"
    plot.legend.name = "legend"
    plot.add_layout(plot.legend[0], "above")
    return plot


_CHARTS = {
    "accuracy": _accuracy,
    "loss": _loss,
    "features": _features,
    "boundary": _boundary,
    "staircase": _staircase,
}
