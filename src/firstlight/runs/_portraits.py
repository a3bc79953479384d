"""What the hidden units of a run became: waves over the elements of the group, and circles of elements."""

import numpy as np
from jaxtyping import Float

from firstlight import _canonical as canonical
from firstlight import features, groups
from firstlight.groups import Group
from firstlight.records import FigureData, GroupTask, TwoLayerModel, figure
from firstlight.runs._compute import RunOutcome

WAVES, CIRCLES = "Waves that hidden units learned", "A circle forms"

PURE = 0.8
"""Share of its strongest irrep from which a hidden unit counts as a wave."""

UNITS = 4
"""Hidden units drawn, each with another strongest irrep."""

TIMES = 4
"""Snapshots drawn, the first and the last among them."""


def portraits(outcome: RunOutcome) -> tuple[FigureData, ...]:
    """Return the learned waves and the circle of one irrep over training; () if the outcome holds too little.

    The run needs a group task, a two-layer network and at least two snapshots. A wave is the weights of one hidden
    unit on the first factor, one weight for each element. The circle shows every element at its position in the two
    directions of the hidden layer that the strongest irrep uses at the end.

    >>> from firstlight import runs
    >>> from firstlight.records import spec_from_mapping
    >>> small = {"task": {"group": "Z7"}, "model": {"width": 16}, "steps": 20, "snapshots": 3}
    >>> [shown.title for shown in portraits(runs.compute([spec_from_mapping(small)], progress="off")[0])]
    ['Waves that hidden units learned', 'A circle forms']
    """
    spec = outcome.record.spec
    if not isinstance(spec.task, GroupTask) or not isinstance(spec.model, TwoLayerModel):
        return ()
    steps = sorted(int(name.removeprefix("step-")) for name in outcome.weights if name.startswith("step-"))
    networks = {step: outcome.weights[f"step-{step}"]["W"] for step in steps}
    if "final" in outcome.weights:
        networks[outcome.record.steps] = outcome.weights["final"]["W"]
    if len(networks) < 2:
        return ()
    group = groups.of_task(spec.task)
    over_time = {step: np.asarray(W, float)[: group.order] for step, W in sorted(networks.items())}
    return _waves(over_time, group, spec.clock), _circle(over_time, group, spec.clock)


def _waves(over_time: dict[int, np.ndarray], group: Group, clock: str) -> FigureData:
    (first, start), *_, (last, end) = over_time.items()
    content, labels = features.irrep_content(end, group), _labels(group)
    # Units that weight decay has shrunk have a pure shape by chance.
    strength = np.where(np.linalg.norm(end, axis=0) > np.median(np.linalg.norm(end, axis=0)), content.max(1), 0.0)
    strongest = content.argmax(1)
    chosen = [np.flatnonzero(strongest == place) for place in np.unique(strongest) if place]
    best = [units[np.argmax(strength[units])] for units in chosen]
    # Slow waves are easier to see, so the first irreps come first among the units that are nearly pure.
    best.sort(key=lambda unit: (strength[unit] < PURE, 0.0 if strength[unit] >= PURE else -strength[unit]))
    best = best[:UNITS]
    panels = [
        figure.curves(
            [
                figure.Series(f"{clock} {first}", np.arange(group.order), start[:, unit]),
                figure.Series(f"{clock} {last}", np.arange(group.order), end[:, unit]),
            ],
            x="element a",
            y="weight of a",
            title=f"Hidden unit {unit}: {content[unit].max():.0%} in irrep {labels[strongest[unit]]}",
        )
        for unit in best
    ]
    caption = (
        "Each panel shows the weights of one hidden unit on the first factor, one weight for each element. They start "
        "as noise and end as a wave: one irrep of the group."
    )
    return figure.panels(panels, columns=2, title=WAVES, caption=caption)


def _circle(over_time: dict[int, np.ndarray], group: Group, clock: str) -> FigureData:
    end, labels = list(over_time.values())[-1], _labels(group)
    norms = [np.linalg.norm(part.basis.T @ end) / np.sqrt(part.basis.shape[1]) for part in group.real_components()]
    place = 1 + int(np.argmax(norms[1:]))
    basis = group.real_components()[place].basis
    directions = _directions(basis.T @ end)
    angles = np.arctan2(*(end @ directions).T[::-1])
    steps = list(over_time)
    shown = dict.fromkeys(steps[round(i)] for i in np.linspace(0, len(steps) - 1, TIMES))
    panels = [
        figure.circles(
            over_time[step] @ directions,
            x="first direction",
            y="second direction",
            index=np.argsort(np.argsort(angles, kind="stable"), kind="stable"),
            value="order around the final ring",
            title=f"{clock} {step}",
        )
        for step in shown
    ]
    caption = (
        f"Every point is one element of the group, drawn where the hidden units of irrep {labels[place]} put it. "
        "Over training the points move apart and settle into a ring, in a fixed order: the network has found out that "
        "the elements go around in a circle. What is seen of the ring at the start is chance, which training picks up."
    )
    return figure.panels(panels, columns=2, title=CIRCLES, caption=caption)


def _directions(coefficients: Float[np.ndarray, "c K"]) -> Float[np.ndarray, "K 2"]:
    """Return the two orthonormal directions of the hidden layer that the coefficients of an irrep use most."""
    _, _, Vt = canonical.svd(coefficients)
    return np.pad(Vt[:2], ((0, max(0, 2 - len(Vt))), (0, 0))).T


def _labels(group: Group) -> list[str]:
    return [part.label for part in group.real_components()]
