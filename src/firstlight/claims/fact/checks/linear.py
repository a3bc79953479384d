"""Appendix C and Figure 11: deep linear networks."""

import numpy as np

from firstlight import features
from firstlight._threads import one_blas_thread
from firstlight.claims._claim import Outcome, Setting
from firstlight.claims.fact.tolerances import BALANCED, HIGH_COSINE
from firstlight.records import figure
from firstlight.theories import fact

AT_REST = 1e-12
"""Largest entry of the gradient of 𝓛_λ at a critical point."""


def exactly_balanced(setting: Setting) -> Outcome:
    """Check balance and powers of AGOP at every layer of exact critical points: a minimum and a saddle per depth."""
    seeds = setting.seeds_or(range(setting.choose(quick=2, paper=5)))
    depths = (2, 3, 4, 5)
    lam, balance, powers, facts, teacher, rest = 0.05, [], [], [], [], []
    for seed in seeds:
        T = np.random.default_rng(seed).standard_normal((10, 5))
        for depth in depths:
            problem = fact.LinearProblem(np.eye(10), T, lam, 1 / 5)
            minimum = fact.lemmas.balanced_minimiser(problem, depth, width=8)
            # The saddle is the minimum without its largest singular direction.
            saddle = [_without(W, first=l == 0, last=l == depth - 1) for l, W in enumerate(minimum)]
            for weights in (minimum, saddle):
                gradients = problem.gradients(weights)
                rest.append(max(float(np.abs(G + lam * W).max()) for G, W in zip(gradients, weights, strict=True)))
                balance.append(fact.lemmas.imbalance(weights))
                for l, (W, G, A) in enumerate(zip(weights, gradients, fact.lemmas.layer_agops(weights), strict=True)):
                    N = features.nfm(W)
                    size = np.linalg.norm(N)
                    root = features.matrix_power(A, 1 / (depth - l), floor=1e-12)
                    powers.append(float(np.linalg.norm(root - N) / size))
                    facts.append(float(np.linalg.norm(features.fact(W, G, lam) - N) / size))
                N = features.nfm(weights[0])
                printed = features.matrix_power(T @ T.T, 1 / depth, floor=1e-12)
                teacher.append(float(np.linalg.norm(printed - N) / np.linalg.norm(N)))
    measured = {
        "imbalance": max(balance),
        "W_lᵀW_l against AGOP_l^(1/(L−l+1))": max(powers),
        "WᵀW against FACT": max(facts),
        "W₁ᵀW₁ against ((W*)ᵀW*)^(1/L)": max(teacher),
        "largest gradient": max(rest),
    }
    holds = max(measured["imbalance"], max(powers), max(facts)) < BALANCED and max(rest) < AT_REST
    return Outcome(
        "holds-as-corrected" if holds else "fails",
        measured,
        {"imbalance": 0.0, "W_lᵀW_l against AGOP_l^(1/(L−l+1))": 0.0, "WᵀW against FACT": 0.0},
        evidence=(
            f"λ = {lam}: the powers of AGOP are exact at minima and at saddles, while ((W*)ᵀW*)^(1/L) is off by up to "
            f"{max(teacher):.2g} of the norm."
        ),
        seeds=seeds,
    )


def _without(W: np.ndarray, *, first: bool, last: bool) -> np.ndarray:
    """Remove the leading hidden unit of a layer on both sides."""
    W = W.copy()
    if not first:
        W[0] = 0
    if not last:
        W[:, 0] = 0
    return W


def powers_by_depth(setting: Setting) -> Outcome:
    """Train networks from PyTorch's initialisation; compare powers of AGOP and FACT with W₁ᵀW₁ by their cosine."""
    seed = setting.seeds_or((0,))[0]
    width, depths, n = setting.choose(quick=(32, (2, 3), 500), paper=(512, (2, 3, 4, 5), 5000))
    steps = setting.choose(quick=2500, paper=6000)
    rng = np.random.default_rng(seed)
    T, X = rng.standard_normal((10, 5)), rng.standard_normal((n, 10))
    problem = fact.LinearProblem(X.T @ X / n, T, 1e-2, 1 / 5)
    powers = np.array([1 / 5, 1 / 4, 1 / 3, 1 / 2, 1.0])
    series, at_depth, facts, others = [], {}, {}, {}
    for i, depth in enumerate(depths):
        setting.progress(i / len(depths), f"{depth} layers")
        start = fact.lemmas.linear_init(seed, 10, 5, width, depth)
        # Products with ten columns are too small for several threads.
        with one_blas_thread():
            weights = fact.train_linear(problem, start, rate=0.02, momentum=0.9, steps=steps)
        N, A = features.nfm(weights[0]), fact.lemmas.layer_agops(weights)[0]
        cosines = [float(features.cosine(features.matrix_power(A, s, floor=1e-9), N)) for s in powers]
        series.append(figure.Series(f"L = {depth}", powers, np.array(cosines)))
        at_depth[f"L = {depth}"] = float(features.cosine(features.matrix_power(A, 1 / depth, floor=1e-9), N))
        others[f"L = {depth}"] = max(c for c, s in zip(cosines, powers, strict=True) if abs(s - 1 / depth) > 1e-9)
        G = problem.gradients(weights)[0]
        facts[f"L = {depth}"] = float(features.cosine(features.fact(weights[0], G, problem.weight_decay), N))
    holds = min(facts.values()) >= HIGH_COSINE and min(at_depth.values()) >= HIGH_COSINE
    best = all(at_depth[key] > others[key] for key in at_depth)
    shown = figure.curves(
        series,
        x="power of AGOP",
        y="cosine with W₁ᵀW₁",
        title="The right power of AGOP is one over the depth",
        caption=f"Width {width}; FACT has cosine {min(facts.values()):.4f} or more without any power.",
    )
    return Outcome(
        "holds" if holds and best else "fails",
        {"AGOP^(1/L)": at_depth, "best other power": others, "FACT": facts},
        {"AGOP^(1/L)": "close to 1", "FACT": f"≥ {HIGH_COSINE}"},
        evidence=(
            "Full batches with momentum instead of the paper's batches of 128: the same objective without noise. "
            f"Budget wd·Σlr/(1 − momentum) = {features.decay_budget([0.02 * steps], 1e-2, 0.9):g}."
        ),
        figures=(shown,),
        seeds=(seed,),
    )
