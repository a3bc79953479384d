"""Records as one self-contained HTML page. The page lays out the records and computes nothing.

>>> from firstlight import report
>>> page = report.render(title="Nothing yet", papers={})
>>> "Nothing to show yet" in page
True
"""

from firstlight.report._blueprint import graph_svg, write_claims
from firstlight.report._claim_view import ClaimView, CriterionRow, claim_view
from firstlight.report._fit_view import FitRow, FitView, fit_view, fit_views
from firstlight.report._format import Quantity, duration, quantities, text_of
from firstlight.report._page import Environment, PageRecord, PageView, render, write
from firstlight.report._probe_view import LayerRow, ProbeView, probe_view
from firstlight.report._run_view import RunView, VerdictRow, run_view, stories

__all__ = [
    "ClaimView",
    "CriterionRow",
    "Environment",
    "FitRow",
    "FitView",
    "LayerRow",
    "PageRecord",
    "PageView",
    "ProbeView",
    "Quantity",
    "RunView",
    "VerdictRow",
    "claim_view",
    "duration",
    "fit_view",
    "fit_views",
    "graph_svg",
    "probe_view",
    "quantities",
    "render",
    "run_view",
    "stories",
    "text_of",
    "write",
    "write_claims",
]
