"""Claims that relate one theory to another."""

from firstlight.claims.claim import Claim
from firstlight.claims.cross import cogo_nodes

CLAIMS: tuple[Claim, ...] = (cogo_nodes.COGO_ORDER_VS_LI2_NODES,)

__all__ = ["CLAIMS"]
