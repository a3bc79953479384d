"""The lazy stage: ridge regression on random features, its gradient G_F, and Lemma 1 on wide layers."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from firstlight import features, groups
from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most, below, within
from firstlight.records import Criterion, figure
from firstlight.theories import li2
from firstlight.theories.li2._kernel import GradientAgreement

_ACTIVATIONS = ("quadratic", "relu", "silu", "tanh")
RHO = 0.3
"""Correlation of the equicorrelated inputs."""
EPS = 2.0**-52

SMALL_ETA = 1e-5
"""The larger of the two ridges between which the power of η is taken."""


def _measure_forms(setting: Setting) -> Measurement:
    """Compare −∂J/∂F at the ridge solution, by automatic differentiation, with both closed forms; then let η → 0."""
    seeds = setting.seeds_or(range(setting.choose(quick=3, paper=5)))
    sizes = setting.choose(quick=((30, 13, 5), (13, 30, 5)), paper=((2016, 512, 71), (512, 2048, 71)))
    errors: dict[str, float] = {}
    data: dict[str, Any] = {"G_F at η = 0": 0.0, "powers": [], "condition": 0.0, "smallest": np.inf}
    for i, seed in enumerate(seeds):
        setting.progress(i / len(seeds), f"seed {seed}")
        for n, K, M in sizes:
            F, Y = _random_problem(n, K, M, seed)
            for name, error in _form_errors(F, Y, eta=0.7).items():
                errors[name] = max(errors.get(name, 0.0), error)
            spectrum = np.linalg.svd(features.centred(F), compute_uv=False) ** 2
            data["condition"] = max(data["condition"], float(spectrum[0] / 0.7 + 1))
            if n <= K:
                V = features.ridge(F, Y, 0.0)
                left = np.linalg.norm(features.feature_gradient(F, Y, V)) / np.linalg.norm(V) / np.linalg.norm(Y)
                data["G_F at η = 0"] = max(data["G_F at η = 0"], float(left))
                small, smaller = (
                    np.linalg.norm(features.ridge_gradient(F, Y, eta)) for eta in (SMALL_ETA, SMALL_ETA / 10)
                )
                data["powers"].append(float(np.log10(small / smaller)))
                # The smallest of n singular values is that of the mean, which centring removes.
                data["smallest"] = min(data["smallest"], float(spectrum[n - 2]))
    return Measurement(data | {"errors": errors}, {"(n, K, M)": sizes, "eta": 0.7}, seeds)


_FORMS = {
    "G_F, K×K form": "G_F = P_η ỸỸᵀF̃(F̃ᵀF̃ + ηI)⁻¹",
    "G_F, n×n form": "P_η = η(F̃F̃ᵀ + ηI)⁻¹",
    "P_ηỸ − (Ỹ − F̃V_ridge)": "P_ηỸ = Ỹ − F̃V_ridge",
    "V̇ at V_ridge": "V_ridge is the stationary point of V̇ = F̃ᵀỸ − (F̃ᵀF̃ + ηI)V",
}


def _judge_forms(data: Mapping[str, Any]) -> list[Criterion]:
    """Require every closed form to rounding, and G_F ∝ η for small η."""
    rounding = 64 * EPS * data["condition"]
    reason = f"64 × 2⁻⁵² × the condition number {data['condition']:.3g} of F̃ᵀF̃ + ηI"
    rows = [
        at_most(clause, f"largest relative error: {name}", data["errors"][name], rounding, reason=reason)
        for name, clause in _FORMS.items()
    ]
    next_order = 4 * SMALL_ETA / data["smallest"]
    return [
        *rows,
        at_most(
            "without weight decay an overparameterised network has G_F = 0",
            "largest |G_F| / (|Y| |V|) at η = 0",
            data["G_F at η = 0"],
            rounding,
            reason=reason,
        ),
        within(
            "weight decay lets the gradient through: |G_F| ∝ η",
            "power of η in |G_F| for K ≥ n, η = 1e-6 to 1e-5",
            data["powers"],
            1.0,
            next_order,
            reason="the next order, at most 2η over the smallest eigenvalue of F̃F̃ᵀ, twice",
        ),
    ]


ridge_gradient_forms = Check(_measure_forms, _judge_forms)


def _random_problem(n: int, K: int, M: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw relu features F (n, K) and one-hot labels Y (n, M)."""
    rng = np.random.default_rng(seed)
    return np.maximum(rng.standard_normal((n, K)), 0.0), np.eye(M)[rng.integers(M, size=n)]


def _form_errors(F: np.ndarray, Y: np.ndarray, eta: float) -> dict[str, float]:
    """Return the relative errors of the closed forms against jax.grad of J at the ridge solution."""
    V = features.ridge(F, Y, eta)

    def J(F, V):
        error = Y - F @ V
        return 0.5 * jnp.sum((error - error.mean(0)) ** 2) + 0.5 * eta * jnp.sum(V**2)

    with jax.enable_x64(True):
        by_F, by_V = (np.asarray(gradient) for gradient in jax.grad(J, argnums=(0, 1))(F, V))
    G_F, size = -by_F, np.linalg.norm(by_F)
    F_tilde, Y_tilde = features.centred(F), features.centred(Y)
    left = features.ridge_residual(F, eta) @ Y_tilde - (Y_tilde - F_tilde @ V)
    return {
        "G_F, K×K form": float(np.linalg.norm(features.ridge_gradient(F, Y, eta, "nodes") - G_F) / size),
        "G_F, n×n form": float(np.linalg.norm(features.ridge_gradient(F, Y, eta, "samples") - G_F) / size),
        "P_ηỸ − (Ỹ − F̃V_ridge)": float(np.linalg.norm(left) / np.linalg.norm(Y_tilde)),
        "V̇ at V_ridge": float(np.linalg.norm(by_V) / np.linalg.norm(F_tilde.T @ Y_tilde)),
    }


def _measure_wide(setting: Setting) -> Measurement:
    """Compare G_F of wide random layers on equicorrelated inputs with both prefactors, over a range of widths."""
    seeds = setting.seeds_or(range(setting.choose(quick=3, paper=5)))
    n, M, eta = setting.choose(quick=100, paper=200), 10, 1.0
    widths = n * np.array(setting.choose(quick=(16, 64), paper=(8, 16, 32, 64)))
    names = setting.choose(quick=_ACTIVATIONS[:3], paper=_ACTIVATIONS)
    X, Y = li2.lemmas.equicorrelated_inputs(n, RHO), np.eye(M)[np.arange(n) % M]
    data: dict[str, Any] = {"ratios": widths / n, "cosine": {}, "coefficient": {}, "power": {}, "c1": {}, "Gram": {}}
    errors = []
    for i, name in enumerate(names):
        setting.progress(i / len(names), name)
        c1 = li2.lemmas.c1_equicorrelated(name, RHO)
        rows = [[li2.lemmas.lemma_1_agreement(name, X, Y, int(K), eta, c1, seed) for seed in seeds] for K in widths]
        data["c1"][name] = c1
        data["cosine"][name] = [a.cosine for a in rows[-1]]
        data["coefficient"][name] = [a.scale * a.cosine for a in rows[-1]]
        data["power"][name] = _power(widths, eta, c1, rows)
        data["Gram"][name] = _gram_errors(name, X, int(widths[-1]), c1, seeds[0])
        errors.append([np.mean([a.error for a in row]) for row in rows])
    data["table"] = {name: _table_error(name, "S3") for name in names}
    data["part of a table"] = {name: li2.lemmas.sampled_table_cosine(name, 23, 0.4) for name in _ACTIVATIONS[:2]}
    picture = _error_figure(names, widths / n, np.array(errors))
    chosen = {"n": n, "widths": widths.tolist(), "rho": RHO, "activations": names, "eta": eta}
    return Measurement(data, chosen, seeds, (picture,))


def _gram_errors(name: str, X: np.ndarray, K: int, c1: float, seed: int) -> dict[str, float]:
    """Return the relative distances of F̃F̃ᵀ from Kc₁P₁⊥, and of F̃ᵀF̃ from the nearest multiple of the identity."""
    W = np.random.default_rng(seed).standard_normal((X.shape[1], K))
    F = features.centred(features.numpy_activation(name)[0](X @ W))
    samples, n = F @ F.T, len(F)
    ideal = K * c1 * (np.eye(n) - 1 / n)
    # ‖F̃ᵀF̃‖ = ‖F̃F̃ᵀ‖, and the nearest multiple of the identity is tr/K.
    size, trace = np.linalg.norm(samples), np.trace(samples)
    return {
        "samples": float(np.linalg.norm(samples - ideal) / np.linalg.norm(ideal)),
        "nodes": float(np.sqrt(1 - trace**2 / K / size**2)),
    }


def _table_error(name: str, group_name: str) -> float:
    """Return ‖P₁⊥κỸ − c₁Ỹ‖/‖c₁Ỹ‖ for the kernel κ of infinitely many nodes on the whole table of a group."""
    group = groups.parse(group_name)
    M = group.order
    g, h = np.divmod(np.arange(M * M), M)
    shared = (g[:, None] == g).astype(int) + (h[:, None] == h)
    kernel = li2.lemmas.dual_kernel(name, np.array([0.0, 0.5, 1.0]), np.sqrt(2.0))[shared]
    Y = features.centred(np.eye(M)[group.table.ravel()])
    c1 = li2.lemmas.c1_group_table(name)
    return float(np.linalg.norm(features.centred(kernel @ Y) - c1 * Y) / np.linalg.norm(c1 * Y))


def _power(widths: np.ndarray, eta: float, c1: float, rows: list[list[GradientAgreement]]) -> float:
    """Return the slope of log prefactor against log K at the two largest widths."""
    widths, rows = widths[-2:], rows[-2:]
    predicted = eta / (widths * c1 + eta) ** 2
    prefactor = predicted * [np.mean([a.scale * a.cosine for a in row]) for row in rows]
    return float(np.diff(np.log(prefactor))[0] / np.diff(np.log(widths))[0])


def _judge_wide(data: Mapping[str, Any]) -> list[Criterion]:
    """Judge the Gram matrices and the prefactor, as printed and as corrected."""
    narrow, wide = data["ratios"][-2:]
    edge = 2 / np.sqrt(wide) + 1 / wide
    spread = "Marchenko–Pastur: eigenvalues of F̃F̃ᵀ/Kc₁ lie within 1 ± (2√(n/K) + n/K)"
    power = 6 / narrow / np.log(wide / narrow)
    second = "second order in √(n/K): 6n/K at the smaller of two widths, over the logarithm of their ratio"
    samples = {name: errors["samples"] for name, errors in data["Gram"].items()}
    nodes = {name: errors["nodes"] for name, errors in data["Gram"].items()}
    return [
        at_most(
            "F̃F̃ᵀ becomes a multiple of the identity on centred vectors",
            f"relative distance from Kc₁P₁⊥ at K = {wide:g} n",
            samples,
            edge,
            reason=spread,
        ),
        at_most(
            "F̃ᵀF̃ becomes a multiple of the identity",
            f"relative distance from the nearest multiple at K = {wide:g} n",
            nodes,
            edge,
            reason="the same bound",
            form="printed",
        ),
        within(
            "the prefactor is η / ((Kc₁ + η)(nc₂ + η)): it falls like 1/K",
            "power of K in the prefactor",
            data["power"],
            -1.0,
            power,
            reason=second,
            form="printed",
        ),
        within(
            "the prefactor is η / (Kc₁ + η)²: it falls like 1/K²",
            "power of K in the prefactor",
            data["power"],
            -2.0,
            power,
            reason=second,
            form="corrected",
        ),
        within(
            "its size is that of c₁ = Eσ²(sZ) − Σ_l a_l²ρ^l",
            f"coefficient of ỸỸᵀF in G_F over η/(Kc₁ + η)² at K = {wide:g} n, mean over seeds",
            {name: float(np.mean(values)) for name, values in data["coefficient"].items()},
            1.0,
            4 / wide,
            reason="second order in √(n/K): n/K by Marchenko–Pastur, four times",
            form="corrected",
        ),
        at_least(
            "G_F is proportional to ỸỸᵀF",
            f"cosine at K = {wide:g} n",
            data["cosine"],
            1 - 4 / wide,
            reason="half the square of a relative error of 2√(n/K), twice",
        ),
        at_most(
            "on the whole table of a group c₁ = κ(1) − 2κ(½) + κ(0)",
            "relative error of the eigenvalue on Ỹ, S3, infinite width",
            data["table"],
            1e-12,
            reason="64 × 2⁻⁵² × 36 pairs, times 2 for κ",
            form="corrected",
        ),
        below(
            "on a part of the table the direction differs however wide the layer",
            "cosine on 40 % of the table of Z23, infinite width",
            data["part of a table"],
            1 - 4 / wide,
            reason="the bound that a wide layer meets on equicorrelated inputs",
            form="corrected",
        ),
    ]


wide_layer = Check(_measure_wide, _judge_wide)


def _error_figure(names: tuple[str, ...], ratios: np.ndarray, errors: np.ndarray) -> figure.FigureData:
    series = [figure.Series(name, ratios, row) for name, row in zip(names, errors, strict=True)]
    series.append(figure.Series("2√(n/K)", ratios, 2 / np.sqrt(ratios), style="dashed"))
    return figure.curves(
        series,
        x=figure.Axis("width over samples, K/n", scale="log"),
        y=figure.Axis("relative error", scale="log"),
        title="Lemma 1, corrected: error against width",
        caption=f"‖G_F − η/(Kc₁+η)² ỸỸᵀF‖/‖G_F‖ on inputs of correlation {RHO}.",
    )
