"""What happened between the first and the last checkpoint, in sentences. Needs no torch."""

import math
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firstlight.probes._checkpoints._history import CheckpointHistory, Moment
    from firstlight.probes._result import LayerReport

NARROWED = 0.7
"""Change of the effective rank, as a factor, from which the story mentions it."""

WORDS = {
    "converged": ("has converged", "have converged"),
    "learning": ("is learning", "are learning"),
    "lazy": ("has hardly moved", "have hardly moved"),
    "undecided": ("is undecided", "are undecided"),
}


def story(history: "CheckpointHistory") -> tuple[str, ...]:
    """Return sentences on the series, the verdicts, the largest changes, and what is wrong with the files."""
    return tuple(
        sentence
        for part in (_series, _copies, _verdicts, _turns, _moved, _ranks, _adapters, _rate, _missing)
        for sentence in part(history)
    )


def courses(states: list[tuple[int, str]]) -> list[tuple[str, int, int]]:
    """Return the runs of equal states as (state, first step, last step).

    >>> courses([(0, "lazy"), (10, "learning"), (20, "learning"), (30, "converged")])
    [('lazy', 0, 0), ('learning', 10, 20), ('converged', 30, 30)]
    """
    runs: list[tuple[str, int, int]] = []
    for step, state in states:
        if runs and runs[-1][0] == state:
            runs[-1] = (state, runs[-1][1], step)
        else:
            runs.append((state, step, step))
    return runs


def _series(history: "CheckpointHistory") -> list[str]:
    first, last, count = history.moments[0], history.moments[-1], len(history.moments)
    span = f"{last.clock}s {first.step} to {last.step}" if count > 1 else f"{last.clock} {first.step}"
    layers = len(history.layers)
    return [
        f"{count} checkpoint{'s' * (count != 1)} from {span}, {layers} layer{'s' * (layers != 1)}, each probed on "
        f"{last.result.samples} samples."
    ]


def _copies(history: "CheckpointHistory") -> list[str]:
    sentences = []
    by_name = {moment.name: moment for moment in history.moments}
    for name, earlier in history.duplicates.items():
        first, second = by_name[earlier], by_name[name]
        if first.step == second.step:
            sentences.append(f"{name} is a copy of {earlier}.")
            continue
        sentences.append(
            f"{name} and {earlier} hold exactly the same weights (digest {second.digest[:12]}), although their names "
            f"say {first.clock} {second.step} and {first.step}: one of them is not what its name says, or nothing was "
            f"trained between them.{_suspect(first, second)}"
        )
    return sentences


def _suspect(first: "Moment", second: "Moment") -> str:
    """Return which of two equal checkpoints does not fit its neighbours, if one is twice as far from the one before."""
    distances = {moment.name: max(moment.since_previous.values(), default=math.nan) for moment in (first, second)}
    far, near = max(distances, key=lambda n: distances[n]), min(distances, key=lambda n: distances[n])
    if not distances[far] > 2 * distances[near]:
        return ""
    return (
        f" {far} is {_share(distances[far])} away from the checkpoint before it, {near} {_share(distances[near])}: "
        f"{far} is probably the wrong file."
    )


def _rate(history: "CheckpointHistory") -> list[str]:
    last = history.moments[-1].result.layers
    if len(history.moments) < 4 or not any(layer.verdict.state in ("learning", "undecided") for layer in last):
        return []
    if any(math.isfinite(layer.budget) for layer in last):
        return []
    return [
        "The learning rate is not known, so FACT of each checkpoint includes the noise of minibatches; with "
        "learning_rate, four checkpoints average it out."
    ]


def _verdicts(history: "CheckpointHistory") -> list[str]:
    last = history.moments[-1]
    states = Counter(layer.verdict.state for layer in last.result.layers)
    if not states:
        return ["No layer could be treated."]
    parts = [f"{count} {WORDS[state][count > 1]}" for state, count in states.most_common()]
    first, _, rest = parts[0].partition(" ")
    parts[0] = f"{first} layer{'s' * (first != '1')} {rest}"
    return [f"At {last.clock} {last.step}, {_joined(parts)}."]


def _turns(history: "CheckpointHistory") -> list[str]:
    """Return when layers converged, and which left convergence again."""
    sentences, clock = [], history.moments[-1].clock
    arrived: dict[int, list[str]] = {}
    for name in history.layers:
        runs = courses([(m.step, r.verdict.state) for m, r in _reports(history, name)])
        if runs[-1][0] == "converged":
            arrived.setdefault(runs[-1][1], []).append(name)
        elif any(state == "converged" for state, _, _ in runs):
            last = [run for run in runs if run[0] == "converged"][-1]
            sentences.append(f"{name} was converged until {clock} {last[2]} and is {runs[-1][0]} since.")
    for step, names in sorted(arrived.items()):
        verb = "is" if len(names) == 1 else "are"
        sentences.append(f"{_listed(names)} {verb} converged from {clock} {step} on.")
    return sentences


def _moved(history: "CheckpointHistory") -> list[str]:
    ends = [(layer.moved, layer.name) for layer in history.moments[-1].result.layers if math.isfinite(layer.moved)]
    if len(ends) < 2 or len(history.moments) < 2:
        return []
    (most, far), (least, near) = max(ends), min(ends)
    since = f"{history.moments[0].clock} {history.moments[0].step}"
    if most == 0:
        return [f"No layer has moved since {since}."]
    return [f"Since {since}, {far} moved most ({_share(most)} of its size) and {near} least ({_share(least)})."]


def _ranks(history: "CheckpointHistory") -> list[str]:
    changes = []
    for name in history.layers:
        ranks = [(m.step, r.effective_rank) for m, r in _reports(history, name) if math.isfinite(r.effective_rank)]
        if len(ranks) > 1 and ranks[0][1] > 0:
            changes.append((ranks[-1][1] / ranks[0][1], name, ranks[0][1], ranks[-1][1]))
    sentences = []
    fallen, risen = min(changes, default=None), max(changes, default=None)
    if fallen is not None and fallen[0] < NARROWED:
        _, name, first, last = fallen
        sentences.append(f"The effective rank fell most in {name}, from {first:.3g} to {last:.3g} directions.")
    if risen is not None and risen[0] > 1 / NARROWED:
        _, name, first, last = risen
        sentences.append(f"The effective rank rose most in {name}, from {first:.3g} to {last:.3g} directions.")
    return sentences


def _adapters(history: "CheckpointHistory") -> list[str]:
    last = history.moments[-1].updates
    if not last:
        return []
    largest = max(last, key=lambda update: update.size)
    return [
        f"The checkpoints are LoRA adapters on a frozen base: {len(last)} module{'s' * (len(last) != 1)} of rank "
        f"{_listed(sorted({str(update.rank) for update in last}))}. The largest update, of {largest.name}, has "
        f"{_share(largest.size)} of the size of its frozen weight and an effective rank of "
        f"{largest.effective_rank:.3g}."
    ]


def _missing(history: "CheckpointHistory") -> list[str]:
    return [
        f"{name} was left out: {reason.replace(name, 'it', 1) if reason.startswith(name) else reason}."
        for name, reason in history.left_out.items()
    ]


def _reports(history: "CheckpointHistory", name: str) -> list[tuple["Moment", "LayerReport"]]:
    return [(moment, layer) for moment in history.moments for layer in moment.result.layers if layer.name == name]


def _share(value: float) -> str:
    return f"{100 * value:.3g}\u00a0%" if value < 10 else f"{value:.3g} times"


def _listed(names: list[str]) -> str:
    return _joined(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more layers"


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
