"""The semi-ring of solutions, its homomorphisms, and multiplication by a unit."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import above, at_most, equals
from firstlight.claims.cogo.checks._zero import zero_loss
from firstlight.groups import Group, parse
from firstlight.records import Criterion
from firstlight.theories.cogo import Solution, craft, table_loss
from firstlight.theories.cogo.lemmas import cubic, potential, quadratic, random_unit

_QUICK = ("Z5", "Z6", "Z2xZ4")
_PAPER = ("Z23", "Z24", "Z4xZ6", "Z3xZ3xZ2", "Z71")

RING_ROUNDING = 1e-12
"""Relative error of products over at most 3 × 71 × 24 coefficients: 64 × √5112 × 2⁻⁵²."""
_REASON = "products of few complex numbers, compared over at most 5112 coefficients: 64 × √5112 × 2⁻⁵²"


def _measure_laws(setting: Setting) -> Measurement:
    """Measure each law on random solutions of orders 2 to 4, as a relative distance up to a permutation of nodes."""
    seeds = setting.seeds_or(range(3))
    names = setting.choose(quick=_QUICK, paper=_PAPER)
    distances: dict[str, list[float]] = {}
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        for seed in seeds:
            for law, value in _laws(parse(name), seed).items():
                distances.setdefault(law, []).append(value)
    return Measurement({"distances": distances}, {"groups": names}, seeds)


def _judge_laws(data: Mapping[str, Any]) -> list[Criterion]:
    """Require every law to rounding."""
    return [
        at_most(law, "relative distance of both sides", values, RING_ROUNDING, reason=_REASON)
        for law, values in data["distances"].items()
    ]


semi_ring_laws = Check(_measure_laws, _judge_laws)


def _laws(group: Group, seed: int) -> dict[str, float]:
    """Return the relative distance of both sides of each law."""
    x, y, w = (_random(group, order, (seed, order)) for order in (2, 3, 4))
    unity, zero = Solution.one(group), Solution.zero(group)
    sides = {
        "addition is associative": ((x + y) + w, x + (y + w)),
        "addition commutes": (x + y, y + x),
        "zero is neutral": (x + zero, x),
        "multiplication is associative": ((x * y) * w, x * (y * w)),
        "multiplication commutes": (x * y, y * x),
        "one is neutral": (x * unity, x),
        "zero absorbs": (x * zero, zero),
        "distributes": (x * (y + w), x * y + x * w),
    }
    distances = {law: _apart(left, right) for law, (left, right) in sides.items()}
    # The constructor refuses a z that is not Hermitian; products and sums bypass the constructor.
    distances["products stay Hermitian"] = _apart(Solution(group, (x * y + w).z), x * y + w)
    return distances


def _apart(left: Solution, right: Solution) -> float:
    """Return the relative distance of two solutions."""
    if left.order != right.order:
        return float("inf")
    return left.distance(right) / max(left.norm2, right.norm2, 1e-300) ** 0.5


def _random(group: Group, order: int, seed: tuple[int, int]) -> Solution:
    rng, d = np.random.default_rng(seed), group.order
    return Solution.from_weights(rng.standard_normal((2 * d, order)), rng.standard_normal((order, d)), group)


def _measure_homomorphisms(setting: Setting) -> Measurement:
    """Measure r(1), r(x + y) and r(xy) for random index sets of 1 to 6 entries."""
    seeds = setting.seeds_or(range(3))
    names = setting.choose(quick=_QUICK, paper=_PAPER)
    errors: dict[str, list[float]] = {"r(1) = 1": [], "r(x + y) = r(x) + r(y)": [], "r(x ∗ y) = r(x) r(y)": []}
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        group = parse(name)
        for seed in seeds:
            rng = np.random.default_rng(seed)
            x, y = (_random(group, order, (seed, order)) for order in (3, 5))
            for size in range(1, 7):
                index = [(str(rng.choice(["a", "b", "c"])), int(rng.integers(group.order))) for _ in range(size)]
                r_x, r_y = potential(x, index), potential(y, index)
                scale = _magnitude(x, index) * _magnitude(y, index) + _magnitude(x, index) + _magnitude(y, index)
                differences = (
                    abs(potential(Solution.one(group), index) - 1),
                    abs(potential(x + y, index) - r_x - r_y) / scale,
                    abs(potential(x * y, index) - r_x * r_y) / scale,
                )
                for law, difference in zip(errors, differences, strict=True):
                    errors[law].append(difference)
    return Measurement({"errors": errors}, {"groups": names}, seeds)


def _judge_homomorphisms(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the three laws to rounding."""
    return [
        at_most(law, "error relative to the sum of moduli", values, RING_ROUNDING, reason=_REASON)
        for law, values in data["errors"].items()
    ]


homomorphisms = Check(_measure_homomorphisms, _judge_homomorphisms)


def _magnitude(solution: Solution, index: list[tuple[str, int]]) -> float:
    """Compute Σ_j Π |z|, the scale of rounding errors."""
    rows = [np.abs(solution.z["abc".index(p), k]) for p, k in index]
    return float(np.prod(rows, axis=0).sum())


def _measure_terms(setting: Setting) -> Measurement:
    """Compare every r_{k₁k₂k} and r_{pmk′k} of the loss with the potential of Definition 4 at its index set."""
    seeds = setting.seeds_or(range(2))
    names = setting.choose(quick=("Z5", "Z6", "Z2xZ2"), paper=("Z7", "Z12", "Z2xZ4", "Z13"))
    errors: dict[str, list[float]] = {"r_{k₁k₂k}": [], "r_{pmk′k}": []}
    sums: list[float] = []
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        group = parse(name)
        minus = group.table[:, group.inverse]
        for seed in seeds:
            z = _random(group, 3, (seed, 3))
            r, s = cubic(z), quadratic(z)
            index = {(x, y, k): [("a", x), ("b", y), ("c", k)] for x, y, k in np.ndindex(r.shape)}
            errors["r_{k₁k₂k}"].append(_farthest(z, index, r))
            index = {
                (p, m, k1, k): [("ab"[p], k1), ("ab"[p], int(minus[m, k1])), ("c", k)]
                for p, m, k1, k in np.ndindex(s.shape)
            }
            errors["r_{pmk′k}"].append(_farthest(z, index, s))
            # A sum of two potentials is no potential: it is not multiplicative.
            y = _random(group, 2, (seed, 2))
            both = [quadratic(part)[0].sum(1)[1, 1] for part in (z, y, z * y)]
            sums.append(float(abs(both[2] - both[0] * both[1]) / abs(both[0] * both[1])))
    return Measurement({"errors": errors, "sums": sums}, {"groups": names}, seeds)


def _farthest(z: Solution, indices: dict[tuple[int, ...], list[tuple[str, int]]], values: np.ndarray) -> float:
    """Return the largest distance of potentials from values, relative to the sum of moduli."""
    return max(abs(potential(z, i) - values[place]) / _magnitude(z, i) for place, i in indices.items())


def _judge_terms(data: Mapping[str, Any]) -> list[Criterion]:
    """Require every term to be the potential of its index set, and a sum of potentials not to be one."""
    rows = [
        at_most(f"{name} is a monomial potential", "distance from Definition 4", values, RING_ROUNDING, reason=_REASON)
        for name, values in data["errors"].items()
    ]
    return [
        *rows,
        above(
            "the property is not empty: Σ_k′ r_{pmk′k} of eq. (3) is no potential",
            "|r(xy) − r(x) r(y)| over |r(x) r(y)| of that sum",
            data["sums"],
            RING_ROUNDING,
            reason="a potential is multiplicative (Theorem 3) to rounding",
        ),
    ]


terms_are_potentials = Check(_measure_terms, _judge_terms)


def _measure_order(setting: Setting) -> Measurement:
    """Count violations of ord(x + y) and ord(xy) for all orders up to a bound, including 0 and 1."""
    seeds, most = setting.seeds_or((0,)), setting.choose(quick=5, paper=9)
    group = parse("Z5")
    elements = [_random(group, order, (seeds[0], order)) for order in range(most + 1)]
    pairs = [(x, y) for x in elements for y in elements]
    violations = {
        "ord(x + y) = ord x + ord y": sum((x + y).order != x.order + y.order for x, y in pairs),
        "ord(x ∗ y) = ord x · ord y": sum((x * y).order != x.order * y.order for x, y in pairs),
    }
    neutral = [Solution.zero(group).order, Solution.one(group).order]
    return Measurement({"violations": violations, "neutral": neutral}, {"orders": f"0 to {most}"}, seeds)


def _judge_order(data: Mapping[str, Any]) -> list[Criterion]:
    """Require no violation."""
    reason = "numbers of nodes are counted"
    rows = [equals(law, "pairs that violate it", count, 0, reason=reason) for law, count in data["violations"].items()]
    return [*rows, equals("ord(0) = 0 and ord(1) = 1", "orders of 0 and 1", data["neutral"], [0, 1], reason=reason)]


order_is_homomorphism = Check(_measure_order, _judge_order)

MIXED = 1e-3
"""Loss above which a product is no optimizer: far above rounding, far below the loss (d − 1)/d of zeros."""


def _measure_units(setting: Setting) -> Measurement:
    """Compute losses of crafted optimizers times random units, for optimizers that satisfy eq. (4) and others."""
    seeds = setting.seeds_or(range(3))
    names = setting.choose(quick=("Z7", "Z8"), paper=("Z7", "Z12", "Z4xZ6", "Z23"))
    by_potential: dict[str, list[float]] = {"F6": [], "memorise": []}
    mixed: dict[str, list[float]] = {"F4+F6": [], "F4+repair": []}
    before: list[float] = []
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        group = parse(name)
        before += [table_loss(*craft(group, kind).weights, group) for kind in (*by_potential, *mixed)]
        for seed in seeds:
            unit = random_unit(group, 2, seed)
            # Rounding is relative to the terms that cancel, which grow like the fourth power of the norm.
            for kind, losses in by_potential.items():
                product = craft(group, kind) * unit
                losses.append(table_loss(*product.weights, group) / max(product.norm2, 1.0) ** 2)
            for kind, losses in mixed.items():
                losses.append(table_loss(*(craft(group, kind) * unit).weights, group))
    data = {"before": before, "by potential": by_potential, "mixed": mixed}
    return Measurement(data, {"groups": names}, seeds)


def _judge_units(data: Mapping[str, Any]) -> list[Criterion]:
    """Require zero loss of products with optimizers that satisfy eq. (4); show that zero loss is not enough."""
    return [
        zero_loss("z is a global optimizer", "largest loss before multiplication", data["before"], "precondition"),
        zero_loss(
            "if z satisfies eq. (4), z ∗ y is a global optimizer",
            "largest loss of F6 and memorisation times a unit, over ‖z ∗ y‖⁴",
            data["by potential"],
        ),
        zero_loss(
            "if z has zero loss, z ∗ y is a global optimizer",
            "largest loss of an optimizer of F4 and F6 blocks times a unit",
            data["mixed"],
            "printed",
        ),
        above(
            "zero loss alone is not enough",
            "least loss of an optimizer of F4 and F6 blocks times a unit",
            data["mixed"],
            MIXED,
            reason="far above rounding and far below (d − 1)/d, the loss of a network of zeros",
            form="corrected",
        ),
    ]


unit_multiples = Check(_measure_units, _judge_units)
