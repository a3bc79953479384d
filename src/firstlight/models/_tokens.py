"""Networks that read one token per factor: their task, and the table lookup they share."""

from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from firstlight.models._model import TaskSizes

ENCODINGS = ("onehot", "summed")
"""Encodings whose rows are products of elements, so that an element is a token."""


@runtime_checkable
class TokenTask(TaskSizes, Protocol):
    """The part of a `firstlight.tasks.Task` that fixes the sizes of a network that reads tokens."""

    @property
    def encoding(self) -> str:
        """Name of the encoding of the inputs."""
        ...


def task_factors(task: TokenTask, model: str, encodings: tuple[str, ...] = ("onehot",)) -> int:
    """Return k, the number of factors of a group task; raise ValueError if the network cannot read its rows.

    >>> from firstlight import tasks
    >>> task_factors(tasks.group_task("S3", factors=3), "transformer")
    3
    >>> task_factors(tasks.group_task("S3", encoding="summed"), "transformer")
    Traceback (most recent call last):
    ...
    ValueError: a transformer needs a group task in onehot encoding, one token per factor, got encoding 'summed'; ...
    """
    if task.encoding not in encodings:
        raise ValueError(
            f"a {model} needs a group task in {' or '.join(encodings)} encoding, one token per factor, "
            f"got encoding {task.encoding!r}; use tasks.group_task(..., encoding='onehot')"
        )
    return task.inputs.dim // task.outputs


@jax.custom_vjp
def look_up(table: Float[Array, "M w"], tokens: Int[Array, " n"]) -> Float[Array, "n w"]:
    """Return `table[tokens]`, whose gradient is a matrix product; XLA's scatter takes several times as long.

    >>> import jax.numpy as jnp
    >>> look_up(jnp.arange(6.0).reshape(3, 2), jnp.array([2, 0])).tolist()
    [[4.0, 5.0], [0.0, 1.0]]
    """
    return table.at[tokens].get(mode="promise_in_bounds")


def _forward(table: Array, tokens: Array) -> tuple[Array, tuple[Array, Array]]:
    return look_up(table, tokens), (tokens, jnp.zeros((table.shape[0], 0), table.dtype))


def _backward(saved: tuple[Array, Array], G: Array) -> tuple[Array, None]:
    tokens, like = saved
    chosen = (tokens[:, None] == jnp.arange(like.shape[0])).astype(G.dtype)
    return jnp.tensordot(chosen, G, (0, 0)), None


look_up.defvjp(_forward, _backward)
