"""Statements of *The Geometry of Grokking: Norm Minimization on the Zero-Loss Manifold*."""

from firstlight.claims._claim import Claim

_SECTION_7 = {
    "p": 37,
    "pairs": "unordered, a ≤ b",
    "rows": 703,
    "inputs": "e_a + e_b",
    "targets": "one-hot",
    "biases": False,
    "second layer": "least squares at every step",
    "hidden units": 512,
    "activation": "relu",
    "training fraction": 0.7,
    "step size": 1e-3,
    "steps": 5000,
    "seeds": 5,
    "initial entries": "N(0, p^(−1/2))",
    "method": "Euler steps of eq. 21",
    "p^(−1/2) is": None,
}

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="manifold.figure-1",
        title="A linear model groks addition from one sample",
        locator="Figure 1, Section 3.1",
        statement=(
            "ŷ = w₁x₁ + w₂x₂ trained on 1 + 1 = 2 from (−1, 1) with λ ∈ {0.01, 0.1, 0.2}: training loss becomes very "
            "low after just 10 steps, at (w₁, w₂) ≈ (0, 2), while test loss takes a few hundred steps; then learning "
            "follows the norm to (1, 1). The model achieves lower loss with smaller λ, but takes longer to generalise."
        ),
        check="toys:grokking_addition",
        uses=("manifold.theorem-4-9", "manifold.theorem-4-13"),
        paper_setting={
            "model": "ŷ = w₁x₁ + w₂x₂",
            "training sample": "(1, 1) → 2",
            "initial weights": (-1, 1),
            "weight decay": (0.01, 0.1, 0.2),
            "test samples": 100,
            "test inputs": "normal",
            "optimizer": None,
            "learning rate": None,
        },
    ),
    Claim(
        id="manifold.figure-2",
        title="Straight to the least norm on the zero-loss plane",
        locator="Figure 2, Section 3.2",
        statement=(
            "A three-weight linear model trained on 1 + 1 + 1 = 3 first converges to the zero-loss plane, then moves "
            "directly towards the solution of least norm, from every start."
        ),
        check="toys:straight_to_least_norm",
        uses=("manifold.theorem-4-9", "manifold.theorem-4-13"),
        paper_setting={
            "model": "ŷ = w₁x₁ + w₂x₂ + w₃x₃",
            "training sample": "(1, 1, 1) → 3",
            "runs": 4,
            "initial weights": None,
            "weight decay": None,
            "optimizer": None,
        },
    ),
    Claim(
        id="manifold.figure-3",
        title="Curved, singular and non-smooth zero-loss sets",
        locator="Figure 3, Section 3.3",
        statement=(
            "Training follows a curved zero-loss set (left), one with a singular point (centre) and one with a kink "
            "(right). If the network is realized by a smooth function, the singularities form a null set, i.e. the "
            "probability of encountering a singularity during standard training is exactly zero."
        ),
        corrected=(
            "Left, w₁² − w₂² decays exactly as e^{−4λt} and training stays within O(λ) of the constrained flow; right, "
            "each coordinate is piecewise exponential. Centre, every run ends at the singular point."
        ),
        check="curved_sets:curved_singular_and_kinked",
        uses=("manifold.theorem-4-9", "manifold.theorem-4-13"),
        paper_setting={
            "left": "two-layer linear network, curved zero-loss set",
            "centre": "two-layer linear network, zero-loss set with a singularity at (0, 0)",
            "right": "one layer, leaky ReLU with slope 1/10, addition",
            "data": None,
            "initial weights": None,
            "weight decay": None,
            "optimizer": None,
        },
    ),
    Claim(
        id="manifold.theorem-4-9",
        title="Training with weight decay stays near the zero-loss set",
        locator="Theorem 4.9, eq. 5",
        statement=(
            "For every trajectory that starts on 𝒵 and every ε > 0 there is λ_ε > 0 such that for all 0 < λ < λ_ε "
            "sup_t dist_𝒵(θ(t)) < ε."
        ),
        check="stability:stability",
        uses=("manifold.lemma-a-1",),
    ),
    Claim(
        id="manifold.theorem-4-13",
        title="Near the zero-loss set the gradient is orthogonal to it",
        locator="Theorem 4.13, eq. 6",
        statement=(
            "Let S be compact with proj_𝒵(S ∩ 𝒵) ⊆ S and without singular points. Then there are C and x₀ such that "
            "|vᵀ∇𝓛(θ)|/(‖v‖‖∇𝓛(θ)‖) < C dist_𝒵(θ) for all θ ∈ S∖𝒵 with dist_𝒵(θ) < x₀ and v ∈ 𝒯 at proj_𝒵(θ)."
        ),
        check="stability:orthogonality",
        uses=("manifold.lemma-b-1", "manifold.proposition-b-4"),
    ),
    Claim(
        id="manifold.theorem-5-1",
        title="The isolated dynamics are a gradient flow",
        locator="Theorem 5.1, eq. 12",
        statement=(
            "With θ₂ = φ(θ₁) at its optimum, θ̇₁ = −∇_{θ₁}𝓛_λ(θ₁, φ(θ₁)) is the gradient flow of 𝓡(θ₁) = min_{θ₂} 𝓛_λ."
        ),
        check="isolated:envelope",
    ),
    Claim(
        id="manifold.equation-16",
        title="The best second layer is ridge regression",
        locator="Eq. 16",
        statement="φ(W₁) = (HᵀH + λI)⁻¹HᵀY with H = σ(XW₁).",
        check="isolated:ridge_solution",
    ),
    Claim(
        id="manifold.equation-17",
        title="The cost of the isolated first layer",
        locator="Eq. 17",
        statement="𝓡(W₁) = 𝓛_λ(W₁, φ(W₁)) with φ of eq. 16.",
        check="isolated:cost_function",
        uses=("manifold.theorem-5-1", "manifold.equation-16"),
    ),
    Claim(
        id="manifold.equation-20",
        title="The cost in the zero-loss limit",
        locator="Eqs. 19 and 20",
        statement=(
            "As λ → 0, φ(W₁) = (HᵀH)⁻¹HᵀY; if H has full column rank H⁺ = Hᵀ(HHᵀ)⁻¹, so that "
            "𝓡(W₁) = λ‖W₁‖² + λ tr Yᵀ(HHᵀ)⁻¹Y."
        ),
        corrected="As λ → 0, φ(W₁) = Hᵀ(HHᵀ)⁻¹Y if H has full row rank (n ≤ d_h), and 𝓡 is as printed.",
        check="isolated:zero_loss_cost",
        uses=("manifold.equation-16", "manifold.equation-17"),
    ),
    Claim(
        id="manifold.equation-21",
        title="The isolated dynamics in closed form",
        locator="Eq. 21",
        statement="Ẇ₁ ≈ Xᵀ((AYYᵀAH) ∘ σ′(XW₁)) − W₁ with H = σ(XW₁) and A = (HHᵀ)⁻¹.",
        check="isolated:closed_form",
        uses=("manifold.theorem-5-1", "manifold.equation-20", "manifold.appendix-c"),
    ),
    Claim(
        id="manifold.two-rate-limit",
        title="The isolated dynamics are the limit of a fast second layer",
        locator="Sections 5.3 and 7.3",
        statement=(
            "Taking θ₂ optimal for θ₁ approximates the learning dynamics of θ₁: simulating training with the predicted "
            "gradients reproduces training."
        ),
        corrected=(
            "It is the limit lr₂/lr₁ → ∞ of training with two rates, reached as lr₁/lr₂; at equal rates W differs."
        ),
        check="training:two_rates",
        uses=("manifold.theorem-5-1", "manifold.equation-21"),
    ),
    Claim(
        id="manifold.minimum-norm",
        title="Training with weight decay ends at the least norm",
        locator="Abstract; Section 4",
        statement=(
            "post-memorization learning can be understood through the lens of constrained optimization: gradient "
            "descent effectively minimizes the weight norm on the zero-loss manifold."
        ),
        verbatim=True,
        check="training:least_norm",
        uses=("manifold.theorem-4-9", "manifold.theorem-4-13", "manifold.equation-21"),
    ),
    Claim(
        id="manifold.section-7",
        title="The embedding on its own generalises late",
        locator="Section 7.4.1",
        statement=(
            "Despite the fact that the training loss is exactly zero throughout, the test accuracy is not better than "
            "random guessing for the first 500 steps. However, the network eventually achieves perfect generalization "
            "on the test data after about 2000 steps."
        ),
        verbatim=True,
        check="section_7:delayed_generalisation",
        uses=("manifold.equation-21", "manifold.theorem-4-9"),
        paper_setting=_SECTION_7,
    ),
    Claim(
        id="manifold.figure-4",
        title="The embedding becomes circles in orthogonal planes",
        locator="Figure 4, Section 7.4.2",
        statement=(
            "Generalisation emerges after about 1000 steps. The norms of Re F_k and Im F_k equalise (equally sized "
            "circles of perfect aspect ratio), the features become orthogonal, and their absolute values similar for "
            "the same frequency and dissimilar for different ones (each circle uses its own hidden units)."
        ),
        check="section_7:circles",
        uses=("manifold.equation-21", "manifold.section-7"),
        paper_setting=_SECTION_7,
    ),
    Claim(
        id="manifold.lemma-a-1",
        title="The loss stays below λ‖θ(0)‖²",
        locator="Lemma A.1, eq. 22",
        statement=(
            "For θ(0) ∈ 𝒵 and every ε > 0 there is λ_ε > 0 such that sup_t 𝓛(θ(t)) < ε for all 0 < λ < λ_ε; "
            "λ_ε < ε/‖θ(0)‖² will do, because 𝓛_λ never increases."
        ),
        check="stability:loss_bound",
    ),
    Claim(
        id="manifold.lemma-b-1",
        title="The tangent space is the null space of the Hessian",
        locator="Lemma B.1",
        statement="At a non-singular point of 𝒵 the tangent space is exactly the null space of ∇²𝓛(θ).",
        check="stability:tangent_space",
    ),
    Claim(
        id="manifold.proposition-b-4",
        title="The displacement from the zero-loss set is normal to it",
        locator="Proposition B.4",
        statement="θ − proj_𝒵(θ) lies in the normal space of 𝒵 at proj_𝒵(θ), for all θ.",
        check="stability:normal_displacement",
        uses=("manifold.lemma-b-1",),
    ),
    Claim(
        id="manifold.appendix-c",
        title="The gradient of the isolated cost",
        locator="Appendix C, last line",
        statement="∇𝓡(W₁) = −2λW₁ + 2λXᵀ[(AYYᵀAH) ∘ σ′(XW₁)].",
        corrected="∇𝓡(W₁) = 2λW₁ − 2λXᵀ[(AYYᵀAH) ∘ σ′(XW₁)], so that eq. 21 is −∇𝓡/2λ.",
        check="isolated:sign_of_appendix",
        uses=("manifold.equation-20",),
    ),
)
