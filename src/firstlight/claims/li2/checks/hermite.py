"""Lemmas 3 and 4: Hermite polynomials of correlated normals, and the moment generating function."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_most, within
from firstlight.records import Criterion
from firstlight.theories import li2

EPS = 2.0**-52
_CORRELATIONS = (-0.7, 0.0, 0.3, 0.95)


def _measure_orthogonality(setting: Setting) -> Measurement:
    """Compute E φ_n(Z₁)φ_m(Z₂) by Gauss quadrature in two dimensions, and the generating function of the proof."""
    terms = setting.choose(quick=12, paper=24)
    x, weight = np.polynomial.hermite_e.hermegauss(terms + 8)
    weight = weight / np.sqrt(2 * np.pi)
    errors = {}
    for rho in _CORRELATIONS:
        second = rho * x[:, None] + np.sqrt(1 - rho**2) * x
        first, other = li2.lemmas.hermite(x, terms), li2.lemmas.hermite(second, terms)
        moments = np.einsum("i,j,ni,mij->nm", weight, weight, first, other)
        errors[f"{rho:g}"] = float(np.abs(moments - np.diag(rho ** np.arange(terms))).max())
    z, t = 1.0, 0.5
    phi, k = li2.lemmas.hermite(np.array(z), 60), np.arange(60)
    exact = math.exp(t * z - t**2 / 2)
    factorials = np.sqrt([float(math.factorial(i)) for i in k])
    series = {"printed": float(phi @ t**k) / exact, "with 1/√k!": float(phi @ (t**k / factorials)) / exact}
    return Measurement({"errors": errors, "terms": terms, "generating": series}, {"terms": terms})


def _judge_orthogonality(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the moments to rounding; compare the printed generating function of the proof."""
    terms = data["terms"]
    clause = "in the proof: exp(tz − t²/2) = Σ_k φ_k(z) t^k"
    quantity = "this series over exp(tz − t²/2) at z = 1, t = ½"
    return [
        at_most(
            "E φ_n(Z₁)φ_m(Z₂) = ρⁿδ_nm",
            f"largest error for n, m < {terms} and ρ = {', '.join(data['errors'])}",
            data["errors"],
            64 * EPS * terms * np.sqrt(terms),
            reason="64 × 2⁻⁵² × terms^1.5: a recurrence over all terms, then a sum of as many nodes",
        ),
        within(clause, quantity, data["generating"]["printed"], 1.0, 1e-12, reason="60 terms", form="printed"),
        within(
            "in the proof: exp(tz − t²/2) = Σ_k φ_k(z) t^k/√k!",
            quantity,
            data["generating"]["with 1/√k!"],
            1.0,
            1e-12,
            reason="60 terms in float64: 64 × 2⁻⁵² × 60; the rest of the series is below 1e-40",
            form="corrected",
        ),
    ]


hermite_orthogonality = Check(_measure_orthogonality, _judge_orthogonality)


def _measure_moment(setting: Setting) -> Measurement:
    """Integrate e^{tx} against the normal density by the trapezoidal rule, and draw it."""
    seeds = setting.seeds_or(range(3))
    draws = setting.choose(quick=20_000, paper=2_000_000)
    x = np.arange(-20.0, 20.0, 0.05)
    ratios, deviations = {}, {}
    for t in (-2.0, -0.5, 0.0, 1.0, 3.0):
        integral = 0.05 * float(np.exp(t * x - x**2 / 2).sum()) / math.sqrt(2 * math.pi)
        ratios[f"{t:g}"] = integral / math.exp(t**2 / 2)
        if 0 < abs(t) <= 1:
            # e^{tX − t²/2} has mean 1 and variance e^{t²} − 1.
            error = math.sqrt(math.expm1(t**2) / draws)
            samples = [np.random.default_rng(seed).standard_normal(draws) for seed in seeds]
            deviations[f"{t:g}"] = [float((np.exp(t * s - t**2 / 2).mean() - 1) / error) for s in samples]
    return Measurement({"ratios": ratios, "deviations": deviations}, {"draws": draws}, seeds)


def _judge_moment(data: Mapping[str, Any]) -> list[Criterion]:
    """Require E e^{tX} = exp(t²/2) to rounding, and E e^{tX − t²/2} = 1 within sampling error."""
    deviations = np.array([d for several in data["deviations"].values() for d in several])
    return [
        within(
            "E e^{tX} = exp(t²/2)",
            f"integral over exp(t²/2) for t = {', '.join(data['ratios'])}",
            data["ratios"],
            1.0,
            64 * EPS * 800,
            reason="800 terms in float64: 64 × 800 × 2⁻⁵²; the trapezoidal rule errs by less than e^{−4000}",
        ),
        within(
            "equivalently E e^{tX − t²/2} = 1",
            "deviation of the mean of draws from 1, in standard errors",
            deviations,
            0.0,
            4.5,
            reason="4.5 standard errors: exceeded by one of six means with probability 4 × 10⁻⁵",
        ),
    ]


moment_identity = Check(_measure_moment, _judge_moment)
