"""Draw the figures of the gallery: each in light and dark, and some also for the pages of the theories."""

import os
from pathlib import Path
from typing import Any

from firstlight import plots
from firstlight.records import FigureData

IMAGES = Path(__file__).parents[2] / "docs" / "images"
# The picture at the top of a page, and the example that draws it. `FIRSTLIGHT_PICTURES=1 make docs` writes them.
TOPS = {
    "plot_grokking_s4": "theory-li2.svg",
    "plot_crafted_and_trained": "theory-cogo.svg",
    "plot_staircase_forecast": "theory-agf.svg",
    "plot_fact_convergence": "theory-fact.svg",
    "plot_zero_loss_valley": "theory-manifold.svg",
    "plot_phase_diagram": "phase-diagram.svg",
    "plot_table_interactions": "table-interactions.svg",
}
_IMAGE = """
.. image:: /{path}
   :alt: {alt}
   :class: only-{scheme}
"""


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return the pictures of the `FigureData` that a block ends with, as sphinx-gallery asks of a scraper."""
    shown = block_vars["example_globals"].get("___")
    if not isinstance(shown, FigureData):
        return ""
    paths = block_vars["image_path_iterator"]
    lines = []
    for scheme, theme in (("light", plots.LIGHT), ("dark", plots.DARK)):
        path = plots.save(shown, next(paths), theme=theme, dpi=150)
        place = path.relative_to(gallery_conf["src_dir"]).as_posix()
        lines.append(_IMAGE.format(path=place, alt=alt_text(shown), scheme=scheme))
    name = Path(block_vars["src_file"]).stem
    if name in TOPS and os.environ.get("FIRSTLIGHT_PICTURES"):
        plots.save(shown, IMAGES / TOPS[name])
    return "\n".join(lines)


def alt_text(shown: FigureData) -> str:
    """Return the title of a figure on one line, or its kind if it has none."""
    return " ".join((shown.title or f"a figure of kind {shown.kind}").split())
