"""CoGO's view of a run: how the monomial potentials moved, and how many hidden units each frequency took."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.flow import Lens
from firstlight.groups import of_task
from firstlight.records import LEARNED, FigureData, GroupTask, RunRecord, RunSpec, TheoryVerdict, figure
from firstlight.theories.cogo._frequencies import Frequencies, frequencies
from firstlight.theories.cogo._observe import observe_potentials

TITLE = "Potentials of matching frequencies grow, the others fade"

NEAR = 0.1
"""The relative distance at which the sum of matching potentials counts as optimal; weight decay lowers the sum."""

SETTLED = 0.02
"""Largest change of the sum of potentials over the last quarter of the rows, in units of its value at zero loss.

A fifth of `NEAR`: what is left of a slow approach then cannot decide the verdict.
"""

MOST = 0.5
"""The share of frequencies that must have the predicted number of hidden units: more than the others together.

Trained networks lie well above: with 512 hidden units and a weight decay of 5e-5, 79 % of the frequencies of Z23, 96 %
of Z71 and 99.6 % of Z127 have 4 or 6 hidden units. A smaller decay leaves more of the larger blocks.
"""


STILL_TRAINING = (
    "CoGO describes finished networks. This one solves the task but is still training: its potentials have not settled "
    "at their final sum yet."
)


def reason_not_applicable(spec: RunSpec) -> str:
    """Return '' if monomial potentials can be measured in a run, else the reason why not."""
    task, model = spec.task, spec.model
    if not isinstance(task, GroupTask) or task.encoding != "onehot" or task.factors != 2:
        return "it needs a group task of two factors in onehot encoding"
    if not of_task(task).is_abelian:
        return f"it needs an Abelian group, and {task.group} is not one"
    if model.kind != "two_layer" or model.activation != "quadratic" or model.bias:
        return "it needs a two_layer model with quadratic activation and without bias"
    return ""


def summarise(record: RunRecord) -> Mapping[str, Any]:
    """Return how many frequencies have 0, 4, 6 or other numbers of hidden units, and the sum of matching potentials."""
    if not _has_rows(record):
        return {}
    orders = [int(n) for n in record.table["cogo.orders"][-1]]
    counts = {f"order_{n}": orders.count(n) for n in (0, 4, 6)}
    other = len(orders) - sum(counts.values())
    total, limit = float(record.table["cogo.sum_diagonal"][-1]), _limit(_frequencies(record).d)
    story = (
        f"{counts['order_4']} frequencies have 4 hidden units, {counts['order_6']} have 6, {other} another number and "
        f"{counts['order_0']} none. The potentials of matching frequencies sum to {total:.3f}; at zero loss they sum "
        f"to {limit:.3f}."
    )
    return {**counts, "order_other": other, "orders": orders, "sum_diagonal": total, "limit": limit, "story": story}


def _has_rows(record: RunRecord) -> bool:
    return "cogo.orders" in record.table and len(record.table) > 0


def _frequencies(record: RunRecord) -> Frequencies:
    task = record.spec.task
    return frequencies(of_task(task if isinstance(task, GroupTask) else GroupTask(group="")))


def _limit(d: int) -> float:
    """Return Σ_{k≠0} r_kkk at zero loss, where every r_kkk is 1/2d."""
    return (d - 1) / (2 * d)


def figure_data(record: RunRecord) -> tuple[FigureData, ...]:
    """Return the potentials over time, the hidden units per frequency, and the potential that tells orders apart."""
    table = record.table
    if not _has_rows(record):
        return ()
    f, step, time = _frequencies(record), table.step, figure.time_axis(record.spec)
    orders = table["cogo.orders"][-1]
    names = [f.label(k) for k in f.halves]
    main = figure.curves(
        [
            figure.Series("matching frequencies, sum", step, table["cogo.sum_diagonal"]),
            figure.Series("other frequencies, root mean square", step, table["cogo.off_diagonal"]),
        ],
        x=time,
        y="potential",
        title=TITLE,
        caption="A potential measures how well the hidden units work together on one triple of frequencies. The "
        "triples that match the task add up to the dotted line in a perfect network; all others should stay at zero.",
        horizontal={"sum at zero loss": _limit(f.d)},
    )
    units = figure.bars(
        names,
        {"hidden units": orders},
        x="frequency",
        y="hidden units",
        title="Hidden units per frequency at the end",
        caption="CoGO crafts a frequency from 4 or from 6 hidden units. Units count for a frequency if their weights "
        "on it are large enough to matter.",
    )
    series = [
        figure.Series(f"{n} hidden units", step, _mean(table["cogo.a0kk"], orders == n)) for n in (4, 6) if n in orders
    ]
    if not series or _no_prediction(record):
        return main, units
    caption = (
        "The constant potential tells the two crafted blocks apart: it is zero in blocks of 6 hidden units and not "
        "zero in blocks of 4."
    )
    apart = figure.curves(
        series, x=time, y="constant potential", title="Frequencies with 4 and with 6 hidden units", caption=caption
    )
    return main, units, apart


def _mean(column: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return column[:, chosen].mean(axis=1)


def verdict(record: RunRecord) -> TheoryVerdict | None:
    """Compare a trained network with a global optimizer of the population loss.

    At zero loss the potentials of matching frequencies sum to (d − 1)/2d (Theorem 1). With weight decay the paper finds
    that most frequencies have 4 or 6 hidden units (2 at frequencies that are their own negative).
    """
    if not _has_rows(record):
        return None
    if reason := _no_prediction(record):
        # The sum at an optimum is known before the network gets there.
        f, measured = _frequencies(record), float(record.table["cogo.sum_diagonal"][-1])
        near = {
            "predicted": f"sum of matching potentials {_limit(f.d):.3f} at an optimum",
            "measured": f"{measured:.3f}",
        }
        shown = {**near, "look_at": TITLE} if reason is STILL_TRAINING else {}
        return TheoryVerdict(theory="cogo", agrees="does not apply", sentence=reason, **shown)
    f, orders = _frequencies(record), [int(n) for n in record.table["cogo.orders"][-1]]
    total, limit = float(record.table["cogo.sum_diagonal"][-1]), _limit(f.d)
    regular = sum(n in ((2,) if k in f.real else (4, 6)) for k, n in zip(f.halves, orders, strict=True))
    share = regular / len(orders)
    summed = abs(total - limit) <= NEAR * limit
    counted = share >= MOST or not record.spec.optimizer.weight_decay
    blocks = "4 or 6 hidden units" + (", or with 2 if a frequency is its own negative" if f.real else "")
    near = "near" if summed else "far from"
    sentence = (
        f"The potentials of matching frequencies sum to {total:.3f}, {near} the {limit:.3f} of a global optimum; "
        f"{share:.0%} of the frequencies have as many hidden units as a block that CoGO crafts."
    )
    return TheoryVerdict(
        theory="cogo",
        predicted=f"sum of matching potentials {limit:.3f}" + _about_blocks(record.spec, blocks),
        measured=f"sum {total:.3f}; {regular} of {len(orders)} frequencies with {blocks}",
        agrees="yes" if summed and counted else "no",
        sentence=sentence,
        look_at=TITLE,
    )


def _about_blocks(spec: RunSpec, blocks: str) -> str:
    # Without weight decay nothing prefers small blocks. If eq. (4) holds for each potential, as in F6, then the product
    # with a ring unit has zero loss too (Corollary 1). A solution that mixes F4 and F6 has no such products.
    return f"; most frequencies with {blocks}" if spec.optimizer.weight_decay else ""


def _no_prediction(record: RunRecord) -> str:
    """Return '' if the network is near a global optimizer, else the reason why CoGO says nothing of it."""
    table = record.table
    if record.spec.loss.kind != "mse":
        return "CoGO is about the squared error, and this run minimises another loss."
    if not (np.isfinite(table["cogo.sum_diagonal"][-1]) and np.isfinite(table["cogo.orders"][-1]).all()):
        return "The training diverged, so there is no network to compare."
    column = "test_accuracy" if "test_accuracy" in table else "train_accuracy"
    if column not in table or not float(table[column][-1]) >= LEARNED:
        return "CoGO describes networks that solve the whole task, and this network does not solve it yet."
    potentials = np.asarray(table["cogo.sum_diagonal"], float)
    last_quarter = potentials[-max(2, len(potentials) // 4) :]
    if np.ptp(last_quarter) > SETTLED * _limit(_frequencies(record).d):
        return STILL_TRAINING
    return ""


LENSES: tuple[Lens, ...] = (
    Lens(
        name="cogo",
        title="Monomial potentials and hidden units per frequency",
        observables=(observe_potentials,),
        reason_not_applicable=reason_not_applicable,
        summarise=summarise,
        figure_data=figure_data,
        verdict=verdict,
    ),
)
"""The lens that `runs` collects."""
