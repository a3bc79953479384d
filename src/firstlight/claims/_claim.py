"""A statement of a paper as data plus a pure check, and what a check is given and gives back."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from firstlight.records._status import ClaimVerdict
from firstlight.records._values import plain
from firstlight.records.figure import FigureData

Scale = Literal["quick", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
VERDICTS: tuple[ClaimVerdict, ...] = get_args(ClaimVerdict)

Progress = Callable[[float, str], None]
"""Told the fraction done, from 0 to 1, and a few words on what is being done."""

T = TypeVar("T")


def silent(fraction: float, note: str = "") -> None:
    """A `Progress` that says nothing."""


@dataclass(frozen=True)
class Setting:
    """What a check may depend on: size, seeds, where large data lie, whom to tell how far it is, and where a long one
    keeps what it has done, to go on from there.

    >>> setting = Setting("paper")
    >>> setting.choose(quick=23, paper=71), setting.seeds_or(range(3)), Setting(seeds=(7,)).seeds_or(range(3))
    (71, (0, 1, 2), (7,))
    """

    scale: Scale = "quick"
    seeds: tuple[int, ...] = ()
    data: Path | None = None
    progress: Progress = silent
    work: Path = Path(".firstlight")

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise ValueError(f"scale is one of {', '.join(SCALES)}; got {self.scale!r}")

    def choose(self, *, quick: T, paper: T) -> T:
        """The size that belongs to the scale."""
        return quick if self.scale == "quick" else paper

    def seeds_or(self, default: "range | tuple[int, ...]") -> tuple[int, ...]:
        """The seeds asked for, or the claim's own."""
        return self.seeds or tuple(default)


@dataclass(frozen=True)
class Outcome:
    """What a check found: a verdict with the numbers behind it.

    `evidence` says by how much the printed form fails when the status is `holds-as-corrected`, and why
    nothing can be said when it is `inconclusive`; both need it.

    >>> Outcome("holds-as-corrected", measured=1.75, expected=1.75)
    Traceback (most recent call last):
    ...
    ValueError: an outcome that holds-as-corrected needs evidence: ...
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
            "holds-as-corrected": "say by which number the printed form fails",
            "inconclusive": "say what is missing",
        }.get(self.status)
        if needed and not self.evidence.strip():
            raise ValueError(f"an outcome that is {self.status} needs evidence: {needed}".replace("is holds", "holds"))
        object.__setattr__(self, "measured", plain(self.measured))
        object.__setattr__(self, "expected", plain(self.expected))


_ID = re.compile(r"[a-z0-9]+\.[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Claim:
    """A statement, figure or table of a paper with the check that decides it.

    **Arguments:**

    - `id`: `<paper>.<kind>-<number>`, dots in a number written as dashes; the paper is read off it.
    - `title`: a few words for tables; `locator`: where it stands, such as "Theorem 2, eq. 21".
    - `statement`: what is printed; `corrected`: what is true where that differs; `counterexample`:
      in one sentence, the case and the numbers that separate the two.
    - `check`: a pure function of a `Setting`, which imports what is heavy inside, so that listing is fast.
    - `needs`: extras (`torch`) and data sets (`mnist`) without which the check cannot run.
    - `expected_verdict`: one word for all scales, or one per scale.
    - `tolerance`: how far measured may be from expected (one number, or named ones); `tolerance_reason`: why.

    >>> def check(setting: Setting) -> Outcome:
    ...     return Outcome("holds", measured=2 + 2, expected=4)
    >>> claim = Claim("li2.lemma-0", "Addition", "Lemma 0", "2 + 2 = 4.", check)
    >>> claim.paper, claim.expects("quick"), claim.check(Setting()).status
    ('li2', 'holds', 'holds')
    """

    id: str
    title: str
    locator: str
    statement: str
    check: Callable[[Setting], Outcome]
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
        """The first part of the id."""
        return self.id.partition(".")[0]

    def expects(self, scale: Scale) -> ClaimVerdict:
        """The verdict expected at a scale."""
        verdict = self.expected_verdict
        if isinstance(verdict, str):
            return verdict
        if scale not in verdict:
            raise ValueError(
                f"{self.id}: expected_verdict names no verdict for scale {scale!r}; it has {dict(verdict)}"
            )
        return verdict[scale]
