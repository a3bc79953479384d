"""False data for the claims beyond the papers."""

from tests.claims.falsehoods import Falsehood, put

FALSEHOODS: dict[str, dict[str, Falsehood]] = {
    "beyond.energy-maxima": {
        "Li₂'s printed energies": put(
            "scaled energy", {"real": [0.125], "complex": [0.0625], "quaternionic": [0.0625]}
        ),
        "a quaternionic irrep like a real one": put("scaled energy/quaternionic", [0.5, 0.5]),
        "one ascent elsewhere": put("elsewhere", 1),
        "halves that share nothing": put("shared", 0.5),
        "blocks of rank 2": put("rank", 0.5),
        "a saddle": put("positive", 1),
        "ascents that did not converge": put("unconverged", 1),
    },
    "beyond.flat-directions": {
        "Li₂'s one flat direction": put("counts/real/2", [[1, 2]]),
        "a complex pair like a real irrep": put("counts/complex/3", [[6, 3]]),
        "a quaternionic irrep like a complex pair": put("counts/quaternionic/2", [[8, 3]]),
        "two counts in one irrep": put("counts/real/2", [[3, 2], [4, 2]]),
        "another eigenvalue": put("farthest", 0.3),
    },
    "beyond.node-counts": {
        "Li₂'s d⁴ pairs for a real irrep": put("rows", lambda rows: [row | {"pairs": row["d"] ** 4} for row in rows]),
        "one pair fewer is enough": put("rows/0/left by one fewer", 1e-28),
        "this number leaves something": put("rows/3/left", 0.1),
    },
    "beyond.second-order-6-family": {
        "a loss is left": put("loss", [0.1]),
        "eq. (4) is not satisfied": put("residual", [1e-3]),
        "F6′ is F6": put("alignment/F6′", 1.0),
        "three free phases": put("free phases/F6′", 3),
        "a larger norm": put("norm", [1.1]),
        "trained blocks are F6": put("trained", [0.0] * 40),
    },
    "beyond.non-abelian-boundaries": {
        "one boundary for all": put("same share/S4", lambda outcomes: [1] * len(outcomes)),
        "quaternions do not matter": put("same share/SL(2,3)", lambda outcomes: [1] * len(outcomes)),
        "dihedral groups are harder": put("same share/D12", lambda outcomes: [0] * len(outcomes)),
    },
    "beyond.agf-order-and-li2-energy": {
        "another identity": put("gaps/S3", [0.5]),
        "another order of irreps": put("heights/D5", [0.4, 0.4]),
        "one order in every draw": put("learned first", lambda labels: [max(labels, key=labels.count)] * len(labels)),
        "nothing is learned": put("learned first", lambda labels: ["" for _ in labels]),
    },
    "beyond.fact-scale-runaway": {
        "a scale that leaves the recursion": put("runs/q = 2, fact/0/error", 0.1),
        "a plain update that stays": put("runs/q = 2, fact/0/range", 0.1),
        "a geometric update that runs away": put("runs/q = 2, fact_geometric/0/range", 30.0),
    },
    "beyond.forecast-outcome": {
        "the opposite of every outcome": put("rows", lambda rows: [r | {"chance": 1 - r["chance"]} for r in rows]),
        "one chance for all": put("rows", lambda rows: [r | {"chance": 0.5} for r in rows]),
        "a handful of runs": put("rows", lambda rows: rows[:20]),
        "curves that are not found again": put("again", 0),
        "two seeds that never agree": put(
            "rows", lambda rows: [r | {"generalised": r["place"] % 2 == 0, "margin": 1.0} for r in rows]
        ),
    },
    "beyond.forecast-epochs": {
        "ten times too late": put("timed", lambda rows: [r | {"epoch": 10 * r["epoch"]} for r in rows]),
        "intervals that cover everything": put(
            "timed", lambda rows: [r | {"forecast": [0.0, r["forecast"][1], 1e9]} for r in rows]
        ),
        "two seeds that differ by a factor of ten": put(
            "rows", lambda rows: [r | {"epoch": 1000.0 if r["place"] % 2 else 100.0} for r in rows]
        ),
        "curves that are not found again": put("again", 0),
    },
    "beyond.forecast-running": {
        "intervals that cover nothing": put("rows", lambda rows: [r | {"covered": 0.0} for r in rows]),
        "an alarm for every run": put("rows", lambda rows: [r | {"alarm": 1.0} for r in rows]),
        "one group": put("rows", lambda rows: [r | {"group": "Z7"} for r in rows]),
    },
}
