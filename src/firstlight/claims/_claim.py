"""A claim: a statement of a paper as data, with the name of its check; the check's input and output."""

import importlib
import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from firstlight._suggest import did_you_mean
from firstlight.records import ClaimVerdict
from firstlight.records._values import plain
from firstlight.records.figure import FigureData

Scale = Literal["quick", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
VERDICTS: tuple[ClaimVerdict, ...] = get_args(ClaimVerdict)

ProgressCallback = Callable[[float, str], None]
"""A callback that receives the fraction done, from 0 to 1, and a short note on the current step."""

T = TypeVar("T")


def silent(fraction: float, note: str = "") -> None:
    """Ignore progress: the default `ProgressCallback`."""


@dataclass(frozen=True)
class Setting:
    """The input of a check.

    **Arguments:**

    - `scale`: `"quick"` (seconds) or `"paper"` (the paper's own sizes).
    - `seeds`: random seeds; empty for the check's own.
    - `data`: folder of the large data sets.
    - `progress`: progress callback.
    - `work`: working directory from which long checks resume.

    >>> setting = Setting("paper")
    >>> setting.choose(quick=23, paper=71), setting.seeds_or(range(3)), Setting(seeds=(7,)).seeds_or(range(3))
    (71, (0, 1, 2), (7,))
    """

    scale: Scale = "quick"
    seeds: tuple[int, ...] = ()
    data: Path | None = None
    progress: ProgressCallback = silent
    work: Path = Path(".firstlight")

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise ValueError(f"scale is one of {', '.join(SCALES)}; got {self.scale!r}")

    def choose(self, *, quick: T, paper: T) -> T:
        """Return the argument that belongs to the scale."""
        return quick if self.scale == "quick" else paper

    def seeds_or(self, default: "range | tuple[int, ...]") -> tuple[int, ...]:
        """Return the requested seeds, or `default` if none were requested."""
        return self.seeds or tuple(default)


@dataclass(frozen=True)
class Outcome:
    """The output of a check: a verdict with the numbers behind it.

    Two verdicts need `evidence`. For `holds-as-corrected` it says by how much the printed form fails. For
    `inconclusive` it says why no verdict was possible.

    >>> Outcome("holds-as-corrected", measured=1.75, expected=1.75)
    Traceback (most recent call last):
    ...
    ValueError: the verdict holds-as-corrected needs evidence: ...
    """

    status: ClaimVerdict
    measured: Any
    expected: Any
    evidence: str = ""
    figures: tuple[FigureData, ...] = ()
    seeds: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.status not in VERDICTS:
            raise ValueError(f"status is one of {', '.join(VERDICTS)}; got {self.status!r}")
        needed = {
            "holds-as-corrected": "give the number by which the printed form fails",
            "inconclusive": "say what is missing",
        }.get(self.status)
        if needed and not self.evidence.strip():
            raise ValueError(f"the verdict {self.status} needs evidence: {needed}")
        object.__setattr__(self, "measured", plain(self.measured))
        object.__setattr__(self, "expected", plain(self.expected))


Check = Callable[[Setting], Outcome]
"""A pure function that decides a claim."""

_ID = re.compile(r"[a-z0-9]+\.[a-z][a-z0-9]*(-[a-z0-9]+)*")
_CHECK = re.compile(r"[a-z]\w*:[a-z]\w*")


@dataclass(frozen=True)
class Claim:
    """A statement, figure or table of a paper, with the name of the check that decides it.

    **Arguments:**

    - `id`: `<paper>.<kind>-<number>`, with dashes for the dots of a number.
    - `title`: a few words for tables.
    - `locator`: the place in the paper, such as "Theorem 2, eq. 21".
    - `statement`: the printed statement.
    - `check`: `"module:function"` below `claims/<paper>/checks/`, imported on the first call, so that listing is
      fast; or a function, for a claim outside the registry.
    - `tolerance`: how far measured may be from expected; a number, or numbers by name.
    - `tolerance_reason`: why this tolerance.
    - `corrected`: the true statement, where the printed one is false.
    - `counterexample`: one sentence with the case and the numbers that separate the two.
    - `needs`: extras (`torch`) and data sets (`mnist`) that the check requires.
    - `scales`: the scales at which the check can run.
    - `expected_verdict`: a verdict for all scales, or one per scale.

    >>> claim = Claim("cogo.lemma-0", "Characters", "Lemma 0", "…", "characters:character_laws")
    >>> claim.paper, claim.expects("quick"), claim.run_check(Setting()).status
    ('cogo', 'holds', 'holds')
    """

    id: str
    title: str
    locator: str
    statement: str
    check: str | Check
    tolerance: float | Mapping[str, float] | None = None
    tolerance_reason: str = ""
    corrected: str | None = None
    counterexample: str = ""
    needs: tuple[str, ...] = ()
    scales: tuple[Scale, ...] = SCALES
    expected_verdict: ClaimVerdict | Mapping[Scale, ClaimVerdict] = "holds"

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError(
                f"an id is <paper>.<kind>-<number> in lower case, such as 'li2.theorem-2'; got {self.id!r}"
            )
        if isinstance(self.check, str) and not _CHECK.fullmatch(self.check):
            raise ValueError(
                f"{self.id}: check is 'module:function', such as 'energy:gradient_of_energy'; got {self.check!r}"
            )
        if not self.scales or any(scale not in SCALES for scale in self.scales):
            raise ValueError(f"{self.id}: scales is a selection of {', '.join(SCALES)}; got {self.scales}")
        verdicts = {self.expects(scale) for scale in self.scales}
        if unknown := verdicts - set(VERDICTS):
            raise ValueError(f"{self.id}: a verdict is one of {', '.join(VERDICTS)}; got {unknown}")
        if "holds-as-corrected" in verdicts and self.corrected is None:
            raise ValueError(f"{self.id} is expected to hold as corrected; give the corrected statement")
        if self.corrected is not None and not self.counterexample:
            raise ValueError(f"{self.id} corrects the printed statement; give the counterexample with its numbers")
        if self.tolerance is not None and not self.tolerance_reason:
            raise ValueError(f"{self.id} has a tolerance; give its tolerance_reason")

    @property
    def paper(self) -> str:
        """Return the key of the paper: the first part of the id."""
        return self.id.partition(".")[0]

    def run_check(self, setting: Setting) -> Outcome:
        """Import the check if necessary and run it."""
        return self.load_check()(setting)

    def load_check(self) -> Check:
        """Import the function that `check` names.

        >>> Claim("cogo.lemma-0", "…", "…", "…", "characters:character_law").load_check()
        Traceback (most recent call last):
        ...
        ValueError: cogo.lemma-0: checks/characters.py has no function 'character_law'; did you mean ...
        """
        if not isinstance(self.check, str):
            return self.check
        module_name, _, function_name = self.check.partition(":")
        path = f"firstlight.claims.{self.paper}.checks.{module_name}"
        if not _exists(path):
            raise ValueError(f"{self.id}: there is no module {path}; `check` is 'module:function'")
        names = vars(importlib.import_module(path))
        if function_name not in names:
            hint = did_you_mean(function_name, names)
            raise ValueError(
                f"{self.id}: checks/{module_name}.py has no function {function_name!r}; {hint}got {self.check!r}"
            )
        return names[function_name]

    def expects(self, scale: Scale) -> ClaimVerdict:
        """Return the verdict expected at a scale."""
        verdict = self.expected_verdict
        if isinstance(verdict, str):
            return verdict
        if scale not in verdict:
            raise ValueError(
                f"{self.id}: expected_verdict names no verdict for scale {scale!r}; it has {dict(verdict)}"
            )
        return verdict[scale]


def _exists(module: str) -> bool:
    """Check whether a module can be found, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a package above it is missing
        return False
