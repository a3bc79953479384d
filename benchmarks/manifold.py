"""One step of the isolated dynamics of an embedding."""

from benchmarks._timing import best_seconds, result

__all__ = ["manifold_step_vs_naive"]


def manifold_step_vs_naive() -> dict:
    """Eq. 21 as printed, with (HHᵀ)⁻¹, against ours: p = 37, d_h = 512, single precision, seconds per step."""
    import jax
    import jax.numpy as jnp
    from threadpoolctl import threadpool_limits

    from firstlight import tasks
    from firstlight.theories import manifold

    split = tasks.group_task("Z37", encoding="summed").split(fraction=0.7, seed=0)
    problem = manifold.isolate(split, "relu")
    W = jnp.asarray(manifold.embedding(0, 37, 512))
    X, Y = jnp.asarray(problem.inputs.dense(), W.dtype), jnp.asarray(problem.Y, W.dtype)

    @jax.jit
    def printed(W):
        Z = X @ W
        H = jax.nn.relu(Z)
        A = jnp.linalg.inv(H @ H.T)
        return X.T @ ((A @ Y @ Y.T @ A @ H) * (Z > 0)) - W

    ours = jax.jit(lambda W: manifold.velocity(problem, W))
    contestants = {
        "printed": lambda: printed(W).block_until_ready(),
        "firstlight": lambda: ours(W).block_until_ready(),
    }
    # Both as in `simulate`: one LAPACK thread beside XLA's threads.
    with threadpool_limits(limits=1, user_api="blas"):
        seconds = best_seconds(contestants, rounds=25)
    return result(
        seconds["printed"] / seconds["firstlight"],
        "×",
        "higher",
        3.0,
        ("eq. 21 as printed, seconds per step", seconds["printed"]),
        firstlight_seconds=seconds["firstlight"],
        samples=len(split.train),
    )
