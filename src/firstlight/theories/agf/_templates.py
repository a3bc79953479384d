"""Products in any finite group with any template: the network of AGF, Section 5, beyond modular addition."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from firstlight import _canonical as canonical
from firstlight import groups
from firstlight.groups import Group, RealComponent, fourier, isotypic_energies
from firstlight.theories.agf._problem import Problem

Rows = Float[np.ndarray, "K M"]


@dataclass(frozen=True)
class IrrepUtility:
    """The utility of one real component of a group for a dormant neuron.

    **Attributes:**

    - `label`, `dim`, `kind`: name, dimension d and kind of its irrep.
    - `coefficient`: σ₁, the largest singular value of x̂(ρ).
    - `utility`: the largest U on the unit sphere within the component.
    - `level`: the drop of the loss when the whole component is learned.
    """

    label: str
    dim: int
    kind: str
    coefficient: float
    utility: float
    level: float


@dataclass(frozen=True, eq=False)
class Template:
    r"""Map (a·x, b·x) to (ab)·x with Σ_i (⟨u_i, a·x⟩ + ⟨v_i, b·x⟩)² w_i, over all pairs of a group (AGF, Section 5).

    The group acts by (a·x)[j] = x[a⁻¹j]; the template x is centred here. Loss and gradient are exact population
    averages from K × K Gram matrices. A neuron is θ = (R⁺u, R⁺v, w), where the columns of R (M, r) span the orbit of
    the template; no other part of u and v ever moves.

    **Arguments:**

    - `group`: a group of order M, or its name.
    - `template`: x (M,), not constant.

    >>> task = Template("Z5", [4.0, 1.0, 0.0, 0.0, 1.0])
    >>> task.problem
    Problem('products in Z5', κ = 3, 13 parameters per neuron)
    """

    group: Group | str
    template: Any

    def __post_init__(self) -> None:
        group = groups.parse(self.group) if isinstance(self.group, str) else self.group
        x = np.asarray(self.template, float)
        if x.shape != (group.order,) or not np.isfinite(x).all():
            raise ValueError(
                f"template must be {group.order} finite numbers, one per element of {group.name}, got shape {x.shape}"
            )
        if np.ptp(x) == 0:
            raise ValueError("template must not be constant: after centring it is zero")
        object.__setattr__(self, "group", group)
        object.__setattr__(self, "template", x - x.mean())

    @property
    def M(self) -> int:
        """The order of the group."""
        return len(self.template)

    @cached_property
    def orbit(self) -> Float[np.ndarray, "M M"]:
        """Row a is a·x."""
        group: Any = self.group
        return self.template[group.table[group.inverse]]

    @cached_property
    def basis(self) -> Float[np.ndarray, "M r"]:
        """R: the canonical orthonormal basis of the span of the orbit's rows, in which `problem.initial` draws."""
        _, s, Rt = np.linalg.svd(self.orbit)
        return np.ascontiguousarray(canonical.basis(Rt[s > 1e-10 * s[0]].T))

    @cached_property
    def seen(self) -> Float[np.ndarray, "M r"]:
        """The matrix E = orbit·R, for which ⟨u, a·x⟩ = (E R⁺u)[a]."""
        return self.orbit @ self.basis

    @cached_property
    def tensor(self) -> Float[np.ndarray, "rr M"]:
        """T = (2/M²) Σ_{a,b} E[a, p] E[b, q] (ab)·x, for which the first utility is ⟨(R⁺u ⊗ R⁺v) T, w⟩."""
        group: Any = self.group
        E, r = self.seen, self.basis.shape[1]
        inner = np.zeros((r, self.M, self.M))
        for b in range(self.M):
            # Σ_a E[a, p] (ab)·x for every p; then weighted by E[b, q].
            inner[:, b] = E.T @ self.orbit[group.table[:, b]]
        return (2 / self.M**2) * np.einsum("pbs,bq->pqs", inner, E, optimize=True).reshape(r * r, self.M)

    def split(self, theta: Float[np.ndarray, "K P"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Split θ into R⁺u (K, r), R⁺v (K, r) and w (K, M)."""
        r = self.basis.shape[1]
        return theta[:, :r], theta[:, r : 2 * r], theta[:, 2 * r :]

    def weights(self, theta: Float[np.ndarray, "K P"]) -> tuple[Rows, Rows, Rows]:
        """Return u, v and w of every neuron, (K, M) each."""
        cu, cv, w = self.split(theta)
        return cu @ self.basis.T, cv @ self.basis.T, w

    def theta(self, u: Rows, v: Rows, w: Rows) -> Float[np.ndarray, "K P"]:
        """Return θ of neurons with given weights; the parts of u and v outside the template's orbit are dropped."""
        return np.concatenate([u @ self.basis, v @ self.basis, w], axis=1)

    def first_utility(self, theta: Float[np.ndarray, "K P"]) -> tuple[np.ndarray, np.ndarray]:
        """Compute U(θ; y) (K,) and its gradient (K, P) (AGF, eq. 63, on any group)."""
        xp = theta.__array_namespace__()
        cu, cv, w = self.split(theta)
        K, r = cu.shape
        dw = (cu[:, :, None] * cv[:, None, :]).reshape(K, r * r) @ self.tensor
        back = (w @ self.tensor.T).reshape(K, r, r)
        du, dv = (back @ cv[:, :, None])[:, :, 0], (cu[:, None, :] @ back)[:, 0]
        return (dw * w).sum(1), xp.concat([du, dv, dw], axis=1)

    def features(self, theta: Float[np.ndarray, "K P"]) -> tuple[np.ndarray, ...]:
        """Return [A; B] (2, K, M), their squares (K, 2M), the means of the squares (K, 2), and w (K, M)."""
        (K, _), (r, M) = theta.shape, (self.basis.shape[1], self.M)
        AB = theta[:, : 2 * r].reshape(K, 2, r).swapaxes(0, 1) @ self.seen.T
        squares = (AB * AB).swapaxes(0, 1).reshape(K, 2 * M)
        return AB, squares, squares.reshape(K, 2, M).mean(2), theta[:, 2 * r :]

    def overlap(self, theta: Float[np.ndarray, "K P"], others: tuple[np.ndarray, ...] | None = None) -> Any:
        r"""Compute E⟨f_i, Σ_j f_j⟩ (K,) and its gradient in θ_i (K, P).

        `others` are the `features` of the f_j; by default j runs over the same neurons.

        With A = E R⁺u, B = E R⁺v and ⟨·⟩ the mean over the group, E f_i f_j is ⟨w_i, w_j⟩ times
        ⟨A_i²A_j²⟩ + ⟨A_i²⟩⟨B_j²⟩ + ⟨B_i²⟩⟨A_j²⟩ + ⟨B_i²B_j²⟩ + 4⟨A_iA_j⟩⟨B_iB_j⟩, because A and B sum to zero.
        """
        AB, squares, means, w = mine = self.features(theta)
        CD, others_squares, others_means, z = mine if others is None else others
        (K, r), M = (len(theta), self.basis.shape[1]), self.M
        G, swapped = w @ z.T, others_means[:, ::-1]
        products = AB @ CD.swapaxes(1, 2) / M
        gram = squares @ others_squares.T / M + means @ swapped.T + 4 * products[0] * products[1]
        weights = (G @ others_squares).reshape(K, 2, M) + (G @ swapped)[:, :, None]
        d_AB = AB * (2 / M * weights.swapaxes(0, 1)) + (4 / M * G * products[::-1]) @ CD
        d_c = (d_AB @ self.seen).swapaxes(0, 1).reshape(K, 2 * r)
        return (G * gram).sum(1), theta.__array_namespace__().concat([d_c, gram @ z], axis=1)

    def hessian(self, theta: Float[np.ndarray, "K P"]) -> Float[np.ndarray, "K P K P"]:
        """Compute ∇²L for implicit solvers: blocks of single neurons, and of pairs through their overlap."""
        (K, P), M, r, E = theta.shape, self.M, self.basis.shape[1], self.seen
        (A, B), squares, means, w = self.features(theta)
        swapped, squares = means[:, ::-1], squares.reshape(K, 2, M)
        G, AA, BB = w @ w.T, A @ A.T / M, B @ B.T / M
        gram = np.einsum("ism,jsm->ij", squares, squares) / M + means @ swapped.T + 4 * AA * BB
        # ∂⟨f_i f_j⟩/∂(R⁺u_i, R⁺v_i) without the w's, (i, j, 2r).
        own = np.stack([A, B], 1)[:, None] * (2 / M * (squares + swapped[:, :, None]))[None]
        own += 4 / M * np.stack([BB[..., None] * A[None], AA[..., None] * B[None]], 2)
        slope = (own @ E).reshape(K, K, 2 * r)
        H = np.zeros((K, P, K, P))
        c, o = slice(0, 2 * r), slice(2 * r, P)
        H[:, o, :, o] = np.einsum("ij,st->isjt", gram, np.eye(M))
        mixed = np.einsum("ijc,is->icjs", slope, w)
        H[:, c, :, o], H[:, o, :, c] = mixed, np.einsum("icjs->jsic", mixed)
        a, b, outer = A @ E, B @ E, E.T @ E
        across = np.zeros((K, 2, r, K, 2, r))
        for side, (Z, ZZ) in enumerate(((A, BB), (B, AA))):
            weighted = (Z[:, None] * Z[None])[..., None, :] * E.T
            across[:, side, :, :, side] = ((weighted @ E + ZZ[..., None, None] * outer) * 4 / M).swapaxes(1, 2)
        across[:, 0, :, :, 1] = 4 / M**2 * (np.einsum("ip,jq->ipjq", a, b) + np.einsum("jp,iq->ipjq", a, b))
        across[:, 1, :, :, 0] = np.einsum("ipjq->jqip", across[:, 0, :, :, 1])
        H[:, c, :, c] = (G[:, None, None, :, None, None] * across).reshape(K, 2 * r, K, 2 * r)
        i, T = np.arange(K), self.tensor.reshape(r, r, M)
        within = np.zeros((K, 2, r, 2, r))
        load = 2 / M * np.tensordot(G, squares + swapped[:, :, None], 1)
        for side in (0, 1):
            within[:, side, :, side] = (load[:, side, None, :] * E.T) @ E
        cu, cv, _ = self.split(theta)
        cross = 4 / M**2 * np.einsum("il,lp,lq->ipq", G, a, b) - np.einsum("pqs,is->ipq", T, w)
        within[:, 0, :, 1], within[:, 1, :, 0] = cross, cross.swapaxes(1, 2)
        H[i, c, i, c] += within.reshape(K, 2 * r, 2 * r)
        first = np.concatenate([np.einsum("pqs,iq->ips", T, cv), np.einsum("pqs,ip->iqs", T, cu)], axis=1)
        own_w = np.einsum("ilc,ls->ics", slope, w) - first
        H[i, c, i, o] += own_w
        H[i, o, i, c] += own_w.swapaxes(1, 2)
        return H

    @cached_property
    def problem(self) -> Problem:
        """The `Problem` for `predict` and `follow`; α² is half of E‖(u, v, w)‖², as in Figure 6."""
        constant = float(self.template @ self.template) / 2
        r, M = self.basis.shape[1], self.M

        def cost(theta: np.ndarray) -> tuple[float, np.ndarray]:
            awake = np.abs(theta).max(1) > 0
            if not awake.all():
                # Neurons at the origin have no gradient, and cost phases have many of them.
                slope = np.zeros_like(theta)
                value, slope[awake] = cost(theta[awake])
                return value, slope
            U, dU = self.first_utility(theta)
            C, dC = self.overlap(theta)
            return constant - U.sum() + C.sum() / 2, dC - dU

        def utility(theta: np.ndarray, others: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
            U, dU = self.first_utility(theta)
            C, dC = self.overlap(theta, others)
            return U - C, dU - dC

        group: Any = self.group
        return Problem(
            cost=cost,
            residual=lambda theta: self.features(theta[np.abs(theta).max(1) > 0]),
            utility=utility,
            kappa=3,
            parameters=2 * r + M,
            spread=np.r_[np.full(2 * r, 1 / np.sqrt(2 * M)), np.full(M, 1 / np.sqrt(M))],
            hessian=self.hessian,
            name=f"products in {group.name}",
        )

    @cached_property
    def components(self) -> tuple[RealComponent, ...]:
        """The real components of the group, the trivial one first."""
        group: Any = self.group
        return group.real_components()

    def dominant(self, theta_bar: Float[np.ndarray, "K P"]) -> Int[np.ndarray, " K"]:
        """Return the index in `components` of the component with most weight, per neuron; labels for `predict`."""
        group: Any = self.group
        u, v, w = (isotypic_energies(group, part) for part in self.weights(theta_bar))
        return (u + v + w).argmax(1)

    def outputs(self, theta: Float[np.ndarray, "K P"]) -> Float[np.ndarray, "M M"]:
        """Return the mean output for each product: row h is E[f | ab = h]."""
        group: Any = self.group
        cu, cv, w = self.split(theta)
        A, B = cu @ self.seen.T, cv @ self.seen.T
        cross = 2 * groups.convolve(group, A, B) / self.M
        squares = (A * A).mean(1) + (B * B).mean(1)
        return (cross + squares[:, None]).T @ w

    def power(self, theta: Float[np.ndarray, "K P"]) -> Float[np.ndarray, " C"]:
        """Return the share of each component of the template in the outputs: 0 before it is learned, 1 after."""
        F = self.outputs(theta)
        shares = []
        for component in self.components:
            target = component.project(self.orbit)
            size = float((target**2).sum())
            shares.append(float((component.project(F) * target).sum()) / size if size > 1e-12 else 0.0)
        return np.array(shares)

    @cached_property
    def order(self) -> tuple[IrrepUtility, ...]:
        r"""The components in the predicted order of learning: by decreasing utility.

        $$U^*_\rho = \sqrt{\tfrac{4}{27 M^3 d}}\,\sigma_1(\hat x(\rho))^3 \;\text{(real)}, \qquad
          \sqrt{\tfrac{2}{27 M^3 d}}\,\sigma_1^3 \;\text{(complex, quaternionic)}$$

        On Z/p this is AGF's √(2/27p³)|x̂[ξ]|³. Beyond the paper: U = (2/M³) Σ_ρ d_ρ tr(x̂* v̂ x̂* û ŵ* x̂), bounded by the
        largest singular value of x̂ three times and attained by rank-one û, v̂, ŵ.

        >>> [component.label for component in Template("Z7", np.eye(7)[0] + np.eye(7)[1]).order]
        ['±1', '±2', '±3']
        """
        group: Any = self.group
        blocks = fourier(group, self.template)
        energies = isotypic_energies(group, self.template)
        utilities = []
        for component, energy in zip(self.components, energies, strict=True):
            if component.is_trivial or energy < 1e-12 * energies.sum():
                continue
            sigma = float(np.linalg.svd(blocks[component.irreps[0]], compute_uv=False)[0])
            factor = 4.0 if component.kind == "real" else 2.0
            U = np.sqrt(factor / (27 * self.M**3 * component.dim)) * sigma**3
            utilities.append(
                IrrepUtility(component.label, component.dim, component.kind, sigma, float(U), float(energy) / 2)
            )
        return tuple(utilities[i] for i in canonical.descending(np.array([item.utility for item in utilities])))
