"""The rounds of a boundary search: choose one run per open search, have them run, record the outcomes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from firstlight import runs
from firstlight.records import RunRecord, RunSpec, Stop, Store, run_id
from firstlight.runs import OVER, RunOutcome, keep
from firstlight.sweeps._boundary._plan import Plan
from firstlight.sweeps._boundary._search import Search

Executor = Callable[[Sequence[RunSpec]], Iterable[RunRecord]]
"""Runs specs, all different, and yields one record for each, in any order."""

Key = tuple[int, int]
"""Number of a point, and a seed."""

_CELLS_PER_STRIDE = 16
"""A first search starts from its guess with strides of the lattice divided by this number."""


class BoundaryError(RuntimeError):
    """Raised if a run of a boundary search could not be trained, so that its outcome is unknown."""


def in_process(store: Store | None, data: Any = None, allow_large: bool = False) -> Executor:
    """Return the default executor: this process, specs with equal shapes together, checkpoints in the store."""

    def execute(specs: Sequence[RunSpec]) -> Iterator[RunRecord]:
        for places in runs.batches(specs):
            batch = [specs[i] for i in places]
            yield from runs.run_many(
                batch, store=store, data=data, progress="off", keep_weights=False, allow_large=allow_large
            )

    return execute


def met(rule: Stop, record: RunRecord) -> bool:
    """Return whether a run met a rule at some recorded step; a diverged run never does."""
    if record.status == "diverged" or rule.observable not in record.table:
        return False
    return any(rule.reached(value) for value in record.table[rule.observable].tolist())


class Rounds:
    """The state of a boundary search.

    The first seed of a point searches alone. The others start at its boundary, so they need few runs.

    **Attributes:**

    - `plan`: what to search.
    - `searches`: the search of each point and seed.
    - `records`: the record of every run, by the id of its spec.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.searches: dict[Key, Search] = {}
        self.records: dict[str, RunRecord] = {}
        for number, point in enumerate(plan.points):
            for seed in plan.seeds:
                stride = max(len(point.values) // _CELLS_PER_STRIDE, 1)
                self.searches[number, seed] = Search(len(point.values), point.start, stride)

    def specs(self) -> dict[Key, RunSpec]:
        """Return the next run of every search that can go on."""
        chosen = {}
        for key in self.searches:
            if (place := self._search(key).next) is not None and self._ready(key):
                chosen[key] = self.plan.spec(key[0], place, key[1])
        return chosen

    def add(self, key: Key, record: RunRecord) -> None:
        """Record the outcome of the next run of a search."""
        if record.status not in OVER:
            words = ", ".join(f"{name} = {value}" for name, value in self.plan.points[key[0]].fields.items())
            raise BoundaryError(
                f"the run of seed {key[1]}{' at ' * bool(words)}{words} {record.status}: {record.message}. "
                "A boundary needs the outcome of every run; mend the cause and run it again"
            )
        search = self._search(key)
        if search.next is None:
            raise ValueError(f"the search of point {key[0]} and seed {key[1]} is done; it takes no further run")
        self.searches[key] = search.record(search.next, self.succeeded(record))
        self.records[record.id] = record

    def succeeded(self, record: RunRecord) -> bool:
        """Return whether a run met the success rule at some recorded step."""
        return met(self.plan.success, record)

    @property
    def left(self) -> int:
        """An estimate of the runs that are left."""
        return sum(self._search(key).left for key in self.searches)

    def _leader(self, key: Key) -> Search:
        return self.searches[key[0], self.plan.seeds[0]]

    def _ready(self, key: Key) -> bool:
        return key[1] == self.plan.seeds[0] or self._leader(key).done

    def _search(self, key: Key) -> Search:
        """Return a search; one that has not begun starts at the boundary of the point's first seed."""
        search, leader = self.searches[key], self._leader(key)
        if key[1] == self.plan.seeds[0] or search.outcomes or not leader.done:
            return search
        return replace(search, start=min(max(leader.low, 0), leader.size - 1), stride=1)


def run_rounds(
    rounds: Rounds, executor: Executor | None, store: Store | None, on_record: Callable[[RunRecord, bool], None]
) -> None:
    """Go on until every search is done; without an executor, as far as the store reaches.

    **Arguments:**

    - `rounds`: the state, changed in place.
    - `executor`: runs the specs that the store does not hold.
    - `store`: holds finished runs, and gets the new ones.
    - `on_record`: called with each record, and whether it was run now.
    """
    while specs := rounds.specs():
        ids = {key: run_id(spec) for key, spec in specs.items()}
        known = {key for key, id in ids.items() if store is not None and store.run_status(id) in OVER}
        for key in known:
            record = store.get_run(ids[key])  # type: ignore[union-attr]
            rounds.add(key, record)
            on_record(record, False)
        if known:
            continue
        if executor is None:
            return
        keys = {id: key for key, id in ids.items()}
        for record in executor(list(specs.values())):
            if store is not None and store.run_status(record.id) not in OVER:
                keep(store, RunOutcome(record))
            rounds.add(keys.pop(record.id), record)
            on_record(record, True)
        if keys:
            raise BoundaryError(f"the executor returned no record for {len(keys)} of {len(ids)} runs")
