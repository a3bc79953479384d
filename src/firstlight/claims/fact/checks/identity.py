"""Theorem 3.1, Theorem A.1 and Remark 3.3 at numerically exact critical points, for every kind of layer."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight import features, probes
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most, equals
from firstlight.probes._experiments.critical import settle
from firstlight.probes._experiments.layers import CASES
from firstlight.probes._experiments.threads import one_thread, seeded
from firstlight.records import Criterion

Probed = tuple[float, probes.ProbeResult, probes.ProbeResult]
"""Relative gradient norm at the critical point, and the probes without and with the bias."""

GRADIENT, ALIVE, CRITICAL_POINT = 1e-11, 1e-3, 1e-8
"""Largest ‖∇L_λ‖/λ‖θ‖, smallest ‖WᵀW‖, and the error that they allow."""

_REASON = "‖∇L_λ‖ ≤ 1e-11 λ‖θ‖ moves FACT by 1e-11‖θ‖‖W‖/‖WᵀW‖: 1e-8 if ‖WᵀW‖ ≥ 1e-3 and ‖θ‖‖W‖ is of order one"


@functools.lru_cache(maxsize=16)
def _settled(seed: int) -> dict[str, Probed]:
    """Train every case to a critical point and probe it. Cached, because three claims use the results."""
    probed = {}
    with one_thread():
        for name, make in CASES.items():
            with seeded(seed):
                case = make()
                rest = settle(case.model, case.inputs, case.targets, case.loss_fn, case.weight_decay)
                options = {"loss_fn": case.loss_fn, "weight_decay": case.weight_decay, "reduction": case.reduction}
                batches = [(case.inputs, case.targets)]
                result = probes.probe(case.model, batches, **options, backward=True, keep_matrices=True)
                biased = probes.probe(case.model, batches, **options, with_bias=True)
            probed[name] = (rest, result, biased)
    return probed


def _cases(setting: Setting) -> tuple[tuple[int, ...], dict[str, Probed]]:
    """Return the seeds and the probed cases of all seeds."""
    seeds = setting.seeds_or(setting.choose(quick=(1,), paper=(1, 4)))
    return seeds, {f"{name}, seed {seed}": case for seed in seeds for name, case in _settled(seed).items()}


def _states(cases: Mapping[str, Probed]) -> dict[str, Any]:
    """Return what shows that the points are critical and the layers alive."""
    norms = [float(np.linalg.norm(x.matrices["NFM"])) for _, result, _ in cases.values() for x in result.layers]
    return {"gradient": {name: rest for name, (rest, _, _) in cases.items()}, "norm of WᵀW": min(norms)}


def _critical(data: Mapping[str, Any]) -> list[Criterion]:
    return [
        at_most(
            "the point is critical",
            "‖∇L_λ‖/λ‖θ‖",
            data["gradient"],
            GRADIENT,
            reason="rounding of the gradient in float64",
            form="precondition",
        ),
        at_least(
            "the weights do not vanish",
            "smallest ‖WᵀW‖ of a layer",
            data["norm of WᵀW"],
            ALIVE,
            reason="a layer that decays to zero satisfies the identity trivially",
            form="precondition",
        ),
    ]


def _measure_forward(setting: Setting) -> Measurement:
    """Measure ‖WᵀW − FACT‖/‖WᵀW‖ of all layers at critical points, for weights alone and with their bias."""
    seeds, cases = _cases(setting)
    data = _states(cases) | {
        "residuals": {name: [x.residual for x in result.layers] for name, (_, result, _) in cases.items()},
        "residuals with the bias": {
            name: [x.residual for x in biased.layers] for name, (_, _, biased) in cases.items()
        },
        "layers not treated": [name for _, result, _ in cases.values() for name in result.untreated],
    }
    note = (
        "∇_hℓ is the partial derivative Wᵀδ through the layer itself, summed over positions and over all uses of "
        "the weight. With skip connections or shared inputs it differs from autograd's total derivative ∂ℓ/∂h."
    )
    return Measurement(data, {"layers": list(CASES)}, seeds, note=note)


def _judge_forward(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the identity to rounding for every layer."""
    error = "largest ‖WᵀW − FACT‖/‖WᵀW‖ over layers"
    return [
        *_critical(data),
        equals(
            "every weight matrix is of the form f(x) = g(Wh(x), x)",
            "number of layers not treated",
            len(data["layers not treated"]),
            0,
        ),
        *(
            at_most(f"WᵀW = FACT: {name}", error, values, CRITICAL_POINT, reason=_REASON)
            for name, values in data["residuals"].items()
        ),
        at_most(
            "WᵀW = FACT with the bias as one more input",
            error,
            data["residuals with the bias"],
            CRITICAL_POINT,
            reason=_REASON,
        ),
    ]


forward = Check(_measure_forward, _judge_forward)


def _measure_backward(setting: Setting) -> Measurement:
    """Measure ‖WWᵀ − bFACT‖/‖WWᵀ‖ of the same layers."""
    seeds, cases = _cases(setting)
    residuals = {
        name: [x.backward_residual for x in result.layers if x.side == "in"] for name, (_, result, _) in cases.items()
    }
    note = "With a bias b the formula uses Wh, not Wh + b."
    return Measurement(_states(cases) | {"residuals": residuals}, {"layers": list(CASES)}, seeds, note=note)


def _judge_backward(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the backward identity to rounding for every layer."""
    return [
        *_critical(data),
        *(
            at_most(
                f"WWᵀ = bFACT: {name}",
                "largest ‖WWᵀ − bFACT‖/‖WWᵀ‖ over layers",
                values,
                CRITICAL_POINT,
                reason=_REASON,
            )
            for name, values in data["residuals"].items()
        ),
    ]


backward = Check(_measure_backward, _judge_backward)


def _measure_symmetrised(setting: Setting) -> Measurement:
    """Compare WᵀW with FACTᵀ, √(FACT·FACTᵀ) and the printed √(FACTᵀ)."""
    seeds, cases = _cases(setting)
    errors: dict[str, list[float]] = {"FACTᵀ": [], "√(FACT·FACTᵀ)": [], "√(FACTᵀ)": []}
    for _, result, _ in cases.values():
        for layer in result.layers:
            if layer.groups > 1:
                continue
            N, F = layer.matrices["NFM"], layer.matrices["FACT"]
            forms = {
                "FACTᵀ": F.T,
                "√(FACT·FACTᵀ)": features.symmetrised(F),
                "√(FACTᵀ)": features.matrix_power(F.T, 0.5, floor=1e-9),
            }
            for name, matrix in forms.items():
                errors[name].append(float(np.linalg.norm(matrix - N) / np.linalg.norm(N)))
    return Measurement(_states(cases) | {"errors": errors}, {"layers": list(CASES)}, seeds)


def _judge_symmetrised(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the transposed and the symmetrised form to rounding; the printed root has a factor missing."""
    quantity, errors = "largest error relative to ‖WᵀW‖", data["errors"]
    return [
        *_critical(data),
        at_most("WᵀW = FACTᵀ", quantity, errors["FACTᵀ"], CRITICAL_POINT, reason=_REASON),
        at_most("WᵀW = √(FACTᵀ)", quantity, errors["√(FACTᵀ)"], CRITICAL_POINT, reason=_REASON, form="printed"),
        at_most(
            "WᵀW = √(FACT·FACTᵀ)", quantity, errors["√(FACT·FACTᵀ)"], CRITICAL_POINT, reason=_REASON, form="corrected"
        ),
    ]


symmetrised = Check(_measure_symmetrised, _judge_symmetrised)
