"""Every statement, figure and table of the papers as data, each with a pure check.

>>> from firstlight import claims
>>> claim = claims.find(["cogo.lemma-3"])[0]
>>> claim.locator, claim.expects("quick")
('Lemma 3', 'holds')
>>> claim.run_check(claims.Setting("quick")).status
'holds'

A paper is a folder. `statements.py` is its registry: a tuple `CLAIMS`, in the order of the paper. `tolerances.py` holds
the numbers that statements publish and checks apply. `checks/` has a module per topic, imported when a check runs, so
that listing claims is fast.
"""

from firstlight.claims._claim import SCALES, VERDICTS, Check, Claim, Outcome, ProgressCallback, Scale, Setting
from firstlight.claims._needs import DATASETS, EXTRAS, data_directory, extra_is_installed, install_command, missing
from firstlight.claims._pages import claims_page, errata_page, pages
from firstlight.claims._registry import PAPERS, Paper, UnknownClaim, all_claims, find, paper_claims
from firstlight.claims._verify import Moment, reproduce, reproduce_command, rerun_command, verify

__all__ = [
    "DATASETS",
    "EXTRAS",
    "PAPERS",
    "SCALES",
    "VERDICTS",
    "Check",
    "Claim",
    "Moment",
    "Outcome",
    "Paper",
    "ProgressCallback",
    "Scale",
    "Setting",
    "UnknownClaim",
    "all_claims",
    "claims_page",
    "data_directory",
    "errata_page",
    "extra_is_installed",
    "find",
    "install_command",
    "missing",
    "pages",
    "paper_claims",
    "reproduce",
    "reproduce_command",
    "rerun_command",
    "verify",
]
