"""Everything that LAPACK could choose: bases, draws, directions and orders; also a program that saves them."""

import dataclasses
import json
import sys

import numpy as np
from threadpoolctl import threadpool_info

from firstlight import groups
from firstlight.rfm import RFMRegressor
from firstlight.rfm._encoding.encoding import Encoding
from firstlight.tasks._images import whitened
from firstlight.theories import agf, fact

CLOSED = ("Z7", "Z2xZ6", "S3", "D5", "Q8", "F21")
SPLIT = ("A4", "SL(2,3)", "S3", "Q8", "F21")
"""Real, complex and quaternionic irreps; given by its table alone, every group is split numerically."""


def samples() -> dict[str, np.ndarray]:
    """Return arrays and labels that must not depend on the machine, by name."""
    arrays = {}
    # `parse` remembers a group with its irreps; a copy computes them again.
    known = [dataclasses.replace(groups.parse(name)) for name in CLOSED]
    known += [groups.from_table(groups.parse(name).table, f"{name} by table") for name in SPLIT]
    for group in known:
        arrays |= _group_samples(group)
    arrays["frequencies of equal size"] = np.array(agf.lemmas.fourier_levels(np.eye(13)[1]).frequencies)
    return arrays | _matrix_samples()


def _group_samples(group: groups.Group) -> dict[str, np.ndarray]:
    arrays = {f"{group.name}: irrep {rho.label}": rho.matrices for rho in group.irreps()}
    generic = agf.Template(group, np.random.default_rng(0).standard_normal(group.order))
    delta = agf.Template(group, np.eye(group.order)[group.identity])
    arrays[f"{group.name}: basis of a generic template"] = generic.basis
    arrays[f"{group.name}: weights of seed 0"] = np.stack(
        delta.weights(delta.problem.initial(width=3, alpha=1, seed=0))
    )
    arrays[f"{group.name}: order of equal utilities"] = np.array([part.label for part in delta.order])
    return arrays


def _matrix_samples() -> dict[str, np.ndarray]:
    H = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    model = RFMRegressor()
    model._encoding = Encoding.of_numbers(np.eye(4), np.ones(4))
    model.feature_matrix_, model.precision_ = H @ np.diag([2.0, 2.0, 1.0, 1.0]) @ H, "float64"
    W, a = fact.lemmas.minimum_norm_network(H @ np.diag([1.0, 1.0, -2.0, -2.0]) @ H)
    problem = fact.LinearProblem(np.eye(4), H, weight_decay=0.01, kappa=0.5)
    return {
        "directions of a degenerate M": model.feature_directions_,
        "cheapest network": np.column_stack([W.T, a]),
        "balanced minimiser": np.stack(fact.lemmas.balanced_minimiser(problem, depth=3, width=4)),
        "whitened corners": whitened(np.vstack([np.eye(5), 2 * np.eye(5)])),
        "best of rank 2": agf.LinearNetwork(np.eye(4), H, 4).best(2),
        "components of a degenerate covariance": agf.InContext(H @ np.diag([2.0, 2.0, 1.0, 1.0]) @ H, 8).eigen[1],
    }


if __name__ == "__main__":
    np.savez(sys.argv[1], **samples())
    kernels = [library["architecture"] for library in threadpool_info() if library["internal_api"] == "openblas"]
    print(json.dumps(kernels))
