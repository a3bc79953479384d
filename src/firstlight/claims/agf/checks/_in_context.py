"""The task of Figure 5, which the checks of Section 4 and Appendix E share."""

from firstlight.theories import agf


def task_of_figure_5() -> agf.InContext:
    """Return D = 4, N = 32, eigenvalues ∝ 1/i with trace 2, none of which the paper prints."""
    return agf.InContext(agf.power_law_covariance(4), 32)
