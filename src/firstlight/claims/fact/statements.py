"""Statements of *FACT: the Features At Convergence Theorem for neural networks*."""

from firstlight.claims._claim import Claim

_RECIPE = {
    "optimizer": "SGD",
    "activation": "ReLU",
    "training loss at convergence": "≤ 0.001",
    "momentum": 0.9,
    "learning rate": 0.1,
    "schedule": "cosine",
    "batch": 64,
    "epochs": 200,
    "loss": "mean-squared error",
    "initialisation": "PyTorch",
    "pixels": None,
    "biases": None,
    "squared error of a sample": None,
}
"""Appendix B; None where the paper prints nothing."""

_COLUMNS = {
    "MNIST, n = 1000": (1000, 1e-4),
    "MNIST, n = 2000": (2000, 1e-4),
    "MNIST, n = 5000": (5000, 1e-4),
    "MNIST, n = 60000": (60_000, 1e-4),
    "CIFAR-10, decay 1e-4": (50_000, 1e-4),
    "CIFAR-10, decay 1e-3": (50_000, 1e-3),
}
_TABLE = _RECIPE | {"data": ["MNIST", "CIFAR-10"], "depth": 3, "width": 1024, "seeds": None}
_TABLE_2 = _TABLE | {
    "rows": {name: rows for name, (rows, _) in _COLUMNS.items()},
    "weight decay": {name: decay for name, (_, decay) in _COLUMNS.items()},
}
_TABLE_1 = _TABLE | {"rows": {"MNIST, n = 60000": 60_000, "CIFAR-10, decay 1e-4": 50_000}, "weight decay": 1e-4}
_FIGURES = _RECIPE | {"hidden layers": 5, "weight decay": 1e-4, "seeds": 5}
_FIGURE_3 = _FIGURES | {
    "data": ["MNIST", "CIFAR-10"],
    "rows": {"MNIST": 60_000, "CIFAR-10": 50_000},
    "width": {"MNIST": 1024, "CIFAR-10": 3072},
}
_FIGURE_8 = _FIGURES | {"data": ["CIFAR-10"], "rows": 50_000, "width": None}
_DEEP = "Five runs of width 3072 on CIFAR-10 take two days of two cores, those on MNIST six hours."
_PARITY = {
    "d": 50,
    "test rows": 1000,
    "inputs": "±1/√d",
    "targets": [0, 1],
    "kernel": "Gaussian",
    "bandwidth": 5,
    "iterations": 5,
    "ridge": None,
    "trace of M": None,
}
"""Section 4.3."""

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="fact.theorem-3-1",
        title="Features at convergence",
        locator="Theorem 3.1",
        statement="At a critical point of L + (λ/2)‖θ‖² in W, WᵀW = FACT = −(1/nλ) Σ_i (∇_hℓ_i) h(x_i)ᵀ.",
        check="identity:forward",
        needs=("torch",),
        uses=(),
    ),
    Claim(
        id="fact.remark-3-3",
        title="Symmetrisations of FACT",
        locator="Remark 3.3",
        statement="At critical points WᵀW = FACTᵀ and WᵀW = √(FACTᵀ).",
        corrected="WᵀW = FACTᵀ and WᵀW = √(FACT·FACTᵀ), computed as USUᵀ from the singular values of FACT.",
        check="identity:symmetrised",
        needs=("torch",),
        uses=("fact.theorem-3-1",),
    ),
    Claim(
        id="fact.table-1",
        title="FACT, NFA and eNFA on MNIST and CIFAR-10",
        locator="Table 1",
        statement=(
            "Correlation with WᵀW after training on MNIST, CIFAR-10: FACT .999, .896; NFA .909, .722; eNFA .903, .714."
        ),
        check="tables:table_1",
        needs=("torch", "mnist", "cifar10"),
        uses=("fact.theorem-3-1", "fact.table-2"),
        paper_setting=_TABLE_1,
    ),
    Claim(
        id="fact.table-2",
        title="Alignment of the first layer by data size and decay",
        locator="Table 2, Appendix B",
        statement=(
            "In all cases except MNIST n = 1000, FACT and its symmetrisation correlate better with W₁ᵀW₁ than √AGOP "
            "and √eNFA."
        ),
        check="tables:table_2",
        needs=("torch", "mnist", "cifar10"),
        corrected=(
            "This holds where the budget wd·Σlr/(1 − momentum) is above 1.5; the printed recipe has 0.16 at n = 1000, "
            "0.32 at n = 2000 and 0.79 at n = 5000, and there √AGOP is ahead of FACT."
        ),
        uses=("fact.theorem-3-1", "fact.remark-3-3"),
        paper_setting=_TABLE_2,
    ),
    Claim(
        id="fact.figure-3",
        title="Alignment at every layer",
        locator="Figure 3",
        statement=(
            "FACT correlates with WᵀW at every hidden layer of five-layer perceptrons, over the layers more than AGOP, "
            "eNFA and their roots."
        ),
        check="layers:figure_3",
        needs=("torch", "mnist", "cifar10"),
        uses=("fact.theorem-3-1", "fact.table-2"),
        scales=("quick", "reduced", "paper"),
        paper_setting=_FIGURE_3,
        reduced_because=_DEEP,
    ),
    Claim(
        id="fact.theorem-3-4",
        title="AGOP and the features can be nearly uncorrelated",
        locator="Theorem 3.4, Appendix D",
        statement=(
            "For any s > 0 and ε there are p, τ, λ such that minimisers on D(p, τ) have corr(AGOP^s, WᵀW) < ε, while "
            "FACT holds."
        ),
        check="separation:nearly_uncorrelated",
        uses=("fact.theorem-3-1", "fact.lemma-d-2"),
    ),
    Claim(
        id="fact.figure-4",
        title="FACT and the NFA on the synthetic data",
        locator="Figure 4, Section 3.2",
        statement="At τ = 0.02, p = λ = 1e-5, width 10, FACT has cosine 0.994 with WᵀW and AGOP less than 0.068.",
        corrected="Separation needs λ ≲ p/10: at τ = 0.02, p = 1e-6, λ = 1e-8 FACT has cosine 1 and AGOP 0.0555.",
        check="separation:figure_4",
        uses=("fact.theorem-3-4", "fact.theorem-3-1"),
        paper_setting={
            "model": "aᵀ(Wx)²",
            "d": 4,
            "inputs": "uniform on {0, 1, 2}⁴ with probability p, else (1, 1, 0, 0)",
            "target": "τx₁x₂ + x₃x₄",
            "loss": "population",
            "τ": 0.02,
            "p": 1e-5,
            "λ": 1e-5,
            "width": 10,
            "optimizer": "Adam",
            "iterations": 10**6,
            "learning rate": 0.01,
            "initialisation": None,
            "seeds": None,
        },
    ),
    Claim(
        id="fact.figure-1",
        title="FACT-RFM learns a sparse parity by a phase transition",
        locator="Figure 1, Section 4.3",
        statement=(
            "FACT-RFM on the parity of 4 of 50 bits (n = 25,000) reproduces phase transitions found in learning with "
            "neural networks, and features learn the support of the sparse parity."
        ),
        check="rfm_parity:phase_transition",
        uses=("fact.algorithm-1", "fact.appendix-e", "fact.figure-5"),
        paper_setting=_PARITY
        | {"k": 4, "rows": 25_000, "update": "geometric", "support": [7, 15, 25, 29]}
        | {"inputs in the caption": "{0, 1}"},
    ),
    Claim(
        id="fact.algorithm-1",
        title="Recursive feature machines",
        locator="Algorithm 1, Sections 4.1 and 4.2",
        statement=(
            "From W = I: α = (K_W(X, X) + nλI)⁻¹y, f̂ = K_W(·, X)α, W ← AGOP^{s/2} or (FACT·FACTᵀ)^{1/4} or "
            "(FACT·WᵀW·WᵀW·FACTᵀ)^{1/8}; the output is f̂_T."
        ),
        check="rfm_algorithm:as_printed",
        uses=("fact.lemma-f-1", "fact.lemma-f-2"),
    ),
    Claim(
        id="fact.table-3",
        title="RFMs on 120 tables of the UCI corpus",
        locator="Table 3, Section 4.3",
        statement=(
            "Average test accuracy with the Laplace kernel: FACT-RFM 85.22, with geometric averaging 84.99, NFA-RFM "
            "85.10, kernel regression without feature learning 83.71."
        ),
        check="rfm_tabular:tabular",
        needs=("uci121",),
        uses=("fact.algorithm-1", "fact.appendix-e"),
        scales=("quick", "reduced", "paper"),
        paper_setting={
            "data": "UCI corpus",
            "data sets": 120,
            "kernel": "Laplace",
            "methods": ["FACT", "FACT geometric", "NFA", "Laplace"],
            "bandwidth": None,
            "ridges": None,
        },
        reduced_because="The 17 sets above 5,000 rows take most of a day of two cores; FIRSTLIGHT_UCI_ROWS adds them.",
    ),
    Claim(
        id="fact.figure-5",
        title="Both RFMs find the support of a parity",
        locator="Figure 5, Section 4.3",
        statement=(
            "With the Gaussian kernel of bandwidth 5 and 5 iterations, FACT-RFM (geometric) and NFA-RFM learn parities "
            "of k of 50 bits, and √(FACT·M) and √AGOP are of low rank on the bits of the parity."
        ),
        check="rfm_parity:parity_features",
        uses=("fact.algorithm-1", "fact.appendix-e"),
        scales=("quick", "reduced", "paper"),
        paper_setting=_PARITY
        | {"rows": {"k = 2": 500, "k = 3": 5000, "k = 4": 50_000}, "updates": ["geometric", "NFA"]},
        reduced_because="With 50,000 rows the kernel matrix takes 20 GB in double precision, which the ridge needs.",
    ),
    Claim(
        id="fact.figure-6",
        title="RFMs grok modular addition with block-circulant features",
        locator="Figure 6, Section 4.3",
        statement=(
            "On addition modulo 61 with half of the table, FACT-RFM (geometric) and NFA-RFM reach 100 % test accuracy "
            "within 75 iterations after a delay, and √(FACT·M) and √AGOP are block-circulant."
        ),
        corrected=(
            "With the quadratic kernel NFA-RFM reaches 100 % and geometric FACT-RFM up to 99.9 %, with block-circulant "
            "features; with the Gaussian kernel geometric FACT-RFM does not generalise."
        ),
        check="rfm_modular:modular_addition",
        uses=("fact.algorithm-1", "fact.appendix-e"),
        paper_setting={
            "modulus": 61,
            "fraction": 0.5,
            "iterations": 75,
            "updates": ["geometric", "NFA"],
            "kernel": None,
            "ridge": None,
            "seeds": None,
        },
    ),
    Claim(
        id="fact.proposition-5-1",
        title="FACT and AGOP of inner-product kernels differ in one factor",
        locator="Proposition 5.1, F.4",
        statement=(
            "For K = k(xᵀMx′): AGOP = Σ τ(x_i, M, x_j)Mx_iα_iᵀα_jx_jᵀMᵀ with τ = (1/n)Σ_l k′k′, and FACT·Mᵀ is the "
            "same with k′(x_iᵀMx_j). FACT·Mᵀ is positive semi-definite when k is non-increasing, such as exp(t) or t²."
        ),
        corrected="The formulas hold; FACT·M is positive semi-definite when k′ is a positive definite kernel.",
        check="rfm_identities:inner_product_forms",
        uses=("fact.lemma-f-1",),
    ),
    Claim(
        id="fact.figure-7",
        title="Why AGOP and FACT give similar features",
        locator="Figure 7, Section 5",
        statement=(
            "At the end of FACT-RFM on addition modulo 61, τ(x_i, M, x_j) is nearly proportional to k′(x_iᵀMx_j)."
        ),
        check="rfm_modular:similar_factors",
        uses=("fact.proposition-5-1", "fact.figure-6"),
        paper_setting={
            "modulus": 61,
            "fraction": None,
            "iterations": None,
            "pairs shown": 1000,
            "kernel": "inner product",
            "k": None,
            "seeds": None,
        },
    ),
    Claim(
        id="fact.envelope-identity",
        title="FACT is the slope of the least kernel cost",
        locator="Section 5 (implied)",
        statement=(
            "For J(W) = (λ/2) tr Yᵀ(K_W + nλI)⁻¹Y + (λ/2)‖W‖², Wᵀ∇J = λ(M − FACT): FACT-RFM's fixed points are the "
            "critical points of the kernel machine's regularised cost."
        ),
        check="rfm_identities:envelope",
        uses=("fact.lemma-f-1", "fact.lemma-f-2"),
    ),
    Claim(
        id="fact.scale-law",
        title="Why FACT-RFM is unstable",
        locator="Section 6, Appendix E (implied)",
        statement=(
            "For k = t^q without ridge FACT(sM) = s^(−q)FACT(M) while AGOP does not depend on s; so the scale of M is "
            "multiplied by −q in the logarithm by the plain update, by (1−q)/2 by the geometric one: they diverge for "
            "q ≥ 2 and q > 3, and keeping the trace of M cures it."
        ),
        check="rfm_scale:scale_law",
        uses=("fact.algorithm-1", "fact.lemma-f-1"),
    ),
    Claim(
        id="fact.appendix-e",
        title="Which update of M",
        locator="Appendix E",
        statement=(
            "Both updates are at rest where FACT = WᵀW; √FACT itself is not defined away from there. The plain update "
            "performs well on tabular data and parities and is unstable on modular arithmetic; the geometric one is "
            "stable."
        ),
        corrected=(
            "Both updates are at rest where FACT = WᵀW. The plain update performs well on parities only if the trace "
            "of M is kept, which cures "
            "the drift of its scale; on modular arithmetic it then generalises and is lost again, so stop it early."
        ),
        check="rfm_algorithm:choice_of_update",
        uses=("fact.algorithm-1", "fact.theorem-3-1"),
    ),
    Claim(
        id="fact.lemma-f-1",
        title="FACT of a kernel machine from its dual coefficients",
        locator="Lemma F.1",
        statement="At the optimal α of kernel ridge regression, FACT = Σ_ij ∂_x K(x, x_j)|_{x=x_i} α_jᵀα_i x_iᵀ.",
        check="rfm_identities:fact_from_coefficients",
        uses=("fact.theorem-3-1", "fact.lemma-f-2"),
    ),
    Claim(
        id="fact.lemma-f-2",
        title="Dual coefficients are loss gradients",
        locator="Lemma F.2",
        statement="With α = (K + λI)⁻¹Y and ℓ = ½|ŷ − y|², α_i = −ℓ′(ŷ_i, y_i)/(nλ).",
        corrected="α_i = −ℓ′(ŷ_i, y_i)/(nλ) holds for α = (K + nλI)⁻¹Y, as in Algorithm 1, not for (K + λI)⁻¹Y.",
        check="rfm_identities:representer_coefficients",
        uses=(),
    ),
    Claim(
        id="fact.remark-f-3",
        title="Dual coefficients beyond the squared loss",
        locator="Remark F.3",
        statement=(
            "A statement of this form relating the representer coefficients to the loss derivatives at optimality is "
            "more generally true beyond the MSE loss."
        ),
        verbatim=True,
        check="rfm_identities:other_losses",
        uses=("fact.lemma-f-2",),
    ),
    Claim(
        id="fact.figure-8",
        title="Alignment along training",
        locator="Figure 8",
        statement=(
            "FACT has low correlation for most epochs, √(FACT·FACTᵀ) nontrivial, before rising sharply to near-perfect."
        ),
        check="layers:figure_8",
        needs=("torch", "cifar10"),
        uses=("fact.theorem-3-1", "fact.remark-3-3", "fact.figure-3"),
        scales=("quick", "reduced", "paper"),
        paper_setting=_FIGURE_8,
        reduced_because=_DEEP,
    ),
    Claim(
        id="fact.theorem-a-1",
        title="The backward form",
        locator="Theorem A.1, Remark 3.2",
        statement="At a critical point WWᵀ = bFACT = −(1/nλ) Σ_i (Wh(x_i)) (∇_{Wh}ℓ_i)ᵀ.",
        check="identity:backward",
        needs=("torch",),
        uses=("fact.theorem-3-1",),
    ),
    Claim(
        id="fact.figure-9",
        title="Backward alignment at every layer",
        locator="Figure 9",
        statement="The backward versions of FACT, AGOP and eNFA against WWᵀ of every layer: bFACT aligns best.",
        check="layers:figure_9",
        needs=("torch", "mnist", "cifar10"),
        uses=("fact.theorem-a-1", "fact.figure-3"),
        scales=("quick", "reduced", "paper"),
        paper_setting=_FIGURE_3,
        reduced_because=_DEEP,
    ),
    Claim(
        id="fact.figure-10",
        title="Backward alignment along training",
        locator="Figure 10",
        statement="The backward versions over epochs: bFACT becomes near-perfect late, ahead of the others.",
        check="layers:figure_10",
        needs=("torch", "cifar10"),
        uses=("fact.theorem-a-1", "fact.figure-8"),
        scales=("quick", "reduced", "paper"),
        paper_setting=_FIGURE_8,
        reduced_because=_DEEP,
    ),
    Claim(
        id="fact.appendix-c",
        title="Deep linear networks need AGOP to the power 1/L",
        locator="Appendix C",
        statement=(
            "Close to the ground truth, layers are approximately balanced and W₁ᵀW₁ ≈ AGOP^(1/L) ≈ ((W*)ᵀW*)^(1/L)."
        ),
        check="linear:exactly_balanced",
        uses=("fact.theorem-3-1",),
    ),
    Claim(
        id="fact.figure-11",
        title="Powers of AGOP in deep linear networks",
        locator="Figure 11, Appendix C",
        statement=(
            "AGOP^(1/L) has cosine close to 1 with W₁ᵀW₁. FACT has at least 0.999 at every depth and has no power to "
            "choose."
        ),
        check="linear:powers_by_depth",
        corrected=(
            "AGOP^(1/L) has cosine close to 1 with W₁ᵀW₁. FACT has cosine at least 0.99. Gradient noise of the last "
            "batches leaves 0.9984 at depth 5; at a "
            "critical point it is 1."
        ),
        uses=("fact.appendix-c", "fact.theorem-3-1"),
        paper_setting={
            "inputs": 10,
            "distribution of inputs": "N(0, I)",
            "loss": "mean-squared error",
            "outputs": 5,
            "width": 512,
            "depths": None,
            "rows": 5000,
            "batch": 128,
            "learning rate": 5e-3,
            "weight decay": 1e-2,
            "epochs": 5000,
            "optimizer": "SGD",
            "initialisation": "PyTorch",
            "teacher": "standard Gaussian entries",
            "seeds": None,
        },
    ),
    Claim(
        id="fact.lemma-d-2",
        title="The cheapest quadratic network",
        locator="Lemma D.2",
        statement="The least ‖a‖² + ‖W‖² of a quadratic network computing xᵀQx is 2 Σ σ_i(Q)^(2/3).",
        corrected=(
            "It is 3·2^(−2/3) Σ σ_i(Q)^(2/3), attained by a_i = sgn(λ_i)(|λ_i|/2)^(1/3), ‖w_i‖² = 2^(1/3)|λ_i|^(2/3). "
            "Step 1 of the proof of Theorem 3.4 needs ā₂ = ā₃ = −τ/2 and ā₅ = ā₆ = −½."
        ),
        check="separation:cheapest_network",
        uses=(),
    ),
)
