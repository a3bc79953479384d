"""Records as one self-contained HTML page. The page lays out the records and computes nothing.

>>> from firstlight import report
>>> page = report.render(title="Nothing yet", papers={})
>>> "Nothing to show yet" in page
True
"""

from firstlight.report._blueprint import ClaimPage, claim_page, graph_svg, render_claim, render_claims, write_claims
from firstlight.report._claim_view import ClaimView, CriterionRow, claim_view
from firstlight.report._duel_view import DuelRow, DuelView, TuningRow, duel_rows, duel_view
from firstlight.report._figure_table import FigureTable, figure_tables
from firstlight.report._fit_view import FitRow, FitView, fit_view, fit_views
from firstlight.report._format import Quantity, duration, quantities, text_of
from firstlight.report._page import Environment, PageRecord, PageView, render, write
from firstlight.report._phase_view import PhaseRow, PhaseView, phase_view
from firstlight.report._probe_view import LayerRow, ProbeView, probe_view
from firstlight.report._questions import QUESTIONS, questions
from firstlight.report._rooms import render_room
from firstlight.report._run_view import RunView, VerdictRow, run_view, stories
from firstlight.report._staircase_view import JumpRow, StaircaseView, staircase_view
from firstlight.report._theories import THEORIES, in_order, theory_name

__all__ = [
    "QUESTIONS",
    "THEORIES",
    "ClaimPage",
    "ClaimView",
    "CriterionRow",
    "DuelRow",
    "DuelView",
    "Environment",
    "FigureTable",
    "FitRow",
    "FitView",
    "JumpRow",
    "LayerRow",
    "PageRecord",
    "PageView",
    "PhaseRow",
    "PhaseView",
    "ProbeView",
    "Quantity",
    "RunView",
    "StaircaseView",
    "TuningRow",
    "VerdictRow",
    "claim_page",
    "claim_view",
    "duel_rows",
    "duel_view",
    "duration",
    "figure_tables",
    "fit_view",
    "fit_views",
    "graph_svg",
    "in_order",
    "phase_view",
    "probe_view",
    "quantities",
    "questions",
    "render",
    "render_claim",
    "render_claims",
    "render_room",
    "run_view",
    "staircase_view",
    "stories",
    "text_of",
    "theory_name",
    "write",
    "write_claims",
]
