"""The outcome of a run in numbers and in one sentence: when it memorised, when it generalised."""

from collections.abc import Mapping
from typing import Any

from firstlight.records import LEARNED, RunRecord, first_row, task_title


def first_step(record: RunRecord, column: str, at_least: float = LEARNED) -> int | None:
    """Return the first recorded step at which a column reaches a level, or None.

    >>> from firstlight.records import RunSpec, Table
    >>> table = Table([0, 10, 20], {"train_accuracy": [0.2, 0.99, 1.0]})
    >>> first_step(RunRecord(spec=RunSpec(), status="finished", table=table), "train_accuracy")
    10
    """
    row = first_row(record.table, column, at_least)
    return None if row is None else int(record.table.step[row])


def summarise(record: RunRecord) -> dict[str, Any]:
    """Return when the run memorised and generalised, its last values, and its story in one sentence.

    >>> from firstlight.records import RunSpec, Table
    >>> table = Table([0, 10], {"train_accuracy": [0.1, 1.0], "test_accuracy": [0.1, 0.3]})
    >>> summarise(RunRecord(spec=RunSpec(), status="finished", steps=10, table=table))["story"]
    'Z71: memorised at epoch 10 but did not generalise (test accuracy 0.300 after 10 epochs).'
    """
    values: dict[str, Any] = {
        "memorised_at": first_step(record, "train_accuracy"),
        "generalised_at": first_step(record, "test_accuracy"),
        "final": {name: float(column[-1]) for name, column in record.table.scalars().items() if len(column)},
    }
    values["story"] = f"{task_title(record.spec.task)}: {_ending(record, values)}."
    return values


def _ending(record: RunRecord, values: Mapping[str, Any]) -> str:
    clock = record.spec.clock
    message = record.message.splitlines()[0].rstrip(".") if record.message else ""
    if record.status == "failed":
        return f"failed after {_duration(record.steps, clock)}: {message}"
    learned = _learned(record, values)
    if record.status == "diverged":
        return f"diverged at {clock} {record.steps} ({message}); until then it {learned}"
    if record.status == "interrupted":
        return f"interrupted at {clock} {record.steps} of {record.spec.steps}; until then it {learned}"
    return learned


def _duration(count: int, clock: str) -> str:
    return f"{count} {clock}{'s' * (count != 1)}"


def _learned(record: RunRecord, values: Mapping[str, Any]) -> str:
    clock = record.spec.clock
    # A run may end between two recorded steps; the final values are those of the last row.
    last_step = int(record.table.step[-1]) if len(record.table) else record.steps
    final, after = values["final"], f"after {_duration(last_step, clock)}"
    if "train_accuracy" not in final:
        losses = {half: final.get(f"{half}_loss") for half in ("train", "test")}
        texts = [f"{half} loss {loss:.3g}" for half, loss in losses.items() if loss is not None]
        return f"reached {' and '.join(texts)} {after}" if texts else f"recorded nothing {after}"
    memorised, generalised = values["memorised_at"], values["generalised_at"]
    train = f"memorised at {clock} {memorised}"
    if memorised is None:
        train = f"did not memorise (train accuracy {final['train_accuracy']:.3f} {after})"
    if "test_accuracy" not in final:
        return f"{train}; there are no test rows"
    test = f"test accuracy {final['test_accuracy']:.3f} {after}"
    if generalised is not None:
        wait = generalised - (generalised if memorised is None else memorised)
        later = f", {_duration(wait, clock)} later" if wait > 0 else ""
        return f"{train}, generalised at {clock} {generalised}{later} ({test})"
    return f"{train} {'but' if memorised is not None else 'and'} did not generalise ({test})"


def advice(record: RunRecord) -> str:
    """Return what to try next if a run did not memorise or did not generalise; '' if it did both or has no classes.

    >>> from firstlight.records import RunSpec, Table
    >>> table = Table([0, 10], {"train_accuracy": [0.1, 0.2], "test_accuracy": [0.1, 0.2]})
    >>> print(advice(RunRecord(spec=RunSpec(), status="finished", steps=10, table=table)))
    It did not memorise: try more steps, a larger optimizer.learning_rate or a larger model.width.
    """
    summary = record.summary or summarise(record)
    final = summary.get("final") or {}
    if record.status != "finished" or "train_accuracy" not in final:
        return ""
    if summary["memorised_at"] is None and summary["generalised_at"] is None:
        decay = record.spec.optimizer.weight_decay
        less = [f"a weight decay below {decay:g}"] if decay > 0 else []
        return f"It did not memorise: try {_any_of(['more steps', *_LARGER, *less])}."
    if "test_accuracy" in final and summary["generalised_at"] is None:
        some = [] if record.spec.optimizer.weight_decay > 0 else ["a positive optimizer.weight_decay"]
        return f"It did not generalise: try {_any_of(['more steps', 'a larger task.split.fraction', *some])}."
    return ""


_LARGER = ("a larger optimizer.learning_rate", "a larger model.width")


def _any_of(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
