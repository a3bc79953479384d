"""Claims of *Li₂: A Framework on Dynamics of Feature Emergence and Delayed Generalization*."""

from firstlight.claims.li2.statements import CLAIMS

__all__ = ["CLAIMS"]
