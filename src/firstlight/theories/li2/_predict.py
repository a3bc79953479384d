"""Forecast a run before training: one decision, from which stages, epochs and story follow."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil, exp, inf, isfinite, log, nan, prod, sqrt
from numbers import Integral
from typing import Any, get_args

import numpy as np

from firstlight import groups
from firstlight.features import maxima, require_features
from firstlight.groups import Group
from firstlight.models import Activation
from firstlight.models import activation as named_activation
from firstlight.records import RunSpec
from firstlight.theories.li2._boundary import locate_boundary
from firstlight.theories.li2._calibration import HORIZON, MEASURED, below, chance, memorising, processes, was_fitted
from firstlight.theories.li2._forecast import NEVER, UNKNOWN, Epochs, Forecast, IrrepForecast, Outcome, interval, odds
from firstlight.theories.li2._kernel import c1_group_table
from firstlight.theories.li2._own_boundary import OwnBoundary, ProgressCallback, own_boundary
from firstlight.theories.li2._process import Process
from firstlight.theories.li2._situation import Situation, inputs, situation_of

MEASURED_CONSTANTS = {7: 1.79, 11: 2.17, 17: 2.27, 23: 2.53, 31: 2.57, 41: 2.84, 61: 3.17, 101: 3.51, 127: 3.64}
"""c = n/(M ln M) at which half of the maxima of the residualised energy survive on Z_M, from `measured_constant`."""

COLLAPSE = {2: (0.75, 0.2), 1: (1.4, 0.4)}
"""The η above which decay removes all features, by the degree of σ, and its relative error.

Measured with K = 256, x², Adam with rate 2e-3, by raising the decay: 0.63 on Z11, 0.75 on Z19 (K = 192 and 768 alike),
0.65, 0.72 and 0.94 on Z31 with a quarter, half and nine tenths of the pairs, 0.84 on A4; for relu 1.05 on Z11 and
between 1.35 and 4 on Z19. Both layers decay, so that neither K c₁, which sets the scale of Stage I, nor n matters
much."""
_COLLAPSE_ELSEWHERE = (1.0, 0.5)

NARROW = 0.22
"""Share of `nodes_needed` at which half of the runs still generalise, known to a relative error of 0.25.

Measured before: between 0.25 and 0.33 on Z19, near 0.25 on Z31, between 0.12 and 0.25 on S4."""

UNMEASURED = {"activation": 0.6, "order": 0.3, "width": 0.2, "learning rate": 0.2}
"""Standard deviation of the score that is added for what lies outside of the measured range: for the activation, or per
factor e of the others. A score is the logarithm of a time (`processes`)."""

FARTHEST = 12.0
"""Largest factor between n and the boundary that is looked for."""

STAGES: dict[str, tuple[str, ...]] = {
    "grokking": ("lazy", "independent", "interactive"),
    "memorising": ("lazy", "independent", "stalled"),
    "stalling": ("lazy", "stalled"),
    "nothing": ("lazy",),
}

_FAILURES: dict[str, Outcome] = {
    "activation": "nothing",
    "strong": "nothing",
    "weak": "stalling",
    "width": "stalling",
    "samples": "memorising",
}


def measured_constant(order: int) -> float:
    """Compute the entry of `MEASURED_CONSTANTS` for Z_M again: 12 maxima of each of 5 draws, 8 bisections.

    >>> measured_constant(7) == MEASURED_CONSTANTS[7]
    True
    """
    p50 = locate_boundary(groups.cyclic(order), range(5), True, 12, 8)
    return round(float(np.exp(np.log(p50).mean())) * order / log(order), 2)


def predict(
    group: Group | RunSpec | str | Any,
    n: int | None = None,
    K: int | None = None,
    eta: float | None = None,
    activation: str = "quadratic",
    *,
    learning_rate: float = 1e-3,
    decoupled: float | None = None,
    steps: int | None = None,
    progress: ProgressCallback | None = None,
) -> Forecast:
    """Forecast whether a two-layer network generalises on n pairs of a group, when, and with which irreps.

    The boundary comes from ascents of the group's own residualised energy, kept in the cache folder. What trained
    networks need beyond it, and their epochs, come from constants fitted on seven lists of runs of Adam and AdamW on
    small groups; the claims `beyond.forecast-*` judge them on another list. If decay, width or activation rule features
    out, more samples do not help.

    **Arguments:**

    - `group`: a group, its name, its Cayley table or a file with the table; or a `RunSpec`, and nothing else.
    - `n`: number of training pairs.
    - `K`: number of hidden units.
    - `eta`: the ridge η ≥ 0 of J = ½‖P₁⊥(Y − FV)‖² + (η/2)‖V‖²; `decay_ridge` converts a weight decay in the gradient.
    - `activation`: name of σ.
    - `learning_rate`: of Adam.
    - `decoupled`: the decoupled weight decay of AdamW, in place of `eta`.
    - `steps`: epochs within which to generalise; by default 8/`learning_rate`.
    - `progress`: called while the boundary of a group is computed, see `own_boundary`.

    >>> forecast = predict("Z71", n=2016, K=2048, eta=0.2)
    >>> forecast.margin > 1.5, forecast.stages
    (True, ('lazy', 'independent', 'interactive'))
    >>> predict("Z19", n=150, K=192, eta=35.0).outcome  # the decay outweighs every feature
    'nothing'
    """
    if isinstance(group, RunSpec):
        from firstlight.theories.li2._coverage import predict_spec

        if (n, K, eta, decoupled, steps) != (None,) * 5:
            raise ValueError("a spec holds n, K, the decay and the steps; pass predict(spec) and nothing else")
        return predict_spec(group, progress)
    group = groups.as_group(group)
    _check(group, n, K, eta, decoupled, learning_rate, steps)
    sigma = named_activation(activation)
    own = own_boundary(group, progress)
    s = situation_of(group, int(n), int(K), sigma.name, eta, decoupled)  # type: ignore[arg-type]
    return _assemble(group, own, s, sigma, learning_rate, steps)


def _assemble(
    group: Group, own: OwnBoundary, s: Situation, sigma: Activation, rate: float, steps: int | None
) -> Forecast:
    """Return the forecast of a situation."""
    M, n = group.order, int(s.n)
    outside = _outside(s, rate)
    n50, error = boundary(s, outside)
    chances = _chances(s, sigma, outside, n == M * M)
    outcome, why = decide(chances)
    mean, deviation = _log_epochs(s, outside)
    memorises = _memorises(s, outside, rate) if outcome != "nothing" else NEVER
    horizon = HORIZON / rate if steps is None else float(steps)
    ever = below(log(HORIZON), mean, deviation)
    in_time = min(below(log(horizon * rate), mean, deviation) / ever, 1.0) if ever > 1e-9 else 1.0
    forecast = Forecast(
        group=group.name,
        samples=n,
        pairs=M * M,
        outcome=outcome,
        probability=nan if n == M * M else prod(chances.values()) * in_time,
        horizon=horizon,
        boundary=n50,
        low=n50 * exp(-error),
        high=n50 * exp(error),
        margin=n / n50,
        chances=chances,
        memorises=memorises,
        generalises=UNKNOWN if n == M * M else _generalises(s, outcome, mean, deviation, rate),
        irreps=_irreps(group, own, n / M**2),
        nodes=s.nodes,
        wide_enough=s.nodes <= s.width,
        stages=STAGES[outcome],
        why=why,
        outside=tuple(outside),
        fitted=was_fitted(inputs(s)),
    )
    return _with_story(forecast, error, s, sigma)


def boundary(s: Situation, outside: Mapping[str, float] | tuple = ()) -> tuple[float, float]:
    """Return n₅₀, at which half of the networks in this situation generalise, and its relative standard error."""
    process = processes()["outcome"]
    n50, slope = zero_of(process, s)
    deviation = process(inputs(replace(s, n=n50)))[1]
    extra = _extra(outside) if isinstance(outside, Mapping) else 0.0
    return n50, sqrt(deviation**2 + extra**2) / slope


def zero_of(process: Process, s: Situation) -> tuple[float, float]:
    """Return the n nearest to that of the situation at which the score is 0, and its slope in ln n there.

    It is `FARTHEST` times n, or its reciprocal, if there is none so near.
    """
    away = np.linspace(-log(FARTHEST), log(FARTHEST), 101)
    score = process.along([inputs(replace(s, n=s.n * exp(step))) for step in away])
    slopes = np.diff(score) / np.diff(away)
    rises = np.flatnonzero((score[:-1] < 0) & (score[1:] >= 0))
    if not len(rises):
        end = away[0] if score[len(away) // 2] > 0 else away[-1]
        return s.n * exp(end), max(float(slopes.max()), 1.0)
    zeros = away[rises] - score[rises] / slopes[rises]
    nearest = int(np.argmin(np.abs(zeros)))
    return s.n * exp(zeros[nearest]), max(float(slopes[rises[nearest]]), 1.0)


def _extra(outside: Mapping[str, float]) -> float:
    return sqrt(sum(value**2 for value in outside.values()))


def _outside(s: Situation, rate: float) -> dict[str, float]:
    """Return what lies outside the measured range, with the extra standard deviation of the score."""
    unmeasured = {}
    for name, value in (("order", s.order), ("width", s.width), ("learning rate", rate)):
        low, high = MEASURED[name]
        away = max(log(low / value), log(value / high), 0.0)  # type: ignore[operator]
        if away > 0.01:
            unmeasured[f"{name} {value:g}"] = UNMEASURED[name] * away
    if s.activation not in MEASURED["activation"]:
        unmeasured[f"activation {s.activation}"] = UNMEASURED["activation"]
    return unmeasured


def _chances(s: Situation, sigma: Activation, outside: Mapping[str, float], whole: bool) -> dict[str, float]:
    """Return the probability of each condition; their product is that of the fitted model, times the rules it lacks."""
    values, extra = inputs(s), _extra(outside)
    wide = values | {"narrow": 0.0, "room": max(values["room"], 0.0)}
    driven = wide | {"strength": max(wide["strength"], 0.0), "idle": 0.0, "fitted": 0.0}
    # More width and more decay can only help here, so each chance is at least the one before.
    p = chance(values, extra)
    p_wide = max(chance(wide, extra), p)
    p_driven = max(chance(driven, extra), p_wide)
    return {
        "activation": 0.0 if c1_group_table(sigma.name) < 1e-9 else 1.0,
        "strong": _not_too_strong(s.eta, sigma.homogeneity),
        "weak": p_wide / p_driven,
        "width": p / p_wide * below(0.0, log(NARROW * s.nodes / s.width), 0.25),
        "samples": p_driven,
        "test rows": 0.0 if whole else 1.0,
    }


def _not_too_strong(eta: float | None, q: int | None) -> float:
    """Return the probability that features survive the decay."""
    edge, error = COLLAPSE.get(q or 0, _COLLAPSE_ELSEWHERE)
    return 1.0 if not eta else below(log(edge / eta), 0.0, error)


def _log_epochs(s: Situation, outside: Mapping[str, float]) -> tuple[float, float]:
    """Return mean and standard deviation of ln(epochs × rate) of runs that generalise."""
    mean, deviation = processes()["epochs"].of_a_run(inputs(s))
    return mean, sqrt(deviation**2 + _extra(outside) ** 2)


def _memorises(s: Situation, outside: Mapping[str, float], rate: float) -> Epochs:
    mean, deviation = memorising()(inputs(s))
    return interval(mean, sqrt(deviation**2 + memorising().spread ** 2 + _extra(outside) ** 2), rate)


def _generalises(s: Situation, outcome: Outcome, mean: float, deviation: float, rate: float) -> Epochs:
    if outcome != "grokking":
        return NEVER
    decay = s.eta if s.decoupled is None else s.decoupled
    return UNKNOWN if not decay else interval(mean, deviation, rate)


def _irreps(group: Group, own: OwnBoundary, fraction: float) -> tuple[IrrepForecast, ...]:
    families = sorted(maxima(group), key=lambda m: -m.energy)
    energies = sorted({round(m.energy, 9) for m in families}, reverse=True)
    return tuple(
        IrrepForecast(
            label=m.component.label,
            dim=m.component.dim,
            kind=m.component.kind,
            energy=m.energy,
            survives=own.survives(f"{m.component.kind} {m.component.dim}", fraction),
            rank=energies.index(round(m.energy, 9)) + 1,
        )
        for m in families
    )


def decide(chances: Mapping[str, float]) -> tuple[Outcome, str]:
    """Return the outcome and the condition that decided it: the smallest chance, if their product is below one half."""
    conditions = {name: chances[name] for name in _FAILURES}
    if prod(conditions.values()) >= 0.5:
        return "grokking", "" if chances["test rows"] else "test rows"
    why = min(conditions, key=lambda name: conditions[name])
    return _FAILURES[why], why


def epochs_to_test(s: Situation, rate: float) -> int:
    """Return the epochs that a run needs to test a forecast of failure.

    They are the end of the 80 % interval in which the same run would generalise if success were forecast, and at most
    `HORIZON`/rate, within which outcomes were measured. Without decay they are the latter.
    """
    mean, deviation = _log_epochs(s, _outside(s, rate))
    driven = s.eta if s.decoupled is None else s.decoupled
    return ceil(min(exp(mean + 1.2816 * deviation), HORIZON) / rate if driven else HORIZON / rate)


def _check(
    group: Group, n: Any, K: Any, eta: float | None, decoupled: float | None, rate: float, steps: int | None
) -> None:
    require_features(group)
    M = group.order
    whole = all(isinstance(x, Integral) and not isinstance(x, bool) for x in (n, K))
    decays = [x for x in (eta, decoupled) if x is not None]
    if not (whole and 0 < n <= M * M and K >= 1 and len(decays) == 1 and isfinite(decays[0]) and decays[0] >= 0):
        raise ValueError(
            f"a run on {group.name} has 1 to {M * M} samples and K ≥ 1 hidden units, both whole, and a finite eta ≥ 0 "
            f"or a finite decoupled decay ≥ 0, got n = {n}, K = {K}, eta = {eta}, decoupled = {decoupled}"
        )
    if not (0 < rate < inf) or (steps is not None and steps < 1):
        raise ValueError(
            f"learning_rate must be positive and finite, steps at least 1, got {rate} and {steps}; Adam's usual rate "
            "is 1e-3"
        )


def _with_story(forecast: Forecast, error: float, s: Situation, sigma: Activation) -> Forecast:
    margin = (
        f"{forecast.group}, {forecast.samples} training pairs: {forecast.margin:.2f} times the boundary of "
        f"{forecast.boundary:.0f} ± {100 * error:.0f} % pairs"
    )
    best = ", ".join(label for label, _ in forecast.features[:3])
    more = f" and {len(forecast.features) - 3} more" if len(forecast.features) > 3 else ""
    time = f" at epoch {forecast.generalises.words}" if isfinite(forecast.epochs) else ""
    ends = {
        "": f"expect grokking through three stages{time}, with the irreps {best}{more}",
        "test rows": f"there are no test rows, so nothing to grok; expect the irreps {best}{more}",
        "activation": f"σ = {sigma.name} has no cross term, so the energy vanishes and no feature can be learned",
        "strong": "the decay outweighs every feature: weights shrink to zero, and the training set is not learned",
        "weak": (
            "the decay is too weak: once the output layer has fitted random features, hardly any gradient reaches the "
            "hidden units; expect memorisation and no grokking, or grokking only very late"
        ),
        "width": f"K = {s.width} leaves no room for the {s.nodes} features that write the table; expect no grokking",
        "samples": "expect features that memorise and no grokking",
    }
    story = f"{margin}; {ends[forecast.why]}"
    p = prod(value for name, value in forecast.chances.items() if name != "test rows")
    story += "." if forecast.why == "test rows" else f" (probability {odds(p)}{_by_the_end(forecast, p)})."
    if sigma.polynomial is None or len(sigma.polynomial) != 3:
        story += f" Energies are those of x²; {sigma.name} has its own."
    if not forecast.wide_enough and forecast.why != "width":
        story += f" {s.width} hidden units may not suffice: {s.nodes} are needed when each is a pure feature."
    if forecast.outside:
        story += f" Outside the measured range: {', '.join(forecast.outside)}."
    if forecast.fitted:
        story += " The constants of the forecast were fitted to a run of this setting, among others."
    return replace(forecast, story=story)


def _by_the_end(forecast: Forecast, p: float) -> str:
    """Return the chance of generalising by the last epoch in words, if it is lower than the chance p of ever doing so.

    >>> _by_the_end(Forecast("Z5", 20, 25, "grokking", 0.4, 300.0), 0.9)
    '; 0.40 by epoch 300'
    """
    late = not forecast.why and p - forecast.probability > 0.01
    return f"; {forecast.chance_in_words} by epoch {forecast.horizon:.0f}" if late else ""


assert set(STAGES) < set(get_args(Outcome))
