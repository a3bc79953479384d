"""Why the norm rises before zero loss, which the theory does not forbid."""

from dataclasses import dataclass

import numpy as np

from firstlight import flow
from firstlight.records import RunRecord, TheoryVerdict, first_row
from firstlight.theories.manifold._verdict import CLOSE


@dataclass(frozen=True)
class Rise:
    """A norm that rises after memorisation, while the loss is far from zero.

    **Attributes:**

    - `memorised`: the step at which the training rows were memorised.
    - `norms`, `losses`: squared norm and training loss there and at the end.
    - `close`: the training loss below which the theory begins.
    """

    memorised: int
    norms: tuple[float, float]
    losses: tuple[float, float]
    close: float


def rise(record: RunRecord) -> Rise | None:
    """Return the rise of a run's norm before zero loss; None if the norm falls, or the loss comes close to zero.

    Right answers need only the largest output to be right. The loss is still large then, and larger weights lower it.
    The theory begins when this is done.
    """
    spec, table = record.spec, record.table
    decays = spec.optimizer.weight_decay > 0 and flow.is_coupled(spec.optimizer)
    if not decays or not {"train_accuracy", "train_loss", "manifold.norm"} <= set(table):
        return None
    start = first_row(table, "train_accuracy")
    if start is None:
        return None
    norm, loss = table["manifold.norm"], table["train_loss"]
    close = CLOSE * 0.5 * spec.optimizer.weight_decay * float(norm[-1])
    if not norm[-1] > norm[start] or not np.min(loss[start:]) > close:
        return None
    norms, losses = ((float(column[start]), float(column[-1])) for column in (norm, loss))
    return Rise(int(table.step[start]), norms, losses, close)


def explain_rise(record: RunRecord, verdict: TheoryVerdict | None) -> TheoryVerdict | None:
    """Return the verdict, with the reason for a norm that rises before zero loss."""
    rising = rise(record)
    if verdict is None or rising is None:
        return verdict
    (low, high), (before, after), clock = rising.norms, rising.losses, record.spec.clock
    why = (
        f"The norm rises here, and the theory does not forbid it: when the training pairs are memorised, at {clock} "
        f"{rising.memorised}, the loss is still {before:.2g}, and larger weights lower it."
    )
    changes = {"sentence": f"{verdict.sentence} {why}"}
    if not verdict.predicted:
        changes["predicted"] = f"squared norm falls once the training loss is below {rising.close:.2g}"
        changes["measured"] = (
            f"squared norm rose from {low:.4g} to {high:.4g} while the loss fell from {before:.2g} to {after:.2g}"
        )
    return verdict.model_copy(update=changes)
