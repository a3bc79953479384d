"""Statements of *Crafting Global Optimizers to Reasoning Tasks via Algebraic Objects in Neural Nets*."""

from firstlight.claims._claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="cogo.theorem-1",
        title="The loss is a function of monomial potentials",
        locator="Theorem 1, eq. 3",
        statement=(
            "With quadratic activation ℓ = Σ_{k≠0} ℓ_k + (d−1)/d, where ℓ_k = −4 r_kkk "
            "+ 4d Σ_{k₁k₂} |r_{k₁k₂k}|² + d |Σ_p Σ_k′ r_{p0k′k}|² + d Σ_{m≠0} Σ_p |Σ_k′ r_{pmk′k}|², "
            "r_{k₁k₂k} = Σ_j z_{ak₁j} z_{bk₂j} z_{ckj} and r_{pmk′k} = Σ_j z_{pk′j} z_{p,m−k′,j} z_{ckj}."
        ),
        check="loss:loss_from_potentials",
        uses=("cogo.lemma-3",),
    ),
    Claim(
        id="cogo.lemma-1",
        title="A sufficient condition for zero loss",
        locator="Lemma 1, eq. 4",
        statement=(
            "A solution with r_kkk = 1(k≠0)/2d, all other r_{k₁k₂k} = 0 and all r_{pmk′k} = 0 is a global optimizer "
            "with zero loss."
        ),
        check="loss:sufficient_conditions",
        uses=("cogo.theorem-1",),
    ),
    Claim(
        id="cogo.theorem-2",
        title="Solutions form a commutative semi-ring",
        locator="Theorem 2",
        statement=(
            "With addition by concatenation of nodes and multiplication by Kronecker product per frequency, and "
            "solutions identified up to permutation of nodes, ⟨Z, +, ∗⟩ is a commutative semi-ring."
        ),
        check="ring:semi_ring_laws",
    ),
    Claim(
        id="cogo.theorem-3",
        title="Monomial potentials are ring homomorphisms",
        locator="Theorem 3",
        statement=(
            "For any monomial potential r(z) = Σ_j Π_{(p,k)} z_pkj: r(1) = 1, r(z₁ + z₂) = r(z₁) + r(z₂) and "
            "r(z₁ ∗ z₂) = r(z₁) r(z₂)."
        ),
        check="ring:homomorphisms",
        uses=("cogo.theorem-2",),
    ),
    Claim(
        id="cogo.observation-1",
        title="The terms of the loss are monomial potentials",
        locator="Observation 1, Definition 4",
        statement="r_{k₁k₂k}(z) and r_{pmk′k}(z) defined in Theorem 1 are MPs.",
        verbatim=True,
        check="ring:terms_are_potentials",
        uses=("cogo.theorem-1",),
    ),
    Claim(
        id="cogo.observation-2",
        title="The order is a ring homomorphism",
        locator="Observation 2",
        statement="The order function ord: Z → ℕ is also a ring homomorphism.",
        verbatim=True,
        check="ring:order_is_homomorphism",
        uses=("cogo.theorem-2",),
    ),
    Claim(
        id="cogo.corollary-1",
        title="A unit times an optimizer",
        locator="Corollary 1",
        statement=(
            "If z is a global optimizer and y is a unit (r_kkk(y) = 1 for all k ≠ 0), then z ∗ y is a global optimizer."
        ),
        corrected=(
            "If z satisfies eq. (4), potential by potential, and y is a unit, then z ∗ y is a global optimizer. Zero "
            "loss alone is not enough: sums of potentials may vanish where the potentials do not."
        ),
        check="ring:unit_multiples",
        uses=("cogo.theorem-3", "cogo.lemma-1", "cogo.observation-1"),
    ),
    Claim(
        id="cogo.lemma-2",
        title="Three nodes per frequency satisfy R_c, one or two cannot",
        locator="Lemma 2, eq. 5",
        statement=(
            "Solutions of order 1 or 2 in R_c have r_kkk = 0. With small L2 regularisation all of order 3 are z̃ ∗ y "
            "with z̃_p = [1, ω₃, ω₃²]/(6d)^{1/3} at one frequency and y a unit of order 1; they are in R_n but not in "
            "R_⊛."
        ),
        corrected=(
            "Those of order 3 are z̃ ∗ y up to changing, node by node, the signs of two of a_j, b_j, c_j: eq. (65) "
            "must read ∈ ℝ³, not ∈ ℝ₊³. They are in R_n when the signs of c are not changed. The loss of Σ z̃_k is (d "
            "− 1)/2d, all of it from R_⊛."
        ),
        check="order_three:orders_below_four",
        uses=("cogo.theorem-1",),
    ),
    Claim(
        id="cogo.corollary-2",
        title="Optimizers of order 6",
        locator="Corollary 2, eq. 6",
        statement=(
            "z_F6 = Σ_{k=1}^{(d−1)/2} z̃_k ∗ z′_k ∗ y_k satisfies eq. (4), with z′ = [ξ, ξ̄], ξ_b = ξ̄_a = e^{±πi/4}, "
            "ξ_c = 1; "
            "its order is 3(d − 1), 6 per frequency."
        ),
        corrected=(
            "z′ takes a factor 2^{−1/3}, so that r_kkk(z′) = 1. For even d, and wherever −k = k, two nodes a = [1, 1], "
            "b = c = [1, −1], times (4d)^{−1/3}, are added; with these the sum runs over all pairs ±k of any finite "
            "Abelian group."
        ),
        check="crafting:crafted_six",
        uses=("cogo.lemma-1", "cogo.lemma-2", "cogo.theorem-3", "cogo.observation-1", "cogo.observation-2"),
    ),
    Claim(
        id="cogo.corollary-3",
        title="Almost optimizers of order 4",
        locator="Corollary 3, eqs. 7 and 8",
        statement=(
            "The order-2 solution (7) satisfies R_c except for r_{k,k,−k}, R_⊛ and r_kkk = 1/√2d; (8) satisfies "
            "r_{k,k,−k} = 0 and r_kkk = 1/√2d. Their product z_F4, of order 4, satisfies R_c and R_⊛."
        ),
        check="crafting:crafted_four",
        uses=("cogo.lemma-1", "cogo.theorem-3", "cogo.observation-1", "cogo.observation-2"),
    ),
    Claim(
        id="cogo.corollary-4",
        title="Perfect memorisation",
        locator="Corollary 4, eqs. 9 to 11",
        statement=(
            "z_a^(a) = ω^{kj}/√d, z_b^(a) = 1/√d, z_c^(a) = ω^{−kj}/√2d and z_b^(b) = 1/√d, z_a^(b) = ω^{kj}/√d, "
            "z_c^(b) = ω^{−kj}/√2d: z_a is in R_c(k₁≠k) ∩ R_n ∩ R_⊛(p=b or m≠k), z_b in R_c(k₂≠k) ∩ R_n ∩ R_⊛(p=a or "
            "m≠k), and z_M = z_a ∗ z_b, of order d², satisfies eq. (4)."
        ),
        corrected=(
            "In the second factor a and b are exchanged: z_a^(b) = 1/√d, z_b^(b) = ω^{kj}/√d. Eqs. (9), (11) are right."
        ),
        check="crafting:memorisation",
        uses=("cogo.lemma-1", "cogo.theorem-3", "cogo.observation-1", "cogo.observation-2"),
    ),
    Claim(
        id="cogo.theorem-4",
        title="Dynamics of monomial potentials",
        locator="Theorem 4",
        statement=(
            "Under gradient flow of the weights ṙ = −JJ* conj ∇_r ℓ, with a non-negative inner product with −conj ∇_r "
            "ℓ; r and "
            "its conjugate count as independent variables."
        ),
        check="dynamics:potential_dynamics",
        uses=("cogo.theorem-1",),
    ),
    Claim(
        id="cogo.theorem-5",
        title="A path of zero loss to the simpler optimizer",
        locator="Theorem 5",
        statement=(
            "If z = y ∗ z′ and both z, of order q, and z′ are global optimal, a path of zero loss connects them in "
            "Z_q; so L2 regularisation prefers lower orders."
        ),
        corrected=(
            "It does where z′ satisfies eq. (4) and, if some frequency is its own negative, y has order 2 or more: "
            "signs of real coefficients cannot be turned, only left behind on another node."
        ),
        check="connecting:zero_loss_paths",
        uses=("cogo.corollary-1", "cogo.theorem-3"),
    ),
    Claim(
        id="cogo.theorem-6",
        title="Wide networks decouple the potentials",
        locator="Theorem 6",
        statement=(
            "With the loss ℓ̃_k = r_kkk + d Σ|r_{k₁k₂k}|² and i.i.d. Gaussian weights, JJ* converges to a diagonal "
            "matrix as "
            "q → ∞ and the dynamics of the potentials decouples."
        ),
        corrected=(
            "The first two terms of eq. (3) are ℓ̃_k = −4 r_kkk + 4d Σ|r_{k₁k₂k}|². For their potentials entries of "
            "JJ* off the diagonal fall like q^(−1/2) of the diagonal. With the potentials of the other two terms JJ* "
            "does not become diagonal."
        ),
        check="dynamics:decoupling",
        uses=("cogo.theorem-1", "cogo.theorem-4"),
    ),
    Claim(
        id="cogo.equation-12",
        title="Ripples of r_kkk",
        locator="Eq. 12",
        statement=(
            "ṙ = −κr, κ̇ = (2α − 1)r − c₀ has complex roots when c₀ > 0, which captures ripples before stabilisation; "
            "without it "
            "dr_kkk/dt = 1 − 2d r_kkk leads to r_kkk(t) = (1 − e^(−t))/2d."
        ),
        corrected=(
            "r_kkk(t) = (1 − e^(−2dt))/2d. Eq. (12) needs α > ½ and c₀ > 0; it turns about r = c₀/(2α − 1), κ = 0 with "
            "small "
            "swings of period 2π/√c₀ and conserves H = κ²/2 + (2α − 1)r − c₀ ln r, so it does not settle."
        ),
        check="dynamics:ripples",
        uses=("cogo.theorem-4", "cogo.theorem-6"),
    ),
    Claim(
        id="cogo.lemma-3",
        title="Characters of a finite Abelian group",
        locator="Lemma 3",
        statement=(
            "For a finite Abelian group of order d there are d characters φ_k with |φ(g)| = 1 and "
            "φ(g₁g₂) = φ(g₁)φ(g₂); they are orthonormal, (1/d) Σ_g φ_k(g) conj φ_k′(g) = 1(k = k′), closed under "
            "conjugation, and form a group under pointwise multiplication, φ_{k₁+k₂} = φ_{k₁} ∘ φ_{k₂}."
        ),
        check="characters:character_laws",
    ),
    Claim(
        id="cogo.figure-2",
        title="Six nodes per frequency, three without R_⊛",
        locator="Figure 2",
        statement=(
            "Solutions obtained by Adam for d = 7 and q = 20: for each frequency ±k exactly 6 hidden nodes represent "
            "it; without the last term of eq. (3) exactly 3 do."
        ),
        corrected=(
            "Most frequencies have 6 nodes and nearly all others 4; networks with 6 at every frequency occur, but they "
            "are a minority. Without the last term most frequencies have 3 nodes and nearly all others 4."
        ),
        check="small_networks:six_and_three",
        uses=("cogo.theorem-1", "cogo.lemma-2", "cogo.corollary-2"),
        paper_setting={
            "group": "Z7",
            "width": 20,
            "activation": "quadratic",
            "biases": False,
            "projection": "outputs",
            "loss of the bottom row": "eq. 3 without its last term",
            "optimizer": "adam",
            "learning rate": None,
            "weight decay": None,
            "schedule": None,
            "epochs": None,
            "train fraction": None,
            "networks": None,
        },
    ),
    Claim(
        id="cogo.figure-3",
        title="Paths of z_a: one frequency per node",
        locator="Figure 3",
        statement=(
            "Training modular addition with Adam (learning rate 0.05, weight decay 0.005): the final solution contains "
            "two order-6 and one order-4 solution. For each hidden node, once a dominant frequency emerges, others "
            "fade away."
        ),
        corrected=(
            "Of networks with d = 7 and q = 20 most, not all, end with two order-6 and one order-4 solution; the "
            "order-6 ones are z_F6 or the second family F6′."
        ),
        check="small_networks:convergence_paths",
        uses=("cogo.corollary-2", "cogo.corollary-3"),
        paper_setting={
            "group": None,
            "width": None,
            "activation": "quadratic",
            "biases": False,
            "projection": "outputs",
            "optimizer": "adam",
            "learning rate": 0.05,
            "weight decay": 0.005,
            "schedule": None,
            "epochs": None,
            "train fraction": None,
            "networks": None,
        },
    ),
    Claim(
        id="cogo.figure-4",
        title="Monomial potentials in training",
        locator="Figure 4",
        statement=(
            "d = 23, q = 1024, 5000 epochs: train and test accuracy reach 100 %, test later (grokking). The orders of "
            "the solution are concentrated at 4 and 6. Σ r_kkk converges towards (d − 1)/2d, the other r_{k₁k₂k} "
            "towards 0. Orders 4 and 6 behave very differently on r_a0kk and r_b0kk."
        ),
        check="potentials_in_training:potentials_along_training",
        uses=("cogo.theorem-1", "cogo.corollary-2", "cogo.corollary-3"),
        paper_setting={
            "group": "Z23",
            "width": 1024,
            "activation": "quadratic",
            "biases": False,
            "projection": "outputs",
            "epochs": 5000,
            "optimizer": None,
            "learning rate": None,
            "weight decay": None,
            "schedule": None,
            "train fraction": None,
        },
    ),
    Claim(
        id="cogo.figure-4-ripples",
        title="Ripples of Σ r_kkk in training",
        locator="Figure 4, top right; Appendix B, Ripple effects",
        statement=(
            "Σ r_kkk converges towards (d − 1)/2d with ripple effects, which the gradient dynamics of eq. (12) "
            "captures."
        ),
        corrected=(
            "Under Adam Σ r_kkk converges with ripples that die out. Gradient descent with small steps, which eq. (12) "
            "models, converges from the same weights without a ripple: they come from the optimizer."
        ),
        check="potentials_in_training:ripples_along_training",
        uses=("cogo.figure-4", "cogo.equation-12"),
        paper_setting={
            "group": "Z23",
            "width": 1024,
            "activation": "quadratic",
            "biases": False,
            "projection": "outputs",
            "epochs": 5000,
            "optimizer": None,
            "learning rate": None,
            "weight decay": None,
            "schedule": None,
            "train fraction": None,
        },
    ),
    Claim(
        id="cogo.figure-5",
        title="Weight decay lowers the order",
        locator="Figure 5",
        statement=(
            "d ∈ {23, 71, 127}, q = 512, Adam with learning rate 0.01, 10k epochs, 5 seeds: though heavily "
            "over-parametrised the final solution order remains constant, at 4 and 6; heavy weight decay shifts the "
            "distribution to low orders until the model collapses."
        ),
        check="orders:orders_by_decay",
        uses=("cogo.corollary-1", "cogo.corollary-2", "cogo.corollary-3", "cogo.theorem-5"),
        paper_setting={
            "groups": ["Z23", "Z71", "Z127"],
            "width": 512,
            "activation": "quadratic",
            "biases": False,
            "projection": "outputs",
            "optimizer": "adam",
            "learning rate": 0.01,
            "schedule": None,
            "epochs": 10_000,
            "seeds": 5,
            "weight decays": None,
            "train fraction": None,
        },
    ),
    Claim(
        id="cogo.order-4-preference",
        title="Larger problems prefer order 4",
        locator="Appendix A.1, after Corollary 3",
        statement=(
            "The order-4 solution is found in experiments, in particular for larger problems: gradient descent "
            "strongly prefers lower orders."
        ),
        check="orders:order_four_by_size",
        uses=("cogo.corollary-3", "cogo.figure-5"),
        paper_setting={
            "groups": None,
            "width": None,
            "activation": "quadratic",
            "biases": False,
            "projection": "outputs",
            "optimizer": None,
            "learning rate": None,
            "epochs": None,
            "weight decays": None,
        },
    ),
)
