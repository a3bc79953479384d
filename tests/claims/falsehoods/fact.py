"""False data for the claims of fact."""

from collections.abc import Callable

from tests.claims.falsehoods import Data, Falsehood, everywhere, put


def _in_columns(**changes: Callable[[dict], list]) -> Falsehood:
    """Replace the alignments of every column of Tables 1 and 2."""

    def falsify(data: Data) -> Data:
        columns = {
            name: values | {key.replace("root_", "√"): change(values) for key, change in changes.items()}
            for name, values in data["columns"].items()
        }
        return data | {"columns": columns}

    return falsify


def _in_networks(**changes: Callable[[dict], object]) -> Falsehood:
    """Replace entries of every network of Figures 3 and 8 to 10."""

    def falsify(data: Data) -> Data:
        networks = {
            name: values | {key.replace("_", " "): change(values) for key, change in changes.items()}
            for name, values in data["networks"].items()
        }
        return data | {"networks": networks}

    return falsify


def _every(key: str, change: Callable[[list], object]) -> Falsehood:
    """Change an entry of every run or every layer's curve."""

    def falsify(data: Data) -> Data:
        table = "runs" if "runs" in data else "curves"
        rows = {
            name: values | {key: change(values[key])} if isinstance(values, dict) else values
            for name, values in data[table].items()
        }
        return data | {table: rows}

    return falsify


_SWAPPED = _in_columns(FACT=lambda v: v["√AGOP"], root_AGOP=lambda v: v["FACT"])
_UNCONVERGED = _in_networks(training_loss=lambda v: [0.05])
_CONSTANT_CURVE = _every("FACT", lambda curve: [curve[-1]] * len(curve))
_FLAT_CURVE = _every("FACT", lambda curve: [0.3] * len(curve))


def _alignments(change: Callable[[dict], dict]) -> Falsehood:
    return _in_networks(alignments=lambda v: v["alignments"] | change(v["alignments"]))


_LAYERS: dict[str, Falsehood] = {
    "a layer that FACT does not explain": _alignments(lambda a: {"FACT": [0.2, *a["FACT"][1:]]}),
    "AGOP in the place of FACT": _alignments(lambda a: {"FACT": a["√AGOP"], "√AGOP": a["FACT"]}),
    "a training that did not converge": _UNCONVERGED,
    "a budget too small for weight decay": _in_networks(budget=lambda v: 0.2),
}
_RESIDUAL = 1e-3
"""A thousandth: what a wrong formula for FACT leaves, and far above rounding."""

FALSEHOODS: dict[str, dict[str, Falsehood]] = {
    "fact.theorem-3-1": {
        "FACT off by a thousandth in one layer": put("residuals/linear, bias, skip; mean MSE, seed 1/0", _RESIDUAL),
        "a bias that does not fit": put("residuals with the bias/convolutions; mean MSE, seed 1/0", _RESIDUAL),
        "a point that is not critical": put("gradient/convolutions; mean MSE, seed 1", 1e-3),
        "weights that vanish": put("norm of WᵀW", 0.0),
        "a layer left out": put("layers not treated", ["conv.weight"]),
    },
    "fact.theorem-a-1": {
        "bFACT with the bias in it": put("residuals/linear, bias, skip; mean MSE, seed 1/0", _RESIDUAL),
        "a point that is not critical": put("gradient/convolutions; mean MSE, seed 1", 1e-3),
    },
    "fact.remark-3-3": {
        "FACTᵀ differs": put("errors/FACTᵀ/0", _RESIDUAL),
        "the symmetrised form differs": put("errors/√(FACT·FACTᵀ)/0", _RESIDUAL),
    },
    "fact.table-1": {
        "NFA ahead of FACT": _SWAPPED,
        "all measures equal": _in_columns(
            FACT=lambda v: [0.9] * len(v["FACT"]),
            root_AGOP=lambda v: [0.9] * len(v["FACT"]),
            root_eNFA=lambda v: [0.9] * len(v["FACT"]),
        ),
        "no column converged": _in_columns(**{"training loss": lambda v: [0.05] * len(v["FACT"])}),
    },
    "fact.table-2": {
        "NFA ahead of FACT": _SWAPPED,
        "AGOP ahead of its root": _in_columns(AGOP=lambda v: v["FACT"]),
        "no column converged": _in_columns(**{"training loss": lambda v: [0.05] * len(v["FACT"])}),
    },
    "fact.figure-3": _LAYERS,
    "fact.figure-9": _LAYERS,
    "fact.figure-8": {
        "FACT high from the start": _CONSTANT_CURVE,
        "FACT low at the end": _FLAT_CURVE,
        "a symmetrised form that is no better than at initialisation": _every(
            "√FACT·FACTᵀ", lambda curve: [curve[0]] * len(curve)
        ),
        "a training that did not converge": _UNCONVERGED,
    },
    "fact.figure-10": {
        "bFACT high from the start": _CONSTANT_CURVE,
        "bFACT low at the end": _FLAT_CURVE,
        "√bAGOP ahead": _every("√AGOP", lambda curve: [1.0] * len(curve)),
        "a training that did not converge": _UNCONVERGED,
    },
    "fact.theorem-3-4": {
        "AGOP as aligned as FACT": put("AGOP/s = 1", lambda values: [1.0] * len(values)),
        "a cosine that does not fall": put("AGOP/s = 0.5", lambda values: [values[-1]] * len(values)),
        "FACT that does not hold": put("FACT/0", 0.99),
    },
    "fact.figure-4": {
        "FACT that does not hold": put("Adam, p = λ/FACT", [0.5, 0.5]),
        "Adam far from the minimum": put("Adam, p = λ/loss over the least", [2.0, 2.0]),
        "AGOP aligned at λ = p/100 too": lambda data: data | {"minimiser, λ = p/100": {"AGOP": 0.99, "FACT": 1.0}},
    },
    "fact.figure-1": {
        "accuracy of a machine that learns nothing": _every("test accuracy", lambda curve: [0.5] * len(curve)),
        "accuracy that rises steadily": _every(
            "test accuracy", lambda curve: [0.5 + 0.1 * i for i in range(len(curve))]
        ),
        "a plain kernel that generalises": _every("test accuracy", lambda curve: [0.99] * len(curve)),
        "other bits": _every("bits found", lambda found: 0),
    },
    "fact.figure-5": {
        "chance": _every("test accuracy", lambda curve: [0.5] * len(curve)),
        "the identity as M": _every("share on the support", lambda share: 0.2),
        "other bits": _every("bits found", lambda found: 1),
    },
    "fact.algorithm-1": {
        "a wrong power": put("after three updates/gaussian, fact", 1e-2),
        "λ in the place of nλ": put("iteration 0/gaussian", 1e-2),
    },
    "fact.table-3": {
        "updates that gain nothing": put(
            "gains/published/FACT", lambda gains: [(-1.0) ** i for i in range(len(gains))]
        ),
        "a constant gain": put("gains/published/NFA", lambda gains: [1.0 for _ in gains]),
        "NFA far ahead": put("means/published/NFA", lambda mean: mean + 30),
        "updates that lose": put("gains/published/NFA", lambda gains: [-gain for gain in gains]),
    },
    "fact.figure-6": {
        "NFA at 99 %": put("methods/NFA, quadratic/best", [0.99, 0.99]),
        "features without structure": put("methods/FACT geometric, quadratic/circulant", [0.1, 0.1]),
        "generalisation at once": put("methods/NFA, quadratic/early", [0.99, 0.99]),
        "geometric FACT at chance": put("methods/FACT geometric, quadratic/best", [0.03, 0.03]),
    },
    "fact.figure-7": {
        "shuffled pairs": lambda data: data | {"correlation": [0.0, 0.01], "explained": [0.0, 0.0]},
        "a line that misses": put("explained", [0.5, 0.5]),
        "no better than before learning": lambda data: data | {"explained": data["explained at the start"]},
        "pairs that are all alike": put("of shuffled pairs", [0.99, 0.99]),
        "a machine that has not generalised": put("accuracy", [0.1, 0.1]),
    },
    "fact.proposition-5-1": {
        "a factor 2 in AGOP": put("errors/AGOP, quadratic", 0.5),
        "a factor 2 in FACT·M": put("errors/FACT·M, exponential", 0.5),
        "an indefinite FACT·M for t²": put("least eigenvalue/quadratic", -0.2),
    },
    "fact.envelope-identity": {
        "FACT without the ½": put("errors/rows/gaussian", 0.5),
        "centres as if they were rows": put("errors/centres/laplace", 0.1),
    },
    "fact.scale-law": {
        "FACT that does not scale": put("exponents/q = 2/FACT", 0.0),
        "AGOP that scales": put("exponents/q = 3/AGOP", 1.0),
        "a plain update that stays": put("drift/q = 2, fact, None", 0.1),
        "a kept trace that wanders": put("drift/q = 4, fact, trace", 5.0),
    },
    "fact.appendix-e": {
        "an update that moves a fixed point": put("moved at a fixed point/fact", 0.1),
        "a symmetric FACT": put("asymmetry of FACT", 0.0),
        "a geometric update that loses the parity": put("parity/geometric/0/settled", 0.5),
        "a kept trace that loses the parity": put("parity/plain, trace kept/0/settled", 0.5),
    },
    "fact.lemma-f-1": {"a factor 2": put("errors/laplace", 1.0)},
    "fact.lemma-f-2": {"nλ that fails too": put("errors/nλ", 0.5)},
    "fact.remark-f-3": {
        "a logistic loss with the squared loss's derivative": put("errors/logistic/0", 0.5),
        "a fit that is not optimal": put("gradient/Poisson/0", 0.1),
    },
    "fact.appendix-c": {
        "unbalanced layers": put("imbalance/0", 0.1),
        "the power ½ at every depth": put("AGOP/0", 0.3),
        "FACT off": put("FACT/0", _RESIDUAL),
        "a ground truth that is far": put("teacher/0", 0.5),
    },
    "fact.figure-11": {
        "the power ½ at every depth": put("networks/L = 3, seed 0/one over the depth", 0.9),
        "FACT at 0.9": put("networks/L = 3, seed 0/FACT", 0.9),
        "unequal singular values": put("networks/L = 2, seed 0/singular values", 0.3),
        "a network that decayed to zero": put("networks/L = 2, seed 0/largest singular value", 1e-9),
        "another power that is as good": put("networks/L = 2, seed 0/best other power", 1.0),
    },
    "fact.lemma-d-2": {
        "a cheaper network": put("cheapest over the sum/0", 1.5),
        "the printed constant": put("cheapest over the sum", lambda values: [2.5] * len(values)),
        "a construction that computes another form": put("construction/0", 0.1),
        "all zero": everywhere(lambda x: 0.0),
    },
}
