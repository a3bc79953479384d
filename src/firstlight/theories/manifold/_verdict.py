"""Compare the squared norm of a run, while its loss is close to zero, with the flow along the zero-loss set."""

from dataclasses import dataclass

import numpy as np

from firstlight import flow
from firstlight.records import Agreement, RunRecord, RunSpec, TheoryVerdict
from firstlight.theories.manifold._balance import balance_verdict
from firstlight.theories.manifold._observe import MEASURED_COLUMNS
from firstlight.theories.manifold._rates import step_rates

FIGURE = "Training seen from the zero-loss set"
"""Title of the figure that shows norm, distance and direction."""

CLOSE, AWAY = 0.01, 0.1
"""Loss, in units of the decay term (wd/2)‖θ‖², at which a run comes close to zero loss, and above which it has left.

While the weights fit the data, their norm must rise, whatever the decay does: on Z7 (x², 128 hidden units, rate 0.5,
wd 3e-4) it is 47 at 99 % accuracy, where the loss is 90 times the decay term, and 83 at its peak. From AWAY to CLOSE it
changes by at most 0.6 % (x² and relu, two seeds). After CLOSE, recorded every 10 epochs, it did not rise in any of 23
runs (x², relu, tanh; wd 1e-4 to 3e-3). On the zero-loss set the ratio is proportional to wd and drifts as the norm
falls: it may pass CLOSE again, but stayed far from AWAY."""

VISIBLE = 0.02
"""Least relative fall that weight decay alone must be able to make: a change that the norm's figure still shows."""

CHANGE = 0.01
"""Least change of the squared norm that counts, as a share of the fall that weight decay alone could make.

The 23 runs of `CLOSE` fell by 0.07 to 0.46 of that fall, least from small initial weights, which end near a least
norm. With `VISIBLE` the least change is 2e-4 of the norm, a hundred times the rounding errors of float32."""


def has_rows(record: RunRecord) -> bool:
    """Return whether a record has rows of this lens."""
    return "manifold.norm" in record.table and len(record.table) > 0


def theory_claim(spec: RunSpec) -> str:
    """Return the claim of the theory for the optimizer of a run, in a sentence."""
    optimizer = spec.optimizer
    if optimizer.weight_decay == 0:
        return "Without weight decay nothing drives a run along the zero-loss set."
    if not flow.is_coupled(optimizer):
        return (
            f"The decoupled decay of {optimizer.title} does not minimise the norm, so the theory does not describe "
            "this run."
        )
    if optimizer.name == "sgd":
        return (
            "This is gradient descent with weight decay in the loss, the case of the theory: share and cosine tend to "
            "1 as the decay tends to 0."
        )
    return f"{optimizer.title} rescales each gradient: its minima are those of the theory, its path is not."


def verdict(record: RunRecord) -> TheoryVerdict | None:
    """Compare the squared norm close to zero loss with the theory; None if no finite norm was recorded.

    Under gradient descent with weight decay in the loss the norm falls along the zero-loss set, no faster than by
    decay alone. The theory makes no claim about other optimizers' paths, mini-batches or unequal layer rates. Of
    optimizers with the same minima it says how the layers share the norm in the end.
    """
    if not has_rows(record) or not np.isfinite(record.table["manifold.norm"]).all():
        return None
    stretch, reason = None, _reason_without_claim(record.spec)
    if not reason:
        stretch, reason = _close_stretch(record)
    elif _has_the_minima(record.spec) and (balance := balance_verdict(record)) is not None:
        predicted, measured, agrees, sentence = balance
        return TheoryVerdict(
            theory="manifold", predicted=predicted, measured=measured, agrees=agrees, sentence=sentence, look_at=FIGURE
        )
    if stretch is None:
        norm = record.table["manifold.norm"]
        measured = f"squared norm {norm[0]:.4g}, then {norm[-1]:.4g}"
        predicted, agrees, sentence = "", "does not apply", reason
    else:
        measured = f"squared norm {stretch.high:.4g}, then {stretch.end:.4g}{_direction(record, stretch)}"
        predicted, agrees, sentence = _judge(stretch, record.spec.clock)
    return TheoryVerdict(
        theory="manifold", predicted=predicted, measured=measured, agrees=agrees, sentence=sentence, look_at=FIGURE
    )


def _reason_without_claim(spec: RunSpec) -> str:
    """Return '' if the theory describes the path of a run with this spec, else the reason in a sentence."""
    optimizer = spec.optimizer
    if optimizer.weight_decay == 0 or not flow.is_coupled(optimizer):
        return theory_claim(spec)
    if optimizer.name != "sgd":
        return (
            f"With {optimizer.title} the theory says where training ends, at a least norm among exact fits, but not by "
            "which path, so a finite run cannot test it."
        )
    if optimizer.batch_size:
        return f"The theory describes updates on all training rows, and this run used {optimizer.batch_size} at a time."
    if any(rate != 1 for rate in optimizer.layer_rates.values()):
        return "The theory describes one learning rate for all weights, and in this run the rates of layers differ."
    return ""


def _has_the_minima(spec: RunSpec) -> bool:
    """Return whether the optimizer comes to rest only at minima of the loss with weight decay."""
    return spec.optimizer.weight_decay > 0 and flow.is_coupled(spec.optimizer)


@dataclass(frozen=True)
class _Stretch:
    """The part of a run that is close to zero loss.

    **Attributes:**

    - `rows`: its first and last row.
    - `steps`: their steps.
    - `high`: the squared norm at its first row.
    - `end`: the squared norm at its last row.
    - `low`: the squared norm that decay alone would reach.
    """

    rows: tuple[int, int]
    steps: tuple[int, int]
    high: float
    end: float
    low: float


def _close_stretch(record: RunRecord) -> tuple[_Stretch | None, str]:
    """Return the stretch between `CLOSE` and `AWAY`, or None and the reason.

    The decay adds wd·θ to the gradient of the recorded loss ℓ, so the run minimises ℓ + (wd/2)‖θ‖². The recorded loss
    contains `loss.factor` and `loss.reduction`, so both terms have the same units.
    """
    if "train_loss" not in record.table:
        return None, "The training loss was not recorded, and the theory describes training close to zero loss."
    norm, steps = record.table["manifold.norm"], np.asarray(record.table.step)
    decay = 0.5 * record.spec.optimizer.weight_decay * norm
    loss = np.asarray(record.table["train_loss"])
    close = np.flatnonzero(loss <= CLOSE * decay)
    if not len(close):
        return None, (
            "The run did not come close enough to zero loss: the training loss stayed above "
            f"{CLOSE:.0%} of the weight decay term."
        )
    first = int(close[0])
    # A loss of NaN counts as away.
    left = np.flatnonzero(~(loss[first:] <= AWAY * decay[first:]))
    last = first + int(left[0]) - 1 if len(left) else len(norm) - 1
    begin, end = int(steps[first]), int(steps[last])
    low = _norm_floor(float(norm[first]), record.spec, begin, end)
    return _Stretch((first, last), (begin, end), float(norm[first]), float(norm[last]), low), ""


def _norm_floor(norm: float, spec: RunSpec, begin: int, end: int) -> float:
    """Return the squared norm that decay alone reaches from step `begin` to step `end`: ‖θ‖² ∏ (1 − rate·wd)².

    The rate follows the schedule. With momentum m and x = rate·wd the factor 1 − x becomes the larger root of
    z² − (1 + m − x)z + m = 0, about 1 − x/(1 − m). With complex roots the weights swing through zero: the floor is 0.
    On the zero-loss set the gradient of the data loss cancels the normal part of the decay, so a run stays above this
    norm.
    """
    x, m = spec.optimizer.weight_decay * step_rates(spec, begin, end), spec.optimizer.momentum or 0.0
    square = (1 - m + x) ** 2 - 4 * x
    z = np.where(square >= 0, 1 - (1 - m + x - np.sqrt(np.maximum(square, 0.0))) / 2, 0.0)
    return norm * float(np.prod(z**2))


def _direction(record: RunRecord, stretch: _Stretch) -> str:
    """Return the share of the updates along the set and their cosine with lowering the norm, in words."""
    first, last = stretch.rows
    columns = np.stack([record.table[name] for name in MEASURED_COLUMNS])[:, first : last + 1]
    columns = columns[:, np.isfinite(columns).all(axis=0)]
    if not columns.size:
        return ""
    _, share, cosine = np.median(columns, axis=1)
    return (
        f"; {share:.0%} of the update along the zero-loss set, with cosine {cosine:.2f} to lowering the norm (medians "
        f"of the measured {record.spec.clock}s)"
    )


def _judge(stretch: _Stretch, clock: str) -> tuple[str, Agreement, str]:
    """Return prediction, agreement and sentence for a run that came close to zero loss."""
    high, end, low = stretch.high, stretch.end, stretch.low
    begin, stop = (f"{clock} {step}" for step in stretch.steps)
    possible = high - low
    if possible <= VISIBLE * high:
        sentence = (
            f"The run was close to zero loss only from {begin} to {stop}, too short to judge: weight decay could lower "
            f"the squared norm by at most {max(possible, 0) / high:.1%}."
        )
        return "", "does not apply", sentence
    predicted = f"squared norm falls from {high:.4g}, to no less than {low:.4g}"
    change = f"from {high:.4g} at {begin} to {end:.4g} at {stop}"
    if end > high + CHANGE * possible:
        return predicted, "no", f"Close to zero loss, the squared norm rose instead of falling, {change}."
    if end < low - CHANGE * possible:
        sentence = (
            f"Close to zero loss, the squared norm fell {change}, below the {low:.4g} that weight decay alone would "
            "reach."
        )
        return predicted, "no", sentence
    if end > high - CHANGE * possible:
        sentence = (
            f"Close to zero loss, the squared norm hardly changed, {change}: it may have been least from the start, so "
            "this run cannot test a fall."
        )
        return predicted, "does not apply", sentence
    sentence = (
        f"Close to zero loss, the squared norm fell {change}, and not below the {low:.4g} that weight decay alone "
        "would reach."
    )
    return predicted, "yes", sentence
