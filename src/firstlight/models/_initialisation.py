"""Random initial weights: the initialisations of the five papers, named as in the run specification."""

import math
from collections.abc import Callable
from numbers import Integral
from types import MappingProxyType

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PRNGKeyArray

from firstlight._suggest import did_you_mean

Draw = Callable[[PRNGKeyArray, tuple[int, ...], int], Array | np.ndarray]
_SMALLEST = 4096


def _sample(sampler: Callable[..., Array], key: PRNGKeyArray, shape: tuple[int, ...]) -> Array | np.ndarray:
    # JAX compiles a sampler for each new shape, which takes a third of a second. Entry i of a draw depends only on the
    # key and on i, so a longer draw starts with the same numbers. Rounding lengths up to powers of two compiles few.
    if isinstance(key, Tracer):
        return sampler(key, shape)
    size = math.prod(shape)
    length = max(_SMALLEST, 1 << (size - 1).bit_length())
    try:
        # Reading an array whose allocation failed aborts the process; block_until_ready raises instead.
        drawn = jax.block_until_ready(sampler(key, (length,)))
    except jax.errors.JaxRuntimeError as error:
        raise MemoryError(f"no memory to draw weights of shape {shape}, {4 * length:,} bytes; use fewer") from error
    return np.asarray(drawn)[:size].reshape(shape)


def _uniform_fan_in(key: PRNGKeyArray, shape: tuple[int, ...], fan_in: int) -> Array | np.ndarray:
    bound = 1 / math.sqrt(fan_in)
    return (2 * _sample(jax.random.uniform, key, shape) - 1) * bound


def _normal_fan_in(key: PRNGKeyArray, shape: tuple[int, ...], fan_in: int) -> Array | np.ndarray:
    return _sample(jax.random.normal, key, shape) / math.sqrt(fan_in)


def _normal(key: PRNGKeyArray, shape: tuple[int, ...], fan_in: int) -> Array | np.ndarray:
    return _sample(jax.random.normal, key, shape)


_DRAWS: MappingProxyType[str, Draw] = MappingProxyType(
    {"uniform_fan_in": _uniform_fan_in, "normal_fan_in": _normal_fan_in, "normal": _normal}
)

INITS: tuple[str, ...] = tuple(_DRAWS)
"""The names of the initialisations."""


def draw_weights(
    key: PRNGKeyArray, shape: tuple[int, ...], fan_in: int, init: str = "uniform_fan_in", scale: float = 1.0
) -> Float[Array, "..."]:
    """Draw the weights of a layer and multiply them by `scale`.

    | init | entries | used by |
    |---|---|---|
    | `uniform_fan_in` | U(−1/√fan_in, 1/√fan_in) | Li₂'s released code (PyTorch's default for Linear) |
    | `normal_fan_in` | N(0, 1/fan_in) | geometry of grokking, Section 7 |
    | `normal` | N(0, 1) | Lemma 1 of Li₂; small initialisations, where `scale` is the standard deviation |

    **Arguments:**

    - `key`: a JAX random key.
    - `shape`: shape of the weights, (fan_in, fan_out) for a matrix.
    - `fan_in`: number of inputs of the layer.
    - `init`: one of `INITS`.
    - `scale`: a positive factor.

    >>> import jax
    >>> W = draw_weights(jax.random.key(0), (4, 5), fan_in=4)
    >>> W.shape, bool(abs(W).max() <= 0.5)
    ((4, 5), True)
    """
    _check(init, scale)
    return jnp.asarray(scale * _DRAWS[init](key, shape, fan_in))


def draw_bias(
    key: PRNGKeyArray, width: int, fan_in: int, init: str = "uniform_fan_in", scale: float = 1.0
) -> Float[Array, " width"]:
    """Draw the biases of a layer: like the weights for `uniform_fan_in` (as in PyTorch), else zero.

    >>> import jax
    >>> draw_bias(jax.random.key(0), 3, fan_in=5, init="normal").tolist()
    [0.0, 0.0, 0.0]
    """
    return draw_weights(key, (width,), fan_in, init, scale) if init == "uniform_fan_in" else jnp.zeros(width)


def _check(init: str, scale: float) -> None:
    if init not in _DRAWS:
        raise ValueError(f"unknown init {init!r}; {did_you_mean(init, INITS)}Known: {', '.join(INITS)}")
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError(f"scale must be a finite number > 0, got {scale}; it multiplies every drawn weight")


def check_sizes(**sizes: int) -> None:
    """Raise ValueError if a layer size is not a positive integer.

    >>> check_sizes(width=0)
    Traceback (most recent call last):
    ...
    ValueError: width must be an integer > 0, got 0; ...
    """
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, Integral) or size <= 0:
            raise ValueError(f"{name} must be an integer > 0, got {size!r}; it counts the units of a layer")
