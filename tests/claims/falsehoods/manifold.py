"""False data for the claims of the geometry of grokking."""

from tests.claims.falsehoods import Data, Falsehood, put


def together(*changes: Falsehood) -> Falsehood:
    """Apply several changes, one after the other."""

    def falsify(data: Data) -> Data:
        for change in changes:
            data = change(data)
        return data

    return falsify


def constant(rows: list) -> list:
    """Replace every number of nested lists by the first one."""
    first = rows
    while isinstance(first, list):
        first = first[0]
    return _filled(rows, first)


def _filled(rows, value):
    return [_filled(row, value) for row in rows] if isinstance(rows, list) else value


def times(factor: float) -> Falsehood:
    """Multiply every number of nested lists."""

    def change(rows):
        return [change(row) for row in rows] if isinstance(rows, list) else rows * factor

    return change


def backwards(rows: list) -> list:
    return [row[::-1] for row in rows] if isinstance(rows[0], list) else rows[::-1]


def nothing_learned(name: str) -> Falsehood:
    """Give a measure of the embeddings its first value at the end."""

    def falsify(data: Data) -> Data:
        after = [last | {name: first[name]} for first, last in zip(data["before"], data["after"], strict=True)]
        return data | {"after": after}

    return falsify


def later(factor: float) -> Falsehood:
    """Let all but the first 500 steps happen at another time."""
    return put("steps", lambda steps: [step if step <= 500 else 500 + (step - 500) * factor for step in steps])


def one_seed_at_chance(rows: list) -> list:
    return [[0.02] * len(rows[0]), *rows[1:]]


FALSEHOODS: dict[str, dict[str, Falsehood]] = {
    "manifold.figure-1": {
        "straight to (1, 1), never near (0, 2)": put("closest to (0, 2)", [1.4, 1.4, 1.4]),
        "it stays at (0, 2)": put("end, distance from (1, 1)", [1.4, 1.4, 1.4]),
        "one loss for all λ": put("training loss at the end", constant),
        "larger λ has the lower loss": put("training loss at the end", backwards),
        "one time for all λ": put("steps until the test loss is low", constant),
        "larger λ takes longer": put("steps until the test loss is low", backwards),
        "test loss falls with the training loss": put("steps until the test loss is low", times(0.05)),
        "test loss never falls": put("steps until the test loss is low", times(float("inf"))),
        "training is slow": put("training loss after 10 steps, over the first", [0.5, 0.5, 0.5]),
        "another path": put("distance from the closed form", 1e-3),
    },
    "manifold.figure-2": {
        "straight through space, not along the plane": put("way ahead at the plane", [0.01] * 4),
        "a detour on the plane": put("change of direction/2", 0.1),
        "one start ends elsewhere": put("end, distance from (1, 1, 1)/3", 0.5),
        "the plane is not reached": put("training loss at the end/0", 0.1),
    },
    "manifold.figure-3": {
        "training leaves the curve": put("left, |w₁w₂ − 1| after t = 5/0", 0.5),
        "the distance is not of order λ": put("left, distance from the constrained flow over λ/0.01", times(2.0)),
        "another invariant": put("left, w₁² − w₂² against e^{−4λt}/1", 0.1),
        "the origin is regular": put("centre, rank of the Jacobian at (0, 0)", 1),
        "one run stops on the cross": put("centre, |w| at the end/0", 1.0),
        "half of the runs miss the origin": put("centre, |w| at the end", lambda ends: [1.0] * 12 + ends[12:]),
        "the kink stops a run": put("right, distance from (1, 1) at the end/0", 0.5),
        "no zero loss past the kink": put("right, training loss at the end/0", 0.1),
        "no delay past the kink": put("right, way ahead at zero loss", [0.0] * 3),
    },
    "manifold.theorem-4-9": {
        "a distance that does not depend on λ": put("largest distance", constant),
        "a distance that grows as λ falls": put("largest distance", backwards),
        "a distance that is not settled": put("last change of the distance/0/0", 0.5),
        "a law that is off by a constant": put("misfit of the law", constant),
    },
    "manifold.theorem-4-13": {
        "a gradient with a tangential part": put(
            "largest angle over distance", lambda rows: [[0.01 / x for x in (1e-1, 1e-2, 1e-3, 1e-4)] for _ in rows]
        ),
        "an angle as the root of the distance": put(
            "largest angle over distance", lambda rows: [[x**-0.5 for x in (1e-1, 1e-2, 1e-3, 1e-4)] for _ in rows]
        ),
        "unbounded in a ball": put("largest angle over distance in a ball/0", lambda row: [100 * row[-1], *row[1:]]),
        "no ball leaves its projections": put("share of a ball that projects outside/0", 0.0),
    },
    "manifold.theorem-5-1": {
        "the gradient has another sign": put("relative error/ridge", lambda errors: [2.0 for _ in errors]),
        "θ₂ is not at its optimum": put("relative error/descent", lambda errors: [1e-3 for _ in errors]),
    },
    "manifold.equation-16": {
        "ridge with 2λ": put("error over rounding/no bias/0", 1e12),
        "a penalised bias": put("error over rounding/with an output bias/0", 1e12),
    },
    "manifold.equation-17": {
        "half of the cost": put("error over rounding/0", 1e14),
        "a cheaper second layer": put("excess of other second layers/0", -1e-3),
    },
    "manifold.equation-20": {
        "the cost of another layer": put("error of the cost over rounding/0", 1e10),
        "another second layer": put("error of the second layer over rounding/0", 1e10),
        "not the limit": put("order of the limit/0", 0.0),
    },
    "manifold.equation-21": {
        "without the decay": put("error over rounding/λ = 0/0", 1e12),
        "A without λ at finite λ": put("error over rounding/λ = 0.3/0", 1e12),
        "an uncentred A with a bias": put("error over rounding/λ = 0, bias/0", 1e12),
    },
    "manifold.two-rate-limit": {
        "one distance for all rates": put("distance of W", constant),
        "slower than the ratio of rates": put(
            "distance of W", lambda rows: [[*row[:-1], 0.8 * row[-2]] for row in rows]
        ),
        "far at the fastest V": put("distance of W", times(1000.0)),
    },
    "manifold.minimum-norm": {
        "Adam ends as AdamW does": lambda data: put("norms/adam", data["norms"]["adamw"])(data),
        "AdamW ends as Adam does": lambda data: put("norms/adamw", data["norms"]["adam"])(data),
        "a small norm without a fit": put("training accuracy/adam/0", 0.9),
        "a small norm with a loss": put("training loss over that of zero outputs/adam/0", 0.1),
        "one start ends higher": put("norms/eq. 21/0", times(1.2)),
    },
    "manifold.section-7": {
        "generalisation from the start": put("test accuracy", lambda rows: [[1.0] * len(row) for row in rows]),
        "one seed at chance for ever": put("test accuracy", one_seed_at_chance),
        "chance for ever": put("test accuracy", lambda rows: [[0.02] * len(row) for row in rows]),
        "perfect too early": later(0.4),
        "perfect too late": later(2.0),
        "the training loss is not zero": put("training error over rounding/0", 100.0),
        "a run broke off": put("runs that finished", 1),
    },
    "manifold.figure-4": {
        "nothing learned": lambda data: data | {"after": data["before"]},
        "norms as at the start": nothing_learned("log_ratio"),
        "sizes as at the start": nothing_learned("spread"),
        "ellipses as at the start": nothing_learned("aspect"),
        "planes as at the start": nothing_learned("cosine"),
        "units shared as at the start": nothing_learned("other"),
        "no units shared by a frequency itself": together(
            *(put(f"after/{seed}/same", 0.1) for seed in range(3)),
        ),
        "one seed is not as the others": lambda data: put("after/1", data["before"][1])(data),
        "chance for ever": put("test accuracy", lambda rows: [[0.02] * len(row) for row in rows]),
        "generalisation emerges at once": put("test accuracy", lambda rows: [[1.0] * len(row) for row in rows]),
    },
    "manifold.lemma-a-1": {
        "a loss above the bound": put("largest 𝓛 over λ‖θ(0)‖²/0", 1.5),
        "𝓛_λ rises": put("largest rise of 𝓛_λ over 𝓛_λ(0)/0", 1e-3),
    },
    "manifold.lemma-b-1": {
        "a null vector is missing": put("null vectors left over/0", -1),
        "a null vector that is normal": put("normal part of null vectors over rounding/0", 1e12),
        "a tangent that leaves at first order": put("order at which a tangent leaves/0", 1.0),
    },
    "manifold.proposition-b-4": {
        "a displacement along the set": put("tangential part/0", 0.1),
        "two projections": put("difference of two minimisers/0", 0.1),
    },
    "manifold.appendix-c": {
        "both signs are wrong": put("relative error with the opposite sign/0", 1.0),
    },
}
