"""Claims that relate one theory to another."""

from firstlight.claims._claim import Claim
from firstlight.claims.cross.checks import agf_order, cogo_nodes, manifold

CLAIMS: tuple[Claim, ...] = (
    agf_order.AGF_ORDER_VS_LI2_ENERGY,
    cogo_nodes.COGO_ORDER_VS_LI2_NODES,
    manifold.FACT_AT_ISOLATED_FIXED_POINT,
    manifold.LI2_RIDGE_VS_ISOLATED,
)

__all__ = ["CLAIMS"]
