"""The two compiled programs of training: advance a run to a given step, and observe it there.

`advance` is a while loop with a traced bound. One compilation therefore serves every chunk length, and a run in
chunks has the same bits as an uninterrupted run. A lane is one run; lanes differ only in data, weights and rates.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from threading import Lock
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from firstlight.flow import _dense, _optimizer
from firstlight.flow._objective import objective
from firstlight.flow._observe import Context, Observable, TaskFacts
from firstlight.flow.population import population_value_and_grad
from firstlight.records import Loss, Optimizer


class State(NamedTuple):
    """State of a run.

    **Attributes:**

    - `params`: the parameters.
    - `optimizer`: the optimizer's state.
    - `step`: number of steps done.
    - `bad`: the first step at which the loss was not finite, else −1; the run does not go past it.
    """

    params: Any
    optimizer: Any
    step: Array
    bad: Array


class Data(NamedTuple):
    """Arrays that a run reads; `key` draws mini-batches, `steps` is the length of the learning-rate schedule."""

    train_inputs: Any
    train_targets: Array
    test_inputs: Any
    test_targets: Array
    rates: _optimizer.Rates
    key: Array
    steps: Array


@dataclass(frozen=True)
class Plan:
    """Everything that is compiled in; runs with equal plans share their programs."""

    static: Any
    loss: Loss
    optimizer_json: str
    observables: tuple[Observable, ...]
    task: TaskFacts
    population: bool
    batched: bool

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer, without learning rate and weight decay."""
        return Optimizer.model_validate_json(self.optimizer_json)


def initial_state(optimizer: Optimizer, params: Any) -> State:
    """Return the state before the first step."""
    return State(params, _optimizer.init(optimizer, params), jnp.int32(0), jnp.int32(-1))


def _batch(plan: Plan, data: Data, step: Array) -> tuple[Any, Array]:
    """Return all rows, or the mini-batch of a step; epoch e visits the rows in an order drawn from (key, e)."""
    size, n = plan.optimizer.batch_size, len(data.train_targets)
    if size is None or size >= n:
        return data.train_inputs, data.train_targets
    per_epoch = n // size
    order = jax.random.permutation(jax.random.fold_in(data.key, step // per_epoch), n)
    rows = jax.lax.dynamic_slice_in_dim(order, (step % per_epoch) * size, size)
    return data.train_inputs.take(rows), data.train_targets[rows]


def _value_and_grad(plan: Plan, params: Any, inputs: Any, targets: Array) -> tuple[Array, Any]:
    """Return loss and gradient, from the samples or, if the plan says so, from Gram matrices.

    Gram sums cancel near zero loss, and in float32 they lose the gradient there. Below a thousandth of the zero
    network's loss, float32 runs therefore compute the Gram form in float64.
    """
    if not plan.population:
        return _dense.value_and_grad(eqx.combine(params, plan.static), inputs, targets, plan.loss)
    value, grads = _gram(plan, params)
    if value.dtype == jnp.float64:
        return value, grads
    zero_network = objective(jnp.zeros((len(targets), plan.task.outputs)), targets, plan.loss)
    return jax.lax.cond(value > 1e-3 * zero_network, lambda p: (value, grads), partial(_gram_in_double, plan), params)


def _gram(plan: Plan, params: Any) -> tuple[Array, Any]:
    if plan.task.group is None:
        raise ValueError("the Gram form needs the task of a finite group; use method='dense'")
    model = eqx.combine(params, plan.static)
    units = model.hidden_units
    value, gradients = population_value_and_grad(
        units.W, units.V, plan.task.group, units.activation.polynomial, plan.loss
    )
    return value, eqx.filter(_dense.pull_units(model, (*gradients, None, None)), eqx.is_inexact_array)


def _gram_in_double(plan: Plan, params: Any) -> tuple[Array, Any]:
    """Return loss and gradient of float32 parameters, computed in float64 and rounded to float32."""
    with jax.enable_x64(True):
        in_double = jax.tree.map(lambda x: x.astype(jnp.float64), params)
        return jax.tree.map(lambda x: x.astype(jnp.float32), _gram(plan, in_double))


def _advance(plan: Plan, state: State, data: Data, until: Array) -> State:
    optimizer = plan.optimizer

    def body(s: State) -> State:
        value, grads = _value_and_grad(plan, s.params, *_batch(plan, data, s.step))
        params, opt = _optimizer.update(optimizer, data.rates, s.params, grads, s.optimizer, s.step, data.steps)
        return State(params, opt, s.step + 1, jnp.where(jnp.isfinite(value), s.bad, s.step))

    return jax.lax.while_loop(lambda s: (s.step < until) & (s.bad < 0), body, state)


def _observe(plan: Plan, state: State, previous: Any, data: Data) -> dict[str, Array]:
    _, gradients = _value_and_grad(plan, state.params, data.train_inputs, data.train_targets)
    ctx = Context(
        step=state.step,
        model=eqx.combine(state.params, plan.static),
        previous=eqx.combine(previous, plan.static),
        gradients=gradients,
        train_inputs=data.train_inputs,
        train_targets=data.train_targets,
        test_inputs=data.test_inputs,
        test_targets=data.test_targets,
        loss=plan.loss,
        task=plan.task,
    )
    values: dict[str, Array] = {}
    for observable in plan.observables:
        new = observable(ctx)
        if again := values.keys() & new.keys():
            raise ValueError(f"two observables both write {sorted(again)}; give each its own column names")
        values.update(new)
    return values


class Compiled(NamedTuple):
    """The two programs for given shapes; `columns` maps each observed name to its shape in one lane."""

    advance: Callable[[State, Data, Array], State]
    observe: Callable[[State, Any, Data], dict[str, Array]]
    columns: dict[str, tuple[int, ...]]
    seconds: float


class Programs:
    """The programs of a plan, compiled once per set of shapes; safe to use from several threads."""

    def __init__(self, plan: Plan) -> None:
        def advance(state: State, data: Data, until: Array) -> State:
            return _advance(plan, state, data, until)

        def observe(state: State, previous: Any, data: Data) -> dict[str, Array]:
            return _observe(plan, state, previous, data)

        self._batched = plan.batched
        if plan.batched:
            self._advance = jax.jit(jax.vmap(advance, in_axes=(0, 0, None)))
            self._observe = jax.jit(jax.vmap(observe))
        else:
            self._advance = jax.jit(advance)
            self._observe = jax.jit(observe)
        self._compiled: dict[Any, Compiled] = {}
        self._lock = Lock()

    def compiled(self, state: State, data: Data) -> Compiled:
        """Return the programs for the shapes of `state` and `data`, compiling them if necessary."""
        leaves, tree = jax.tree.flatten((state, data))
        signature = (tree, tuple((leaf.shape, leaf.dtype) for leaf in leaves))
        with self._lock:
            if signature not in self._compiled:
                start = time.perf_counter()
                advance = self._advance.lower(state, data, jnp.int32(0)).compile()
                lowered = self._observe.lower(state, state.params, data)
                info = lowered.out_info
                columns = {name: info[name].shape[1 if self._batched else 0 :] for name in sorted(info)}
                self._compiled[signature] = Compiled(advance, lowered.compile(), columns, time.perf_counter() - start)
                return self._compiled[signature]
            return self._compiled[signature]._replace(seconds=0.0)


@lru_cache(maxsize=64)
def programs(plan: Plan) -> Programs:
    """Return the programs of a plan, shared by all runs with an equal plan."""
    return Programs(plan)
