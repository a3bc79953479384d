"""Statements of *Alternating Gradient Flows: A Theory of Feature Learning in Two-layer Neural Networks*."""

from firstlight.claims._claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="agf.equation-2",
        title="Directions turn, norms grow",
        locator="Equation 2",
        statement="For a utility of degree κ, dθ̄/dt = η‖θ‖^{κ−2}P⊥∇U(θ̄) and d‖θ‖/dt = ηκ‖θ‖^{κ−1}U(θ̄).",
        check="dormant:directional_and_radial",
    ),
    Claim(
        id="agf.equation-3",
        title="When a neuron reaches norm one",
        locator="Equation 3 (and 16)",
        statement="τ_i is when S_i = ∫κU dt reaches c_i/η; c_i = −log‖θ_i‖ (κ = 2), (‖θ_i‖^{2−κ} − 1)/(κ − 2) (κ > 2).",
        uses=("agf.equation-2",),
        check="jumps:jump_time",
    ),
    Claim(
        id="agf.algorithm-1",
        title="Alternating gradient flows",
        locator="Algorithm 1",
        statement="Alternating utility maximisation and cost minimisation gives the jumps and levels of gradient flow.",
        uses=(
            "agf.equation-2",
            "agf.equation-3",
        ),
        check="jumps:the_algorithm",
    ),
    Claim(
        id="agf.theorem-3-1",
        title="AGF tends to the limit of Pesme and Flammarion",
        locator="Theorem 3.1",
        statement=(
            "As α → 0 the sequence (β, t) of AGF tends to that of Pesme and Flammarion, the limit of gradient flow."
        ),
        uses=(
            "agf.algorithm-1",
            "agf.theorem-c-4",
            "agf.corollary-c-5",
        ),
        check="diagonal_flows:same_as_pesme_flammarion",
    ),
    Claim(
        id="agf.figure-3",
        title="AGF = GF as α → 0 in diagonal linear networks",
        locator="Figure 3",
        statement="Loss curves of gradient flow approach the staircase of AGF as α → 0.",
        uses=("agf.theorem-3-1",),
        paper_setting={
            "start": "u = √2 α, v = 0",
            "time": "t/(−log α)",
            "dimension": None,
            "samples": None,
            "alphas": None,
            "seeds": None,
        },
        check="diagonal_flows:figure_3",
    ),
    Claim(
        id="agf.conjecture-4-1",
        title="Linear networks learn one rank at a time",
        locator="Conjecture 4.1, eq. 6",
        statement=(
            "As α → 0 levels are ½Σ_{i>k} μ_i, μ the eigenvalues of Σ_yx Σ_xx⁻¹ Σ_yxᵀ, and times follow from σ^(k)."
        ),
        corrected=(
            "Modes wake in the order of the singular values σ of what is left of Σ_yx. Where Σ_xx commutes, the levels "
            "are the sums of the μ not yet learned, which are the printed ones only if σ and μ order the modes alike."
        ),
        uses=(
            "agf.lemma-d-1",
            "agf.algorithm-3",
            "agf.equation-22",
        ),
        check="linear_flows:conjecture",
    ),
    Claim(
        id="agf.figure-4",
        title="Stepwise singular value decomposition",
        locator="Figure 4",
        statement="On Gaussian inputs of power-law covariance Conjecture 4.1 predicts the singular values of AW well.",
        corrected=(
            "It predicts the jump times, and on the plateaus the singular values of AWΣ_xx^½, which the loss sees. If "
            "Σ_xx does not commute, those of AW approach their limit at the pace of the smallest eigenvalue of Σ_xx."
        ),
        uses=("agf.conjecture-4-1",),
        paper_setting={
            "inputs": "Gaussian, power-law covariance",
            "target": "y = Bx, B random",
            "panels": ("commuting", "not commuting"),
            "clock": "η = −log α",
            "start": "a_i ~ N(0, α²/2c), w_i ~ N(0, α²/2d)",
            "size": None,
            "alphas": None,
            "seeds": None,
        },
        check="linear_flows:figure_4",
    ),
    Claim(
        id="agf.figure-5",
        title="Stepwise principal component regression",
        locator="Figure 5",
        statement="Rank-one heads learn the principal components one by one, at the times and magnitudes of AGF.",
        corrected=(
            "The same up to O(‖θ₀‖) of a jump time as α falls. At α = 0.001 the third jump of one draw in eight is 4 % "
            "off, more than 8‖θ₀‖; at 0.0001 every jump of all draws is within 8‖θ₀‖."
        ),
        uses=(
            "agf.algorithm-1",
            "agf.lemma-e-1",
            "agf.equation-57",
            "agf.equation-58",
        ),
        paper_setting={
            "start": "V, Q, K ~ N(0, α)",
            "clock": "η = 1/α",
            "inputs": "x ~ N(0, Σ)",
            "tasks": "β ~ N(0, I)",
            "eigenvalues": None,
            "rank": 1,
            "dimension": None,
            "context": None,
            "heads": None,
            "alpha": None,
            "seeds": None,
        },
        check="attention_figure:figure_5",
    ),
    Claim(
        id="agf.theorem-5-1",
        title="Utility is largest at single harmonics",
        locator="Theorem 5.1 (and F.3)",
        statement=(
            "The maximisers of U on the unit sphere are harmonics of the dominant frequency ξ with s_u + s_v ≡ s_w + "
            "s_x, of height √(2/27p³)|x̂[ξ]|³; there are no other local maxima."
        ),
        corrected=(
            "These are the global maximisers. Every k with x̂[k] ≠ 0 is a local maximum, of height √(2/27p³)|x̂[k]|³."
        ),
        uses=("agf.lemma-f-2",),
        check="modular:maxima",
    ),
    Claim(
        id="agf.theorem-5-2",
        title="What a group of neurons can learn of one frequency",
        locator="Theorem 5.2 (and F.7)",
        statement=(
            "L ≥ ‖x‖²/2 − ⟨x, 1⟩²/2p − |x̂[ξ]|²/p, tight for N ≥ 6, and then "
            "U = (2/p³) Σ_{k≠0,±ξ} |x̂[k]|² û[ξ] v̂[ξ] ŵ[ξ] x̂[k]."
        ),
        corrected="The bound as printed; the utility left is (2/p³) Σ_{k≠0,±ξ} |x̂[k]|² û[k] v̂[k] conj(ŵ[k] x̂[k]).",
        uses=(
            "agf.theorem-5-1",
            "agf.lemma-f-6",
            "agf.lemma-f-8",
            "agf.theorem-f-9",
            "agf.theorem-f-5",
        ),
        check="modular_costs:tight_bound",
    ),
    Claim(
        id="agf.equation-9",
        title="Levels and times of modular addition",
        locator="Equation 9",
        statement="ℓ^(k) = Σ_{i>k} |x̂[ξ_i]|²/p; τ^(k) ≳ τ^(l) + √(3p^{3/2})/(η μ √2 |x̂[ξ_{k+1}]|³).",
        corrected=(
            "The levels as printed; the (k+1)-th jump comes no earlier than (1/μ − 1)·√3 p^{3/2}/(η√2|x̂[ξ_{k+1}]|³) "
            "after the one before it, with μ the largest dormant norm there. AGF's first jump is right within a tenth, "
            "but its error does not vanish like ‖θ₀‖; later jumps are right within a factor of two on average over "
            "draws, not for a single draw."
        ),
        uses=(
            "agf.theorem-5-1",
            "agf.theorem-5-2",
            "agf.equation-17",
        ),
        check="modular_staircase:levels_and_times",
    ),
    Claim(
        id="agf.figure-6",
        title="Stepwise Fourier decomposition",
        locator="Figure 6",
        statement=(
            "A quadratic network learns the Fourier components of the template in decreasing order, as AGF predicts; "
            "its neurons group by frequency and distribute their phases."
        ),
        corrected=(
            "The order, the levels, the first jump and the groups of neurons as printed. AGF's later jumps are right "
            "within a factor of two on average over draws, not for a single draw."
        ),
        uses=(
            "agf.equation-9",
            "agf.algorithm-1",
        ),
        paper_setting={
            "p": 20,
            "H": 18,
            "template": {"1": 10.0, "3": 5.0, "5": 2.5},
            "pairs": 400,
            "clock": "η = 1/α",
            "start": "(u_i, v_i) ~ N(0, α²/4p), w_i ~ N(0, α²/2p)",
            "start of AGF": "that of gradient flow",
            "alpha": None,
            "seeds": None,
        },
        check="modular_staircase:figure_6",
    ),
    Claim(
        id="agf.section-5-summands",
        title="Several summands with a higher power",
        locator="Section 5, extensions",
        statement=(
            "Using a higher-degree activation function σ(x) = x^k, the arguments for utility maximization should carry "
            "over, while the cost minimization step might be more subtle."
        ),
        uses=(
            "agf.lemma-f-2",
            "agf.theorem-5-1",
        ),
        verbatim=True,
        check="summands:several_summands",
    ),
    Claim(
        id="agf.figure-7",
        title="From a staircase to a slide in a ReLU network",
        locator="Figure 7",
        statement=(
            "On CIFAR-10 AGF tracks the jumps of narrow ReLU networks; as the width grows, the loss becomes a slide."
        ),
        uses=("agf.algorithm-1",),
        paper_setting={
            "data": "subset of CIFAR-10",
            "activation": "relu",
            "start of AGF": "that of gradient flow",
            "widths": None,
            "alpha": None,
            "rows": None,
            "seeds": None,
        },
        needs=("cifar10",),
        check="images:staircase_to_slide",
    ),
    Claim(
        id="agf.equation-14",
        title="The normalised utility follows a Riccati equation",
        locator="Equation 14",
        statement="dŪ/dt = ηκ²‖θ‖^{κ−2}(‖∇Ū‖²/κ² − Ū²).",
        uses=("agf.equation-2",),
        check="dormant:riccati",
    ),
    Claim(
        id="agf.equation-17",
        title="A lower bound on the jump time",
        locator="Equation 17",
        statement="τ ≥ −log‖θ₀‖/(2U*) for κ = 2 and ‖θ₀‖^{2−κ}/(κ(κ−2)U*) for κ > 2.",
        corrected="τ ≥ −log‖θ₀‖/(2ηU*) for κ = 2 and (‖θ₀‖^{2−κ} − 1)/(κ(κ−2)ηU*) for κ > 2.",
        uses=("agf.equation-3",),
        check="jumps:lower_bound",
    ),
    Claim(
        id="agf.lemma-b-1",
        title="How near an active neuron can come to the origin",
        locator="Lemma B.1",
        statement="c = (κ−1)‖a_i‖² − ‖w_i‖² is conserved by gradient flow, and ‖θ_i‖² ≥ max(−c, c/(κ−1)).",
        check="dormant:conserved_norms",
    ),
    Claim(
        id="agf.theorem-b-2",
        title="Scaling symmetry in the initialisation",
        locator="Theorem B.2",
        statement="If f(t) solves eq. 2 from θ₀, then αf(α^{κ−2}t) solves it from αθ₀.",
        uses=("agf.equation-2",),
        check="alignment:scaling_symmetry",
    ),
    Claim(
        id="agf.equation-22",
        title="Alignment is instantaneous for κ = 2 only",
        locator="Equations 21 and 22",
        statement=(
            "γ(α) = c_κ(α)/α^{κ−2} tends to ∞ for κ = 2 and to 1 for κ > 2, so alignment is instantaneous iff κ = 2."
        ),
        corrected="γ(α) = c_κ(α)·α^{κ−2}, a product, tends to ∞ for κ = 2 and to 1/(κ − 2) for κ > 2.",
        uses=(
            "agf.equation-3",
            "agf.theorem-b-2",
        ),
        check="alignment:instantaneous_alignment",
    ),
    Claim(
        id="agf.equation-23",
        title="A rate per neuron makes directions independent of norms",
        locator="Equation 23, Section B.5",
        statement="With η_i = ‖θ_i‖^{2−κ}η the directional dynamics of any κ are those of κ = 2.",
        uses=(
            "agf.equation-2",
            "agf.equation-22",
        ),
        check="alignment:adaptive_rate",
    ),
    Claim(
        id="agf.lemma-c-1",
        title="Utility of a diagonal neuron",
        locator="Lemma C.1",
        statement="U_i = −u_i v_i ∂L/∂β_i, largest on the circle at |u_i| = |v_i|, where it is ½|∂L/∂β_i|.",
        check="diagonal:utility_and_maximum",
    ),
    Claim(
        id="agf.lemma-c-2",
        title="What a diagonal network conserves",
        locator="Lemma C.2, eq. 26",
        statement="u² − v² = 2α and 2uv = ±√(‖θ‖² − 4α²), from u = √(2α), v = 0.",
        corrected="u² − v² = 2α² and 2uv = ±√(‖θ‖⁴ − 4α⁴), from u = √2·α, v = 0.",
        check="diagonal:conserved",
    ),
    Claim(
        id="agf.lemma-c-3",
        title="The normalised utility is a hyperbolic tangent",
        locator="Lemma C.3, eq. 28",
        statement="Ū(τ + t) = Ū* tanh(δ + 4ηŪ*t) with δ = artanh(Ū(τ)/Ū*).",
        uses=(
            "agf.equation-14",
            "agf.lemma-c-1",
        ),
        check="diagonal:riccati_solution",
    ),
    Claim(
        id="agf.theorem-c-4",
        title="Accumulated utility in closed form",
        locator="Theorem C.4, eq. 31 and 32 (and 4)",
        statement="S(τ+t) = (1/2η) log cosh(2η(2U*t + (ζ/2η) arcosh e^{2ηS(τ)})), and ρ flips only where S = 0.",
        uses=(
            "agf.lemma-c-1",
            "agf.lemma-c-2",
            "agf.lemma-c-3",
        ),
        check="diagonal:accumulated_utility",
    ),
    Claim(
        id="agf.corollary-c-5",
        title="The next jump in closed form",
        locator="Corollary C.5, eq. 37",
        statement="Δτ_i = (arcosh e^{2η} − ζ_i arcosh e^{2ηS_i})/(2η·2U_i*), the smallest of which is the next jump.",
        uses=("agf.theorem-c-4",),
        check="diagonal:next_jump",
    ),
    Claim(
        id="agf.figure-8",
        title="A coefficient returns to dormancy",
        locator="Figure 8",
        statement=(
            "In two dimensions the first coefficient wakes, falls asleep when the second wakes, and wakes again with "
            "the other sign."
        ),
        uses=(
            "agf.theorem-3-1",
            "agf.theorem-c-4",
        ),
        paper_setting={
            "dimension": 2,
            "start": "u = √(2α)·1, v = 0",
            "alphas": None,
            "Gram matrix": None,
            "target": None,
        },
        check="diagonal_flows:figure_8",
    ),
    Claim(
        id="agf.lemma-d-1",
        title="Utility of orthonormal basis vectors",
        locator="Lemma D.1",
        statement=(
            "U_i = −ã_iᵀ∇L w̃_i; the total over |D| = H − k orthonormal pairs is largest at the top singular vectors "
            "of ∇L, with σ_i/2 each, and has no other local maxima."
        ),
        corrected="The same, with |D| = min(d, H, c) − k pairs.",
        check="linear:utility_on_the_stiefel_manifold",
    ),
    Claim(
        id="agf.equation-47",
        title="Jump times in the commuting case",
        locator="Equation 47",
        statement="When Σ_xx commutes with Σ_yxᵀΣ_yx, τ^(k) = 1/σ_k in units of −log α.",
        uses=("agf.conjecture-4-1",),
        check="linear_flows:commuting_times",
    ),
    Claim(
        id="agf.algorithm-3",
        title="Greedy low-rank learning",
        locator="Algorithm 3",
        statement=(
            "AGF in linear networks is greedy low-rank learning: its levels are those of the best β of each rank."
        ),
        corrected=(
            "The same for a generic Σ_xx. Where Σ_xx commutes, each stage keeps the mode of largest σ, which need not "
            "be the best of its rank."
        ),
        uses=("agf.lemma-d-1",),
        check="linear:greedy_low_rank",
    ),
    Claim(
        id="agf.lemma-e-1",
        title="Utility of an attention head",
        locator="Lemma E.1, eq. 49",
        statement=(
            "U = N V Qᵀ(Σ² − Σ_{h<k} λ_h² v_h v_hᵀ)K, largest at ±1/√3, ±v_k/√3, ±v_k/√3 with Nλ_k²/(3√3), and with "
            "no other local maxima."
        ),
        uses=("agf.equation-53",),
        check="attention:utility",
    ),
    Claim(
        id="agf.equation-53",
        title="Second moment of a sample covariance",
        locator="Equation 53",
        statement="E(Σ_n x_n x_nᵀ)² = N Σ tr Σ + N(N+1) Σ².",
        check="attention:second_moment",
    ),
    Claim(
        id="agf.lemma-e-2",
        title="Losses of learned heads decouple",
        locator="Lemma E.2, eq. 54",
        statement="L(Θ_A) = Σ_h L(θ_h) for heads aligned with different eigenvectors.",
        corrected="L(Θ_A) − L(0) = Σ_h (L(θ_h) − L(0)).",
        uses=("agf.lemma-e-1",),
        check="attention:decoupled_losses",
    ),
    Claim(
        id="agf.equation-57",
        title="Levels of in-context regression",
        locator="Equations 57 and 7",
        statement=(
            "ℓ^(k) = ½(Σ λ_i − Σ_{h≤k} Nλ_h²/(tr Σ + (N+1)λ_h)) in eq. 57; eq. 7 prints Nλ_h in place of Nλ_h²."
        ),
        corrected="Eq. 57, with λ_h².",
        uses=(
            "agf.lemma-e-2",
            "agf.equation-53",
        ),
        check="attention:levels",
    ),
    Claim(
        id="agf.equation-58",
        title="A lower bound on the jumps of attention heads",
        locator="Equation 58 (and 7)",
        statement="τ^(k) − τ^(l) ≥ √3/(N λ_k² μ_l) with μ_l = max_i ‖θ_i(τ^(l))‖, for any l < k.",
        corrected="τ^(k) − τ^(k−1) ≥ √3 (1/μ − 1)/(η N λ_k²) with μ the largest dormant norm at τ^(k−1).",
        uses=(
            "agf.lemma-e-1",
            "agf.equation-17",
        ),
        check="attention:bound",
    ),
    Claim(
        id="agf.lemma-f-1",
        title="A triple correlation in Fourier space",
        locator="Lemma F.1, eq. 60",
        statement="Σ_{a,b} ⟨u, a·x⟩⟨v, b·x⟩⟨w, (a+b)·x⟩ = (1/p) Σ_k |x̂|² û v̂ conj(ŵ x̂).",
        check="modular:triple_correlation",
    ),
    Claim(
        id="agf.lemma-f-2",
        title="The first utility in Fourier space",
        locator="Lemma F.2, eq. 63; Section 5",
        statement=(
            "U = (2/p³) Σ_{k≠0} |x̂[k]|² û[k] v̂[k] conj(ŵ[k] x̂[k]) in eq. 63; Section 5 prints it without the conjugate."
        ),
        corrected="Eq. 63, with the conjugate.",
        uses=("agf.lemma-f-1",),
        check="modular:initial_utility",
    ),
    Claim(
        id="agf.theorem-f-5",
        title="Aligned neurons stay aligned when their squares cancel",
        locator="Theorem F.5",
        statement="If Σ w⟨u, a·x⟩² = Σ w⟨v, b·x⟩² = 0, the loss has no gradient along harmonics other than ξ.",
        check="modular:alignment_is_kept",
    ),
    Claim(
        id="agf.lemma-f-6",
        title="The cost of neurons aligned to one harmonic",
        locator="Lemma F.6, eq. 80",
        statement="𝓒(Θ) is the double sum of eq. 80 over amplitudes and phases, for p odd.",
        uses=("agf.lemma-f-2",),
        check="modular_costs:aligned_cost",
    ),
    Claim(
        id="agf.lemma-f-8",
        title="What the network computes after one group",
        locator="Lemma F.8, eq. 90",
        statement="f(a·x, b·x) = (2|x̂[ξ]|/p)(a+b)·χ_ξ.",
        uses=("agf.lemma-f-6",),
        check="modular_costs:learned_function",
    ),
    Claim(
        id="agf.theorem-f-9",
        title="The utility loses the learned frequency",
        locator="Theorem F.9, eq. 93",
        statement="U(θ; r) = (2/p³) Σ_{k≠0,±ξ} |x̂[k]|² û[ξ] v̂[ξ] conj(ŵ[ξ] x̂[ξ]).",
        corrected="U(θ; r) = (2/p³) Σ_{k≠0,±ξ} |x̂[k]|² û[k] v̂[k] conj(ŵ[k] x̂[k]).",
        uses=(
            "agf.lemma-f-2",
            "agf.lemma-f-8",
        ),
        check="modular_costs:updated_utility",
    ),
)
