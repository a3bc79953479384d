"""Networks trained on modular addition with the paper's loss, for the checks of its figures."""

import functools
from typing import Any, Literal

import jax

from firstlight import flow, models, tasks
from firstlight.claims._check import Setting
from firstlight.groups import cyclic
from firstlight.theories.cogo import OrderCensus, order_census

LOSS = flow.Loss(projection="outputs", reduction="mean")
"""E‖P⊥(o − e)‖²; the paper prints a sum, with which its weight decay would depend on the number of pairs."""


def described() -> dict[str, Any]:
    """Return the fields of the model and the loss of `train`, by the names of the claims' `paper_setting`."""
    model = models.TwoLayer.init(jax.random.key(0), inputs=2, width=2, outputs=2)
    return {
        "activation": model.activation.name,
        "biases": model.b is not None or model.c is not None,
        "projection": LOSS.projection,
    }


def train(
    setting: Setting,
    d: int,
    width: int,
    *,
    rate: float,
    decay: float,
    steps: int,
    seeds: tuple[int, ...],
    fraction: float = 1.0,
    every: int | None = None,
    optimizer: Literal["adam", "sgd"] = "adam",
    schedule: Literal["constant", "cosine"] = "constant",
    observables: tuple[flow.Observable, ...] = (),
) -> flow.Trajectory:
    """Train on E‖P⊥(o − e)‖² over the table of Z_d, one lane per seed.

    **Arguments:**

    - `setting`: receives the progress.
    - `d`, `width`: order of the group and number of hidden units.
    - `rate`, `decay`, `steps`: learning rate, weight decay and number of epochs.
    - `seeds`: seeds of the weights and of the split.
    - `fraction`: share of the pairs used for training.
    - `every`: epochs between two records; the last epoch only by default.
    - `optimizer`: `"adam"`, or `"sgd"` for gradient descent on all training pairs.
    - `schedule`: shape of the learning rate.
    - `observables`: recorded beside loss and accuracy.
    """
    task = tasks.group_task(f"Z{d}")
    make = functools.partial(models.TwoLayer.init, inputs=2 * d, width=width, outputs=d)
    shape = flow.Schedule(shape=schedule)
    rule = flow.Optimizer(name=optimizer, learning_rate=rate, weight_decay=decay, schedule=shape)
    lanes = [
        flow.Lane(seed, make(jax.random.key(seed)), task.split(fraction=fraction, seed=seed), rule) for seed in seeds
    ]
    return flow.train_lanes(
        lanes,
        loss=LOSS,
        steps=steps,
        recording=flow.Recording(every=steps if every is None else every),
        observables=(flow.standard, *observables),
        progress=lambda moment: setting.progress(moment.done / moment.total, f"training Z{d}"),
    )


def read(model: Any, d: int) -> OrderCensus:
    """Count the nodes of a trained model by frequency."""
    return order_census(model.W, model.V, cyclic(d))
