"""Run checks. Each claim gives a `ClaimRecord`, even if its check raises."""

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
    """The progress of `reproduce`: claim `index` of `count` is `fraction` done; `record` is set at its end."""

    claim: Claim
    index: int
    count: int
    fraction: float
    note: str = ""
    record: ClaimRecord | None = None


def verify(claim: Claim, setting: Setting) -> tuple[ClaimRecord, tuple[FigureData, ...]]:
    """Run the check of a claim; return its record and its figures.

    An unmet need gives `inconclusive` with the reason, an exception `inconclusive` with `record.raised`.

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
    """Check claims one after the other. Claims without a check at `scale` are skipped.

    **Arguments:**

    - `claims`: the claims to check.
    - `scale`: `"quick"` or `"paper"`.
    - `seeds`: random seeds; empty for each check's own.
    - `data`: folder of the large data sets.
    - `store`: receives each record and its figures as soon as a claim is decided.
    - `resume`: reuse stored verdicts of this version, scale and seeds; inconclusive claims are checked again.
    - `progress`: callback that receives each `Moment`.

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
            record = _check(claim, Setting(scale, tuple(seeds), data, _reporter(moment, progress), work), store)
        records.append(record)
        progress(replace(moment, fraction=1.0, record=record))
    return records


def rerun_command(claim: Claim, setting: Setting) -> str:
    """Return the shell command that runs a check again.

    >>> from firstlight.claims import find
    >>> rerun_command(find(["cogo.lemma-3"])[0], Setting("paper", seeds=(1, 2), data=Path("my data")))
    "firstlight reproduce cogo.lemma-3 --scale paper --seed 1 --seed 2 --data 'my data'"
    """
    return reproduce_command([claim.id], setting)


def reproduce_command(patterns: Sequence[str], setting: Setting, *more: str) -> str:
    """Return the shell command that checks the claims of the patterns, quoted for a shell.

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
    """Check a claim and store its record."""
    record, figures = verify(claim, setting)
    if store is not None:
        with interrupts.deferred():
            for figure in figures:
                store.put_figure(figure)
            store.put_claim(record)
    return record


def _reporter(moment: Moment, progress: Callable[[Moment], None]) -> Callable[[float, str], None]:
    """Return the callback by which a check reports its progress."""

    def report(fraction: float, note: str = "") -> None:
        interrupts.check()
        progress(replace(moment, fraction=min(max(fraction, 0.0), 1.0), note=note))

    return report


def _decided(store: Store, scale: Scale, seeds: tuple[int, ...]) -> dict[str, ClaimRecord]:
    """Return the stored records that need no new check, by claim."""
    version = software_versions().get("firstlight")
    return {
        record.id: record
        for record in store.claims()
        if record.scale == scale
        and record.versions.get("firstlight") == version
        and record.requested_seeds == seeds
        and record.status != "inconclusive"
    }
