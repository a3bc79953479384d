"""Rates of this machine: matrix products and memory copies."""

import time
from collections.abc import Callable


def rates() -> dict[str, float]:
    """Measure GEMM in GFLOP/s by library and precision, and memory copies in GB/s; takes about two seconds."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    n = 1024
    rng = np.random.default_rng(0)
    measured = {}
    for dtype in (np.float32, np.float64):
        a = rng.standard_normal((n, n)).astype(dtype)
        measured[f"numpy {a.dtype} GEMM (GFLOP/s)"] = 2e-9 * n**3 / _seconds(lambda a=a: a @ a)
        with jax.enable_x64(dtype is np.float64):
            b, multiply = jnp.asarray(a), jax.jit(jnp.matmul)
            measured[f"jax {a.dtype} GEMM (GFLOP/s)"] = (
                2e-9 * n**3 / _seconds(lambda b=b, f=multiply: f(b, b).block_until_ready())
            )
    source = np.zeros(2**25, dtype=np.uint8)
    target = np.ones_like(source)
    measured["memory copy (GB/s)"] = 2e-9 * source.nbytes / _seconds(lambda: np.copyto(target, source))
    return measured


def _seconds(work: Callable[[], object], least: float = 0.2) -> float:
    """Return the shortest time of the repetitions within `least` seconds, after one warm-up."""
    work()
    times, end = [], time.perf_counter() + least
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
