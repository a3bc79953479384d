"""Craft a network that computes a group product, train it further, and list the structure that remains.

Run `python examples/cogo_craft.py`.
"""

import jax.numpy as jnp

from firstlight import flow, groups, models, tasks
from firstlight.theories import cogo


def main() -> None:
    """Print the losses of crafted networks for four groups, then train from a crafted network."""
    for name in ("Z11", "Z12", "Z4xZ6"):
        group = groups.parse(name)
        optimizer = cogo.craft(group)
        W, V = optimizer.weights
        print(f"{name}: {optimizer.order} hidden units, loss {cogo.table_loss(W, V, group):.0e}")
    group = groups.parse("S3")
    W, V = cogo.craft_any(group)
    print(f"S3: {W.shape[1]} hidden units, loss {cogo.table_loss(W, V, group):.0e}")

    group = groups.parse("Z11")
    mixed = cogo.craft(group, "F4+F6", seed=0)
    W, V = (jnp.asarray(part, jnp.float32) for part in mixed.weights)
    run = flow.train(
        models.TwoLayer(W, V),
        tasks.group_task(group).split(fraction=1.0),
        optimizer=flow.Optimizer(name="sgd", learning_rate=0.1, weight_decay=1e-4),
        steps=100,
        progress="off",
    )
    after = run.models[0]
    print(f"loss after 100 steps from a crafted start: {run.frame['train_loss'].iloc[-1]:.0e}")
    print(cogo.order_census(after.W, after.V, group))


if __name__ == "__main__":
    main()
