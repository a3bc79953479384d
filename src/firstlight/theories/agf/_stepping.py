"""Step a solver of SciPy through the times at which a flow is saved."""

from collections.abc import Callable
from typing import Any

import numpy as np

from firstlight.flow._gradient_flow import FlowStatus

Watch = Callable[[float, float], None]
"""Called with each saved time and its loss, while the flow is solved; an exception ends the flow."""


def step_through(
    solver: Any, ts: np.ndarray, *, max_steps: float = np.inf, done: Callable[[float, np.ndarray], bool] | None = None
) -> tuple[list[np.ndarray], FlowStatus, int]:
    """Return the states at the times that were reached, by the dense output of each step; the status; the steps.

    **Arguments:**

    - `solver`: a solver at `ts[0]` that ends at `ts[-1]`.
    - `ts`: increasing times.
    - `max_steps`: the most steps of the solver.
    - `done`: called with each saved time and state; the flow ends with the status "event" where it returns True.
    """
    states, steps = [solver.y.copy()], 0
    if done is not None:
        done(float(ts[0]), states[0])
    while solver.status == "running" and steps < max_steps:
        solver.step()
        steps += 1
        passed = int(np.searchsorted(ts, solver.t, side="right"))
        if passed <= len(states):
            continue
        between = solver.dense_output()
        for t in ts[len(states) : passed]:
            states.append(between(t))
            if done is not None and done(float(t), states[-1]):
                return states, "event", steps
    status: FlowStatus = "finished" if solver.status == "finished" else "diverged"
    return states, "max_steps" if solver.status == "running" else status, steps
