"""The learning rate of each step of a run."""

import jax
import jax.numpy as jnp
import numpy as np

from firstlight import flow
from firstlight.records import RunSpec


def step_rates(spec: RunSpec, begin: int, end: int) -> np.ndarray:
    """Return the learning rates of the steps `begin` to `end`, the last excluded; they follow the schedule.

    >>> from firstlight.records import spec_from_mapping
    >>> step_rates(spec_from_mapping({"optimizer": {"learning_rate": 0.5}}), 3, 5)
    array([0.5, 0.5])
    """
    schedule = spec.optimizer.schedule
    multipliers = np.ones(end - begin)
    if schedule.shape != "constant" or begin < schedule.warmup:
        scheduled = jax.vmap(lambda step: flow.schedule(schedule, step, spec.steps))
        multipliers = np.asarray(scheduled(jnp.arange(begin, end)), float)
    return spec.optimizer.learning_rate * multipliers
