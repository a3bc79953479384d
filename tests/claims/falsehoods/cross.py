"""False data for the claims of cross."""

from tests.claims.falsehoods import Falsehood, put

FALSEHOODS: dict[str, dict[str, Falsehood]] = {
    "cross.agf-order-vs-li2-energy": {
        "E* four times as large": put("U* against E*/S3", 1.0),
        "another order": put("rise of E*/S3", 0.5),
        "irreps in the reverse order": put("times/S3", lambda runs: [times[::-1] for times in runs]),
        "all irreps at once": put("times/S3", [[50.0, 50.0]]),
        "the second irrep is not learned": put("times/S3", [[50.0, None]]),
        "U at random points": put("U against E", 0.1),
    },
    "cross.cogo-order-vs-li2-nodes": {
        "seven nodes": put("trained orders", [7, 6, 6, 4, 4]),
        "three nodes": put("trained orders", [3, 6, 6, 4, 4]),
        "no maxima suffice": put("generic maxima/samples", [None] * 4),
        "eight with centred outputs": put("generic maxima/outputs", [8] * 4),
        "crafted networks err": put("crafted losses", [1e-3]),
        "five nodes of z_F6": put("crafted orders/F6", 25),
    },
    "cross.fact-at-isolated-fixed-point": {
        "λ_FACT = λ": lambda data: {**data, "λ_FACT = 2λ": data["λ_FACT = λ"]},
        "any λ_FACT": lambda data: {**data, "λ_FACT = λ": data["λ_FACT = 2λ"]},
        "no fixed point": put("velocity", [0.1]),
        "another limit": put("(AYYᵀAH) ∘ σ′", [0.1]),
    },
    "cross.li2-ridge-vs-isolated": {
        "η = 2λ": lambda data: {**data, "V_ridge against φ(W)": data["V_ridge with η = 2λ"]},
        "any η": lambda data: {**data, "V_ridge with η = 2λ": [0.0]},
        "another velocity": lambda data: {**data, "Ẇ against XᵀG_F ∘ σ′/λ − W": [0.5]},
    },
}
