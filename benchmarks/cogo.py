"""CoGO: the loss from potentials, crafted optimizers against training, and the paper's longest figure."""

import functools
import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._timing import best_seconds, result
from firstlight import flow, groups, models, tasks
from firstlight.theories import cogo

__all__ = ["cogo_figure4_seconds", "cogo_loss_vs_table_d127_q512", "craft_vs_train_d71"]


def cogo_loss_vs_table_d127_q512() -> dict:
    """The loss of a solution with d = 127, q = 512: monomial potentials against the residuals of all pairs."""
    d, q = 127, 512
    group, rng = groups.cyclic(d), np.random.default_rng(0)
    W, V = 0.1 * rng.standard_normal((2 * d, q)), 0.1 * rng.standard_normal((q, d))
    solution = cogo.Solution.from_weights(W, V, group)
    targets = np.eye(d)[group.table].reshape(d * d, d)

    def table() -> float:
        features = ((W[:d, None] + W[None, d:]) ** 2).reshape(d * d, q)
        residual = features @ V - targets
        residual -= residual.mean(1, keepdims=True)
        return float(np.sum(residual**2) / d**2)

    apart = abs(cogo.potential_loss(solution) / table() - 1)
    if apart > 1e-12:
        raise ValueError(f"the two losses have a relative difference of {apart:.1e}")
    calls = {
        "potentials": lambda: cogo.potential_loss(solution),
        "table": table,
        "rows": lambda: cogo.table_loss(W, V, group),
        "weights": lambda: cogo.gram_loss(W, V, group),
    }
    seconds = best_seconds(calls, rounds=40)
    with threadpool_limits(1):
        alone = best_seconds({name: calls[name] for name in ("potentials", "table")}, rounds=15)
    return result(
        seconds["table"] / seconds["potentials"],
        "× faster",
        "higher",
        20.0,
        ("the table of all pairs in NumPy, seconds", seconds["table"]),
        ratio_on_one_thread=alone["table"] / alone["potentials"],
        potentials_ms=1e3 * seconds["potentials"],
        from_weights_ms=1e3 * seconds["weights"],
        table_row_by_row_ms=1e3 * seconds["rows"],
        relative_difference=apart,
    )


def craft_vs_train_d71() -> dict:
    """Crafting a zero-loss network for Z71 against training to loss 1e-4 on all pairs, compilation included."""
    group = groups.cyclic(71)
    crafted = best_seconds({"craft": lambda: cogo.craft(group).weights})["craft"]
    loss = cogo.table_loss(*cogo.craft(group).weights, group)
    split = tasks.group_task(group).split(fraction=1.0)
    start = time.perf_counter()
    run = flow.train(
        functools.partial(models.TwoLayer.init, inputs=142, width=512, outputs=71),
        split,
        optimizer=flow.Optimizer(learning_rate=0.01, weight_decay=5e-5),
        steps=4000,
        recording=flow.Recording(every=10),
        stop=(flow.Stop(observable="train_loss", at_most=1e-4),),
        progress="off",
    )
    trained = time.perf_counter() - start
    return result(
        trained / crafted,
        "× faster",
        "higher",
        1000.0,
        ("training to loss 1e-4, seconds", trained),
        craft_ms=1e3 * crafted,
        crafted_loss=loss,
        trained_loss=float(run.frame["train_loss"].iloc[-1]),
        epochs=run.lanes[0].step,
    )


def cogo_figure4_seconds() -> dict:
    """Figure 4: 5000 epochs at d = 23, q = 1024, 90 % of the pairs, with the potentials recorded 100 times."""
    split = tasks.group_task("Z23").split(fraction=0.9, seed=0)
    start = time.perf_counter()
    run = flow.train(
        functools.partial(models.TwoLayer.init, inputs=46, width=1024, outputs=23),
        split,
        optimizer=flow.Optimizer(learning_rate=0.01, weight_decay=5e-5),
        steps=5000,
        recording=flow.Recording(every=50),
        observables=(flow.standard, cogo.lemmas.observe_potentials),
        progress="off",
    )
    seconds = time.perf_counter() - start
    last = run.frame.iloc[-1]
    return result(
        seconds,
        "s",
        "lower",
        30.0,
        ("the released code at 0.033 s an epoch, seconds", 165.0),
        compile_seconds=run.compile_seconds,
        test_accuracy=float(last["test_accuracy"]),
        sum_diagonal_over_limit=float(last["cogo.sum_diagonal"]) / (22 / 46),
    )
