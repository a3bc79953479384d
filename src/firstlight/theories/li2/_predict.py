"""Forecast a run before training: one decision, from which stages and story follow."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, erf, exp, inf, isfinite, log, nan, prod, sqrt
from numbers import Integral

import numpy as np

from firstlight import groups
from firstlight.features import maxima, require_features
from firstlight.groups import Group
from firstlight.models import Activation
from firstlight.models import activation as named_activation
from firstlight.theories.li2._boundary import locate_boundary
from firstlight.theories.li2._kernel import c1_group_table
from firstlight.theories.li2._reconstruction import nodes_needed

MEASURED_CONSTANTS = {7: 1.79, 11: 2.17, 17: 2.27, 23: 2.53, 31: 2.57, 41: 2.84, 61: 3.17, 101: 3.51, 127: 3.64}
"""c = n/(M ln M) at which half of the maxima of the residualised energy survive on Z_M, from `measured_constant`."""

TRAINED, NON_ABELIAN = 3.5, 1.3
"""Networks need 1 + 3.5/M times the samples of `MEASURED_CONSTANTS`, and 1.3 times that if the group is not Abelian.

Measured with K = 256, x², Adam with rate 2e-3, decay 1e-3, three seeds at up to seven fractions, within 1000 epochs:
half of the runs generalised at c = 3.2 on Z7, 2.8 on Z11, Z17, Z23 and Z31 (1.8, 1.3, 1.2, 1.1, 1.1 times the table),
at 3.1 on D5, 4.3 on A4 and 3.7 on S4 (1.5, 2.0, 1.5 times); the paper's 13 to 16 % on Z127 are 1.04 times."""

SPREAD, FAR = 0.15, 0.2
"""Relative uncertainty of the boundary of networks (seeds, width, rate, length), and the extra uncertainty, added in
quadrature, of a group that is not cyclic or whose order lies outside the measured range."""

COLLAPSE = {2: (0.75, 0.2), 1: (1.4, 0.4)}
"""The η above which decay removes all features, by the degree of σ, and its relative error.

Measured as in `TRAINED` by raising the decay, for x²: 0.63 on Z11, 0.75 on Z19 (K = 192 and 768 alike), 0.65, 0.72
and 0.94 on Z31 with a quarter, half and nine tenths of the pairs, 0.84 on A4; for relu 1.05 on Z11 and between 1.35 and
4 on Z19. Both layers decay, so that neither K c₁, which sets the scale of Stage I, nor n matters much."""
_COLLAPSE_ELSEWHERE = (1.0, 0.5)

SLOW, PACE, SLOWER = 1.0, 3.8, 0.6
"""Generalising takes about 3.8/rate · (ηK)^−0.6 epochs of Adam; a run with ηK below 1 is forecast to stall.

Measured on Z19 with K = 192 and 768 for ηK from 2 to 90, within a factor of 1.3 for x²; relu takes 1.7 times as
long. A wider layer is faster, where η/(Kc₁ + η)² of Lemma 1, for gradient flow on frozen features, would be slower."""

NARROW = 0.25
"""Share of `nodes_needed` at which half of the runs still generalise: between 0.25 and 0.33 on Z19, near 0.25 on Z31,
between 0.12 and 0.25 on S4."""

EPOCHS_FACTOR = 2.0
"""A network should generalise within this factor of `Prediction.epochs`: 15 of 20 unseen runs did."""

STAGES = {
    "grokking": ("lazy", "independent", "interactive"),
    "memorising": ("lazy", "independent", "stalled"),
    "stalling": ("lazy", "stalled"),
    "nothing": ("lazy",),
}


@dataclass(frozen=True)
class Prediction:
    """The forecast of Li₂ for a run.

    **Attributes:**

    - `group`: the name of the group.
    - `samples`: n, the number of training pairs.
    - `boundary`: number of pairs n₅₀ at which half of the runs should generalise.
    - `low`, `high`: `boundary` minus and plus one standard error.
    - `margin`: n/n₅₀.
    - `chances`: the probability of each condition for generalising: "samples" above the boundary, decay not too
      "strong" and not too "weak", enough "width", an "activation" with a cross term, "test rows" to generalise to.
    - `probability`: that the run generalises, the product of `chances`; NaN if there are no test rows.
    - `outcome`: "grokking", "memorising", "stalling" or "nothing" (the training set is not learned), decided by the
      smallest of the chances.
    - `stages`: the stages to expect with this outcome.
    - `features`: the irreps with their E* (σ = x², hidden units of norm 1), largest first.
    - `nodes`: number of hidden units that suffice to reconstruct the target from such features.
    - `wide_enough`: whether K is at least `nodes`.
    - `epochs`: after which Adam with the given rate should generalise; infinite if it should not, NaN without decay.
      Of 20 runs that the constants had not seen, 15 came within `EPOCHS_FACTOR`; runs near the boundary took up to
      six times as long.
    - `story`: the forecast in words.
    """

    group: str
    samples: int
    boundary: float
    low: float
    high: float
    margin: float
    chances: Mapping[str, float]
    probability: float
    outcome: str
    stages: tuple[str, ...]
    features: tuple[tuple[str, float], ...]
    nodes: int
    wide_enough: bool
    epochs: float
    story: str


def measured_constant(order: int) -> float:
    """Compute the entry of `MEASURED_CONSTANTS` for Z_M again: 12 maxima of each of 5 draws, 8 bisections.

    >>> measured_constant(7) == MEASURED_CONSTANTS[7]
    True
    """
    p50 = locate_boundary(groups.cyclic(order), range(5), True, 12, 8)
    return round(float(np.exp(np.log(p50).mean())) * order / log(order), 2)


def boundary_constant(group: Group) -> tuple[float, float]:
    """Return c = n₅₀/(M ln M) of trained networks and its relative standard error.

    c is `MEASURED_CONSTANTS`, interpolated in ln M, times the extra factor that trained networks need.

    >>> c, error = boundary_constant(groups.cyclic(71))
    >>> 3.2 < c < 3.6, round(error, 2)
    (True, 0.15)
    """
    orders, values = np.array(list(MEASURED_CONSTANTS)), np.array(list(MEASURED_CONSTANTS.values()))
    M = group.order
    cyclic = group.is_abelian and len(group.abelian_moduli) == 1
    c = float(np.interp(log(M), np.log(orders), values)) * (1 + TRAINED / M) * (1 if group.is_abelian else NON_ABELIAN)
    errors = [SPREAD, 0 if cyclic else FAR, 0 if orders[0] <= M <= orders[-1] else FAR]
    return c, sqrt(sum(e**2 for e in errors))


def predict(
    group: Group | str,
    n: int,
    K: int,
    eta: float,
    activation: str = "quadratic",
    *,
    learning_rate: float = 1e-3,
) -> Prediction:
    """Forecast stages and features of a two-layer network on n pairs of a group, before training.

    The boundary is c M ln M with c from `boundary_constant`. η is the ridge of J = ½‖P₁⊥(Y − FV)‖² + (η/2)‖V‖²
    (`decay_ridge` converts a weight decay); W decays too. If decay, width or activation rule features out, more samples
    do not help. The constants of this module were measured on small groups trained by Adam.

    **Arguments:**

    - `group`: a group or its name.
    - `n`: number of training pairs.
    - `K`: number of hidden units.
    - `eta`: η ≥ 0.
    - `activation`: name of σ.
    - `learning_rate`: of Adam, for `epochs`.

    >>> forecast = predict("Z71", n=2016, K=2048, eta=0.2)
    >>> forecast.margin > 1.5, forecast.stages
    (True, ('lazy', 'independent', 'interactive'))
    >>> predict("Z71", n=2016, K=2048, eta=0.0).stages
    ('lazy', 'stalled')
    """
    group = groups.parse(group) if isinstance(group, str) else group
    _check(group, n, K, eta)
    M, sigma = group.order, named_activation(activation)
    c, error = boundary_constant(group)
    n50, nodes = c * M * log(M), nodes_needed(group)
    irreps = tuple(sorted(((m.component.label, m.energy) for m in maxima(group)), key=lambda pair: -pair[1]))
    chances = {
        "activation": 0.0 if c1_group_table(activation) < 1e-9 else 1.0,
        "strong": _not_too_strong(eta, sigma.homogeneity),
        "weak": _not_too_weak(eta, n, K),
        "width": _above(K / (NARROW * nodes), 0.25),
        "samples": _above(n / n50, error),
        "test rows": 0.0 if n == M * M else 1.0,
    }
    outcome, why = decide(chances)
    generalises = outcome == "grokking"
    epochs = epochs_at(eta * K, learning_rate) if generalises and eta > 0 else nan if generalises else inf
    forecast = Prediction(
        group=group.name,
        samples=int(n),
        boundary=n50,
        low=n50 * exp(-error),
        high=n50 * exp(error),
        margin=n / n50,
        chances=chances,
        probability=nan if n == M * M else prod(chances.values()),
        outcome=outcome,
        stages=STAGES[outcome],
        features=irreps,
        nodes=nodes,
        wide_enough=nodes <= K,
        epochs=epochs,
        story="",
    )
    return _with_story(forecast, why, error, K, sigma)


def epochs_at(decay: float, learning_rate: float) -> float:
    """Return the epochs after which Adam should generalise with decay ηK: `PACE`/rate · (ηK)^−`SLOWER`.

    >>> round(epochs_at(90.0, 1e-3))
    255
    """
    return PACE / learning_rate * decay**-SLOWER


def epochs_to_test(eta: float, K: int, activation: str, learning_rate: float) -> int:
    """Return the epochs that a run needs to test a forecast of failure.

    They are the latest at which the same run would generalise if success were forecast: `EPOCHS_FACTOR` times
    `epochs_at`. Decay is not forecast to bring success with ηK below `SLOW` or η above `COLLAPSE`, so η is limited to
    that range. Without decay a run therefore needs 2·3.8/rate epochs, the latest time of any forecast at this rate.

    >>> epochs_to_test(0.2, 2048, "quadratic", 1e-3), epochs_to_test(0.0, 2048, "quadratic", 1e-3)
    (206, 7600)
    """
    edge, _ = COLLAPSE.get(named_activation(activation).homogeneity or 0, _COLLAPSE_ELSEWHERE)
    return ceil(EPOCHS_FACTOR * epochs_at(max(min(eta, edge) * K, SLOW), learning_rate))


def _check(group: Group, n: int, K: int, eta: float) -> None:
    require_features(group)
    M = group.order
    whole = all(isinstance(x, Integral) and not isinstance(x, bool) for x in (n, K))
    if not (whole and 0 < n <= M * M and K >= 1 and isfinite(eta) and eta >= 0):
        raise ValueError(
            f"a run on {group.name} has 1 to {M * M} samples and K ≥ 1 hidden units, both whole, and a finite eta ≥ 0, "
            f"got n = {n}, K = {K}, eta = {eta}"
        )


def _above(ratio: float, error: float) -> float:
    """Return the probability that ln(ratio) + N(0, error²) > 0: that a level known to `error` lies below."""
    return 0.5 * (1 + erf(log(ratio) / error / sqrt(2)))


def _not_too_strong(eta: float, q: int | None) -> float:
    """Return the probability that features survive the decay."""
    edge, error = COLLAPSE.get(q or 0, _COLLAPSE_ELSEWHERE)
    return 1.0 if eta == 0 else _above(edge / eta, error)


def _not_too_weak(eta: float, n: int, K: int) -> float:
    """Return the probability that G_F lasts long enough; without decay, that V alone cannot fit the data.

    On Z19 without decay, 24, 36 and 60 hidden units generalised from 270 samples; 192 did not from 234.
    """
    without = _above(n / (2.5 * K), 0.5) if n > K else 0.0
    return max(without, _above(eta * K / SLOW, 1.0) if eta > 0 else 0.0)


_FAILURES = {
    "activation": "nothing",
    "strong": "nothing",
    "weak": "stalling",
    "width": "stalling",
    "samples": "memorising",
}


def decide(chances: Mapping[str, float]) -> tuple[str, str]:
    """Return the outcome and the condition that decided it: the smallest chance, if their product is below one half."""
    conditions = {name: chances[name] for name in _FAILURES}
    if prod(conditions.values()) >= 0.5:
        return "grokking", "" if chances["test rows"] else "test rows"
    why = min(conditions, key=lambda name: conditions[name])
    return _FAILURES[why], why


def _with_story(forecast: Prediction, why: str, error: float, K: int, sigma: Activation) -> Prediction:
    margin = (
        f"{forecast.group}, n = {forecast.samples}: {forecast.margin:.2f} times the boundary of "
        f"{forecast.boundary:.0f} ± {100 * error:.0f} % samples"
    )
    best = ", ".join(f"{label} (E* = {energy:.3g})" for label, energy in forecast.features[:3])
    more = f" and {len(forecast.features) - 3} more" if len(forecast.features) > 3 else ""
    ends = {
        "": f"expect grokking through three stages, with the irreps {best}{more}",
        "test rows": f"there are no test rows, so nothing to grok; expect the irreps {best}{more}",
        "activation": f"σ = {sigma.name} has no cross term, so E vanishes over the table and no feature can be learned",
        "strong": "the decay outweighs every feature: weights shrink to zero, and the training set is not learned",
        "weak": (
            "the decay is too weak: G_F nearly vanishes once V has fitted random features; expect memorisation and no "
            "grokking, or grokking only very late"
        ),
        "width": f"K = {K} leaves no room for the {forecast.nodes} features that write the table; expect no grokking",
        "samples": "expect features that memorise and no grokking",
    }
    story = f"{margin}; {ends[why]}"
    story += "." if why == "test rows" else f" (probability {max(forecast.probability, 1 - forecast.probability):.2f})."
    if sigma.polynomial is None or len(sigma.polynomial) != 3:
        story += f" Energies are those of x²; {sigma.name} has its own."
    if not forecast.wide_enough and why != "width":
        story += f" {K} hidden units may not suffice: {forecast.nodes} are needed when each is a pure feature."
    return replace(forecast, story=story)
