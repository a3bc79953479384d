"""Compare two sets of recorded evidence."""

from dataclasses import dataclass
from pathlib import Path

from firstlight.claims._evidence import Evidence, all_recorded
from firstlight.records import ClaimScale, ClaimVerdict


@dataclass(frozen=True)
class EvidenceChange:
    """A claim at a scale whose evidence differs between two sets.

    **Arguments:**

    - `id`, `scale`: of the evidence.
    - `before`, `after`: the verdicts; None where the set has no evidence.
    - `criteria`: a line per criterion that passes in one set only, or exists in one set only.
    """

    id: str
    scale: ClaimScale
    before: ClaimVerdict | None
    after: ClaimVerdict | None
    criteria: tuple[str, ...] = ()


def compare_evidence(before: Path, after: Path) -> tuple[EvidenceChange, ...]:
    """Return what differs between two folders of evidence; equal verdicts with equal criteria are left out.

    Numbers that moved within their bounds are no difference.
    """
    for folder in (before, after):
        if not folder.is_dir():
            raise ValueError(f"evidence is a folder of <id>.<scale>.json files; there is no folder {folder}")
    first: dict[tuple[str, ClaimScale], Evidence] = {(e.id, e.scale): e for e in all_recorded(before)}
    second: dict[tuple[str, ClaimScale], Evidence] = {(e.id, e.scale): e for e in all_recorded(after)}
    changes = []
    for key in sorted({*first, *second}):
        old, new = first.get(key), second.get(key)
        lines = _criteria(old, new) if old and new else ()
        if old is None or new is None or old.status != new.status or lines:
            changes.append(EvidenceChange(*key, old and old.status, new and new.status, lines))
    return tuple(changes)


def _criteria(old: Evidence, new: Evidence) -> tuple[str, ...]:
    before = {(row.clause, row.quantity): row for row in old.criteria}
    after = {(row.clause, row.quantity): row for row in new.criteria}
    lines = []
    for key in dict.fromkeys([*before, *after]):
        was, now = before.get(key), after.get(key)
        name = f"{key[0]} ({key[1]})" if key[1] else key[0]
        if was is None or now is None:
            lines.append(f"{name}: {'added' if was is None else 'removed'}")
        elif was.passed != now.passed:
            lines.append(f"{name}: {was.measured} → {now.measured}, required {now.required}")
    return tuple(lines)
