"""False data for Li₂'s theorems and lemmas."""

from tests.claims.falsehoods import Falsehood, put


def times(factor: float):
    """Return a function that multiplies a number, or every number of a list or table."""

    def scale(value):
        if isinstance(value, dict):
            return {key: scale(item) for key, item in value.items()}
        return [scale(item) for item in value] if isinstance(value, list) else factor * value

    return scale


def both(*changes: Falsehood) -> Falsehood:
    """Apply several changes, one after the other."""

    def falsify(data):
        for change in changes:
            data = change(data)
        return data

    return falsify


THEORY: dict[str, dict[str, Falsehood]] = {
    "li2.equation-5": {
        "a closed form off by 0.1 %": put("errors/G_F, K×K form", 1e-3),
        "the projection is not the error": put("errors/P_ηỸ − (Ỹ − F̃V_ridge)", 1.0),
        "V_ridge is not stationary": put("errors/V̇ at V_ridge", 1e-6),
        "G_F does not vanish without decay": put("G_F at η = 0", 0.1),
        "G_F does not fall with η": put("powers", [0.0, 0.0, 0.0]),
    },
    "li2.lemma-1": {
        "a constant c₁ that is off by 20 %": put("coefficient", times(1.44)),
        "the printed power of K": put("power", {"quadratic": -1.0, "relu": -1.0}),
        "no fall with K": put("power", {"quadratic": 0.0, "relu": 0.0}),
        "a random direction": put("cosine/relu", [0.0, 0.0]),
        "a Gram matrix of rank one": put("Gram/relu/samples", 1.0),
        "another constant on the table": put("table/relu", 0.5),
        "the direction holds on part of a table": put("part of a table/relu", 1.0),
    },
    "li2.theorem-1": {"a factor of 2 in the flow": put("errors/relu", 0.5)},
    "li2.theorem-2": {
        "the printed energies": both(
            put("scaled energy/real", [0.125, 0.125]), put("scaled energy/complex", [0.0625, 0.0625])
        ),
        "a quaternionic irrep like a real one": put("scaled energy/quaternionic", [0.5, 0.5]),
        "halves that share nothing": put("shared", 0.7),
        "blocks of rank 2": put("rank", 0.5),
        "one ascent elsewhere": put("elsewhere", 1),
        "a saddle": put("positive", 1),
        "a path between irreps": put("outside", [0.0]),
        "the wrong norm in eq. 21": put("eq. 21/Frobenius", times(0.9)),
        "ascents that did not converge": put("unconverged", 3),
    },
    "li2.corollary-1": {
        "no flat direction anywhere": put(
            "zeros", {"real": {"1": [0], "2": [0]}, "complex": {"1": [0]}, "quaternionic": {"2": [0]}}
        ),
        "a complex pair like two real irreps": put("zeros/complex", {"1": [0], "3": [12]}),
        "maxima of two kinds in one irrep": put("zeros/real/2", [3, 4]),
        "a saddle": put("positive", 1),
    },
    "li2.section-5-2": {
        "the linear part stays": put("cancelled", [0.01]),
        "other energies": put("ratio", [1.0, 2.0]),
        "a mixture of irreps": put("impurity", 0.3),
        "a maximum that is a saddle": put("left", 1),
        "ascents that did not converge": put("unconverged", 1),
    },
    "li2.corollary-2": {
        "the printed energies": both(put("energies/odd", [1 / 16, 1 / 16]), put("energies/half", [1 / 8, 1 / 8])),
        "the energy of a pair at M/2": put("energies/half", [0.25, 0.25]),
        "two frequencies": put("impurity", 0.5),
        "mirrored phases": put("resultant", 1.0),
        "a path between frequencies": put("outside", [0.0]),
    },
    "li2.theorem-3": {
        "the conjugate does not help": put("residuals/complex with conjugate/Z7", 1.0),
        "true maxima leave something": put("residuals/true real maxima/S3", 0.1),
        "one pair fewer is enough": put("residuals/one pair fewer/A4", 1e-28),
        "mirrored pairs are enough": put("residuals/printed, real/Q8", 1e-28),
        "perturbed pairs are not enough": put("residuals/perturbed/Z5", 0.5),
        "another number of nodes": put("nodes/Z7", 14),
        "another number of real nodes": put("real nodes/Z7", 12),
    },
    "li2.theorem-5": {
        "the optimum is elsewhere": put("misfit/quadratic", 0.5),
        "it does not spread": put("misfit/relu", 0.3),
        "a better optimum exists": put("lead/relu", 0.01),
        "two local optima of x⁴": put("optima of x⁴", 2),
        "ascents that did not converge": put("last step/relu", 0.1),
    },
    "li2.theorem-6": {
        "another coefficient": put("b", [0.01]),
        "one wrong sign": put("signs", [0.99, 1.0, 1.0]),
        "similar features attract": put("planted", [0.9]),
        "a term is missing": put("without j", [0.3]),
    },
    "li2.theorem-7": {
        "a residual with characters only": put("residual/S3", 0.67),
        "another rank": put("width/S3", 3),
        "a random gradient": put("drive/A4", 0.5),
        "an ascent into a learned irrep": put("strays", 1),
        "other energies": put("energy/Q8", 0.5),
    },
    "li2.lemma-2": {
        "a descent direction": put("gain", [-1.0]),
        "another inner product": put("identity", [0.9]),
        "a step at rest": put("rest", 0.1),
        "an orthogonal direction": put("ascent", [0.0]),
    },
    "li2.theorem-8": {
        "halved nodes need another number": put("deviations/halved", [9.0]),
        "independent nodes need another number": put("deviations/none", [9.0]),
        "Muon needs more than L": put("nodes/Muon", [5.5, 5.5, 5.5]),
        "T_a below what Muon needs": put("nodes/T_a", [4.0, 4.0, 4.0]),
        "quadrature off": put("chain", [1.001]),
        "the bound is broken": put("bound", [1.2]),
        "T_a grows for near rates too": put("large a/max μ < 2 min μ", 3.0),
    },
    "li2.section-7": {
        "the limit is off": put("limit", 0.1),
        "no fall with depth": put("signal/plain", lambda plain: [plain[1]] * len(plain)),
        "the signal grows with depth": put("signal/plain", lambda plain: plain[::-1]),
        "residual connections do nothing": lambda data: put("signal/residual", data["signal"]["plain"])(data),
        "WWᵀ of rank one": put("WWᵀ", 1.0),
        "no label information": put("signal/plain/3", [0.1, -0.1] * 4),
    },
    "li2.lemma-3": {
        "another power of ρ": put("errors/0.3", 0.2),
        "another series": put("generating", {"printed": 0.96, "with 1/√k!": 0.96}),
    },
    "li2.lemma-4": {
        "without the ½": put("ratios/1", 1.6487),
        "a biased mean": put("deviations/1", [20.0, 20.0, 20.0]),
    },
    "li2.lemma-5": {
        "levels differ": put("level/relu", 0.2),
        "budget left": put("budget/silu", 0.5),
        "another inverse": put("inverse/silu", 0.1),
    },
    "li2.lemma-6": {
        "powers spread": put("shapes/power3", "spreading"),
        "two pairs share": put("focused/quadratic", [0.7, 0.7]),
        "a random profile is better": put("lead/power4", [-0.1, 0.1]),
        "another profile": put("spreading/tanh", [0.1, 0.1]),
        "a pair is dropped": put("smallest/relu", [0.0, 0.2]),
        "another order": put("step/silu", [-0.1, 0.1]),
        "no threshold": put("threshold", [0.3, 0.3]),
    },
    "li2.lemma-7": {
        "a uniform choice": put("rates/2", [[0.2] * 5]),
        "weights without the power": lambda data: put("rates/4", data["rates"]["1"])(data),
    },
    "li2.lemma-8": {
        "some starts end elsewhere": put("positive", 0.98),
        "a mixture of modes": put("projection", 0.7),
        "negative starts reach a mode": put("norm", 1.0),
    },
    "li2.lemma-9": {
        "an exact form that is not": put("exact", [1e-3]),
        "an error of first order": put("order", 1.0),
    },
    "li2.lemma-10": {
        "the bound is broken": put("ratios", [1.1]),
        "no equality": put("equal", 1.2),
        "T₀ is not the mean": put("deviations", [9.0]),
    },
}
