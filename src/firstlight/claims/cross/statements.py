"""Statements that relate one theory to another."""

from firstlight.claims._claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="cross.agf-order-vs-li2-energy",
        title="The order of irreps: AGF's utilities and Li₂'s energies",
        locator="AGF, Section 5; Li₂, Theorem 2",
        statement=(
            "For one-hot inputs AGF's utility at its maximum is √(8E*/27)/M² with E* Li₂'s energy of the same irrep, "
            "on any finite group, so that both order the irreps alike. For a template with separate coefficients "
            "gradient flow learns the irreps in the order of AGF's utilities."
        ),
        check="agf_order:same_order",
        uses=("agf.equation-9", "li2.theorem-2"),
    ),
    Claim(
        id="cross.cogo-order-vs-li2-nodes",
        title="Nodes per frequency: crafted, trained, reconstructed",
        locator="CoGO, Corollaries 2 and 3; Li₂, Theorem 3",
        statement=(
            "For modular addition a crafted optimizer takes 6 nodes per pair ±k (4 and a repair), a trained network 4 "
            "to 6, and "
            "generic true maxima of Li₂'s energy 8 with centred samples, 9 with centred outputs."
        ),
        check="cogo_nodes:nodes_side_by_side",
        uses=("cogo.corollary-2", "cogo.corollary-3", "li2.theorem-3"),
    ),
    Claim(
        id="cross.fact-at-isolated-fixed-point",
        title="FACT holds where the isolated dynamics stop",
        locator="FACT, Theorem 3.2; Geometry of grokking, eq. 21",
        statement="At a fixed point of eq. 21, WWᵀ = −(1/λ_FACT) Xᵀ δ Wᵀ with λ_FACT = 2λ, δ summed over samples.",
        check="manifold:fact_at_fixed_point",
        uses=("fact.theorem-3-1", "manifold.equation-21"),
    ),
    Claim(
        id="cross.li2-ridge-vs-isolated",
        title="Li₂'s ridge solution is the isolated second layer",
        locator="Li₂, eqs. 4 and 5; Geometry of grokking, eqs. 16 and 21",
        statement=(
            "With η = λ and an output bias, V_ridge = φ(W) and G_F = λ·AYYᵀAH along a run of the isolated dynamics, so "
            "that Ẇ = Xᵀ(G_F ∘ σ′)/λ − W."
        ),
        check="manifold:ridge_against_isolated",
        uses=("li2.equation-5", "manifold.equation-16", "manifold.equation-21"),
    ),
)
