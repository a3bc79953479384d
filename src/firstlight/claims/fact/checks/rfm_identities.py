"""Kernel machines: closed forms of FACT and AGOP, and the envelope identity."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.optimize
import scipy.special

from firstlight.claims._check import Check, Measurement, Setting
from firstlight.claims._criteria import at_least, at_most
from firstlight.claims.fact.checks import _kernels
from firstlight.records import Criterion
from firstlight.rfm import KERNELS, CentreSolver, ExactSolver

CLOSED_FORM = 1e-10
"""Error of a closed form relative to its largest entry."""

_CLOSED = "a solve with condition number below 1e4 and sums over n ≤ 500 rows in float64: 64 × 1e4 × 2⁻⁵²"


def _measure_coefficients(setting: Setting) -> Measurement:
    """Compare FACT by its definition, −(1/nλ)Σ ∇ℓ_i x_iᵀ with ∇f by complex steps, with the closed form."""
    seed, lam, n = setting.seeds_or((0,))[0], 0.01, setting.choose(quick=30, paper=200)
    errors = {}
    for name in KERNELS:
        X, Y, M = _kernels.problem(seed, n=n)
        solver, solution = _kernels.solved(name, X, Y, M, n * lam)
        slope = solver.predict(solution, X) - Y
        gradients = _kernels.gradients(name, X, M, solution.alpha)
        defined = -np.einsum("iac,ic,ib->ab", gradients, slope, X) / (n * lam)
        errors[name] = _kernels.off(solver.matrices(solution).fact, defined)
    note = "α is from the corrected Lemma F.2."
    return Measurement({"errors": errors}, {"rows": n, "λ": lam, "kernels": list(KERNELS)}, (seed,), note=note)


def _judge_coefficients(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the closed form to rounding for every kernel."""
    return [
        at_most(
            f"FACT = Σ_ij ∂_x K(x, x_j) α_jᵀα_i x_iᵀ: {name} kernel",
            "largest difference from −(1/nλ) Σ ∇ℓ_i x_iᵀ, relative to FACT",
            error,
            CLOSED_FORM,
            reason=_CLOSED,
        )
        for name, error in data["errors"].items()
    ]


fact_from_coefficients = Check(_measure_coefficients, _judge_coefficients)


def _measure_representer(setting: Setting) -> Measurement:
    """Measure α_i + ℓ′_i/(nλ) with K + nλI, and with the printed K + λI."""
    seed, lam = setting.seeds_or((0,))[0], 0.01
    X, Y, M = _kernels.problem(seed, n=setting.choose(quick=30, paper=500))
    n, errors = len(X), {}
    for name, ridge in (("nλ", n * lam), ("λ", lam)):
        solver, solution = _kernels.solved("gaussian", X, Y, M, ridge)
        slope = solver.predict(solution, X) - Y
        errors[name] = float(np.abs(solution.alpha + slope / (n * lam)).max() / np.abs(solution.alpha).max())
    return Measurement({"errors": errors}, {"rows": n, "λ": lam, "kernel": "gaussian"}, (seed,))


def _judge_representer(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the identity with nλ; with λ the two sides differ by 1 − 1/n."""
    quantity = "largest |α_i + ℓ′_i/(nλ)|, relative to the largest α"
    return [
        at_most(
            "with α = (K + λI)⁻¹Y, α_i = −ℓ′_i/(nλ)",
            quantity,
            data["errors"]["λ"],
            CLOSED_FORM,
            reason=_CLOSED,
            form="printed",
        ),
        at_most(
            "with α = (K + nλI)⁻¹Y, α_i = −ℓ′_i/(nλ)",
            quantity,
            data["errors"]["nλ"],
            CLOSED_FORM,
            reason=_CLOSED,
            form="corrected",
        ),
    ]


representer_coefficients = Check(_measure_representer, _judge_representer)

_LOSSES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "logistic": (lambda f, y: np.logaddexp(0, -y * f), lambda f, y: -y * scipy.special.expit(-y * f)),
    "Poisson": (lambda f, y: np.exp(f) - (y + 1) * f, lambda f, y: np.exp(f) - (y + 1)),
    "pseudo-Huber": (lambda f, y: np.sqrt(1 + (f - y) ** 2), lambda f, y: (f - y) / np.sqrt(1 + (f - y) ** 2)),
}
"""Convex losses beyond the squared one, with their derivatives in the prediction; targets are ±1."""


def _measure_other_losses(setting: Setting) -> Measurement:
    """Fit f = Kα by minimising (1/n)Σℓ + (λ/2)αᵀKα over the values of f; compare α with −ℓ′/(nλ)."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=10)))
    lam, n = 0.01, setting.choose(quick=30, paper=120)
    errors: dict[str, list[float]] = {name: [] for name in _LOSSES}
    rest: dict[str, list[float]] = {name: [] for name in _LOSSES}
    for seed in seeds:
        X, Y, M = _kernels.problem(seed, n=n)
        y = np.sign(Y[:, 0])
        K = np.asarray(_kernels.kernel("laplace")(X, X, M), float)
        inverse = np.linalg.inv(K)
        for name, (loss, slope) in _LOSSES.items():

            def cost(f, loss=loss, y=y, inverse=inverse):
                return float(np.mean(loss(f, y)) + lam / 2 * f @ inverse @ f)

            def gradient(f, slope=slope, y=y, inverse=inverse):
                return slope(f, y) / n + lam * inverse @ f

            f = np.zeros(n)
            done = scipy.optimize.minimize(cost, f, jac=gradient, method="L-BFGS-B", options={"maxiter": 20_000})
            f = _newton(gradient, done.x)
            alpha = inverse @ f
            errors[name].append(float(np.abs(alpha + slope(f, y) / (n * lam)).max() / np.abs(alpha).max()))
            rest[name].append(float(np.abs(gradient(f)).max() / (lam * np.abs(alpha).max())))
    data = {"errors": errors, "gradient": rest}
    return Measurement(data, {"rows": n, "λ": lam, "kernel": "laplace", "losses": list(_LOSSES)}, seeds)


def _newton(gradient: Callable[[np.ndarray], np.ndarray], f: np.ndarray, steps: int = 8) -> np.ndarray:
    """Take Newton steps with a Jacobian by central differences, which the convex cost makes positive definite."""
    h = 1e-6
    for _ in range(steps):
        columns = [(gradient(f + h * e) - gradient(f - h * e)) / (2 * h) for e in np.eye(len(f))]
        f = f - np.linalg.solve(np.stack(columns, axis=1), gradient(f))
    return f


def _judge_other_losses(data: Mapping[str, Any]) -> list[Criterion]:
    """Require α_i = −ℓ′_i/(nλ) at the optimum of every loss."""
    criteria = [
        at_most(
            "the fits are optimal",
            "largest gradient of the cost, relative to λ times the largest α",
            data["gradient"],
            CLOSED_FORM,
            reason="rounding of K⁻¹f with condition numbers below 1e4",
            form="precondition",
        )
    ]
    return criteria + [
        at_most(
            f"at optimality α_i = −ℓ′(ŷ_i, y_i)/(nλ) beyond the squared loss: {name}",
            "largest |α_i + ℓ′_i/(nλ)|, relative to the largest α",
            error,
            10 * CLOSED_FORM,
            reason="the gradient at the fit is zero to 1e-10; the factor is 10",
        )
        for name, error in data["errors"].items()
    ]


other_losses = Check(_measure_other_losses, _judge_other_losses)

NEGATIVE = 0.01
"""Share of the largest eigenvalue from which an eigenvalue counts as negative."""


def _measure_inner_product(setting: Setting) -> Measurement:
    """Compare both sums of Proposition 5.1 with differentiation; find the least eigenvalue of FACT·M for three k."""
    seed, rows = setting.seeds_or((0,))[0], setting.choose(quick=30, paper=200)
    X, Y, M = _kernels.problem(seed, n=rows)
    n, errors, least = len(X), {}, {}
    for name in ("quadratic", "exponential"):
        alpha, t = _kernels.solved(name, X, Y, M, 0.1)[1].alpha, X @ M @ X.T / 4
        slope = 2 * t / 4 if name == "quadratic" else np.exp(t) / 4
        pairs, MX = alpha @ alpha.T, X @ M
        agop = MX.T @ (slope.T @ slope / n * pairs) @ MX
        gradients = _kernels.gradients(name, X, M, alpha)
        errors[f"AGOP, {name}"] = _kernels.off(agop, np.einsum("iac,ibc->ab", gradients, gradients) / n)
        fact = np.einsum("iac,ic,ib->ab", gradients, alpha, X)
        product = MX.T @ (slope * pairs) @ MX
        errors[f"FACT·M, {name}"] = _kernels.off(product, fact @ M.T)
        least[name] = _least(product)
    # k(t) = exp(−t) decreases, as the paper requires; its slope is not a positive definite kernel.
    K = np.exp(-X @ M @ X.T / 4)
    alpha = np.linalg.solve(K + 5 * np.eye(n), Y)
    least["exp(−t)"] = _least((X @ M).T @ (-K / 4 * (alpha @ alpha.T)) @ (X @ M))
    return Measurement({"errors": errors, "least eigenvalue": least}, {"rows": rows}, (seed,))


def _least(A: np.ndarray) -> float:
    """Return the least eigenvalue relative to the largest in modulus."""
    eigenvalues = np.linalg.eigvalsh((A + A.T) / 2)
    return float(eigenvalues[0] / np.abs(eigenvalues).max())


def _judge_inner_product(data: Mapping[str, Any]) -> list[Criterion]:
    """Require both sums to rounding, and positivity where k′ is a positive definite kernel."""
    least = data["least eigenvalue"]
    quantity = "least eigenvalue of FACT·M over the largest"
    criteria = [
        at_most(
            f"the sum for {name} kernel",
            "largest difference from differentiation, relative to the largest entry",
            error,
            CLOSED_FORM,
            reason=_CLOSED,
        )
        for name, error in data["errors"].items()
    ]
    for name, formula in (("quadratic", "t²"), ("exponential", "exp(t)")):
        clause = f"FACT·Mᵀ is positive semi-definite for k(t) = {formula}"
        criteria.append(at_least(clause, quantity, least[name], -CLOSED_FORM, reason=_CLOSED))
    return [
        *criteria,
        at_least(
            "FACT·Mᵀ is positive semi-definite when k is non-increasing, such as exp(−t)",
            quantity,
            least["exp(−t)"],
            -CLOSED_FORM,
            reason=_CLOSED,
            form="printed",
        ),
        at_most(
            "a non-increasing k is not enough: k′ must be a positive definite kernel",
            f"{quantity}, k = exp(−t)",
            least["exp(−t)"],
            -NEGATIVE,
            reason="a hundredth of the largest eigenvalue is no rounding",
            form="corrected",
        ),
    ]


inner_product_forms = Check(_measure_inner_product, _judge_inner_product)

DIFFERENCES, CENTRES = 1e-6, 1e-3
"""Relative errors of central differences of step 1e-5, and of a shift of the centres' matrix by 1e-6."""


def _measure_envelope(setting: Setting) -> Measurement:
    """Compare central differences of the least cost J(W) with λ(M − FACT), for all rows and for fewer centres."""
    seed, lam, h = setting.seeds_or((0,))[0], 0.05, 1e-5
    X, Y, M = _kernels.problem(seed)
    n, W = len(X), np.linalg.cholesky(M).T
    errors: dict[str, dict[str, float]] = {"rows": {}, "centres": {}}
    for name in KERNELS:
        for kind in errors:
            kernel, ones = KERNELS[name](2.0), np.ones(n)
            chosen = np.arange(0, n, 3)
            solver = ExactSolver(X, Y, ones, kernel) if kind == "rows" else CentreSolver(X, Y, ones, kernel, chosen)

            def cost(W, solver=solver):
                solver.load(W.T @ W)
                solution = solver.solve(n * lam)
                # The minimum of Σ|y − f|²/2n + (λ/2)‖f‖², where ‖f‖² ridge = Σ (y − f)·f.
                fitted = Y - n * lam * solution.alpha
                return (np.sum((Y - fitted) ** 2) + np.sum((Y - fitted) * fitted)) / (2 * n) + lam / 2 * np.sum(W**2)

            gradient = np.zeros_like(W)
            for place in np.ndindex(*W.shape):
                step = np.zeros_like(W)
                step[place] = h
                gradient[place] = (cost(W + step) - cost(W - step)) / (2 * h)
            solver.load(M)
            fact = solver.matrices(solver.solve(n * lam)).fact
            size = lam * np.abs(M - fact).max()
            errors[kind][name] = float(np.abs(W.T @ gradient - lam * (M - fact)).max() / size)
    note = "With c of n rows as centres, FACT = M(S(X, C) − ½S(C, C)) replaces ½M·S(X, X)."
    return Measurement({"errors": errors}, {"rows": n, "λ": lam, "kernels": list(KERNELS)}, (seed,), note=note)


def _judge_envelope(data: Mapping[str, Any]) -> list[Criterion]:
    """Require the identity to the error of central differences."""
    quantity = "largest difference from λ(M − FACT), relative to its largest entry"
    return [
        at_most(
            "Wᵀ∇J = λ(M − FACT), all kernels",
            quantity,
            data["errors"]["rows"],
            DIFFERENCES,
            reason="central differences of step 1e-5: rounding 2⁻⁵²/1e-5 of the cost and h² of its third derivative",
        ),
        at_most(
            "Wᵀ∇J = λ(M − FACT) with fewer centres, all kernels",
            quantity,
            data["errors"]["centres"],
            CENTRES,
            reason="the centres' matrix is shifted by 1e-6 to be factored; its condition number is below 1e3",
        ),
    ]


envelope = Check(_measure_envelope, _judge_envelope)
