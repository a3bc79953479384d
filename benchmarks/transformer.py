"""A training step of the one-layer transformer against PyTorch and against its matrix products alone, at p = 113."""

import os
import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._timing import result
from firstlight import runs
from firstlight.flow import TaskFacts
from firstlight.flow._lanes import compiled_part, lane_data
from firstlight.flow._program import Plan, initial_state, programs
from firstlight.records import spec_from_mapping
from firstlight.runs import Resolved

__all__ = ["transformer_step_vs_torch"]

STEPS = 3


def _our_steps(run: Resolved) -> Any:
    """Return a function that runs some training steps as `firstlight run` does."""
    spec, task = run.spec, run.task
    plan = Plan(
        static=eqx.filter(run.model, eqx.is_inexact_array, inverse=True),
        loss=spec.loss,
        optimizer_json=compiled_part(spec.optimizer),
        observables=(),
        task=TaskFacts(task.name, task.outputs, task.group),
        population=False,
        batched=False,
    )
    state = initial_state(spec.optimizer, eqx.filter(run.model, eqx.is_inexact_array))
    data = lane_data(run.lane, STEPS, "float32")
    compiled = programs(plan).compiled(state, data)
    return lambda: jax.block_until_ready(compiled.advance(state, data, jnp.int32(STEPS)))


def _torch_steps(run: Resolved, threads: int) -> Any:
    """Return the same steps in PyTorch eager: queries, MLP and logits of the last position only."""
    import torch

    spec, M = run.spec, run.task.outputs
    H = spec.model.heads
    rows = np.asarray(run.split.train_inputs.rows) - np.array([0, M])
    tokens = torch.as_tensor(np.concatenate([rows, np.full((len(rows), 1), M)], axis=1)).long()
    y = torch.as_tensor(np.array(run.split.train_targets)).long()
    w = {name: torch.tensor(np.array(a), requires_grad=True) for name, a in run.model.named_parameters().items()}
    rate, decay = spec.optimizer.learning_rate, spec.optimizer.weight_decay
    optimizer = torch.optim.AdamW(list(w.values()), lr=rate, weight_decay=decay, betas=(0.9, spec.optimizer.beta2))
    n, e = len(rows), w["W_Q"].shape[1] // H

    def logits() -> Any:
        x = w["W_E"][tokens] + w["W_pos"]
        last = x[:, -1]
        q = (last @ w["W_Q"]).view(n, H, 1, e)
        k, v = ((x @ w[name]).view(n, 3, H, e).transpose(1, 2) for name in ("W_K", "W_V"))
        z = torch.nn.functional.scaled_dot_product_attention(q, k, v).reshape(n, -1)
        m = last + z @ w["W_O"]
        hidden = torch.relu(m @ w["W_in"] + w["b_in"])
        return (m + hidden @ w["W_out"] + w["b_out"]) @ w["W_U"]

    def steps() -> None:
        torch.set_num_threads(threads)
        for _ in range(STEPS):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(logits(), y).backward()
            optimizer.step()

    return steps


def _products(run: Resolved) -> tuple[Any, float]:
    """Return the step's large products alone (zW, [z, F]W and their two gradients each) and their operations."""
    n, d, K, M = len(run.split.train), run.spec.model.width, run.spec.model.mlp, run.task.outputs
    rng = np.random.default_rng(0)
    z, zF, G, dF, W_1, W_2 = (
        jnp.asarray(rng.normal(size=shape), jnp.float32)
        for shape in ((n, d), (n, d + K), (n, M), (n, K), (d, K), (d + K, M))
    )

    @jax.jit
    def products(z: Any, zF: Any, G: Any, dF: Any, W_1: Any, W_2: Any) -> Any:
        return z @ W_1, zF @ W_2, G @ W_2.T, jnp.tensordot(zF, G, (0, 0)), dF @ W_1.T, jnp.tensordot(z, dF, (0, 0))

    call = lambda: jax.block_until_ready(products(z, zF, G, dF, W_1, W_2))  # noqa: E731
    return call, 6.0 * n * (d * K + (d + K) * M)


def _best(contestants: dict[str, Any], clock: Any, rounds: int = 7) -> dict[str, float]:
    """Return the least reading of a clock over the steps of each contestant, taken in turns after a warm-up."""
    best = dict.fromkeys(contestants, float("inf"))
    for call in contestants.values():
        call()
    for _ in range(rounds):
        for name, call in contestants.items():
            start = clock()
            call()
            best[name] = min(best[name], (clock() - start) / STEPS)
    return best


def transformer_step_vs_torch() -> dict:
    """A full-batch step at p = 113 (30 % of the pairs, d = 128, 4 heads, 512 hidden units) against PyTorch eager.

    The ratio is of processor time, against PyTorch with one thread: wall time depends on what else the machine does,
    and the waiting threads of PyTorch count as work. Wall times with all cores are recorded beside it.
    """
    run = runs.resolve(spec_from_mapping({"preset": "nanda"}))
    products, flops = _products(run)
    ours, single, several = _our_steps(run), _torch_steps(run, 1), _torch_steps(run, os.cpu_count() or 1)
    processor = _best({"ours": ours, "torch": single, "products": products}, time.process_time)
    processor["products"] *= STEPS  # one call is one step
    wall = _best({"ours": ours, "one thread": single, "all cores": several}, time.perf_counter)
    return result(
        processor["torch"] / processor["ours"],
        "× less processor time",
        "higher",
        1.5,
        ("PyTorch eager, processor seconds per step", processor["torch"]),
        processor_ms=1e3 * processor["ours"],
        of_the_gemm_rate=processor["products"] / processor["ours"],
        gemm_gflops=flops / processor["products"] / 1e9,
        wall_ratio=min(wall["one thread"], wall["all cores"]) / wall["ours"],
        steps_per_second=1 / wall["ours"],
        torch_steps_per_second=1 / min(wall["one thread"], wall["all cores"]),
    )
