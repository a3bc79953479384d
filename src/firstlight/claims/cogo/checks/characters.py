"""Characters of finite Abelian groups."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_most
from firstlight.groups import Group, from_table, parse
from firstlight.records import Criterion

_QUICK = ("Z7", "Z8", "Z2xZ3xZ4", "Z3xZ3", "Z2xZ2xZ2")
_PAPER = ("Z71", "Z127", "Z4xZ7", "Z5xZ6", "Z2xZ2xZ9", "Z13xZ11", "Z5xZ2xZ2xZ2", "Z6xZ4xZ2")


CHARACTER_SUMS = 1e-12
"""Bound on the error of sums of at most 143 numbers of modulus 1; 32 × 143 × 2⁻⁵²."""

_LAWS = {
    "number of characters": "there are d characters",
    "modulus": "|φ(g)| = 1",
    "homomorphism": "φ(g₁g₂) = φ(g₁)φ(g₂)",
    "orthonormality": "(1/d) Σ_g φ_k(g) conj φ_k′(g) = 1(k = k′)",
    "closure": "closed under pointwise multiplication",
    "conjugates": "closed under conjugation",
    "index law": "φ_{k₁+k₂} = φ_{k₁} ∘ φ_{k₂}",
    "formula": "φ_k(g) = exp(2πi Σ_r k_r g_r / n_r)",
}


def _measure(setting: Setting) -> Measurement:
    """Test the properties of Lemma 3 for the characters of groups, also with renamed elements."""
    seeds = setting.seeds_or((0,))
    names = setting.choose(quick=_QUICK, paper=_PAPER)
    deviations: list[dict[str, float]] = []
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        group = parse(name)
        deviations += [_deviations(group, group.moduli), {"formula": _distance_to_formula(group)}]
        deviations += [_deviations(_scrambled(group, seed), None) for seed in seeds]
    laws = dict.fromkeys(law for by_law in deviations for law in by_law)
    worst = {law: max(by_law[law] for by_law in deviations if law in by_law) for law in laws}
    return Measurement({"deviations": worst}, {"groups": names}, seeds)


def _judge(data: Mapping[str, Any]) -> list[Criterion]:
    """Require every law of the lemma to rounding."""
    reason = "sums of at most 143 numbers of modulus 1 in float64 round by 143 × 2⁻⁵²; the factor is 32"
    return [
        at_most(_LAWS[law], f"largest deviation, {law}", value, CHARACTER_SUMS, reason=reason)
        for law, value in data["deviations"].items()
    ]


character_laws = Check(_measure, _judge)


def _deviations(group: Group, moduli: tuple[int, ...] | None) -> dict[str, float]:
    """Measure how far the d characters are from each law. The index law needs known frequencies."""
    phi = np.array([irrep.character for irrep in group.irreps()])
    d = group.order
    if phi.shape != (d, d):
        return {"number of characters": float("inf")}
    deviations = {
        "number of characters": 0.0,
        "modulus": np.abs(np.abs(phi) - 1).max(),
        "homomorphism": np.abs(phi[:, group.table] - phi[:, :, None] * phi[:, None, :]).max(),
        "orthonormality": np.abs(phi @ phi.conj().T / d - np.eye(d)).max(),
        "closure": _distance_to_set(phi[:, None, :] * phi[None, :, :], phi),
        "conjugates": _distance_to_set(phi.conj()[None], phi),
    }
    if moduli is not None:
        # Frequencies add like elements of ×Z_n, so the group's own table applies to them.
        deviations["index law"] = np.abs(phi[group.table] - phi[:, None, :] * phi[None, :, :]).max()
    return {law: float(value) for law, value in deviations.items()}


def _distance_to_set(functions: np.ndarray, phi: np.ndarray) -> float:
    """Compute max_f min_k |⟨f, φ_k⟩/d − 1| over functions f (…, d) of modulus 1; 0 if each f is a row of `phi`."""
    overlap = functions @ phi.conj().T / len(phi)
    return float(np.abs(overlap - 1).min(axis=-1).max())


def _distance_to_formula(group: Group) -> float:
    """Compute max |φ_k(g) − exp(2πi Σ_r k_r g_r / n_r)|, with k and g in C order."""
    moduli = group.moduli or ()
    coordinates = np.indices(moduli).reshape(len(moduli), -1)
    common = math.lcm(*moduli)
    weights = np.array([common // n for n in moduli])
    # Integer arithmetic removes whole turns, so the argument of exp is exact to rounding.
    turns = (coordinates.T * weights) @ coordinates % common / common
    phi = np.array([irrep.character for irrep in group.irreps()])
    return float(np.abs(phi - np.exp(2j * np.pi * turns)).max())


def _scrambled(group: Group, seed: int) -> Group:
    """Rename the elements of a group at random and rebuild it from its table alone."""
    new = np.random.default_rng(seed).permutation(group.order)
    table = np.empty_like(group.table)
    table[new[:, None], new] = new[group.table]
    return from_table(table)
