"""Records as one self-contained HTML page. It lays out what the records say and computes nothing.

>>> from firstlight import report
>>> page = report.render(title="Nothing yet", papers={})
>>> "Nothing to show yet" in page
True
"""

from firstlight.report._format import duration, quantities, text_of
from firstlight.report._page import render, write
from firstlight.report._views import (
    ClaimView,
    Environment,
    Quantity,
    ReportView,
    RunView,
    claim_view,
    run_view,
)

__all__ = [
    "ClaimView",
    "Environment",
    "Quantity",
    "ReportView",
    "RunView",
    "claim_view",
    "duration",
    "quantities",
    "render",
    "run_view",
    "text_of",
    "write",
]
