"""Section 7: the isolated dynamics of an embedding, in the paper's Euler steps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Num

from firstlight import flow
from firstlight._threads import one_blas_thread
from firstlight.tasks import Split
from firstlight.theories.manifold._isolated import Isolated, isolate, output_layer, velocity

Status = Literal["finished", "singular", "diverged"]

GROWN = 1e3
"""Factor over its first norm at which W counts as diverged; the flow itself never gains norm, up to rounding."""


@dataclass(frozen=True)
class Simulation:
    """A run of eq. 21.

    **Attributes:**

    - `frame`: one row per recorded step: step, train_error (largest), test_accuracy, norm_W and norm_V (squared).
    - `W`: (d, K) the last finite embedding.
    - `snapshots`: the embeddings at the requested steps.
    - `status`: "finished"; "diverged" if Euler's steps were too long and W grew by more than `GROWN`; "singular" if
      HHᵀ lost its rank, in the precision of W, before that.
    """

    frame: pd.DataFrame
    W: Float[np.ndarray, "d K"]
    snapshots: dict[int, np.ndarray] = field(default_factory=dict)
    status: Status = "finished"

    def first(self, accuracy: float = 1.0) -> int | None:
        """Return the first recorded step with at least this test accuracy, or None."""
        # A mean of ones in single precision may fall short of one.
        reached = np.flatnonzero(self.frame["test_accuracy"] >= accuracy - 1e-5)
        return int(self.frame["step"].to_numpy()[reached[0]]) if len(reached) else None

    def __repr__(self) -> str:
        if self.frame.empty:
            return f"Simulation({self.status} at the start)"
        last = self.frame.to_dict("records")[-1]
        return f"Simulation({last['step']:.0f} steps, {self.status}, test accuracy {last['test_accuracy']:.3f})"


def embedding(seed: int, inputs: int, width: int, deviation: float | None = None) -> Float[np.ndarray, "p K"]:
    """Draw E (p, K) with normal entries of variance 1/p, the paper's N(0, p^{−1/2}), or of a given deviation.

    >>> round(float(embedding(0, 37, 512).std() * 37**0.5), 1)
    1.0
    """
    E = np.random.default_rng(seed).standard_normal((inputs, width))
    return (E * (inputs**-0.5 if deviation is None else deviation)).astype(np.float32)


def simulate(
    split: Split,
    W: ArrayLike | Num[np.ndarray, "d K"],
    *,
    sigma: str = "relu",
    eta: float = 1e-3,
    steps: int = 5000,
    every: int = 25,
    snapshots: Sequence[int] = (),
    lam: float = 0.0,
    bias: bool = False,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Simulation:
    r"""Run W ← W + η(Xᵀ((AYYᵀAH) ∘ σ′(XW)) − W) and evaluate the test rows (Section 7.3).

    **Arguments:**

    - `split`: training rows drive W, test rows are only evaluated.
    - `W`: (d, K) the start, in the precision of the computation; float32 is enough for the figures.
    - `sigma`: σ, by name.
    - `eta`, `steps`: η and T.
    - `every`: distance between recorded steps.
    - `snapshots`: steps at which W is stored.
    - `lam`, `bias`: as in `Isolated`.
    - `progress`: callback that receives the finished fraction.

    >>> from firstlight import tasks
    >>> split = tasks.group_task("Z5", encoding="summed").split(fraction=0.8)
    >>> simulate(split, embedding(0, 5, 32), steps=20, every=10).frame["step"].tolist()
    [0, 10, 20]
    """
    problem = isolate(split, sigma, lam=lam, bias=bias)
    _require(problem, W, eta, steps, every, snapshots)
    problem.require_start(W)
    # The threads of LAPACK and XLA wait for each other, which makes a step fifty times slower on a busy machine.
    with one_blas_thread(), jax.enable_x64(np.asarray(W).dtype == np.float64):
        w, at = jnp.asarray(W), 0
        stops = sorted({*range(0, steps, every), steps, *snapshots})
        rows, stored = [], {}
        for stop in stops:
            before, w = w, _advance(problem, w, eta, stop - at)
            row = jax.device_get(_observe(problem, w, split.test_inputs, jnp.asarray(split.test_targets)))
            if not np.isfinite([row["norm_W"], row["norm_V"]]).all():
                last = _last_finite(problem, before, eta, stop - at)
                return Simulation(_frame(rows), last, stored, _how(last, W))
            rows.append({"step": stop, **row})
            stored |= {stop: np.asarray(w)} if stop in snapshots else {}
            at = stop
            progress(stop / steps)
        return Simulation(_frame(rows), np.asarray(w), stored)


def _require(problem: Isolated, W: ArrayLike, eta: float, steps: int, every: int, snapshots: Sequence[int]) -> None:
    """Raise an error that names the argument from which no run can start."""
    start, d = np.asarray(W), problem.inputs.dim
    if start.ndim != 2 or start.shape[0] != d:
        raise ValueError(f"W must be ({d}, K), one row per input of this split, got {start.shape}")
    if not np.issubdtype(start.dtype, np.floating):
        raise ValueError(f"W must be float32 or float64, in which the run is computed, got {start.dtype}; use W.astype")
    if not np.isfinite(start).all():
        raise ValueError(f"W must be finite, got {int((~np.isfinite(start)).sum())} entries that are NaN or infinite")
    if not (np.isfinite(eta) and eta > 0):
        raise ValueError(f"eta must be a finite number > 0, got {eta}")
    for name, value in (("steps", steps), ("every", every)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if wrong := [s for s in snapshots if not 0 <= s <= steps]:
        raise ValueError(f"snapshots must lie between 0 and steps = {steps}, got {wrong}")


def _last_finite(problem: Isolated, W: Array, eta: float, count: int) -> Float[np.ndarray, "d K"]:
    """Return the last finite W along the steps of `_advance`."""
    for _ in range(count):
        after = _advance(problem, W, eta, 1)
        if not bool(jnp.isfinite(after).all()):
            break
        W = after
    return np.asarray(W)


def _how(last: np.ndarray, first: ArrayLike) -> Status:
    # Scale first: squares of diverged weights overflow.
    size = np.abs(last).max()
    grown = size * np.linalg.norm(last / size) if size else 0.0
    return "diverged" if grown > GROWN * np.linalg.norm(np.asarray(first)) else "singular"


def _frame(rows: list[dict]) -> pd.DataFrame:
    columns = ["step", "train_error", "test_accuracy", "norm_W", "norm_V"]
    return pd.DataFrame(rows, columns=columns).astype(float).astype({"step": int})


@eqx.filter_jit
def _advance(problem: Isolated, W: Array, eta: ArrayLike, count: ArrayLike) -> Array:
    def step(_: Array, w: Array) -> Array:
        return w + jnp.asarray(eta, w.dtype) * velocity(problem, w)

    return jax.lax.fori_loop(0, jnp.asarray(count, jnp.int32), step, W)


@eqx.filter_jit
def _observe(problem: Isolated, W: Array, test_inputs, test_targets: Array) -> dict[str, Array]:
    V, c = output_layer(problem, W)
    H = problem.activation(problem.inputs.project(W))
    outputs = problem.activation(test_inputs.project(W)) @ V + c
    scored = flow.accuracy(outputs, test_targets) if test_targets.ndim == 1 else jnp.asarray(jnp.nan)
    return {
        "train_error": jnp.max(jnp.abs(H @ V + c - jnp.asarray(problem.Y, W.dtype))),
        "test_accuracy": scored,
        "norm_W": jnp.sum(W**2),
        "norm_V": jnp.sum(V**2),
    }
