"""False data for the claims of CoGO."""

from tests.claims.falsehoods import Data, Falsehood, put


def entry(*keys: str, value: object) -> Falsehood:
    """Replace the entry below nested keys, which may hold a slash; a function is applied to the entry."""

    def falsify(data: Data) -> Data:
        first, *rest = keys
        old = data[first]
        if rest:
            return {**data, first: entry(*rest, value=value)(old)}
        return {**data, first: value(old) if callable(value) else value}

    return falsify


def figure_5(change) -> Falsehood:
    """Apply a function to the table of orders by weight decay, of every group."""
    return entry("orders", value=lambda groups: {name: change(table) for name, table in groups.items()})


def constant_orders(order: int):
    """Give every frequency of every network the same order, collapse aside."""
    return lambda table: {
        decay: [[order if n else 0 for n in network] for network in networks] for decay, networks in table.items()
    }


def same_at_every_decay(table: Data) -> Data:
    """Let weight decay have no effect until the collapse."""
    first, *_ = table.values()
    return {decay: first if any(map(any, networks)) else networks for decay, networks in table.items()}


def heavier_decay_raises(table: Data) -> Data:
    """Reverse the orders over the decays without collapse."""
    alive = [decay for decay, networks in table.items() if any(map(any, networks))]
    turned = {decay: table[other] for decay, other in zip(alive, reversed(alive), strict=True)}
    return {**table, **turned}


def never_collapses(table: Data) -> Data:
    """Give the heaviest decay the orders of the one before it."""
    *_, before, last = table
    return {**table, last: table[before]}


FALSEHOODS: dict[str, dict[str, Falsehood]] = {
    "cogo.theorem-1": {
        "eq. (3) is wrong by 0.1 %": entry("relative errors", "eq. (3)", value=[1e-3]),
        "means count twice": entry("relative errors", "general form", value=[0.5]),
    },
    "cogo.lemma-1": {
        "eq. (4) leaves a loss": entry("loss", value=[1e-3]),
        "some ℓ_k is lower": entry("least ℓ_k + 1/d", value=[-1e-3]),
        "eq. (4) is not satisfied": entry("residual", value=[0.1]),
    },
    "cogo.theorem-2": {
        "sums for products": entry("distances", "distributes", value=[1.0]),
        "nodes are not permuted": entry("distances", "multiplication commutes", value=[0.3]),
        "another one": entry("distances", "one is neutral", value=[float("inf")]),
    },
    "cogo.theorem-3": {
        "sums for products": entry("errors", "r(x ∗ y) = r(x) r(y)", value=[0.1]),
        "the order of 1 is 2": entry("errors", "r(1) = 1", value=[1.0]),
    },
    "cogo.observation-1": {
        "r with m + k′": entry("errors", "r_{pmk′k}", value=[0.7]),
        "every function is a potential": entry("sums", value=[0.0]),
    },
    "cogo.observation-2": {
        "orders of products add": entry("violations", "ord(x ∗ y) = ord x · ord y", value=7),
        "the empty network has a node": put("neutral", [1, 1]),
    },
    "cogo.corollary-1": {
        "units spoil z_F6": entry("by potential", "F6", value=[0.9]),
        "z is no optimizer": entry("before", value=[0.9]),
    },
    "cogo.lemma-2": {
        "order 2 suffices": entry("least residual", "2", value=1e-9),
        "order 3 does not suffice": entry("residual of order 3", value=0.5),
        "other solutions of least norm": entry("distance up to signs", value=[1.0]),
        "no seed reaches the least norm": entry("seeds of least norm", value=0),
        "z̃ is in R_⊛": entry("z̃", "R_⊛ · 2d", value=0.0),
    },
    "cogo.corollary-2": {
        "the loss of zeros": entry("loss", value=[0.857]),
        "seven nodes a frequency": entry("order − 3(d − 1)", value=[3]),
        "eq. (4) is not satisfied": entry("residual", value=[0.1]),
    },
    "cogo.corollary-3": {
        "z_F4 violates R_⊛": entry("R_⊛", value=[1e-3]),
        "(7) has another r_kkk": entry("factors", value=[0.1]),
        "z_F4 satisfies R_n": entry("R_n", value=[0.05]),
        "no repair": entry("repaired", value=[1.7]),
    },
    "cogo.corollary-4": {
        "eq. (10) as printed": lambda data: {**data, "loss": data["printed loss"]},
        "order 2d": entry("order − d²", value=[-15]),
        "z_a violates R_n": entry("z_a", value=[0.1]),
    },
    "cogo.theorem-4": {
        "J is wrong by 0.1 %": entry("errors", value=[1e-3]),
        "J is no derivative": entry("differences", value=[1e-3]),
        "against the gradient": entry("inner products", value=[-0.5]),
    },
    "cogo.theorem-5": {
        "the path leaves the optimizers": entry("loss", value=[1e-3]),
        "the path ends elsewhere": entry("end", value=[1.5]),
        "memorisation has the least norm": entry("norms of Z23 by order", value=lambda norms: norms[::-1]),
        "the norm falls below that of z′": entry("least", value=[0.5]),
    },
    "cogo.theorem-6": {
        "a constant": entry("slopes", value={"largest": [0.0] * 24, "root mean square": [0.0] * 24}),
        "1/q": entry("slopes", "root mean square", value=lambda slopes: [2 * s for s in slopes]),
        "all potentials decouple": entry("kept with r_pmk′k", value=0.25),
        "the loss of eq. (3) is printed wrongly too": entry("minimum", "eq. (3)", value=-0.1),
    },
    "cogo.equation-12": {
        "no swings": entry("swings off cos √c₀t", value=[1.0]),
        "H drifts": entry("drift", value=[0.1]),
        "the printed curve": entry("misses", "(1 − e^(−2dt))/2d", value=0.97),
    },
    "cogo.lemma-3": {
        "characters of another group": put("deviations/homomorphism", 1.0),
        "a character is missing": put("deviations/number of characters", float("inf")),
    },
    "cogo.figure-2": {
        "4 nodes everywhere": entry("orders", value=[[4, 4, 4]] * 40),
        "5 nodes everywhere": entry("orders", value=[[5, 5, 5]] * 40),
        "any order": entry("orders", value=[[n % 5 + 3, n % 4 + 3, 6] for n in range(40)]),
        "the last term changes nothing": lambda data: {**data, "orders without R_⊛": data["orders"]},
        "untrained networks": entry("learned", value=0.1),
    },
    "cogo.figure-3": {
        "two F4 and one F6": entry("orders", value=[[4, 4, 6]] * 40),
        "half of the networks": entry("orders", value=[[4, 6, 6], [5, 5, 6]] * 20),
        "six nodes of no family": entry("blocks", value=[["F4", "F6", "other"]] * 40),
        "every node at three frequencies": entry("faded", value=[0.0] * 40),
        "another frequency at last": entry("kept", value=[1 / 3] * 40),
        "untrained networks": entry("learned", value=0.1),
    },
    "cogo.figure-4": {
        "memorises only": entry("test accuracy", value=[0.1] * 4),
        "no delay": entry("epochs from train to test", value=[0.0] * 4),
        "5 nodes everywhere": entry("orders", value=[[5] * 5] * 4),
        "half of the limit": entry("Σ r_kkk over its limit", value=[0.5] * 4),
        "off-diagonal potentials stay": entry("other r, last over largest", value=[1.0] * 4),
        "orders 4 and 6 alike": entry("|r_p0kk| over 1/√8 d", "a", value={"4": [0.4, 0.5, 0.6], "6": [0.4, 0.5, 0.6]}),
        "no order 6": entry("|r_p0kk| over 1/√8 d", "b", "6", value=[]),
    },
    "cogo.figure-4-ripples": {
        "no ripples": entry("ripples of Adam", value=[[]] * 4),
        "one overshoot": entry("ripples of Adam", value=[[0.3]] * 4),
        "noise for ripples": entry("noise at the end", value=[0.02] * 4),
    },
    "cogo.figure-5": {
        "5 nodes everywhere": figure_5(constant_orders(5)),
        "9 nodes everywhere": figure_5(constant_orders(9)),
        "weight decay has no effect": figure_5(same_at_every_decay),
        "weight decay raises the order": figure_5(heavier_decay_raises),
        "no collapse": figure_5(never_collapses),
        "no network learns": figure_5(constant_orders(0)),
    },
    "cogo.order-4-preference": {
        "a constant share": entry(
            "shares of order 4", value=lambda groups: {name: {"0.003": [0.3, 0.4] * 4} for name in groups}
        ),
        "smaller problems prefer it": entry(
            "shares of order 4",
            value=lambda groups: dict(zip(groups, reversed(list(groups.values())), strict=True)),
        ),
        "collapsed networks": entry("frequencies without nodes", value=11),
    },
}
