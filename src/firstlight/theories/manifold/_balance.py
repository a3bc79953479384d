"""How two layers share the squared norm where it is least: the part of the theory that no optimizer's path changes."""

import numpy as np

from firstlight.models import activation
from firstlight.records import Agreement, RunRecord, RunSpec, TwoLayerModel
from firstlight.theories.manifold._rest import rests_away

COLUMN = "manifold.first_share"
"""The column ‖W‖²/(‖W‖² + ‖V‖²)."""

SPARE = 0.002
"""Largest share of the squared norm that rescaling may save in a network that counts as balanced.

A tenth of `VISIBLE`, the least change that the norm's figure shows. With x² the first layer then holds between 0.64 and
0.70 of the squared norm, instead of 0.667.
"""


def least_share(q: int) -> float:
    """Return the share of the first layer in the squared norm where it is least: q/(q + 1).

    With σ(cx) = c^q σ(x), the units (w, v) and (cw, c^−q v) compute the same. The norm c²‖w‖² + c^−2q‖v‖² is least
    where ‖w‖² = q‖v‖², for each hidden unit, on the zero-loss set and at every minimum of a loss with weight decay.

    >>> round(least_share(2), 3)
    0.667
    """
    return q / (q + 1)


def spare(share: float, q: int) -> float:
    r"""Return the share of the squared norm that rescaling all hidden units alike would save.

    $$1 - (1 + 1/q)\,s\,\big(q(1 - s)/s\big)^{1/(q+1)}$$

    is the minimum over c of $sc^2 + (1-s)c^{-2q}$, for the share s of the first layer.

    >>> spare(2 / 3, 2) < 1e-12, round(spare(0.9177, 2), 2)
    (True, 0.22)
    """
    if not 0 < share < 1:
        return 1.0
    return 1 - (1 + 1 / q) * share * (q * (1 - share) / share) ** (1 / (q + 1))


def reason_without_balance(spec: RunSpec) -> str:
    """Return '' if the least norm of a run with this spec asks for a balance of the layers, else the reason."""
    model = spec.model
    if not isinstance(model, TwoLayerModel) or model.bias:
        return "the balance is that of two layers without biases"
    if activation(model.activation).homogeneity is None:
        return f"the units of {model.activation} cannot be rescaled"
    if spec.optimizer.batch_size:
        return "mini-batches keep the weights moving"
    return ""


def balance_verdict(record: RunRecord) -> tuple[str, str, Agreement, str] | None:
    """Return prediction, measurement, agreement and sentence on the balance; None if it does not apply.

    The balance is necessary for a least norm, not sufficient. How long an optimizer takes to reach it is not predicted,
    so a network that still moves does not contradict the theory; one that has come to rest elsewhere does.
    """
    if COLUMN not in record.table or reason_without_balance(record.spec):
        return None
    shares, title = np.asarray(record.table[COLUMN], float), record.spec.optimizer.title
    q = activation(record.spec.model.activation).homogeneity
    if q is None or not np.isfinite(shares).all():
        return None
    least, last = least_share(q), float(shares[-1])
    saved = spare(last, q)
    predicted = f"first layer holds {least:.3f} of the squared norm, in the end"
    measured = f"{last:.3f} ({shares[0]:.3f} at the start)"
    if saved > SPARE and rests_away(record, shares, least):
        sentence = (
            f"Where the norm is least, the first layer holds {least:.3f} of it; this network has come to rest with "
            f"{last:.3f} there, although weight decay could have moved every hidden unit by its own length."
        )
        return predicted, measured, "no", sentence
    if saved > SPARE:
        sentence = (
            f"Where the norm is least, the first layer holds {least:.3f} of it; here it holds {last:.3f}, so training "
            f"has not ended there yet, and with {title} the theory does not say when it will."
        )
        return predicted, measured, "does not apply", sentence
    sentence = (
        f"Of all weights that fit exactly, those of least norm hold {least:.3f} of the squared norm in the first "
        f"layer; this network holds {last:.3f} there. The theory does not say by which path {title} gets there."
    )
    return predicted, measured, "yes", sentence
