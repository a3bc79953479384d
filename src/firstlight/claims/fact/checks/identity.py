"""Theorem 3.1, Theorem A.1 and Remark 3.3 at numerically exact critical points, for every kind of layer."""

import functools

import numpy as np

from firstlight import features, probes
from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.fact.tolerances import CRITICAL_POINT
from firstlight.probes._experiments.critical import settle
from firstlight.probes._experiments.layers import CASES
from firstlight.probes._experiments.threads import one_thread, seeded

Probed = tuple[float, probes.ProbeResult, probes.ProbeResult]
"""Relative gradient norm at the critical point, and the probes without and with the bias."""


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


def _cases(setting: Setting) -> tuple[tuple[int, ...], dict[tuple[str, int], Probed]]:
    """Return the seeds and the probed cases of all seeds."""
    seeds = setting.seeds_or(setting.choose(quick=(1,), paper=(1, 4)))
    return seeds, {(name, seed): case for seed in seeds for name, case in _settled(seed).items()}


def forward(setting: Setting) -> Outcome:
    """Measure ‖WᵀW − FACT‖/‖WᵀW‖ of all layers at critical points, for weights alone and with their bias."""
    seeds, cases = _cases(setting)
    measured = {
        f"{name}, seed {seed}": max(x.residual for x in result.layers) for (name, seed), (_, result, _) in cases.items()
    }
    biased = max(layer.residual for _, _, result in cases.values() for layer in result.layers)
    rest = max(case[0] for case in cases.values())
    alive = min(float(np.linalg.norm(x.matrices["NFM"])) for _, result, _ in cases.values() for x in result.layers)
    untreated = [name for _, result, _ in cases.values() for name in result.untreated]
    holds = max(*measured.values(), biased) <= CRITICAL_POINT and rest < 1e-11 and not untreated and alive > 1e-3
    return Outcome(
        "holds" if holds else "fails",
        {**measured, "with the bias as one more input": biased, "‖∇L_λ‖/λ‖θ‖": rest, "smallest ‖WᵀW‖": alive},
        dict.fromkeys([*measured, "with the bias as one more input"], 0.0),
        evidence=(
            "∇_hℓ is the partial derivative Wᵀδ through the layer itself, summed over positions and over all uses of "
            "the weight. With skip connections or shared inputs it differs from autograd's total derivative ∂ℓ/∂h."
        ),
        seeds=seeds,
    )


def backward(setting: Setting) -> Outcome:
    """Measure ‖WWᵀ − bFACT‖/‖WWᵀ‖ of the same layers."""
    seeds, cases = _cases(setting)
    measured = {
        f"{name}, seed {seed}": max(x.backward_residual for x in result.layers if x.side == "in")
        for (name, seed), (_, result, _) in cases.items()
    }
    return Outcome(
        "holds" if max(measured.values()) <= CRITICAL_POINT else "fails",
        measured,
        dict.fromkeys(measured, 0.0),
        evidence="With a bias b the formula uses Wh, not Wh + b.",
        seeds=seeds,
    )


def symmetrised(setting: Setting) -> Outcome:
    """Compare WᵀW with FACTᵀ, √(FACT·FACTᵀ) and the printed √(FACTᵀ)."""
    seeds, cases = _cases(setting)
    errors: dict[str, list[float]] = {"FACTᵀ": [], "√(FACT·FACTᵀ)": [], "printed √(FACTᵀ)": []}
    for _, result, _ in cases.values():
        for layer in result.layers:
            if layer.groups > 1:
                continue
            N, F = layer.matrices["NFM"], layer.matrices["FACT"]
            tried = {
                "FACTᵀ": F.T,
                "√(FACT·FACTᵀ)": features.symmetrised(F),
                "printed √(FACTᵀ)": features.matrix_power(F.T, 0.5, floor=1e-9),
            }
            for name, matrix in tried.items():
                errors[name].append(float(np.linalg.norm(matrix - N) / np.linalg.norm(N)))
    worst = {name: max(values) for name, values in errors.items()}
    holds = worst["FACTᵀ"] <= CRITICAL_POINT and worst["√(FACT·FACTᵀ)"] <= CRITICAL_POINT
    printed = worst["printed √(FACTᵀ)"]
    return Outcome(
        ("holds-as-corrected" if printed > 0.1 else "holds") if holds else "fails",
        worst,
        {"FACTᵀ": 0.0, "√(FACT·FACTᵀ)": 0.0},
        evidence=f"√(FACTᵀ) differs from WᵀW by up to {printed:.2g} of its norm.",
        seeds=seeds,
    )
