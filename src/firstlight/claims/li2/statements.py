"""Statements of *Li₂: A Framework on Dynamics of Feature Emergence and Delayed Generalization*."""

from firstlight.claims._claim import Claim

_TRAINING = {"loss": "½ sum of ‖P⊥(Y − Ŷ)‖², P⊥ over samples", "biases": False}
"""Sections 3 and 5.2.1."""

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="li2.equation-5",
        title="What the ridge solution sends back to the hidden layer",
        locator="Section 4, eqs. 2 to 5",
        statement=(
            "V̇ = F̃ᵀỸ − (F̃ᵀF̃ + ηI)V is stationary at V_ridge = (F̃ᵀF̃ + ηI)⁻¹F̃ᵀỸ. There the backpropagated gradient "
            "is G_F = P_η ỸỸᵀF̃(F̃ᵀF̃ + ηI)⁻¹ with P_η = η(F̃F̃ᵀ + ηI)⁻¹ and P_ηỸ = Ỹ − F̃V_ridge. Without weight decay "
            "an overparameterised network has G_F = 0."
        ),
        check="lazy:ridge_gradient_forms",
    ),
    Claim(
        id="li2.lemma-1",
        title="Wide layers: the gradient of a node depends on that node only",
        locator="Lemma 1, eq. 6",
        statement=(
            "With normal W, inputs of equal norm and equal pairwise correlation and large width, both F̃ᵀF̃ and F̃F̃ᵀ "
            "become multiples of the identity and G_F = η / ((Kc₁ + η)(nc₂ + η)) ỸỸᵀF."
        ),
        corrected=(
            "For K ≫ n, F̃F̃ᵀ → Kc₁P₁⊥ and G_F → η / (Kc₁ + η)² ỸỸᵀF with c₁ = Eσ²(sZ) − Σ_l a_l² ρ^l and a relative "
            "error near 2√(n/K). F̃ᵀF̃ ∝ I would need n ≫ K; both cannot hold. On the whole table of a group "
            "c₁ = κ(1) − 2κ(½) + κ(0); on a part of the table the direction differs however wide the layer."
        ),
        uses=("li2.equation-5", "li2.lemma-3"),
        check="lazy:wide_layer",
    ),
    Claim(
        id="li2.theorem-1",
        title="Independent feature learning ascends an energy",
        locator="Theorem 1, eqs. 7 and 8",
        statement=(
            "The dynamics ẇ = Xᵀ D ỸỸᵀ σ(Xw), D = diag σ′(Xw), is exactly gradient ascent on E(w) = ½‖Ỹᵀσ(Xw)‖²."
        ),
        uses=("li2.lemma-1",),
        check="energy:gradient_of_energy",
    ),
    Claim(
        id="li2.theorem-2",
        title="Local maxima of the energy for any finite group",
        locator="Theorem 2, eqs. 21 to 26",
        statement=(
            "For group arithmetic with σ(x) = x² the local maxima of E on ‖w‖ = 1 are w* = [u; ±Pu], in a real irrep "
            "of dimension d with E* = M/8d and u ∈ H_k, or in a pair of complex irreps with E* = M/16d. They are not "
            "connected, and no others exist. E = (M/2) Σ_{k≠0} (1/d_k) |Σ_r tr Ŝ_{k,r}|² (eq. 21)."
        ),
        corrected=(
            "E* = M/2d for a real irrep, M/4d for a complex pair and for a quaternionic irrep. The maximisers are a(g) "
            "∝ Re x*C(g)r, b(g) ∝ Re r*C(g)y with unit x, r, y and a shared r; v = ±u is not required, and for d > 1 "
            "not enough. Maxima in different irreps are not connected, and no others exist. In eq. 21 the trace is a "
            "Frobenius norm: E = (M/2) Σ_{k≠0} (1/d_k) ‖Σ_r Ŝ_{k,r}‖_F²."
        ),
        uses=("li2.theorem-1",),
        check="maxima:local_maxima",
    ),
    Claim(
        id="li2.corollary-1",
        title="Flat directions at the maxima",
        locator="Corollary 1",
        statement=(
            "Local maxima of E for group arithmetics tasks with |H| = M > 2 are flat, i.e., at least one eigenvalue "
            "of its Hessian is zero."
        ),
        verbatim=True,
        corrected=(
            "On the sphere the Hessian has 3(d − 1) zero eigenvalues for a real irrep of dimension d, 6d − 4 for a "
            "complex pair and 6d − 6 for a quaternionic irrep. Real irreps with d = 1 (signs, frequency M/2) are not "
            "flat."
        ),
        uses=("li2.theorem-2",),
        check="maxima:flat_directions",
    ),
    Claim(
        id="li2.section-5-2",
        title="A linear part of the activation changes nothing",
        locator="Section 5.2.1, after Theorem 2",
        statement=(
            "Our proof can be extended to more general nonlinearity σ(x) = ax + bx² with b > 0 since linear part will "
            "be cancelled out due to zero-mean operators."
        ),
        verbatim=True,
        uses=("li2.theorem-2",),
        check="maxima:linear_part",
    ),
    Claim(
        id="li2.corollary-2",
        title="Maxima of the energy for modular addition",
        locator="Corollary 2",
        statement=(
            "For modular addition with odd M all local maxima [u; ±Pu] are single frequency with E* = M/16; for even "
            "M the frequency M/2 has E* = M/8. Different local maxima are disconnected."
        ),
        corrected=(
            "On ‖w‖ = 1 all local maxima w = [a; b] are single frequency, the same in a and b with independent "
            "phases, with E* = M/4; for even M the frequency M/2 has E* = M/2. Maxima of different frequencies are "
            "disconnected."
        ),
        uses=("li2.theorem-2",),
        check="energy:maxima_for_modular_addition",
    ),
    Claim(
        id="li2.theorem-3",
        title="Nodes that reconstruct the target",
        locator="Theorem 3 and the text after it",
        statement=(
            "With E optimised over the complex numbers, m_k²d_k² pairs [u; ±Pu] per irrep whose uu* form a complete "
            "basis and η = 0, the target is reconstructed; K = 2Σ m_k²d_k² nodes suffice, 2(M − 1) for an Abelian "
            "group. No such theorem holds over the real numbers; with [u; ±Pu′], u′ a small perturbation of u, it "
            "does."
        ),
        corrected=(
            "Over the complex numbers the second half needs the conjugate, [u; ±Pū]. Over the real numbers the true "
            "maxima reconstruct: pairs [a; ±b] with a and b sharing r, d³(d + 1)/2 generic ones per real irrep, 3d⁴ + "
            "d³ per complex pair, d⁴ per quaternionic irrep; K = 4(M − 1) for Z_M, M odd. One pair fewer does not."
        ),
        uses=("li2.theorem-2",),
        check="reconstruction:target_reconstruction",
    ),
    Claim(
        id="li2.theorem-4",
        title="Samples needed to keep the local maxima",
        locator="Theorem 4",
        statement=(
            "If we select n ≳ d_k² M log(M/δ) data sample from H × H uniformly at random, then with probability at "
            "least 1 − δ, the empirical energy function Ê keeps local maxima for d_k-dimensional irreps (Thm. 2)."
        ),
        verbatim=True,
        corrected=(
            "For M from 11 to 127, n at which half of the maxima survive grows like M^1.80 for the energy as defined: "
            "n/(M ln M) goes from 2.8 to 9.7. With labels from which indicators of the single factors are regressed "
            "out, a stand-in for the S⁻¹ of eq. 5, n grows like M^1.51: n/(M ln M) goes from 2.2 to 3.6, nearer to "
            "M ln M but still with a drift. It rises with d, by a factor 1.2 from d = 1 to 2 (D23), 1.2 from 3 to 5 "
            "(A5), far less than d². These are measurements, not a theorem."
        ),
        uses=("li2.theorem-1", "li2.theorem-2"),
        check="boundary:survival_boundary",
    ),
    Claim(
        id="li2.section-5-4",
        title="Z127 with 16 % and with 13 % of the pairs",
        locator="Section 5.4",
        statement=(
            "With M = 127, using 16% of the data to train the model leads to gsol with high probability, and with 13% "
            "of the data, ngsol follows with high probability."
        ),
        verbatim=True,
        corrected="With 16 % of the pairs the network generalises, with 11 % it does not; 13 % is near the boundary.",
        uses=("li2.theorem-4", "li2.figure-4"),
        paper_setting={
            **_TRAINING,
            "group": "Z127",
            "fractions": [0.16, 0.13],
            "width": None,
            "learning rate": None,
            "weight decay": None,
            "optimizer": None,
            "epochs": None,
            "seeds": None,
        },
        check="rates:two_shares",
    ),
    Claim(
        id="li2.theorem-5",
        title="With one target the energy memorises",
        locator="Theorem 5",
        statement=(
            "If only samples (g, g⁻¹h) of one target are collected, with probability p_g, the global optimum of E is a "
            "focused memory of argmax p if φ is nondecreasing, or the spreading memory w = ½ Σ s_g [e_g; e_{g⁻¹h}], "
            "s_g = φ⁻¹(2λ/p_g), if φ is strictly decreasing. No other local optima exist."
        ),
        corrected=(
            "The optima are as printed if Y is not centred over samples; if it is, Ỹ = 0 with one target and E ≡ 0. "
            "For σ = x^q, q ≥ 3, every "
            "single pair is a local optimum, and ascents with relu can stall where pairs are dead."
        ),
        uses=("li2.lemma-6", "li2.theorem-1"),
        check="memorisation:memorisation",
    ),
    Claim(
        id="li2.theorem-6",
        title="Similar features repel",
        locator="Theorem 6, eq. 10, and the remark",
        statement=(
            "[F̃B]_j = b_jj f̃_j + Σ_{l=1}^K b_jl f̃_l with B = (F̃ᵀF̃ + ηI)⁻¹, where sign b_jl = −sign "
            "f̃_jᵀP_{η,−jl}f̃_l. If f̃_j and f̃_l are similar, b_jl is negative."
        ),
        corrected="The same with the sum over l ≠ j; b_jl = −β/((η + α)(η + γ) − β²) for the ridge residuals α, β, γ.",
        uses=("li2.equation-5",),
        check="interaction:repulsion",
    ),
    Claim(
        id="li2.theorem-7",
        title="Once an irrep is learned, the gradient asks for the others",
        locator="Theorem 7",
        statement=(
            "For σ = x², if the hidden layer learns only a subset S of irreps, G_F ∝ (Φ_S ⊗ 1)(Φ_S ⊗ 1)*F with "
            "Φ_S = [√(d_k/M) χ_k(·)]_{k∉S}, M × (κ − |S| − 1), and the modified energy E_S has local maxima on the "
            "missing irreps only."
        ),
        corrected=(
            "The same with Φ_S = [√(d_k/M)[C_k(·)]_ij]_{k∉S}, M × Σ_{k∉S} d_k² (for Abelian groups κ − |S| columns), "
            "so that the residual Ỹ − Ŷ at (h, h′) is (1/M) Σ_{k∉S} d_k χ_k(h′⁻¹h)."
        ),
        uses=("li2.equation-5", "li2.theorem-2", "li2.theorem-3"),
        check="interaction:top_down",
    ),
    Claim(
        id="li2.lemma-2",
        title="Muon ascends the joint energy",
        locator="Lemma 2, eq. 37",
        statement=(
            "Muon finds ascending direction to maximize the joint energy function E_joint(W) = Σ_j E(w_j) and has "
            "stationary points iff the original gradient G_W vanishes."
        ),
        verbatim=True,
        uses=("li2.theorem-1",),
        check="muon:ascent_direction",
    ),
    Claim(
        id="li2.theorem-8",
        title="Muon needs fewer nodes to find all features",
        locator="Theorem 8",
        statement=(
            "Pr[w → ζ_l] = μ_l^a/Σμ^a and independent nodes need T₀ ≥ max(1/min p, Σ1/l) of them to find all maxima; "
            "nodes trained sequentially by Muon need T_a = 2^{−a}T₀ + (1 − 2^{−a})L. For large a, T_a ~ L."
        ),
        corrected=(
            "T_a is exact for nodes whose μ is halved on modes already taken, and only an upper bound (as in eq. 48) "
            "under Muon itself, where every new node goes to a new mode and L nodes suffice. The printed bound of T₀ "
            "holds; the tight one has L Σ1/l. T_a ~ L for large a only if max μ < 2 min μ; otherwise T_a grows like "
            "(max μ/2 min μ)^a."
        ),
        uses=("li2.lemma-7", "li2.lemma-8", "li2.lemma-9", "li2.lemma-10"),
        check="coupons:rebalancing",
    ),
    Claim(
        id="li2.section-7",
        title="The gradient in deeper networks",
        locator="Section 7, eq. 12",
        statement=(
            "For homogeneous σ, G_{L−1} = D_L G_L W_Lᵀ = (D_L ỸỸᵀ D_L) F_{L−1} (W_L W_Lᵀ) with W_L W_Lᵀ ≈ I, so that "
            "the lowest layer receives label information, reweighted at random at each layer; residual connections "
            "give it a cleaner signal."
        ),
        corrected=(
            "G_{L−1} = (G_L ∘ σ′(H_L))W_Lᵀ; for relu and a wide random layer this tends to "
            "[(ỸỸᵀ ∘ Θ₀) + diag((ỸỸᵀ ∘ Θ₂)1)]F_{L−1}. The signal cos(G_1, ỸỸᵀF_1) falls with depth, and less with "
            "residual connections."
        ),
        uses=("li2.equation-5", "li2.lemma-1"),
        check="deep:propagation",
    ),
    Claim(
        id="li2.section-7-order",
        title="Which layer learns first",
        locator="Section 7, Stage II",
        statement=(
            "Now the lowest layer receives meaningful backpropagated gradient G₁ that is related to the target label, "
            "and it also exposes to input X. Therefore, the learning starts from there. Once layer l learns decent "
            "representation, layer l+1 receives meaningful input F_l and starts to learn, etc. When layer l is "
            "learning, layer l′ > l do not learn since their input F_l′ remains random noise."
        ),
        verbatim=True,
        corrected=(
            "In relu networks with three hidden layers the order is the reverse. A higher layer makes half of its "
            "whole change earlier than a lower one, and layers 2 and 3 are past half when layer 1 is half done."
        ),
        uses=("li2.section-7",),
        check="layers:layer_order",
    ),
    Claim(
        id="li2.section-8",
        title="Flat and sharp optima, and a large rate in Stage I",
        locator="Section 8",
        statement=(
            "Sharp optima happen when the model overfits on random features: small changes of the weights will change "
            "the loss a lot; optima with learned features are flat. With memorizing features due to limited or noisy "
            "data more nodes are involved, and the weights are less flat. In Stage I a large learning rate quickly "
            "learns the ridge solution V, so that G_F becomes meaningful and triggers Stage II."
        ),
        corrected=(
            "The same for networks that overfit and for noisy labels. With limited data the memorising network uses "
            "more nodes, but random changes of its weights raise the loss less than those of a generalising network."
        ),
        uses=("li2.corollary-1", "li2.equation-5", "li2.theorem-5"),
        check="regimes:flat_and_sharp",
    ),
    Claim(
        id="li2.lemma-3",
        title="Hermite polynomials of correlated normals",
        locator="Lemma 3 and its proof",
        statement=(
            "With φ_n = He_n/√n! and standard normals of correlation ρ, E φ_n(Z₁)φ_m(Z₂) = ρⁿ δ_nm. The proof uses "
            "exp(tz − t²/2) = Σ_k φ_k(z) t^k."
        ),
        corrected="The lemma holds as printed; the series in its proof is Σ_k φ_k(z) t^k/√k!.",
        uses=("li2.lemma-4",),
        check="hermite:hermite_orthogonality",
    ),
    Claim(
        id="li2.lemma-4",
        title="The moment generating function of a normal",
        locator="Lemma 4",
        statement="For X ~ N(0, 1), E[e^{tX}] = exp(t²/2). Equivalently, E[e^{tX − t²/2}] = 1.",
        verbatim=True,
        check="hermite:moment_identity",
    ),
    Claim(
        id="li2.lemma-5",
        title="Memories satisfy p φ(s) = 2λ",
        locator="Lemma 5, eqs. 34 and 35",
        statement=(
            "With φ(x) = σ′(x)/x an optimal s of max Σ p_g σ(s_g), s ≥ 0, Σ s_g² ≤ 2 has p_g φ(s_g) = 2λ where s_g > "
            "0, spends the budget, and s_g = φ⁻¹(2λ/p_g) if φ is strictly monotone."
        ),
        check="memorisation:kkt_conditions",
    ),
    Claim(
        id="li2.lemma-6",
        title="φ decides between one memory and many",
        locator="Lemma 6",
        statement=(
            "If φ is nondecreasing on (0, √2] the unique maximiser puts all on the most frequent pair; if φ is "
            "strictly decreasing it spreads, s_g = φ⁻¹(2λ/p_g), with 0 where 2λ/p_g ≥ φ(0⁺); if φ(0⁺) = ∞ all are "
            "positive and in the order of p."
        ),
        uses=("li2.lemma-5",),
        check="memorisation:focused_or_spreading",
    ),
    Claim(
        id="li2.lemma-7",
        title="Fréchet variables select by powers of their weights",
        locator="Lemma 7",
        statement="For i.i.d. x with CDF exp(−x^{−α}), Pr(argmax_j w_j x_j = i) = w_i^α / Σ_j w_j^α.",
        check="muon:frechet_selection",
    ),
    Claim(
        id="li2.lemma-8",
        title="The initial leader wins",
        locator="Lemma 8, eq. 11",
        statement="The dynamics ẇ = A(w)w, ‖w‖ ≤ 1 always converges to ζ_l* for l* = argmax_l μ_l α_l(0).",
        corrected="It does where some α_l(0) > 0; where none is positive it goes to the origin.",
        check="muon:leader_wins",
    ),
    Claim(
        id="li2.lemma-9",
        title="What Muon makes of a new gradient beside settled ones",
        locator="Lemma 9, eq. 38",
        statement="v̂ = v_⊥/‖v_⊥‖ + v_∥/(1 + ‖v_⊥‖) + O(‖v_⊥‖²) for A = [Q, v] and v of small magnitude.",
        corrected=(
            "v̂ = [v_⊥/t + v_∥/(1 + t)] / √(1 + ‖v_∥‖²/(1 + t)²), t = ‖v_⊥‖, exactly; the printed form is of first "
            "order in v_∥."
        ),
        check="muon:muon_projection",
    ),
    Claim(
        id="li2.lemma-10",
        title="A bound on the coupons",
        locator="Lemma 10, eq. 41",
        statement=(
            "T₀ ≥ max(min_l 1/p_l, L Σ_{l=1}^L 1/l). For the second term equality holds if and only if all p_l are "
            "equal."
        ),
        check="coupons:coupon_bound",
    ),
    Claim(
        id="li2.figure-1",
        title="Regimes over width and weight decay",
        locator="Figure 1, right",
        statement=(
            "Our analysis covers a large range of network width K and weight decay η and demonstrates their effects on "
            "learning dynamics, including both NTK and feature learning regime."
        ),
        verbatim=True,
        uses=("li2.equation-5", "li2.theorem-1", "li2.theorem-2", "li2.theorem-4"),
        check="regimes:regimes",
    ),
    Claim(
        id="li2.figure-2",
        title="Grokking with weight decay, none without",
        locator="Figure 2",
        statement=(
            "Modular addition with M = 71, K = 2048, n = 2016 (40 % of the pairs): with η = 0.0002 grokking "
            "happens, with η = 0 it does not. Weight decay leads to larger |G_F| around epoch 100. There is first "
            "a huge update on V, then a large one on W. Throughout the training F̃ᵀF̃ and P₁⊥FFᵀ remain diagonal "
            "with up to 8 % error. Averaged over 15 seeds."
        ),
        corrected=(
            "The same with η = 0.2016, which is 0.0002 in the released code's loss, a mean over samples without ½; "
            "with 0.0002 in the printed loss the network does not grok in 500 epochs. 8 % is the mean off-diagonal "
            "entry over the mean diagonal entry. As matrices they are not diagonal: off-diagonal entries hold .90 of "
            "the norm for normal weights, see Lemma 1."
        ),
        uses=("li2.equation-5", "li2.lemma-1"),
        paper_setting={
            **_TRAINING,
            "group": "Z71",
            "n": 2016,
            "fraction": 0.4,
            "width": 2048,
            "weight decay": [0.0002, 0.0],
            "seeds": 15,
            "activation": None,
            "optimizer": None,
            "learning rate": None,
            "epochs": None,
        },
        check="grokking:grokking",
    ),
    Claim(
        id="li2.figure-3",
        title="Near the boundary a small learning rate generalises more",
        locator="Figure 3",
        statement=(
            "Modular addition with M = 23, 71, 127, K = 1024: a phase transition from generalisable to "
            "non-generalisable solutions; in the critical region small learning rates more likely lead to "
            "generalisable ones. 15 seeds."
        ),
        uses=("li2.figure-5", "li2.theorem-4"),
        paper_setting={
            **_TRAINING,
            "groups": ["Z23", "Z71", "Z127"],
            "width": 1024,
            "seeds": 15,
            "fractions": None,
            "learning rates": None,
            "weight decay": None,
            "optimizer": None,
            "epochs": None,
        },
        check="rates:learning_rates",
    ),
    Claim(
        id="li2.figure-4",
        title="The boundary of cyclic groups",
        locator="Figure 4",
        statement=(
            "Modular addition, learning rate 0.0005, weight decay 0.0002, K = 2048, 20 seeds: as M grows, the data "
            "ratio required to generalise falls, as p ~ M⁻¹ log M, for prime and composite M."
        ),
        corrected=(
            "The required share falls. n grows at least like M log M and at most like the boundary of Theorem 4's "
            "residualised energy, M log M times a drift near M^0.23. The weight decay is that of the released code's "
            "loss: n/2 times 0.0002 in the printed one, in which 0.0002 does not generalise."
        ),
        uses=("li2.theorem-4",),
        paper_setting={
            **_TRAINING,
            "width": 2048,
            "learning rate": 0.0005,
            "weight decay": 0.0002,
            "seeds": 20,
            "groups": None,
            "optimizer": None,
            "epochs": None,
        },
        scales=("quick", "reduced", "paper"),
        reduced_because="Twenty seeds of sixteen groups take more than six hours of two cores; five seeds are used.",
        check="boundaries:cyclic_groups",
    ),
    Claim(
        id="li2.figure-5",
        title="Features and energies by learning rate",
        locator="Figure 5",
        statement=(
            "Modular addition, M = 127, n = 3225: Adam with learning rates 0.001 and 0.002 finds generalisable "
            "solutions (Fourier bases) with low energy, with 0.005 non-generalisable ones with much higher energy."
        ),
        corrected=(
            "Rates differ at the boundary only: at 12 % of the pairs the smallest comes nearer to generalising than "
            "the largest. At the printed 20 % all three end in Fourier features with one energy."
        ),
        uses=("li2.theorem-1", "li2.theorem-2"),
        paper_setting={
            **_TRAINING,
            "group": "Z127",
            "n": 3225,
            "optimizer": "Adam",
            "learning rates": [0.001, 0.002, 0.005],
            "width": None,
            "weight decay": None,
            "epochs": None,
            "seeds": None,
        },
        check="figures:features_and_energies",
    ),
    Claim(
        id="li2.figure-6",
        title="Muon with few hidden nodes",
        locator="Figure 6",
        statement=(
            "Adam versus Muon optimizers in modular addition tasks with M = 71, when the number of hidden nodes K is "
            "relatively small compared to M. Muon optimizer achieves lower test loss compared to Adam."
        ),
        verbatim=True,
        corrected=(
            "Muon has the lower test loss where nodes suffice to learn part of the table, K = 64 and 128, with each "
            "optimizer at its best learning rate. At "
            "K = 32 neither learns it."
        ),
        uses=("li2.theorem-8",),
        paper_setting={
            **_TRAINING,
            "group": "Z71",
            "optimizers": ["Adam", "Muon"],
            "widths": None,
            "fraction": None,
            "weight decay": None,
            "epochs": None,
            "seeds": None,
        },
        check="figures:muon_with_few_nodes",
    ),
    Claim(
        id="li2.figure-7",
        title="Two, three and four layers",
        locator="Figure 7",
        statement=(
            "Training modular addition tasks with 2, 3 and 4 layer network with ReLU activations. With more layers, "
            "the training takes longer and grokking (delayed generalization) becomes more prominent. However, features "
            "at the lowest layer remain (distorted version) of Fourier bases."
        ),
        uses=("li2.section-7",),
        paper_setting={
            "layers": [2, 3, 4],
            "activation": "relu",
            "residual connections": True,
            "group": None,
            "fraction": None,
            "width": None,
            "optimizer": None,
            "learning rate": None,
            "weight decay": None,
            "epochs": None,
            "seeds": None,
        },
        check="layers:more_layers",
    ),
    Claim(
        id="li2.figure-8",
        title="The boundary of product groups",
        locator="Figure 8",
        statement=(
            "More scaling law experiments: the same trend of the boundary of generalisation and memorisation when the "
            "group size increases, for the product groups Z4×Z7, Z5×Z6, Z2²×Z9, Z13×Z11, Z5×Z2³, Z6×Z4×Z2, Z3×Z2×Z17 "
            "and Z2×Z3²×Z5."
        ),
        corrected=(
            "The required share falls. n grows at least like M log M and at most like the boundary of Theorem 4's "
            "residualised energy."
        ),
        uses=("li2.figure-4", "li2.theorem-4"),
        paper_setting={
            **_TRAINING,
            "groups": [
                "Z4xZ7",
                "Z5xZ6",
                "Z2xZ2xZ9",
                "Z13xZ11",
                "Z5xZ2xZ2xZ2",
                "Z6xZ4xZ2",
                "Z3xZ2xZ17",
                "Z2xZ3xZ3xZ5",
            ],
            "width": None,
            "learning rate": None,
            "weight decay": None,
            "seeds": None,
            "optimizer": None,
            "epochs": None,
        },
        check="boundaries:product_groups",
    ),
)
