"""What the CoGO lens measures during training: monomial potentials, computed on the device at recorded steps."""

import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex

from firstlight.flow import Context
from firstlight.groups import Group
from firstlight.theories.cogo._census import least_amplitude
from firstlight.theories.cogo._frequencies import frequencies
from firstlight.theories.cogo._solution import balancing


def observe_potentials(ctx: Context) -> dict[str, Array]:
    """Measure the quantities of CoGO's Figure 4; "per frequency" is one number for each pair ±k, in FFT order.

    | column | meaning |
    |---|---|
    | `cogo.diagonal` | Re r_kkk per frequency |
    | `cogo.sum_diagonal` | Σ_{k≠0} Re r_kkk, which is (d − 1)/2d at an optimum |
    | `cogo.off_diagonal` | root mean square of the other \\|r_{k₁k₂k}\\| |
    | `cogo.a0kk`, `cogo.b0kk` | \\|r_{a0kk}\\| and \\|r_{b0kk}\\| per frequency: nonzero in an F4 |
    | `cogo.orders` | hidden units per frequency, see `order_census` |
    """
    group = _group(ctx)
    halves = np.array(frequencies(group).halves, np.int32)
    z_a, z_b, z_c = _coefficients(ctx.model.first, ctx.model.last, group)
    d = group.order
    diagonal = jnp.sum(z_a * z_b * z_c, axis=1)
    grams = [jnp.real(z[1:].conj().T @ z[1:]) for z in (z_a, z_b, z_c)]
    rest = jnp.sum(grams[0] * grams[1] * grams[2]) - jnp.sum(jnp.abs(diagonal[1:]) ** 2)
    count = (d - 1) ** 3 - (d - 1)
    a, b, c = (z[halves] for z in (z_a, z_b, z_c))
    s, _ = balancing(jnp.sum(ctx.model.first**2, axis=0), jnp.sum(ctx.model.last**2, axis=1))
    return {
        "cogo.diagonal": diagonal[halves].real,
        "cogo.sum_diagonal": jnp.sum(diagonal[1:].real),
        "cogo.off_diagonal": jnp.sqrt(jnp.maximum(rest, 0.0) / max(count, 1)),
        "cogo.a0kk": jnp.abs(jnp.sum(jnp.abs(a) ** 2 * c, axis=1)),
        "cogo.b0kk": jnp.abs(jnp.sum(jnp.abs(b) ** 2 * c, axis=1)),
        "cogo.orders": jnp.sum(jnp.minimum(jnp.abs(a), jnp.abs(b)) * s > least_amplitude(d), axis=1).astype(
            jnp.float32
        ),
    }


def _group(ctx: Context) -> Group:
    if ctx.task.group is None:
        raise ValueError(f"monomial potentials need a group task; got {ctx.task.name}")
    return ctx.task.group


@functools.lru_cache(maxsize=16)
def _transform(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """Return the real and imaginary part of the matrix of f ↦ f̂.

    The matrix is small, so a product is faster than an FFT and works in any dtype.
    """
    matrix = frequencies(group).transform(np.eye(group.order))
    return np.real(matrix), np.imag(matrix)


def _coefficients(W: Array, V: Array, group: Group) -> tuple[Complex[Array, "d q"], ...]:
    d, dtype = group.order, W.dtype
    real, imaginary = (jnp.asarray(part, dtype) for part in _transform(group))
    hat = lambda f: real @ f + 1j * (imaginary @ f)  # noqa: E731
    return hat(W[:d]), hat(W[d:]), hat(V.T).conj()
