"""A case of the staircase room in a worker: its prediction, its gradient flow, and the record of both."""

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from firstlight.flow import Flow
from firstlight.lab._cases import DATASETS, KINDS, parse_case, whole_form
from firstlight.lab._form import FormError
from firstlight.records import STAIRCASE, FitRecord
from firstlight.records.figure import Axis
from firstlight.theories import agf

POINTS = 400
"""Times at which a flow is saved, evenly on a logarithmic axis."""

PREDICT_SECONDS = 45.0
"""Seconds after which a prediction is given up."""

_BEFORE, _AFTER = 0.3, 1.6
"""The flow is shown from this share of the first jump to this multiple of the last."""

_NEAR, _SMALL = 0.05, 0.005
"""Jumps nearer than this share in time merge; jumps below this share of the first loss are left out."""

Watch = Callable[[float, float], None]


@dataclass(frozen=True)
class Climb:
    """A case that can be predicted and measured; all times are in units of `eta`.

    **Attributes:**

    - `form`: the whole form.
    - `title`: a line for lists.
    - `data`: the digest of what is learned.
    - `eta`: the clock in words of the flow θ′ = −∇L.
    - `clock`: the clock as a formula.
    - `steps`: the prediction.
    - `flow`: solves gradient flow at given times, and reports each time with its loss.
    """

    form: dict[str, str]
    title: str
    data: str
    eta: float
    clock: str
    steps: agf.Staircase
    flow: Callable[[np.ndarray, Watch], Flow]

    @property
    def params(self) -> dict[str, Any]:
        """The setting as it is recorded."""
        return {"title": self.title, **self.form}

    @property
    def id(self) -> str:
        """The id of the record of this case."""
        return FitRecord(estimator=STAIRCASE, params=self.params, data=self.data).id

    @property
    def times(self) -> np.ndarray:
        """Times at which the flow is saved, from 0."""
        jumps = self.steps.jump_times
        first, last = (float(jumps[0]), float(jumps[-1])) if len(jumps) else (1.0, 1.0)
        return np.r_[0.0, np.geomspace(_BEFORE * first, _AFTER * last, POINTS)]

    def record(self, run: Flow, seconds: float) -> FitRecord:
        """Return the record of a solved flow beside the prediction."""
        t, loss = run.times[1:], run.loss[1:]
        compared = self.steps.compare(t, loss)
        columns = {name: _plain(compared.frame[name].to_numpy()) for name in compared.frame}
        drawn = self.steps.figure_data(
            t,
            loss,
            x=Axis("time", f"units of {self.eta:.4g}", scale="log"),
            title=self.title,
            caption="The steps were predicted before gradient flow was solved from the same weights. "
            f"The unit of time is the {self.clock}.",
        )
        return FitRecord(
            estimator=STAIRCASE,
            params=self.params,
            data=self.data,
            scores={
                "distance": compared.distance,
                "eta": self.eta,
                "first_level": float(self.steps.levels[0]),
                **columns,
            },
            seconds=seconds,
            message=_story(self.steps, compared),
            figures=(drawn,),
        )


def climb_of(form: Mapping[str, str], folder: Path | None) -> Climb:
    """Return the case of a form with its prediction; a `FormError` says which control is wrong.

    >>> case = climb_of({"case": "linear", "values": "2, 1"}, None)
    >>> case.steps.jump_times.round(6)
    array([0.5, 1. ])
    """
    form = whole_form(form)
    made = _MAKERS[form["case"]](parse_case(form, folder))
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(part, float).tobytes() for part in made.parts)).hexdigest()
    steps = made.steps.visible(drop=_SMALL, gap=_NEAR)
    title = f"{KINDS[form['case']].title}, {made.words}, α = {form['alpha']}"
    return Climb(form, title, digest, made.eta, made.clock, steps, made.flow)


@dataclass(frozen=True)
class _Made:
    words: str
    parts: tuple[Any, ...]
    eta: float
    clock: str
    steps: agf.Staircase
    flow: Callable[[np.ndarray, Watch], Flow]


def _diagonal(given: Mapping[str, Any]) -> _Made:
    alpha, rng = given["alpha"], np.random.default_rng(given["seed"])
    if given["data"] is None:
        beta = given["values"]
        X = rng.standard_normal((given["samples"], len(beta)))
        y, words = X @ beta, f"{np.count_nonzero(beta)} coefficients"
    else:
        X, y = given["data"][:, :-1], given["data"][:, -1]
        words = f"your {len(X)} rows"
    steps = agf.predict_diagonal(X, y, alpha)
    # The flow of `diagonal_flow` counts in −log α, the prediction in −log(√2 α).
    ratio = steps.eta / -float(np.log(alpha))

    def flow(times: np.ndarray, watch: Watch) -> Flow:
        run = agf.diagonal_flow(X, y, alpha, times * ratio, watch=lambda t, loss: watch(t / ratio, loss))
        return Flow(run.times / ratio, run.params, run.loss, run.status, None, run.steps)

    return _Made(words, (X, y), steps.eta, "−log(√2 α)", steps, flow)


def _linear(given: Mapping[str, Any]) -> _Made:
    alpha = given["alpha"]
    if given["data"] is None:
        covariance, target = np.eye(len(given["values"])), np.diag(given["values"])
        words = f"{np.count_nonzero(given['values'])} modes"
    else:
        X, Y = np.split(given["data"], [-given["targets"]], axis=1)
        covariance, words = X.T @ X / len(X), f"your {len(X)} rows"
        target = np.linalg.lstsq(X, Y, rcond=None)[0].T
    network = agf.LinearNetwork(covariance, target, given["width"])

    def flow(times: np.ndarray, watch: Watch) -> Flow:
        return network.flow(alpha, times, seed=given["seed"], watch=watch)

    return _Made(words, (covariance, target), -float(np.log(alpha)), "−log α", network.predict(), flow)


def _attention(given: Mapping[str, Any]) -> _Made:
    task = agf.InContext(np.diag(given["values"]), given["context"])
    theta = task.initial(given["width"], given["alpha"], given["seed"])
    words = f"{len(given['values'])} components, {given['width']} heads"
    return _general(task.problem, theta, words, (given["values"], [given["context"]]), max_jumps=len(given["values"]))


def _modular(given: Mapping[str, Any]) -> _Made:
    x = given["template"]
    task = agf.Template(f"Z{len(x)}", x)
    theta = task.problem.initial(given["width"], given["alpha"], given["seed"])
    return _general(task.problem, theta, f"modulo {len(x)}", (x,), solver="lsoda", learned=1e-2)


def _network(given: Mapping[str, Any]) -> _Made:
    if given["data"] is None:
        X, y = _dataset(given["dataset"], given["seed"])
        words = DATASETS[given["dataset"]]
    else:
        X, y = np.split(given["data"], [-given["targets"]], axis=1)
        words = f"your {len(X)} rows"
    problem = agf.network(X, y, given["activation"])
    theta = problem.initial(given["width"], given["alpha"], given["seed"])
    named = f"{words}, {given['activation']}"
    return _general(problem, theta, named, (X, y), learned=1e-3, max_jumps=2 * given["width"])


def _general(
    problem: agf.Problem, theta: np.ndarray, words: str, parts: tuple[Any, ...], solver: Any = None, **options: Any
) -> _Made:
    steps = agf.predict(_limited(problem), theta, eta="accelerated", **options)

    def flow(times: np.ndarray, watch: Watch) -> Flow:
        return agf.follow(problem, theta, times, eta=steps.eta, solver=solver, max_steps=200_000, watch=watch)

    clock = "mean of 1/‖θ₀‖ − 1" if problem.kappa == 3 else "mean of −log ‖θ₀‖"
    return _Made(words, parts, steps.eta, clock, steps, flow)


def _limited(problem: agf.Problem) -> agf.Problem:
    """Return the problem with functions that raise after `PREDICT_SECONDS`: along kinks a solver may crawl."""
    end = time.monotonic() + PREDICT_SECONDS

    def checked(call: Callable[..., Any]) -> Callable[..., Any]:
        def evaluate(*values: Any) -> Any:
            if time.monotonic() > end:
                raise FormError(
                    {
                        "width": f"the prediction takes more than {PREDICT_SECONDS:g} s for this setting; use fewer "
                        "hidden units, fewer rows or a smooth activation"
                    }
                )
            return call(*values)

        return evaluate

    return replace(problem, cost=checked(problem.cost), utility=checked(problem.utility))


def _dataset(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if name == "corner":
        X = np.random.default_rng(seed).standard_normal((60, 3))
        return X, 2 * np.maximum(X[:, 0], 0) - np.maximum(X[:, 1], 0)
    X = np.random.default_rng(seed).standard_normal((60, 3))
    return X, np.stack([3 * np.tanh(X[:, 0]), np.tanh(X[:, 1])], axis=1)


_MAKERS: dict[str, Callable[[Mapping[str, Any]], _Made]] = {
    "diagonal": _diagonal,
    "linear": _linear,
    "attention": _attention,
    "modular": _modular,
    "network": _network,
}


def _story(steps: agf.Staircase, compared: agf.StaircaseComparison) -> str:
    measured = compared.frame["measured_time"].to_numpy()
    seen = int(np.isfinite(measured).sum())
    return (
        f"AGF predicted {len(steps.events)} jumps; gradient flow made {seen} of them. The largest difference of a jump "
        f"time is {compared.time_error:.1%}, of a level {compared.level_error:.1%} of the level before. The mean "
        f"distance of the two curves is {compared.distance:.1%} of the whole drop."
    )


def _plain(values: np.ndarray) -> list[float]:
    return [float(value) for value in values]
