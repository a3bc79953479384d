"""Parameters by name, for layer-wise learning rates, snapshots and `.safetensors` files."""

from collections.abc import Mapping
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import keystr, tree_flatten_with_path
from jax.typing import ArrayLike
from jaxtyping import Array

from firstlight._suggest import did_you_mean

Tree = TypeVar("Tree")


def named_parameters(model: object) -> dict[str, Array]:
    """Return the arrays of a model (or of its gradient) under dotted names, in the order of its fields.

    >>> import jax
    >>> from firstlight.models import Deep
    >>> model = Deep.init(jax.random.key(0), inputs=4, widths=(5,), outputs=3)
    >>> {name: array.shape for name, array in named_parameters(model).items()}
    {'weights.0': (4, 5), 'weights.1': (5, 3)}
    """
    leaves, _ = tree_flatten_with_path(eqx.filter(model, eqx.is_array))
    return {keystr(path, simple=True, separator="."): leaf for path, leaf in leaves}


def export_parameters(model: object) -> dict[str, np.ndarray]:
    """Return the parameters as NumPy arrays, ready for `.safetensors`.

    `import_parameters` reads them back.

    >>> import jax
    >>> from firstlight.models import TwoLayer
    >>> sorted(export_parameters(TwoLayer.init(jax.random.key(0), inputs=4, width=5, outputs=3)))
    ['V', 'W']
    """
    return {name: np.ascontiguousarray(array) for name, array in named_parameters(model).items()}


def import_parameters(model: Tree, parameters: Mapping[str, np.ndarray]) -> Tree:
    """Return a copy of `model` with other parameters, given as `export_parameters` returns them.

    **Arguments:**

    - `model`: gives names, shapes and types; a batch of models (leading axis) takes a batch of parameters.
    - `parameters`: name → array. Narrower floats are widened; wider floats raise, since digits would be lost.

    >>> import jax
    >>> from firstlight.models import TwoLayer
    >>> a, b = (TwoLayer.init(jax.random.key(seed), inputs=4, width=5, outputs=3) for seed in (0, 1))
    >>> bool((import_parameters(a, export_parameters(b)).W == b.W).all())
    True
    """
    expected = named_parameters(model)
    _check_names(expected, parameters)
    new = [jnp.asarray(_checked(name, like, parameters[name]), like.dtype) for name, like in expected.items()]
    arrays, rest = eqx.partition(model, eqx.is_array)
    return eqx.combine(jax.tree.unflatten(jax.tree.structure(arrays), new), rest)


def _check_names(expected: Mapping[str, Array], given: Mapping[str, np.ndarray]) -> None:
    if missing := [name for name in expected if name not in given]:
        raise ValueError(
            f"parameters {missing} are missing; the model has {list(expected)}, got {list(given)}. "
            "Build the model with the same widths, depth and bias as the exported model"
        )
    if unknown := [name for name in given if name not in expected]:
        hint = did_you_mean(unknown[0], expected)
        raise ValueError(f"the model has no parameters {unknown}; {hint}It has {list(expected)}")


def _checked(name: str, like: Array, value: np.ndarray) -> np.ndarray:
    value = np.asarray(value)
    if value.shape != like.shape:
        raise ValueError(f"parameter {name!r} must have shape {like.shape}, got {value.shape}; weights are (in, out)")
    if not np.can_cast(value.dtype, like.dtype, casting="safe"):
        raise ValueError(
            f"parameter {name!r} is {value.dtype} and the model {like.dtype}; cast it with .astype, or build "
            "the model inside jax.enable_x64(True)"
        )
    if not np.isfinite(value).all():
        bad = int(np.size(value) - np.isfinite(value).sum())
        raise ValueError(f"parameter {name!r} has {bad} NaN or infinite entries; load an earlier checkpoint")
    return value


def array_or_none(value: ArrayLike | None) -> Array | None:
    """Convert a parameter that a network may lack."""
    return None if value is None else jnp.asarray(value)
