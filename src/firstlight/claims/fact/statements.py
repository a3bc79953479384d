"""Statements of *FACT: the Features At Convergence Theorem for neural networks*."""

from firstlight.claims._claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="fact.theorem-3-1",
        title="Features at convergence",
        locator="Theorem 3.1",
        statement="At a critical point of L + (λ/2)‖θ‖² in W, WᵀW = FACT = −(1/nλ) Σ_i (∇_hℓ_i) h(x_i)ᵀ.",
        check="identity:forward",
        needs=("torch",),
    ),
    Claim(
        id="fact.remark-3-3",
        title="Symmetrisations of FACT",
        locator="Remark 3.3",
        statement="At critical points WᵀW = FACTᵀ and WᵀW = √(FACTᵀ).",
        corrected="WᵀW = FACTᵀ and WᵀW = √(FACT·FACTᵀ), computed as USUᵀ from the singular values of FACT.",
        check="identity:symmetrised",
        needs=("torch",),
    ),
    Claim(
        id="fact.table-1",
        title="FACT, NFA and eNFA on MNIST and CIFAR-10",
        locator="Table 1",
        statement=(
            "Correlation with WᵀW after training on MNIST, CIFAR-10: FACT .999, .896; NFA .909, .722; eNFA .903, .714."
        ),
        check="perceptrons:table_1",
        needs=("torch", "mnist", "cifar10"),
    ),
    Claim(
        id="fact.table-2",
        title="Alignment of the first layer by data size and decay",
        locator="Table 2, Appendix B",
        statement=(
            "In all cases except MNIST n = 1000, FACT and its symmetrisation correlate better with W₁ᵀW₁ than √AGOP "
            "and √eNFA."
        ),
        check="perceptrons:table_2",
        needs=("torch", "mnist", "cifar10"),
        corrected=(
            "It is so where the budget wd·Σlr/(1 − momentum) is above 1; the printed recipe has 0.16 at n = 1000 and "
            "0.32 at n = 2000, and there √AGOP is ahead of FACT."
        ),
    ),
    Claim(
        id="fact.figure-3",
        title="Alignment at every layer",
        locator="Figure 3",
        statement=(
            "FACT correlates with WᵀW at every hidden layer of five-layer perceptrons, more than AGOP, eNFA and their "
            "roots."
        ),
        check="perceptrons:figure_3",
        needs=("torch", "mnist", "cifar10"),
        # Width 256. MNIST, n = 2000, budget 5.8: FACT .954, .996, .999, .999, .998 by layer; √eNFA .997 in the second.
        # CIFAR-10, n = 1000, budget 3.2, loss .05: .582, .982, .997, .997, .990; √AGOP .949 in the first.
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
    ),
    Claim(
        id="fact.figure-4",
        title="FACT and the NFA on the synthetic data",
        locator="Figure 4, Section 3.2",
        statement="At τ = 0.02, p = λ = 1e-5, width 10, FACT has cosine 0.994 with WᵀW and AGOP less than 0.068.",
        corrected="Separation needs λ ≲ p/10: at τ = 0.02, p = 1e-6, λ = 1e-8 FACT has cosine 1 and AGOP 0.0555.",
        check="separation:figure_4",
    ),
    Claim(
        id="fact.figure-1",
        title="FACT-RFM learns a sparse parity by a phase transition",
        locator="Figure 1, Section 4.3",
        statement=(
            "FACT-RFM on the parity of 4 of 50 bits (n = 25 000) has a phase transition as neural networks have: test "
            "accuracy stays near chance and then jumps, and the features learn the support of the parity."
        ),
        check="rfm_parity:phase_transition",
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
            "They do with the quadratic kernel, FACT up to 99.9 %; with the Gaussian kernel geometric FACT stalls."
        ),
        check="rfm_modular:modular_addition",
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
    ),
    Claim(
        id="fact.figure-7",
        title="Why AGOP and FACT give similar features",
        locator="Figure 7, Section 5",
        statement=(
            "At the end of FACT-RFM on addition modulo 61, τ(x_i, M, x_j) is nearly proportional to k′(x_iᵀMx_j)."
        ),
        check="rfm_modular:similar_factors",
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
        check="rfm_identities:scale_law",
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
            "At rest they are. The plain update performs well on parities only if the trace of M is kept, which cures "
            "the drift of its scale; on modular arithmetic it then generalises and is lost again, so stop it early."
        ),
        check="rfm_algorithm:choice_of_update",
    ),
    Claim(
        id="fact.lemma-f-1",
        title="FACT of a kernel machine from its dual coefficients",
        locator="Lemma F.1",
        statement="At the optimal α of kernel ridge regression, FACT = Σ_ij ∂_x K(x, x_j)|_{x=x_i} α_jᵀα_i x_iᵀ.",
        check="rfm_identities:fact_from_coefficients",
    ),
    Claim(
        id="fact.lemma-f-2",
        title="Dual coefficients are loss gradients",
        locator="Lemma F.2",
        statement="With α = (K + λI)⁻¹Y and ℓ = ½|ŷ − y|², α_i = −ℓ′(ŷ_i, y_i)/(nλ).",
        corrected="So it is with α = (K + nλI)⁻¹Y, as in Algorithm 1; the lemma's λ and nλ are mixed up.",
        check="rfm_identities:representer_coefficients",
    ),
    Claim(
        id="fact.figure-8",
        title="Alignment along training",
        locator="Figure 8",
        statement=(
            "FACT has low correlation for most epochs, √(FACT·FACTᵀ) nontrivial, before rising sharply to near-perfect."
        ),
        check="perceptrons:figure_8",
        needs=("torch", "cifar10"),
        # CIFAR-10, n = 1000, width 256, budget 3.2, loss .05 (not interpolated): layers end at .582, .982, .997.
    ),
    Claim(
        id="fact.theorem-a-1",
        title="The backward form",
        locator="Theorem A.1, Remark 3.2",
        statement="At a critical point WWᵀ = bFACT = −(1/nλ) Σ_i (Wh(x_i)) (∇_{Wh}ℓ_i)ᵀ.",
        check="identity:backward",
        needs=("torch",),
    ),
    Claim(
        id="fact.figure-9",
        title="Backward alignment at every layer",
        locator="Figure 9",
        statement="The backward versions of FACT, AGOP and eNFA against WWᵀ of every layer: bFACT aligns best.",
        check="perceptrons:figure_9",
        needs=("torch", "mnist", "cifar10"),
    ),
    Claim(
        id="fact.figure-10",
        title="Backward alignment along training",
        locator="Figure 10",
        statement="The backward versions over epochs: bFACT is low for most of training and rises at its end.",
        check="perceptrons:figure_10",
        needs=("torch", "cifar10"),
        # The same run: bFACT ends at .889, .996, .997.
    ),
    Claim(
        id="fact.appendix-c",
        title="Deep linear networks need AGOP to the power 1/L",
        locator="Appendix C",
        statement=(
            "Close to the ground truth, layers are approximately balanced and W₁ᵀW₁ ≈ AGOP^(1/L) ≈ ((W*)ᵀW*)^(1/L)."
        ),
        corrected=(
            "At any critical point with λ > 0, saddles too, layers are exactly balanced: W₁ᵀW₁ = AGOP^(1/L) and "
            "W_lᵀW_l = AGOP_l^(1/(L−l+1)), whether or not the ground truth is near."
        ),
        check="linear:exactly_balanced",
    ),
    Claim(
        id="fact.figure-11",
        title="Powers of AGOP in deep linear networks",
        locator="Figure 11, Appendix C",
        statement=(
            "AGOP^(1/L) has cosine close to 1 with W₁ᵀW₁; FACT has at least 0.999 at every depth, nothing to tune."
        ),
        check="linear:powers_by_depth",
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
    ),
)
