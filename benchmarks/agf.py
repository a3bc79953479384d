"""Seconds and errors of AGF's solved cases."""

import time

from benchmarks._timing import result

__all__ = ["agf_modular_seconds", "agf_transformer_jump_error", "flow_modular_seconds"]


def _figure_6():
    from firstlight.theories import agf

    task = agf.Template("Z20", agf.harmonic_template(20, {1: 10, 3: 5, 5: 2.5}))
    return task, task.problem.initial(width=18, alpha=1e-2, seed=0)


def agf_modular_seconds() -> dict:
    """AGF on Figure 6's modular addition, from the first neuron to the last frequency, in seconds."""
    from firstlight.theories import agf

    task, theta = _figure_6()
    start = time.perf_counter()
    steps = agf.predict(task.problem, theta, learned=1e-3)
    seconds = time.perf_counter() - start
    return result(seconds, "s", "lower", 5.0, ("released code, seconds", 270.0), jumps=len(steps.events))


def flow_modular_seconds() -> dict:
    """Gradient flow of Figure 6 through all three jumps, in seconds."""
    import numpy as np

    from firstlight.theories import agf

    task, theta = _figure_6()
    times = np.concatenate([[0.0], np.geomspace(2.0, 2000.0, 300)])
    start = time.perf_counter()
    run = agf.follow(task.problem, theta, times, solver="lsoda", rtol=1e-5)
    seconds = time.perf_counter() - start
    return result(
        seconds, "s", "lower", 60.0, ("released code, 1e6 steps, seconds", 6480.0), last_loss=float(run.loss[-1])
    )


def agf_transformer_jump_error() -> dict:
    """The largest relative error of AGF's jump times against gradient flow, at Figure 5's setting, in per cent."""
    import numpy as np

    from firstlight.theories import agf

    task = agf.InContext(agf.power_law_covariance(4), 32)
    theta = task.initial(5, 1e-3, 0)
    steps = agf.predict(task.problem, theta, max_jumps=4)
    end = 1.3 * float(steps.jump_times[-1])
    run = agf.follow(task.problem, theta, np.concatenate([[0.0], np.geomspace(end / 300, end, 2000)]), rtol=1e-6)
    error = 100 * steps.compare(run).time_error
    return result(error, "%", "lower", 1.0, ("released code, cost rate 0.01: per cent", 100.0))
