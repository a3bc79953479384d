"""Running checks: each claim becomes a `ClaimRecord`, whatever happens inside its check."""

import shlex
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from firstlight import _interrupts as interrupts
from firstlight.claims._claim import Claim, Outcome, Scale, Setting
from firstlight.claims._needs import missing
from firstlight.records import ClaimRecord, Store, software_versions
from firstlight.records._claim import RAISED
from firstlight.records.figure import FigureData


@dataclass(frozen=True)
class Moment:
    """How far `reproduce` is: claim `index` of `count` is `fraction` done; `record` once it is decided."""

    claim: Claim
    index: int
    count: int
    fraction: float
    note: str = ""
    record: ClaimRecord | None = None


def verify(claim: Claim, setting: Setting) -> tuple[ClaimRecord, tuple[FigureData, ...]]:
    """Run one check and write down what came of it; the figures are those whose digests the record names.

    A need that is not met, or an exception, gives `inconclusive` with the reason; `raised` tells them apart.

    >>> from firstlight.claims import find
    >>> record, figures = verify(find(["cogo.lemma-3"])[0], Setting())
    >>> record.status, record.as_expected
    ('holds', True)
    """
    if setting.scale not in claim.scales:
        raise ValueError(f"{claim.id} is checked at scale {' and '.join(claim.scales)}; got {setting.scale!r}")
    start = time.perf_counter()
    outcome, has_raised = _outcome(claim, setting)
    record = ClaimRecord(
        id=claim.id,
        paper=claim.paper,
        title=claim.title,
        locator=claim.locator,
        status=outcome.status,
        expected_verdict=claim.expects(setting.scale),
        scale=setting.scale,
        statement=claim.statement,
        corrected=claim.corrected or "",
        measured=outcome.measured,
        expected=outcome.expected,
        tolerance=claim.tolerance,
        tolerance_reason=claim.tolerance_reason,
        evidence=outcome.evidence,
        seeds=outcome.seeds,
        requested_seeds=setting.seeds,
        seconds=time.perf_counter() - start,
        figures=tuple(figure.digest for figure in outcome.figures),
        command=rerun_command(claim, setting),
        raised=has_raised,
    )
    return record, outcome.figures


def reproduce(
    claims: Sequence[Claim],
    scale: Scale = "quick",
    *,
    seeds: Sequence[int] = (),
    data: Path | None = None,
    store: Store | None = None,
    resume: bool = False,
    progress: Callable[[Moment], None] = lambda moment: None,
) -> list[ClaimRecord]:
    """Check claims one after the other; those not offered at `scale` are left out.

    **Arguments:**

    - `store`: each record and its figures are put there as soon as they are known.
    - `resume`: take from the store what this version of the package has already decided at this scale when
      asked for these seeds, instead of checking it again; what was inconclusive is not decided.
    - `progress`: told of each `Moment`.

    >>> from firstlight.claims import find
    >>> [record.status for record in reproduce(find(["cogo.lemma-3"]))]
    ['holds']
    """
    chosen = [claim for claim in claims if scale in claim.scales]
    done = _decided(store, scale, tuple(seeds)) if store is not None and resume else {}
    work = Setting.work if store is None else store.path.parent
    records = []
    for index, claim in enumerate(chosen):
        interrupts.check()
        moment = Moment(claim, index, len(chosen), 0.0)
        progress(moment)
        record = done.get(claim.id)
        if record is None:
            record = _check(claim, Setting(scale, tuple(seeds), data, _teller(moment, progress), work), store)
        records.append(record)
        progress(replace(moment, fraction=1.0, record=record))
    return records


def raised(record: ClaimRecord) -> bool:
    """Whether the check itself broke; its traceback is then the record's evidence."""
    return record.raised


def as_expected(record: ClaimRecord) -> bool:
    """Whether the verdict is the expected one and was reached by the check, not by its breaking."""
    return record.as_expected


def rerun_command(claim: Claim, setting: Setting) -> str:
    """What to type to run the check again.

    >>> from firstlight.claims import find
    >>> rerun_command(find(["cogo.lemma-3"])[0], Setting("paper", seeds=(1, 2), data=Path("my data")))
    "firstlight reproduce cogo.lemma-3 --scale paper --seed 1 --seed 2 --data 'my data'"
    """
    return reproduce_command([claim.id], setting)


def reproduce_command(patterns: Sequence[str], setting: Setting, *more: str) -> str:
    """What to type to check what the patterns match, quoted for a shell.

    >>> reproduce_command(["li2.figure-*"], Setting(), "--resume")
    "firstlight reproduce 'li2.figure-*' --resume"
    """
    words = ["firstlight", "reproduce", *patterns]
    words += ["--scale", setting.scale] if setting.scale != "quick" else []
    words += [word for seed in setting.seeds for word in ("--seed", str(seed))]
    words += ["--data", str(setting.data)] if setting.data is not None else []
    return shlex.join([*words, *more])


def _outcome(claim: Claim, setting: Setting) -> tuple[Outcome, bool]:
    """Run a check; return its outcome, and whether the check raised."""
    if reasons := missing(claim.needs, setting.data):
        return Outcome("inconclusive", None, None, evidence="; ".join(reasons)), False
    try:
        outcome = claim.run_check(setting)
        if outcome.status == "holds-as-corrected" and claim.corrected is None:
            raise ValueError(f"{claim.id} holds as corrected, but no corrected statement is registered")
    except Exception as error:  # a broken check must not hide the verdicts of the others
        interrupts.check()  # C++ code may have turned an interruption into this error
        what = traceback.format_exception_only(error)[-1].strip()
        return Outcome("inconclusive", None, None, evidence=f"{RAISED}{what}\n{traceback.format_exc()}"), True
    return outcome, False


def _check(claim: Claim, setting: Setting, store: Store | None) -> ClaimRecord:
    record, figures = verify(claim, setting)
    if store is not None:
        with interrupts.deferred():
            for figure in figures:
                store.put_figure(figure)
            store.put_claim(record)
    return record


def _teller(moment: Moment, progress: Callable[[Moment], None]) -> Callable[[float, str], None]:
    def tell(fraction: float, note: str = "") -> None:
        interrupts.check()
        progress(replace(moment, fraction=min(max(fraction, 0.0), 1.0), note=note))

    return tell


def _decided(store: Store, scale: Scale, seeds: tuple[int, ...]) -> dict[str, ClaimRecord]:
    version = software_versions().get("firstlight")
    return {
        record.id: record
        for record in store.claims()
        if record.scale == scale
        and record.versions.get("firstlight") == version
        and record.requested_seeds == seeds
        and record.status != "inconclusive"
    }
