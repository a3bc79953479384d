"""False data for the claims of AGF."""

import copy
import math
import random
from typing import Any

from tests.claims.falsehoods import Data, Falsehood, put


def all_draws(path: str, change: Any, folder: str = "draws") -> Falsehood:
    """Change one entry of every draw; `folder` names the list, or the table of lists, of draws."""

    def falsify(data: Data) -> Data:
        changed = copy.deepcopy(data)
        draws = changed[folder]
        lists = draws.values() if isinstance(draws, dict) else [draws]
        for rows in lists:
            rows[:] = [put(path, change)(row) for row in rows]
        return changed

    return falsify


def scaled(factor: float) -> Any:
    """Return a function that multiplies all numbers of nested lists and tables."""

    def change(value: Any) -> Any:
        if isinstance(value, list):
            return [change(item) for item in value]
        if isinstance(value, dict):
            return {key: change(item) for key, item in value.items()}
        return factor * value

    return change


def shifted(amount: float) -> Any:
    """Return a function that adds to all numbers of nested lists."""
    return lambda value: [shifted(amount)(item) for item in value] if isinstance(value, list) else value + amount


def scattered(path: str) -> Any:
    """Return a function that multiplies the jumps after the first by exp(N(0.3, 1))."""
    rng = random.Random(0)
    return lambda row: put(path, lambda t: [t[0], *(x * math.exp(rng.gauss(0.3, 1.0)) for x in t[1:])])(row)


def backwards(value: list[Any]) -> list[Any]:
    """Reverse a list, such as an order of learning."""
    return value[::-1]


FALSEHOODS: dict[str, dict[str, Falsehood]] = {
    "agf.equation-2": {
        "norms without κ": put("norms/κ = 3", [0.5, 0.5]),
        "frozen": put("directions/κ = 2", [1.0, 1.0]),
    },
    "agf.equation-3": {"threshold without η": put("norms/κ = 3", 0.25)},
    "agf.algorithm-1": {
        "order reversed": all_draws("order of gradient flow", backwards),
        "jumps 20 % late": all_draws("errors of jumps", shifted(0.2)),
        "levels too high": all_draws("levels against the closed form", 0.1),
        "plateaus elsewhere": all_draws("plateaus", shifted(0.2)),
        "errors of 4/|log α|": all_draws("errors of jumps", lambda rows: [[4 / 18.42] * 4, [4 / 36.84] * 4]),
    },
    "agf.theorem-3-1": {
        "one problem differs": put("same", lambda n: n - 1),
        "times that do not converge": put("gaps/500", 0.02),
    },
    "agf.figure-3": {
        "curves that do not approach": all_draws("distances", lambda d: [d[0]] * len(d)),
        "jumps 5 % late in the limit": all_draws("time errors", shifted(0.05)),
        "errors of 4/|log α|": all_draws("time errors", lambda rows: [[4 / 36.84 for _ in row] for row in rows]),
    },
    "agf.conjecture-4-1": {
        "jumps 10 % late in the limit": lambda data: put(
            "draws/commuting", lambda rows: [put("errors", shifted(0.1))(row) for row in rows]
        )(data),
        "two ranks at once": lambda data: put(
            "draws/not commuting", lambda rows: [put("ranks", shifted(1))(row) for row in rows]
        )(data),
        "errors of 4/|log α|": lambda data: put(
            "draws/commuting",
            lambda rows: [put("errors", lambda e: [[4 / 13.82] * len(e[0]), [4 / 27.63] * len(e[1])])(r) for r in rows],
        )(data),
        "neither level": put("crossed/gradient flow", lambda levels: [1.0 for _ in levels]),
    },
    "agf.figure-4": {
        "constant times": lambda data: put(
            "draws/not commuting", lambda rows: [put("errors", shifted(0.1))(row) for row in rows]
        )(data),
        "singular values of another map": lambda data: put("values/commuting/0", lambda row: [1.0 for _ in row])(
            put("values seen by the loss/commuting/0", lambda row: [1.0 for _ in row])(data)
        ),
    },
    "agf.figure-5": {
        "order reversed": all_draws("order", backwards),
        "constant times": all_draws("jumps of gradient flow", lambda t: [t[0]] * len(t)),
        "eq. 7's levels": all_draws("levels of gradient flow", scaled(0.5)),
        "other magnitudes": all_draws("magnitudes", scaled(2.0)),
    },
    "agf.theorem-5-1": {
        "a higher maximum": put("largest U reached over U*", 1.1),
        "a saddle": put("curvature at ξ = 2/0", 0.1),
    },
    "agf.theorem-5-2": {
        "the bound broken": put(("share of |x̂|²/p", "N = 8"), 1.1),
        "not tight": put("six neurons over the bound", 0.1),
        "another utility": put("utility left/all pairs", lambda U: 2 * U + 1),
    },
    "agf.equation-9": {
        "order reversed": lambda data: all_draws("order of gradient flow", backwards, "cases")(data),
        "other levels": lambda data: all_draws("plateaus", scaled(1.1), "cases")(data),
        "first jump at random": lambda data: all_draws("jumps of gradient flow", scaled(0.5), "cases")(data),
        "first jump 17 % late": lambda data: all_draws("jumps of gradient flow", scaled(1 / 1.17), "cases")(data),
        "a wrong scale": put("corrected scale × 3U*", 0.5),
        "before the bound": lambda data: all_draws("waits over bounds", scaled(0.5), "cases")(data),
        "later jumps at random": lambda data: put(
            "cases",
            lambda cases: {name: [scattered("jumps of AGF")(row) for row in rows] for name, rows in cases.items()},
        )(data),
    },
    "agf.figure-6": {
        "order reversed": all_draws("order of gradient flow", backwards),
        "a frequency is never learned": all_draws("order of gradient flow", lambda order: order[:-1]),
        "a jump that never came": all_draws("jumps of gradient flow", lambda t: [*t[:-1], float("nan")]),
        "mixed neurons": all_draws("purity", lambda values: [0.4 for _ in values]),
        "equal phases": all_draws("squares left", 0.9),
        "later jumps at random": put("draws", lambda rows: [scattered("jumps of AGF")(row) for row in rows]),
    },
    "agf.section-5-summands": {
        "a wrong formula": put("errors/p = 5, k = 3", 0.3),
        "other maxima": put("outside/p = 5, k = 3", 0.5),
    },
    "agf.figure-7": {
        "a slide at width one": all_draws("fall", 0.05),
        "jumps 50 % late": all_draws("first jump", 0.5),
    },
    "agf.equation-14": {"another equation": put("errors/κ = 3", 0.5)},
    "agf.equation-17": {
        "a jump before the bound": put("random", lambda values: [0.5 for _ in values]),
        "not attained": put("at the maximum/κ = 3/jump", scaled(0.5)),
    },
    "agf.lemma-b-1": {"a drift": put("drift/linear", 0.1), "nearer to the origin": put("slack/quadratic", -0.1)},
    "agf.theorem-b-2": {"no symmetry": put("errors/κ = 4", [0.1, 0.1])},
    "agf.equation-22": {
        "a constant time for κ = 2": put("waits/κ = 2", lambda values: [values[0]] * len(values)),
        "instantaneous for κ = 3": put("waits/κ = 3", lambda values: [*values[:-1], 0.1 * values[-1]]),
        "the printed quotient": put("products/κ = 3", lambda values: [1e12] * len(values)),
    },
    "agf.equation-23": {"still depends on the norm": put("adaptive/κ = 3", 0.01)},
    "agf.lemma-c-1": {"another maximum": put("height/0", -0.1), "another sign": put("signs", 4)},
    "agf.lemma-c-2": {"not conserved": put("difference", 0.1)},
    "agf.lemma-c-3": {"not a tangent": put("errors/0", 0.1)},
    "agf.theorem-c-4": {"another integral": put("errors/0", 0.1), "a wrong sign": put("signs", 5)},
    "agf.corollary-c-5": {"a jump at another S": put("S", 0.1), "another neuron jumps": put("first", lambda n: n - 1)},
    "agf.figure-8": {
        "no flip": put("first coefficient at the saddles", [0.0, 1.0, 0.0, 1.0]),
        "never dormant": put("least |S| of the first coefficient while dormant", 0.9),
        "other saddles": put("visited", scaled(2.0)),
        "jumps 10 % late": put("time errors", shifted(0.1)),
    },
    "agf.lemma-d-1": {"another maximum": put("total over ½Σσ/0", 0.8), "more modes": put("modes", 5)},
    "agf.equation-47": {"times 1/σ²": put("eq. 6 times σ/0", 2.0), "late": all_draws("errors", shifted(0.1))},
    "agf.algorithm-3": {"worse levels": put("levels/0", 0.1), "other maps": put("maps/0", 0.1)},
    "agf.lemma-e-1": {
        "another formula": put("formula", 0.1),
        "another maximum": put(("heights over Nλ₃²/(3√3)", "0"), 0.5),
    },
    "agf.equation-53": {"without the trace": put("standard errors/0/0", 50.0)},
    "agf.lemma-e-2": {"not decoupled": put("corrected", 0.1), "gradients elsewhere": put("off the eigenvector", 0.1)},
    "agf.equation-57": {"the levels of eq. 7": put("standard errors", [50.0, 50.0, 50.0, 50.0])},
    "agf.equation-58": {
        "a jump before the bound": put("random/0", 0.5),
        "not attained": put("at the maximum/jump", scaled(0.5)),
    },
    "agf.lemma-f-1": {"the proof's eq. 62": put("errors/p = 7", 0.1)},
    "agf.lemma-f-2": {"without conjugates": put("errors/p = 7", 0.1)},
    "agf.theorem-f-5": {"a leak": put("squares cancel", 0.1)},
    "agf.lemma-f-6": {"another sum": put("errors/p = 7", 0.1)},
    "agf.lemma-f-8": {"another function": put("errors/p = 7", 0.1)},
    "agf.theorem-f-9": {"another utility": put("utility left/p = 7/all pairs", lambda U: 2 * U + 1)},
}
