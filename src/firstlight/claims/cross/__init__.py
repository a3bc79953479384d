"""Claims that relate one theory to another."""

from firstlight.claims.claim import Claim
from firstlight.claims.cross import cogo_nodes, manifold

CLAIMS: tuple[Claim, ...] = (
    cogo_nodes.COGO_ORDER_VS_LI2_NODES,
    manifold.FACT_AT_ISOLATED_FIXED_POINT,
    manifold.LI2_RIDGE_VS_ISOLATED,
)

__all__ = ["CLAIMS"]
