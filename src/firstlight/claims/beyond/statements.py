"""Statements beyond the papers: each says what is proved, what is measured, and what would refute it."""

from firstlight.claims._claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="beyond.energy-maxima",
        title="The energy's maxima for every kind of irrep",
        locator="beyond Li₂, Theorem 2",
        statement=(
            "On ‖w‖ = 1 the local maxima of E for σ = x² over the whole table of a finite group lie in one irrep each, "
            "or one conjugate pair. E* = M/2d for a real irrep of dimension d, M/4d for a complex pair and M/4d for a "
            "quaternionic irrep. The maximisers are a(g) ∝ Re x*C(g)r, b(g) ∝ Re r*C(g)y with a shared r. No other "
            "local maxima exist."
        ),
        proved=(
            "All of it. With Fourier blocks A_k, B_k of the halves, E ∝ Σ_k ‖B_kA_k‖²/(m_k d_k), m = 2 for a complex "
            "pair. Scaling the blocks makes E a convex quadratic form of their shares of ‖w‖², so a maximum has one "
            "block. There B*BA = λA and BAA* = λB give A and B of equal rank and equal singular values; for rank 2 "
            "and more, E is convex along unequal changes of the singular values, so the rank is 1. The argument is "
            "the same over the real numbers, the complex numbers and the quaternions."
        ),
        refuted_by=(
            "A converged ascent on any finite group that ends at another energy, outside one irrep or pair, or at "
            "halves that share no r."
        ),
        uses=("li2.theorem-1", "li2.theorem-2"),
        check="maxima:energy_maxima",
    ),
    Claim(
        id="beyond.flat-directions",
        title="The Hessian at the maxima, eigenvalue by eigenvalue",
        locator="beyond Li₂, Corollary 1",
        statement=(
            "At a maximum every eigenvalue of the Hessian of E on the sphere is 0, −1 or −2 times w·∇E = 4E*. Zero "
            "has multiplicity 3(d − 1) for a real irrep, 6d − 4 for a complex pair, 6d − 6 for a quaternionic irrep: "
            "the dimension of the family of maximisers. −2 has multiplicity d, 2d − 1 and 2d − 3. All others are −1."
        ),
        proved=(
            "All of it, by the second variation at A = B = E₁₁/√2, to which unitary maps carry every maximiser. The "
            "directions δA₁ⱼ, δBᵢ₁ and δA_k1 = δB₁k* with j, i, k > 1 are flat, and so are the imaginary parts of "
            "δA₁₁ and δB₁₁; δA_k1 = −δB₁k* and δA₁₁ = −δB₁₁ real have −2; the rest has −1."
        ),
        refuted_by="A maximum on any finite group whose Hessian has another eigenvalue or another multiplicity.",
        uses=("beyond.energy-maxima", "li2.corollary-1"),
        check="maxima:flat_directions",
    ),
    Claim(
        id="beyond.node-counts",
        title="Nodes that reconstruct the target, for every kind of irrep",
        locator="beyond Li₂, Theorem 3",
        statement=(
            "Generic maximisers of E, in pairs [a; ±b], reconstruct an irrep's part of the target if and only if there "
            "are at least d³(d + 1)/2 pairs for a real irrep, 3d⁴ + d³ for a complex pair and d⁴ for a quaternionic "
            "irrep."
        ),
        proved=(
            "That these numbers suffice: the cross terms a(g)b(g′) of a real irrep are x ⊗ rrᵀ ⊗ y with rrᵀ "
            "symmetric; they span d · d(d + 1)/2 · d dimensions, with the target among them. For a complex pair they "
            "are real parts of x ⊗ rr* ⊗ y, 2d⁴ real dimensions, and of x ⊗ rrᵀ ⊗ y, d³(d + 1); for a quaternionic "
            "irrep they span all d⁴. That fewer generic pairs do not suffice is measured."
        ),
        refuted_by=(
            "Random maximisers, fewer than stated, that leave nothing of the target; or as many as stated that leave "
            "something. Chosen directions, such as an orthonormal basis for r, can do with fewer."
        ),
        uses=("beyond.energy-maxima", "li2.theorem-3"),
        check="maxima:node_counts",
    ),
    Claim(
        id="beyond.second-order-6-family",
        title="A second family of order-6 optimizers",
        locator="CoGO, Corollary 2",
        statement=(
            "F6′ = p ∗ (y₁ + y₂ + y₃), with p = ([1, i], [1, −i], [1, 1])/2^{1/3} and y_s of order 1 with phases of c "
            "in thirds of a turn, times (6d)^{−1/3}, satisfies eq. (4) at every frequency. It has order 6 and the norm "
            "of z_F6, four free phases instead of three, and networks trained with weight decay contain it."
        ),
        check="second_six:second_order_six",
        uses=("cogo.lemma-1", "cogo.theorem-3", "cogo.corollary-2", "cogo.figure-3"),
        proved=(
            "Potentials are ring homomorphisms. Of p: r_kkk = 1, r_{k,−k,k} = r_{−k,k,k} = 0 and all r_{p,±2k} = 0, "
            "since 1 + i² = 0. Of y₁ + y₂ + y₃: r_{k,k,−k} and r_p0kk are sums of e^{−2iγ_s} and e^{iγ_s} over thirds "
            "of a turn, so 0, and r_kkk = 1/2d. Each potential of eq. (4) other than r_kkk vanishes in one factor."
        ),
        refuted_by="phases of F6′ with a loss above rounding, or trained order-6 blocks that are all z̃ ∗ z′ ∗ y",
    ),
    Claim(
        id="beyond.non-abelian-boundaries",
        title="Boundaries of non-Abelian groups",
        locator="beyond Li₂, Figure 8",
        statement=(
            "Networks generalise on dihedral groups with the share of the pairs that cyclic groups of the same order "
            "need. Groups with irreps of dimension 3 or more, or with quaternionic irreps (S4, SL(2,3), Dic10, A5), "
            "need a larger share. No group needs d² times the pairs of a cyclic group, d its largest dimension."
        ),
        proved="Nothing; the boundaries of trained networks are measured.",
        refuted_by=(
            "A dihedral group that needs over 1.2 times the pairs of a cyclic group, one of the named groups that "
            "needs no more, or a group that needs d² times as many."
        ),
        uses=("li2.figure-4", "li2.figure-8", "li2.theorem-4"),
        check="boundaries:non_abelian_groups",
    ),
    Claim(
        id="beyond.agf-order-and-li2-energy",
        title="The order of irreps under AGF against Li₂'s energies",
        locator="beyond AGF, Section 5, and Li₂, Theorem 2",
        statement=(
            "For one-hot inputs on a group of order M, each local maximum of AGF's utility has U* = √(8E*/27)/M² with "
            "E* a local maximum of Li₂'s energy, so that E* orders the growth rates of the irreps. On S3 gradient flow "
            "from small weights learns first the irrep of largest E* in most draws, but not in every draw."
        ),
        proved=(
            "The identity. U = ⟨w, g(u, v)⟩/M² and E = ½‖g(u, v)‖² have the same quadratic map g. At a fixed share s "
            "of ‖(u, v)‖² the best w is along g, which leaves s√(1 − s)√(2E)/M², largest at s = 2/3."
        ),
        refuted_by=(
            "A converged ascent of U on one-hot inputs whose first layer breaks the identity, or an irrep of S3 of "
            "smaller E* that is learned first in half of the draws or more."
        ),
        uses=("agf.theorem-5-1", "agf.lemma-f-2", "li2.theorem-2"),
        check="agf_order:order_and_energy",
    ),
    Claim(
        id="beyond.fact-scale-runaway",
        title="Why the scale of M runs away under plain FACT",
        locator="beyond FACT, Appendix E and Section 6",
        statement=(
            "For k = t^q without ridge, log tr M obeys log tr M′ = e·log tr M + log tr U(M/tr M) exactly, where U is "
            "the update and e = −q for the plain one, (1 − q)/2 for the geometric one. A deviation of the scale is "
            "multiplied by e in every iteration: it alternates and grows for |e| > 1, whatever the shape of M does."
        ),
        proved=(
            "All of it: K_{sM} = s^q K_M, so α scales by s^(−q) and FACT, which has α twice and one slope, by "
            "s^(−2q)·s^q; the updates are homogeneous of degree 1 and ½ + ½ in FACT and M."
        ),
        refuted_by="A ridgeless machine with k = t^q whose log tr M leaves the recursion by more than rounding.",
        uses=("fact.scale-law", "fact.lemma-f-1", "fact.algorithm-1"),
        check="fact_scale:scale_runaway",
    ),
    Claim(
        id="beyond.forecast-outcome",
        title="Forecasts of the outcome, before training",
        locator="beyond Li₂, Theorems 2 and 4",
        statement=(
            "`li2.predict`, with constants fitted on seven lists of settings, forecasts at least 97 % of the outcomes "
            "away from the boundary (over 15 %) on another list of at least 200 settings and 15 groups, with a Brier "
            "skill of at least 0.5 near the boundary, which two seeds of one setting leave possible."
        ),
        proved="Nothing; every list was drawn by seed and committed before any of its runs was trained.",
        refuted_by="A share below 97 % away from the boundary, or a Brier skill below 0.5 near it, on that list.",
        uses=("li2.theorem-2", "li2.theorem-4", "beyond.node-counts", "beyond.non-abelian-boundaries"),
        check="forecasts:forecast_outcome",
    ),
    Claim(
        id="beyond.forecast-epochs",
        title="Forecasts of the epoch, before training",
        locator="beyond Li₂, Section 5.4",
        statement=(
            "On the same list, 80 % of the runs that are forecast to generalise, and do, take within a factor of 1.5 "
            "of the epochs that `li2.predict` names, which two seeds of one setting leave possible, and its 80 % "
            "interval covers between 74 and 86 % of them."
        ),
        proved="Nothing; the law of the epochs is fitted.",
        refuted_by="A smaller share within the factor, or another coverage, on that list.",
        uses=("beyond.forecast-outcome",),
        check="forecasts:forecast_epochs",
    ),
    Claim(
        id="beyond.forecast-running",
        title="Forecasts during training",
        locator="beyond Li₂, Section 5.4",
        statement=(
            "On the same list, the 80 % interval that `li2.forecast` gives from the rows so far covers between 74 and "
            "86 % of the epochs to come, and at most 5 % of the runs of which it says that they will not generalise do."
        ),
        proved="Nothing; the models of the curves are fitted.",
        refuted_by="Another coverage, or more false alarms, on that list.",
        uses=("beyond.forecast-outcome", "beyond.forecast-epochs"),
        check="forecasts:forecast_running",
    ),
)
