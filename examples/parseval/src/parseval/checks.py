"""Checks: measure plain data, then judge them by criteria."""

import numpy as np
from firstlight.claims import Check, Measurement, Setting, at_most


def measure_parseval(setting: Setting) -> Measurement:
    """Compare both sums for random vectors of several lengths."""
    seeds = setting.seeds_or((0, 1, 2))
    sizes = setting.choose(quick=(7, 23), paper=(71, 127))
    errors = {}
    for M in sizes:
        for seed in seeds:
            u = np.random.default_rng(seed).standard_normal(M)
            transformed = (np.abs(np.fft.fft(u)) ** 2).sum()
            errors[f"M = {M}, seed {seed}"] = abs(transformed / (M * (u**2).sum()) - 1)
    return Measurement({"errors": errors}, {"M": sizes}, seeds)


def judge_parseval(data):
    """Require equality to rounding."""
    return [
        at_most(
            "the sums agree",
            "largest relative difference",
            data["errors"],
            1e-12,
            reason="sums of at most 127 squares in float64 round by 127 × 2⁻⁵²; the factor is 32",
        )
    ]


parseval = Check(measure_parseval, judge_parseval)
