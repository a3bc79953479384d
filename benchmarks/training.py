"""The training engine against its matrix products alone, against PyTorch, and many seeds against separate runs."""

import functools
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks._timing import best_seconds, result
from firstlight import flow, models, tasks
from firstlight.flow import Loss, Optimizer, Recording, Stop, TaskFacts
from firstlight.flow._lanes import Lane, compiled_part, lane_data
from firstlight.flow._program import Plan, initial_state, programs

__all__ = ["dense_step_vs_gemm", "dense_step_vs_torch", "grok_z71_seconds", "vmap15_vs_loop"]

M, K = 71, 2048
STEPS = 5
ADAM = Optimizer(name="adam", learning_rate=1e-3, weight_decay=2e-4)


def _problem() -> tuple[tasks.Split, models.TwoLayer]:
    split = tasks.group_task(f"Z{M}").split(fraction=0.4, seed=0)
    return split, models.TwoLayer.init(jax.random.key(0), inputs=2 * M, width=K, outputs=M)


def _our_steps() -> Any:
    """Return a function that runs five training steps as `flow.train` does."""
    import equinox as eqx

    split, model = _problem()
    lane = Lane(0, model, split, ADAM)
    plan = Plan(
        static=eqx.filter(model, eqx.is_inexact_array, inverse=True),
        loss=Loss(),
        optimizer_json=compiled_part(ADAM),
        observables=(),
        task=TaskFacts(split.task.name, M, split.task.group),
        population=False,
        batched=False,
    )
    state, data = initial_state(ADAM, eqx.filter(model, eqx.is_inexact_array)), lane_data(lane, STEPS, "float32")
    compiled = programs(plan).compiled(state, data)
    return lambda: jax.block_until_ready(compiled.advance(state, data, jnp.int32(STEPS)))


def _plain_steps() -> Any:
    """Return the same steps in plain JAX: gather, autodiff, optax, jit."""
    split, model = _problem()
    rows, y = jnp.asarray(split.train_inputs.rows), jnp.asarray(split.train_targets)
    optimizer = optax.chain(optax.add_decayed_weights(2e-4), optax.adam(1e-3))

    def loss(params: Any) -> jax.Array:
        W, V = params
        residual = (W[rows[:, 0]] + W[rows[:, 1]]) ** 2 @ V - jax.nn.one_hot(y, M)
        return jnp.sum((residual - residual.mean(1, keepdims=True)) ** 2) / len(y)

    @jax.jit
    def step(params: Any, state: Any) -> tuple[Any, Any]:
        updates, state = optimizer.update(jax.grad(loss)(params), state, params)
        return optax.apply_updates(params, updates), state

    def run() -> None:
        params, state = (model.W, model.V), optimizer.init((model.W, model.V))
        for _ in range(STEPS):
            params, state = step(params, state)
        jax.block_until_ready(params)

    return run


def dense_step_vs_gemm() -> dict:
    """The speed of a whole training step as a fraction of the GEMM rate (three products of n·K·M each)."""
    split, model = _problem()
    n = len(split.train)
    rng = np.random.default_rng(0)
    F, G = (jnp.asarray(rng.normal(size=(n, w)), jnp.float32) for w in (K, M))
    V = model.V
    products = jax.jit(lambda F, V, G: (F @ V, F.T @ G, G @ V.T))
    F_np, V_np, G_np = np.asarray(F), np.asarray(V), np.asarray(G)
    seconds = best_seconds(
        {
            "ours": _our_steps(),
            "gemm": lambda: jax.block_until_ready(products(F, V, G)),
            "numpy": lambda: (F_np @ V_np, F_np.T @ G_np, G_np @ V_np.T),
            "plain": _plain_steps(),
        }
    )
    step, flops = seconds["ours"] / STEPS, 6 * n * K * M
    return result(
        seconds["gemm"] / step,
        "of the GEMM rate",
        "higher",
        0.6,
        ("the three products alone in XLA, seconds", seconds["gemm"]),
        step_ms=1e3 * step,
        xla_gemm_gflops=flops / seconds["gemm"] / 1e9,
        numpy_gemm_gflops=flops / seconds["numpy"] / 1e9,
        plain_jit_fraction=seconds["gemm"] * STEPS / seconds["plain"],
    )


class _TorchNet:
    """The same network, loss and Adam in plain PyTorch, eager mode."""

    def __init__(self, split: tasks.Split, model: models.TwoLayer) -> None:
        import torch

        self.torch = torch
        self.rows = torch.as_tensor(np.array(split.train_inputs.rows), dtype=torch.long)
        self.test_rows = torch.as_tensor(np.array(split.test_inputs.rows), dtype=torch.long)
        self.test_y = torch.as_tensor(np.array(split.test_targets), dtype=torch.long)
        self.Y = torch.nn.functional.one_hot(torch.as_tensor(np.array(split.train_targets)).long(), M).float()
        self.W = torch.tensor(np.array(model.W), requires_grad=True)
        self.V = torch.tensor(np.array(model.V), requires_grad=True)
        self.optimizer = torch.optim.Adam([self.W, self.V], lr=1e-3, weight_decay=2e-4)

    def outputs(self, rows: Any) -> Any:
        return (self.W[rows[:, 0]] + self.W[rows[:, 1]]) ** 2 @ self.V

    def step(self) -> None:
        self.optimizer.zero_grad()
        residual = self.outputs(self.rows) - self.Y
        ((residual - residual.mean(1, keepdim=True)) ** 2).sum(1).mean().backward()
        self.optimizer.step()

    def test_accuracy(self) -> float:
        with self.torch.no_grad():
            return (self.outputs(self.test_rows).argmax(1) == self.test_y).float().mean().item()


def dense_step_vs_torch() -> dict:
    """A training step against the same step in PyTorch eager."""
    net = _TorchNet(*_problem())
    seconds = best_seconds({"ours": _our_steps(), "torch": lambda: [net.step() for _ in range(STEPS)]})
    return result(
        seconds["torch"] / seconds["ours"],
        "× faster",
        "higher",
        1.0,
        ("PyTorch eager, seconds per step", seconds["torch"] / STEPS),
        step_ms=1e3 * seconds["ours"] / STEPS,
    )


def vmap15_vs_loop() -> dict:
    """Fifteen seeds in one call against fifteen separate runs that each compile; M = 23, K = 256."""
    task, steps, seeds = tasks.group_task("Z23"), 200, range(15)
    make = functools.partial(models.TwoLayer.init, inputs=46, width=256, outputs=23)

    def go(seeds: Any, batching: Any) -> float:
        programs.cache_clear()
        jax.clear_caches()
        start = time.perf_counter()
        split = lambda s: task.split(fraction=0.6, seed=s)  # noqa: E731
        flow.train(make, split, steps=steps, seeds=seeds, optimizer=ADAM, batching=batching, progress="off")
        return time.perf_counter() - start

    go([0], "threads")
    together, stacked = go(seeds, "threads"), go(seeds, "vmap")
    separate = sum(go([s], "threads") for s in seeds)
    programs.cache_clear()
    compile_seconds = flow.train(
        make, task.split(fraction=0.6), steps=1, optimizer=ADAM, progress="off"
    ).compile_seconds
    return result(
        separate / together,
        "× faster",
        "higher",
        3.0,
        ("fifteen separate runs, seconds", separate),
        together_seconds=together,
        stacked_by_vmap_seconds=stacked,
        compile_seconds=compile_seconds,
    )


def grok_z71_seconds() -> dict:
    """Seconds to 99 % test accuracy on Z71, compilation included, against PyTorch; both check every 10 epochs."""
    split, model = _problem()
    programs.cache_clear()
    start = time.perf_counter()
    run = flow.train(
        model,
        split,
        steps=400,
        optimizer=ADAM,
        recording=Recording(every=10),
        stop=(Stop(observable="test_accuracy", at_least=0.99),),
        progress="off",
    )
    ours = time.perf_counter() - start
    net, start, epochs = _TorchNet(split, model), time.perf_counter(), 0
    while epochs < 400 and net.test_accuracy() < 0.99:
        for _ in range(10):
            net.step()
        epochs += 10
    torch_seconds = time.perf_counter() - start
    return result(
        ours,
        "s",
        "lower",
        None,
        ("PyTorch eager, seconds", torch_seconds),
        epochs=run.lanes[0].step,
        torch_epochs=epochs,
        compile_seconds=run.compile_seconds,
        ratio=torch_seconds / ours,
    )
