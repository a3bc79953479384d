"""A check: `measure` computes plain data, `judge` turns them into criteria. The verdict is derived from these."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

from firstlight.records import ClaimScale, Criterion
from firstlight.records._values import plain
from firstlight.records.figure import FigureData

SCALES: tuple[ClaimScale, ...] = get_args(ClaimScale)

ProgressCallback = Callable[[float, str], None]
"""A callback that receives the fraction done, from 0 to 1, and a short note on the current step."""

T = TypeVar("T")
_MISSING: Any = object()


def silent(fraction: float, note: str = "") -> None:
    """Ignore progress: the default `ProgressCallback`."""


@dataclass(frozen=True)
class Setting:
    """The input of a measurement.

    **Arguments:**

    - `scale`: `"quick"` (seconds), `"reduced"` (smaller than the paper) or `"paper"` (the paper's own sizes).
    - `seeds`: random seeds; empty for the check's own.
    - `data`: folder of the large data sets.
    - `progress`: progress callback.
    - `work`: working directory from which long measurements resume.

    >>> setting = Setting("paper")
    >>> setting.choose(quick=23, paper=71), setting.seeds_or(range(3)), Setting(seeds=(7,)).seeds_or(range(3))
    (71, (0, 1, 2), (7,))
    """

    scale: ClaimScale = "quick"
    seeds: tuple[int, ...] = ()
    data: Path | None = None
    progress: ProgressCallback = silent
    work: Path = Path(".firstlight")

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise ValueError(f"scale is one of {', '.join(SCALES)}; got {self.scale!r}")

    def choose(self, *, quick: T, paper: T, reduced: T = _MISSING) -> T:
        """Return the argument that belongs to the scale; `reduced` is that of the paper if not given."""
        if self.scale == "quick":
            return quick
        return paper if self.scale == "paper" or reduced is _MISSING else reduced

    def seeds_or(self, default: "range | tuple[int, ...]") -> tuple[int, ...]:
        """Return the requested seeds, or `default` if none were requested."""
        return self.seeds or tuple(default)


@dataclass(frozen=True)
class Measurement:
    """The output of a measurement: what `judge` reads, and the setting that was really used.

    **Arguments:**

    - `data`: numbers, text, lists and tables; arrays are converted to lists.
    - `setting`: the fields that were used, under the names of `Claim.paper_setting`, and what was chosen
      where the paper prints nothing.
    - `seeds`: the seeds that were used.
    - `figures`: figures of the measured data.
    - `note`: a remark for readers, without numbers that `data` does not hold.

    >>> import numpy as np
    >>> Measurement({"error": np.float32(0.5)}, {"width": 64}).data
    {'error': 0.5}
    """

    data: Mapping[str, Any]
    setting: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()
    figures: tuple[FigureData, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", plain(self.data))
        object.__setattr__(self, "setting", plain(self.setting))
        object.__setattr__(self, "seeds", tuple(int(seed) for seed in self.seeds))


@dataclass(frozen=True)
class Check:
    """Two functions that decide a claim. Neither of them writes a verdict.

    **Arguments:**

    - `measure`: computes a `Measurement` at a `Setting`.
    - `judge`: returns the criteria of the measured data; it reads nothing else.

    >>> from firstlight.claims import at_most
    >>> check = Check(
    ...     lambda setting: Measurement({"error": 1e-12}),
    ...     lambda data: [at_most("0 = 0", "error", data["error"], 1e-10, reason="rounding")],
    ... )
    >>> [row.passed for row in check.judge(check.measure(Setting()).data)]
    [True]
    """

    measure: Callable[[Setting], Measurement]
    judge: Callable[[Mapping[str, Any]], Sequence[Criterion]]
