"""Networks trained on modular addition with the paper's loss, as its figures need them."""

import functools

import jax

from firstlight import flow, models, tasks
from firstlight.groups import cyclic
from firstlight.theories.cogo import order_census


def train(setting, d: int, width: int, **options):
    """Adam on E‖P⊥(o − e)‖² over a part of the table of Z_d; one lane per seed.

    **Options:** `rate`, `decay`, `steps`, `seeds`, `fraction` of the pairs, `every` so many steps recorded,
    `schedule` of the rate, and `observables`.
    """
    task = tasks.group_task(f"Z{d}")
    make = functools.partial(models.TwoLayer.init, inputs=2 * d, width=width, outputs=d)
    optimizer = flow.Optimizer(
        learning_rate=options["rate"],
        weight_decay=options["decay"],
        schedule=flow.Schedule(shape=options.get("schedule", "constant")),
    )
    fraction = options.get("fraction", 1.0)
    lanes = [
        flow.Lane(seed, make(jax.random.key(seed)), task.split(fraction=fraction, seed=seed), optimizer)
        for seed in options["seeds"]
    ]
    return flow.train_lanes(
        lanes,
        loss=flow.Loss(projection="outputs", reduction="mean"),
        steps=options["steps"],
        recording=flow.Recording(every=options.get("every", options["steps"])),
        observables=(flow.standard, *options.get("observables", ())),
        progress=lambda moment: setting.progress(moment.done / moment.total, f"training Z{d}"),
    )


def read(model, d: int):
    """The census of a trained model."""
    return order_census(model.W, model.V, cyclic(d))
