"""Every statement, figure and table of the papers as data, each with a check that measures and judges.

>>> from firstlight import claims
>>> claim = claims.find(["cogo.lemma-3"])[0]
>>> record, _ = claims.verify(claim, claims.Setting("quick"))
>>> claim.locator, record.status
('Lemma 3', 'holds')
>>> all(row.passed for row in record.criteria)
True

A paper is a folder. `statements.py` is its registry: a tuple `CLAIMS`, in the order of the paper. `checks/` has a
module per topic, imported when a check runs, so that listing claims is fast. A check measures plain data and judges
them by criteria; `verdict` derives the verdict. `evidence/` holds the recorded verdicts.
"""

from firstlight.claims._check import SCALES, Check, Measurement, ProgressCallback, Setting
from firstlight.claims._claim import VERDICTS, Claim
from firstlight.claims._criteria import above, at_least, at_most, below, equals, untested, within
from firstlight.claims._datasets import DatasetStatus, arrays_digest, dataset_status, get_dataset
from firstlight.claims._diff import EvidenceChange, compare_evidence
from firstlight.claims._digest import check_digest
from firstlight.claims._evidence import (
    EVIDENCE,
    Evidence,
    StatusChanged,
    all_recorded,
    is_stale,
    missing_evidence,
    record_evidence,
    recorded,
    recorded_figures,
)
from firstlight.claims._graph import (
    NOT_RUN,
    ClaimGraph,
    GraphNode,
    claim_graph,
    foundations,
    impact,
    latest_verdict,
    neighbourhood,
    topological_order,
    used_by,
)
from firstlight.claims._needs import DATASETS, EXTRAS, data_directory, extra_is_installed, install_command, missing
from firstlight.claims._pack import Pack, Paper
from firstlight.claims._packs import write_pack
from firstlight.claims._pages import beyond_page, claims_page, errata_page, pages
from firstlight.claims._registry import PAPERS, UnknownClaim, all_claims, find, packs, paper_claims, papers
from firstlight.claims._verdict import differences, verdict
from firstlight.claims._verify import Moment, reproduce, reproduce_command, rerun_command, verify

__all__ = [
    "DATASETS",
    "EVIDENCE",
    "EXTRAS",
    "NOT_RUN",
    "PAPERS",
    "SCALES",
    "VERDICTS",
    "Check",
    "Claim",
    "ClaimGraph",
    "DatasetStatus",
    "Evidence",
    "EvidenceChange",
    "GraphNode",
    "Measurement",
    "Moment",
    "Pack",
    "Paper",
    "ProgressCallback",
    "Setting",
    "StatusChanged",
    "UnknownClaim",
    "above",
    "all_claims",
    "all_recorded",
    "arrays_digest",
    "at_least",
    "at_most",
    "below",
    "beyond_page",
    "check_digest",
    "claim_graph",
    "claims_page",
    "compare_evidence",
    "data_directory",
    "dataset_status",
    "differences",
    "equals",
    "errata_page",
    "extra_is_installed",
    "find",
    "foundations",
    "get_dataset",
    "impact",
    "install_command",
    "is_stale",
    "latest_verdict",
    "missing",
    "missing_evidence",
    "neighbourhood",
    "packs",
    "pages",
    "paper_claims",
    "papers",
    "record_evidence",
    "recorded",
    "recorded_figures",
    "reproduce",
    "reproduce_command",
    "rerun_command",
    "topological_order",
    "untested",
    "used_by",
    "verdict",
    "verify",
    "within",
    "write_pack",
]
