"""Problems with a random homogeneous utility, and their gradient flow, for the checks of Section 2."""

import itertools

import numpy as np
from scipy.integrate import solve_ivp

from firstlight.theories import agf
from firstlight.theories.agf import Problem

SOLVED = 1e-11 * 1024 * 64
"""How far two solved trajectories of one equation may be apart."""

SOLVED_REASON = "trajectories are solved to 1e-11 per step in at most 1024 steps; the factor is 64"


def form(kappa: int, P: int, seed: int) -> Problem:
    """Return a problem whose utility is a random form of degree κ in P parameters, equal for every neuron."""
    T = np.random.default_rng(seed).standard_normal((P,) * kappa)
    T = sum(np.transpose(T, order) for order in itertools.permutations(range(kappa)))
    T /= np.linalg.norm(T)

    def utility(theta, residual):
        slope = np.broadcast_to(T, (len(theta), *T.shape))
        for _ in range(kappa - 1):
            slope = np.einsum("k...p,kp->k...", slope, theta)
        return np.einsum("kp,kp->k", slope, theta), kappa * slope

    nothing = (0.0, np.zeros((1, P)))
    return Problem(lambda theta: nothing, lambda theta: None, utility, kappa, P, np.full(P, 1 / np.sqrt(P)))


def plain(problem: Problem, theta: np.ndarray, times: np.ndarray, eta: float = 1.0) -> np.ndarray:
    """Solve θ′ = η∇U directly, (n, K, P)."""

    def right(t, y):
        return eta * problem.utility(y.reshape(theta.shape), None)[1].ravel()

    solved = solve_ivp(right, (0.0, times[-1]), theta.ravel(), method="DOP853", t_eval=times, rtol=1e-11, atol=1e-14)
    return np.reshape(solved.y.T, (-1, *theta.shape))


def split(
    problem: Problem, theta: np.ndarray, times: np.ndarray, eta: float = 1.0, adaptive: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Solve eq. 2 for θ̄ (n, K, P) and S (n, K)."""
    norm = np.linalg.norm(theta, axis=1)
    right = agf.lemmas.dynamics(problem, None, norm, np.ones(len(norm), bool), eta, adaptive)
    start = np.concatenate([(theta / norm[:, None]).ravel(), np.zeros(len(norm))])
    solved = solve_ivp(right, (0.0, times[-1]), start, method="DOP853", t_eval=times, rtol=1e-11, atol=1e-14)
    K = len(norm)
    return np.reshape(solved.y[:-K].T, (-1, *theta.shape)), solved.y[-K:].T


def start(problem: Problem, count: int, alpha: float, seed: int) -> np.ndarray:
    """Draw neurons of norm α with positive utility, so that they grow."""
    theta = np.random.default_rng(seed).standard_normal((50 * count, problem.parameters))
    theta *= alpha / np.linalg.norm(theta, axis=1, keepdims=True)
    U = problem.utility(theta, None)[0]
    return theta[0.2 * U.max() < U][:count]


def horizon(problem: Problem, theta: np.ndarray, share: float, eta: float = 1.0) -> float:
    """Return a time at which the fastest neuron has gone a share of its way to norm one."""
    norm = np.linalg.norm(theta, axis=1)
    growth, _ = agf.lemmas.growth_and_turn(problem, theta / norm[:, None], norm, None)
    # Utilities only grow along the flow, so the time from the present utility is an upper bound.
    best = float((agf.lemmas.threshold(norm, problem.kappa) / np.maximum(growth, 1e-300)).min())
    return share * best / eta
