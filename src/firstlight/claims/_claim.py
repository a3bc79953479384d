"""A claim: a statement of a paper as data, with the name of its check."""

import importlib
import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from firstlight._suggest import did_you_mean
from firstlight.claims._check import SCALES, Check
from firstlight.claims._needs import EXTRAS
from firstlight.records import ClaimScale, ClaimVerdict

VERDICTS: tuple[ClaimVerdict, ...] = get_args(ClaimVerdict)

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\.[a-z][a-z0-9]*(-[a-z0-9]+)*")
_CHECK = re.compile(r"[a-z]\w*(\.[a-z_]\w*)*:[a-z]\w*")


@dataclass(frozen=True)
class Claim:
    """A statement, figure or table of a paper, with the name of the check that decides it.

    **Arguments:**

    - `id`: `<paper>.<kind>-<number>`, with dashes for the dots of a number.
    - `title`: a few words for tables.
    - `locator`: the place in the paper, such as "Theorem 2, eq. 21".
    - `statement`: what the paper states.
    - `check`: `"module:name"` of a `Check` below `claims/<paper>/checks/`, or `"package.module:name"` elsewhere;
      imported on the first use, so that listing is fast. Or a `Check`, for a claim outside the registry.
    - `verbatim`: whether `statement` has the paper's own words; otherwise pages call it a paraphrase.
    - `corrected`: the true statement, where the printed one is false.
    - `uses`: ids of the claims on which its proof or its meaning rests.
    - `paper_setting`: the experiment as printed, by field; None for a field that is not printed. Empty for a
      statement without an experiment.
    - `needs`: extras (`torch`) and data sets (`mnist`) that the check requires at scales other than quick.
    - `scales`: the scales at which the check can run.
    - `reduced_because`: why the scale `reduced` stands in for `paper`.
    - `proved`, `refuted_by`: for a claim beyond the papers, what is proved, and what would refute it.

    >>> claim = Claim("cogo.lemma-0", "Characters", "Lemma 0", "…", "characters:character_laws")
    >>> claim.paper, type(claim.load_check()).__name__
    ('cogo', 'Check')
    """

    id: str
    title: str
    locator: str
    statement: str
    check: str | Check
    verbatim: bool = False
    corrected: str | None = None
    uses: tuple[str, ...] = ()
    paper_setting: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    scales: tuple[ClaimScale, ...] = ("quick", "paper")
    reduced_because: str = ""
    proved: str = ""
    refuted_by: str = ""

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError(
                f"an id is <paper>.<kind>-<number> in lower case, such as 'li2.theorem-2'; got {self.id!r}"
            )
        if isinstance(self.check, str) and not _CHECK.fullmatch(self.check):
            raise ValueError(
                f"{self.id}: check is 'module:name', such as 'energy:gradient_of_energy'; got {self.check!r}"
            )
        if not self.scales or any(scale not in SCALES for scale in self.scales):
            raise ValueError(f"{self.id}: scales is a selection of {', '.join(SCALES)}; got {self.scales}")
        if "reduced" in self.scales and not self.reduced_because:
            raise ValueError(f"{self.id} offers the scale reduced; say in reduced_because why not the paper's sizes")
        if wrong := [used for used in self.uses if not _ID.fullmatch(used) or used == self.id]:
            raise ValueError(f"{self.id}: uses holds ids of other claims; got {wrong}")

    @property
    def paper(self) -> str:
        """Return the key of the paper: the first part of the id."""
        return self.id.partition(".")[0]

    @property
    def extras(self) -> tuple[str, ...]:
        """Return the needs that are extras of the package; the quick scale needs no data set."""
        return tuple(need for need in self.needs if need in EXTRAS)

    @property
    def check_module(self) -> str:
        """Return the full name of the module that holds the check; '' for a claim outside the registry."""
        if not isinstance(self.check, str):
            return ""
        module = self.check.partition(":")[0]
        return module if "." in module else f"firstlight.claims.{self.paper}.checks.{module}"

    def load_check(self) -> Check:
        """Import the check that `check` names.

        >>> Claim("cogo.lemma-0", "…", "…", "…", "characters:character_law").load_check()
        Traceback (most recent call last):
        ...
        ValueError: cogo.lemma-0: ...checks.characters has no check 'character_law'; did you mean ...
        """
        if not isinstance(self.check, str):
            return self.check
        name = self.check.partition(":")[2]
        if not _exists(self.check_module):
            raise ValueError(f"{self.id}: there is no module {self.check_module}; `check` is 'module:name'")
        names = vars(importlib.import_module(self.check_module))
        if not isinstance(names.get(name), Check):
            checks = [known for known, value in names.items() if isinstance(value, Check)]
            hint = did_you_mean(name, checks)
            raise ValueError(f"{self.id}: {self.check_module} has no check {name!r}; {hint}got {self.check!r}")
        return names[name]


def _exists(module: str) -> bool:
    """Check whether a module can be found, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a package above it is missing
        return False
