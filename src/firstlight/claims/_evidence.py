"""Recorded evidence: the verdict of a claim at a scale, with its criteria, as a file that is shipped."""

import functools
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field

from firstlight._files import write_atomically
from firstlight.claims._check import SCALES
from firstlight.claims._claim import Claim
from firstlight.claims._digest import check_digest
from firstlight.records import ClaimRecord, ClaimScale, ClaimVerdict, Criterion
from firstlight.records._base import Digest, Record
from firstlight.records._values import Value, plain
from firstlight.records.figure import FigureData

EVIDENCE = Path(__file__).parent / "evidence"
"""The evidence of the papers' claims. The figures' arrays are in `figures/` below it, which the wheel leaves out."""


class Evidence(Record):
    """The recorded outcome of a claim at a scale.

    **Fields:**

    - `id`, `scale`, `status`: the claim, the scale and the verdict.
    - `criteria`: a row per clause.
    - `setting`, `paper_setting`: the sizes used, and those that the paper prints.
    - `untested`: clauses, sizes and data sets that were not tested.
    - `note`: a remark.
    - `seeds`, `seconds`, `created`, `machine`, `versions`, `commit`: how it was made.
    - `check_digest`: digest of the check's source when it was made.
    - `figures`: digests of the figures.
    """

    id: str
    scale: ClaimScale
    status: ClaimVerdict
    criteria: tuple[Criterion, ...]
    setting: Value = Field(default_factory=dict)
    paper_setting: Value = Field(default_factory=dict)
    untested: tuple[str, ...] = ()
    note: str = ""
    seeds: tuple[int, ...] = ()
    seconds: float = Field(ge=0)
    created: str = ""
    machine: dict[str, str | int]
    versions: dict[str, str]
    commit: str = ""
    check_digest: str
    figures: tuple[Digest, ...] = ()


class StatusChanged(ValueError):
    """A new verdict that differs from the recorded one."""

    def __init__(self, record: ClaimRecord, before: ClaimVerdict) -> None:
        super().__init__(
            f"{record.id} at {record.scale} scale was recorded as {before} and is now {record.status}; nothing was "
            "written. Look at the criteria, then record it with --accept"
        )


def recorded(id: str, folder: Path | None = None) -> dict[ClaimScale, Evidence]:
    """Return the evidence of a claim by scale; scales that were never run are absent.

    >>> recorded("li2.no-such-claim")
    {}
    """
    evidence = _all_evidence(folder or evidence_folder(id))
    return {scale: evidence[id, scale] for scale in SCALES if (id, scale) in evidence}


def all_recorded(folder: Path | None = None) -> tuple[Evidence, ...]:
    """Return all evidence in a folder, by default that of the papers' claims, by id and scale."""
    return tuple(_all_evidence(folder or EVIDENCE).values())


def is_stale(evidence: Evidence, claim: Claim) -> bool:
    """Check whether a claim's check or printed setting has changed since its evidence was recorded."""
    return evidence.check_digest != check_digest(claim) or evidence.paper_setting != plain(claim.paper_setting)


def missing_evidence(claims: Sequence[Claim], scale: ClaimScale, folder: Path | None = None) -> tuple[Claim, ...]:
    """Return the claims whose evidence at a scale is missing or stale, cheapest first.

    The cost is the time of the stale evidence, else that of the largest recorded scale.
    """
    costs = {}
    for claim in claims:
        evidence = recorded(claim.id, folder)
        if scale in claim.scales and (scale not in evidence or is_stale(evidence[scale], claim)):
            costs[claim.id] = max((e.seconds for e in evidence.values()), default=0.0)
    return tuple(sorted((claim for claim in claims if claim.id in costs), key=lambda claim: costs[claim.id]))


def record_evidence(
    record: ClaimRecord,
    figures: Sequence[FigureData] = (),
    *,
    folder: Path | None = None,
    accept: bool = False,
) -> Path:
    """Write the evidence of a claim and its figures; return the file.

    **Arguments:**

    - `record`: the outcome; one that raised or was inconclusive for a missing need is refused.
    - `figures`: the figures that the record names.
    - `folder`: where evidence is; by default the claim's own folder.
    - `accept`: overwrite evidence with another verdict; otherwise that raises `StatusChanged`.
    """
    if record.raised or not record.criteria:
        reason = record.evidence.splitlines()[0] if record.evidence else "it has no criteria"
        raise ValueError(f"{record.id} at {record.scale} scale is no evidence: {reason}")
    if record.requested_seeds:
        raise ValueError(f"{record.id}: evidence uses the claim's own seeds; got --seed {record.requested_seeds}")
    where = folder or evidence_folder(record.id)
    earlier = recorded(record.id, where).get(record.scale)
    if earlier is not None and earlier.status != record.status and not accept:
        raise StatusChanged(record, earlier.status)
    for figure in figures:
        path = figure_path(figure.digest, where)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.save(path)
    evidence = Evidence(
        **{name: getattr(record, name) for name in _SHARED},
        note=record.evidence,
        commit=_commit(),
    )
    text = json.dumps(json.loads(evidence.to_json()), indent=1, ensure_ascii=False) + "\n"
    path = write_atomically(where / f"{record.id}.{record.scale}.json", text.encode())
    _all_evidence.cache_clear()
    for stale in {*(earlier.figures if earlier else ())} - {*evidence.figures} - _figures_in_use(where):
        figure_path(stale, where).unlink(missing_ok=True)
    return path


_SHARED = (
    "id",
    "scale",
    "status",
    "criteria",
    "setting",
    "paper_setting",
    "untested",
    "seeds",
    "seconds",
    "created",
    "machine",
    "versions",
    "check_digest",
    "figures",
)


def evidence_folder(id: str) -> Path:
    """Return the folder that holds the evidence of a claim: that of its paper's package."""
    from firstlight.claims._registry import paper_of

    paper = paper_of(id)
    return paper.evidence if paper is not None and paper.evidence is not None else EVIDENCE


def figure_path(digest: str, folder: Path | None = None) -> Path:
    """Return the file that holds a figure of the evidence; it may be absent in an installed wheel."""
    return (folder or EVIDENCE) / "figures" / f"{digest[:24]}.figure.safetensors"


def recorded_figures(evidence: Evidence, folder: Path | None = None) -> tuple[FigureData, ...]:
    """Return the figures of recorded evidence that are there; a wheel holds none."""
    paths = [figure_path(digest, folder or evidence_folder(evidence.id)) for digest in evidence.figures]
    return tuple(FigureData.load(path) for path in paths if path.exists())


@functools.cache
def _all_evidence(folder: Path) -> Mapping[tuple[str, ClaimScale], Evidence]:
    evidence = [_read(path) for path in sorted(folder.glob("*.json"))]
    order = {scale: place for place, scale in enumerate(SCALES)}
    return {(e.id, e.scale): e for e in sorted(evidence, key=lambda e: (e.id, order[e.scale]))}


def _read(path: Path) -> Evidence:
    """Read a file of evidence; an error names the file and says what to do."""
    try:
        evidence = Evidence.from_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"{path} is no evidence of a claim ({reason}); restore it, or delete it and record it"
        ) from None
    if path.name != f"{evidence.id}.{evidence.scale}.json":
        raise ValueError(f"{path} holds the evidence of {evidence.id} at {evidence.scale} scale; rename it")
    return evidence


def _figures_in_use(folder: Path) -> set[str]:
    return {digest for evidence in _all_evidence(folder).values() for digest in evidence.figures}


def _commit() -> str:
    """Return the commit of the source tree, with a + if it has changes; '' outside a checkout."""
    if given := os.environ.get("FIRSTLIGHT_COMMIT"):
        return given
    source = (":(top)src", ":(top,exclude)src/firstlight/claims/evidence")
    try:
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", *source)
        return _git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(*words: str) -> str:
    command = ["git", "-C", str(Path(__file__).parent), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()
