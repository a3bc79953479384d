"""Checks of the names in a spec: parameters of the model, and recorded columns."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp

from firstlight import flow, models, tasks
from firstlight._suggest import did_you_mean
from firstlight.records import RunSpec, SpecError


def check_layer_rates(spec: RunSpec, model: object) -> None:
    """Refuse learning rates of parameters that the model does not have.

    >>> model = models.TwoLayer.init(jax.random.key(0), inputs=2, width=2, outputs=2)
    >>> check_layer_rates(RunSpec.model_validate({"optimizer": {"layer_rates": {"U": 0.1}}}), model)
    Traceback (most recent call last):
    firstlight.records._explain.SpecError: optimizer.layer_rates.U: this model has no parameter 'U'; it has W, V
    """
    known = models.named_parameters(model)
    unknown = [name for name in spec.optimizer.layer_rates if name not in known]
    if unknown:
        raise SpecError(
            [_unknown(f"optimizer.layer_rates.{n}", "this model has no parameter", n, known) for n in unknown]
        )


def check_stop(spec: RunSpec, split: tasks.Split, model: object, observables: Sequence[flow.Observable]) -> None:
    """Refuse stop rules on columns that the run does not record."""
    wanted = {f"stop[{i}].observable": rule.observable for i, rule in enumerate(spec.stop)}
    known: list[str] = []
    for observable in observables if wanted else ():
        # Most rules use the standard columns; the observables of a theory can be slow to trace.
        if set(wanted.values()) <= set(known):
            break
        try:
            known += _numbers(spec, split, model, observable)
        except Exception:
            return  # the run fails with the same error, and its record says why
    problems = [
        _unknown(path, "this run records no number", name, known) for path, name in wanted.items() if name not in known
    ]
    if problems:
        raise SpecError(problems)


def _unknown(path: str, problem: str, name: str, known: Sequence[str] | dict) -> str:
    return f"{path}: {problem} {name!r}; {did_you_mean(name, known)}it has {', '.join(known)}"


def _numbers(spec: RunSpec, split: tasks.Split, model: object, observable: flow.Observable) -> list[str]:
    """Return the scalar columns of an observable, by tracing alone."""
    params, static = eqx.partition(model, eqx.is_inexact_array)
    facts = flow.TaskFacts(split.task.name, split.task.outputs, split.task.group)
    halves = (split.train_inputs, split.train_targets, split.test_inputs, split.test_targets)

    def observed(step, params, halves):
        now = eqx.combine(params, static)
        return dict(observable(flow.Context(step, now, now, params, *halves, loss=spec.loss, task=facts)))

    columns = jax.eval_shape(observed, jnp.int32(0), params, halves)
    return [name for name, column in columns.items() if column.shape == ()]
