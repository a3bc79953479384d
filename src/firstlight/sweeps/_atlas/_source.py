"""Where the points of a phase diagram come from: a store, the file of a sweep, or its folder."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from firstlight import _interrupts as interrupts
from firstlight.records import FileError, Store, read_bundle, run_id
from firstlight.records._bundle import bundle_paths
from firstlight.runs import OVER
from firstlight.sweeps._atlas._diagram import Point
from firstlight.sweeps._atlas._family import Family, Outcome, families, outcome_of
from firstlight.sweeps._folder import open_folder
from firstlight.sweeps._spec import Sweep


def stored_outcomes(store: Store, known: dict[str, tuple[str, Outcome]] | None = None) -> list[Outcome]:
    """Return the outcome of every run of a store, in the order of writing.

    **Arguments:**

    - `store`: an open store.
    - `known`: id → digest and outcome of the last call, updated by this one; runs that did not change are not read.
    """
    known = {} if known is None else known
    digests = store.run_digests()
    outcomes = []
    for id in store.run_ids():
        if id not in digests:
            continue  # written between the two reads
        interrupts.check()
        status, digest = digests[id]
        # A run in progress keeps its digest while its status and rows change.
        if id not in known or known[id][0] != digest or known[id][1].status != status:
            known[id] = (digest, outcome_of(store.get_run(id)))
        outcomes.append(known[id][1])
    return outcomes


def family_of(store: Store, id: str = "") -> Family:
    """Return the family whose id begins with `id`, by default the newest; ValueError says which there are."""
    known = families(stored_outcomes(store))
    matching = [family for family in known if family.id.startswith(id)]
    if len(matching) == 1 or (matching and not id):
        return matching[0]
    if not known:
        raise ValueError(
            f"{store.path} has no two runs that differ in fraction, decay, width, rate or group only; "
            "`firstlight sweep SPEC` makes some"
        )
    shown = ", ".join(family.id for family in known[:6])
    raise ValueError(f"{'several sweeps begin' if matching else 'no sweep begins'} with {id!r}; the store has {shown}")


def points_of_family(family: Family) -> list[Point]:
    """Return the runs of a family as points."""
    return [(run.spec, run) for run in family.runs]


def points_of_sweep(sweep: Sweep, store: Store | None, data: str | os.PathLike[str] | None = None) -> list[Point]:
    """Return the points of a sweep, with the outcomes that a store has."""
    points: list[Point] = []
    for spec in sweep.expand(data):
        interrupts.check()
        status = store.run_status(spec) if store is not None else None
        points.append((spec, outcome_of(store.get_run(spec)) if store is not None and status else None))
    return points


def points_of_folder(path: str | os.PathLike[str]) -> list[Point]:
    """Return the points of a sweep on a shared filesystem, with the outcomes that its bundles hold."""
    folder = open_folder(path)
    outcomes: dict[str, Outcome] = {}
    for file in bundle_paths(folder.bundles) if folder.bundles.is_dir() else ():
        for outcome in _bundled(file):
            if outcome.id not in outcomes or outcomes[outcome.id].status not in OVER:
                outcomes[outcome.id] = outcome
    plan = folder.plan()
    if plan.sweep is None:
        return [(outcome.spec, outcome) for outcome in outcomes.values()]
    return [(spec, outcomes.get(run_id(spec))) for spec in plan.sweep.expand(plan.data or None, allow_large=True)]


def _bundled(file: Path) -> Iterator[Outcome]:
    interrupts.check()
    with contextlib.suppress(FileError):
        yield from (outcome_of(run.record) for run in read_bundle(file))
