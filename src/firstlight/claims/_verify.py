"""Run checks. Each claim gives a `ClaimRecord`, even if its check raises."""

import functools
import gc
import math
import shlex
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from firstlight import _interrupts as interrupts
from firstlight.claims._attempts import Attempts
from firstlight.claims._check import Measurement, Setting
from firstlight.claims._claim import Claim
from firstlight.claims._digest import check_digest
from firstlight.claims._evidence import recorded
from firstlight.claims._needs import missing
from firstlight.claims._verdict import differences, verdict
from firstlight.records import ClaimRecord, ClaimScale, Criterion, Store
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


def verify(claim: Claim, setting: Setting, *, folder: Path | None = None) -> tuple[ClaimRecord, tuple[FigureData, ...]]:
    """Measure and judge a claim; return its record and its figures.

    An unmet need gives `inconclusive` with the reason, an exception `inconclusive` with `record.raised`. A verdict at
    `reduced` scale is at most `partial`.

    **Arguments:**

    - `claim`: the claim.
    - `setting`: scale, seeds, data and working directory.
    - `folder`: the evidence that the verdict is compared with; by default that of the claim's package.

    >>> from firstlight.claims import find
    >>> record, figures = verify(find(["cogo.lemma-3"])[0], Setting())
    >>> record.status, record.as_expected
    ('holds', True)
    """
    if setting.scale not in claim.scales:
        raise ValueError(f"{claim.id} is checked at scale {' and '.join(claim.scales)}; got {setting.scale!r}")
    attempts = Attempts(claim.id, setting)
    with attempts:
        measurement, criteria, remark, has_raised = _judged(claim, setting)
    smaller = differences(measurement.setting, claim.paper_setting) if criteria else ()
    if criteria and setting.scale == "reduced":
        smaller = (*smaller, f"the paper's scale: {claim.reduced_because}")
    clauses = tuple(f"{row.clause}: {row.required}" for row in criteria if row.passed is None)
    evidence = recorded(claim.id, folder).get(setting.scale)
    record = ClaimRecord(
        id=claim.id,
        paper=claim.paper,
        title=claim.title,
        locator=claim.locator,
        status=verdict(criteria, missing=smaller),
        expected_verdict=evidence.status if evidence and not setting.seeds else None,
        scale=setting.scale,
        statement=claim.statement,
        corrected=claim.corrected or "",
        criteria=criteria,
        setting=measurement.setting,
        paper_setting=claim.paper_setting,
        untested=(*clauses, *smaller),
        evidence=remark or measurement.note,
        seeds=measurement.seeds,
        requested_seeds=setting.seeds,
        seconds=attempts.seconds,
        figures=tuple(figure.digest for figure in measurement.figures),
        command=rerun_command(claim, setting),
        raised=has_raised,
        check_digest=check_digest(claim),
    )
    return record, measurement.figures


def reproduce(
    claims: Sequence[Claim],
    scale: ClaimScale = "quick",
    *,
    seeds: Sequence[int] = (),
    data: Path | None = None,
    store: Store | None = None,
    resume: bool = False,
    hours: float | None = None,
    keep: Callable[[ClaimRecord, tuple[FigureData, ...]], None] | None = None,
    folder: Path | None = None,
    progress: Callable[[Moment], None] = lambda moment: None,
) -> list[ClaimRecord]:
    """Check claims one after the other. Claims without a check at `scale` are skipped.

    **Arguments:**

    - `claims`: the claims to check.
    - `scale`: `"quick"`, `"reduced"` or `"paper"`.
    - `seeds`: random seeds; empty for each check's own.
    - `data`: folder of the large data sets.
    - `store`: receives each record and its figures as soon as a claim is decided.
    - `resume`: reuse stored verdicts of the same check, scale and seeds; inconclusive claims are checked again.
    - `hours`: start no further claim after this many hours.
    - `keep`: receives each new record and its figures, such as `record_evidence`.
    - `folder`: the evidence that verdicts are compared with; by default that of each claim's package.
    - `progress`: callback that receives each `Moment`.

    >>> from firstlight.claims import find
    >>> [record.status for record in reproduce(find(["cogo.lemma-3"]))]
    ['holds']
    """
    chosen = [claim for claim in claims if scale in claim.scales]
    done = _decided(store, scale, tuple(seeds), chosen) if store is not None and resume else {}
    work = Setting.work if store is None else store.path.parent
    records = []
    end = math.inf if hours is None else time.monotonic() + 3600 * hours
    for index, claim in enumerate(chosen):
        interrupts.check()
        if time.monotonic() > end:
            break
        moment = Moment(claim, index, len(chosen), 0.0)
        progress(moment)
        record = done.get(claim.id)
        if record is None:
            setting = Setting(scale, tuple(seeds), data, _reporter(moment, progress), _parts(claim, work))
            record = _check(claim, setting, store, keep, folder)
        elif keep is not None and store is not None:
            keep(record, store.figures_of([record]))
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


def _judged(claim: Claim, setting: Setting) -> tuple[Measurement, tuple[Criterion, ...], str, bool]:
    """Return measurement, criteria, the reason or traceback if there are none, and whether the check raised."""
    needs = missing(claim.needs, setting.data) if setting.scale != "quick" else missing(claim.extras, setting.data)
    if needs:
        return Measurement({}), (), "; ".join(needs), False
    try:
        check = claim.load_check()
        measurement = check.measure(setting)
        criteria = tuple(
            row if row.seeds else row.model_copy(update={"seeds": measurement.seeds})
            for row in check.judge(measurement.data)
        )
        _require_sound(claim, setting, measurement, criteria)
    except Exception as error:  # a broken check must not hide the verdicts of the others
        interrupts.check()  # C++ code may have turned an interruption into this error
        what = traceback.format_exception_only(error)[-1].strip()
        return Measurement({}), (), f"{RAISED}{what}\n{traceback.format_exc()}", True
    return measurement, criteria, "", False


def _require_sound(claim: Claim, setting: Setting, measurement: Measurement, criteria: tuple[Criterion, ...]) -> None:
    """Raise if a check has no criteria, corrects nothing that is registered, or is smaller than the paper it names."""
    if not criteria:
        raise ValueError(f"{claim.id}: judge returned no criteria; a verdict needs at least one")
    if claim.corrected is None and any(row.form == "corrected" for row in criteria):
        raise ValueError(f"{claim.id} has criteria of a corrected statement, but none is registered")
    verdict(criteria)
    smaller = differences(measurement.setting, claim.paper_setting)
    if setting.scale == "paper" and not setting.seeds and smaller:
        raise ValueError(f"{claim.id} is not at the paper's scale: {'; '.join(smaller)}; call this scale reduced")


def _check(
    claim: Claim,
    setting: Setting,
    store: Store | None,
    keep: Callable[[ClaimRecord, tuple[FigureData, ...]], None] | None,
    folder: Path | None,
) -> ClaimRecord:
    """Check a claim; store its record and pass it to `keep`."""
    if keep is not None:
        _forget_shared_results()
    record, figures = verify(claim, setting, folder=folder)
    if keep is not None:
        with interrupts.deferred():
            keep(record, figures)
    if store is not None:
        with interrupts.deferred():
            for figure in figures:
                store.put_figure(figure)
            store.put_claim(record)
    return record


def _parts(claim: Claim, work: Path) -> Path:
    """Return the folder in which a check saves its parts: another one when its source changes."""
    return work / "parts" / (check_digest(claim)[:16] or claim.id)


def _forget_shared_results() -> None:
    """Clear the caches that checks share, so that the recorded seconds of a claim are those it takes alone."""
    for thing in gc.get_objects():
        if isinstance(thing, functools._lru_cache_wrapper) and ".checks." in (getattr(thing, "__module__", "") or ""):
            thing.cache_clear()


def _reporter(moment: Moment, progress: Callable[[Moment], None]) -> Callable[[float, str], None]:
    """Return the callback by which a check reports its progress."""

    def report(fraction: float, note: str = "") -> None:
        interrupts.check()
        progress(replace(moment, fraction=min(max(fraction, 0.0), 1.0), note=note))

    return report


def _decided(
    store: Store, scale: ClaimScale, seeds: tuple[int, ...], claims: Sequence[Claim]
) -> dict[str, ClaimRecord]:
    """Return the stored records that need no new check, by claim: those of the same source of the check."""
    digests = {claim.id: check_digest(claim) for claim in claims}
    return {
        record.id: record
        for record in store.claims()
        if record.scale == scale
        and record.id in digests
        and record.check_digest == digests[record.id]
        and record.requested_seeds == seeds
        and record.status != "inconclusive"
    }
