"""Colours: Okabe and Ito's colour-blind safe set, adjusted for contrast on light and dark pages.

M. Okabe and K. Ito, Color Universal Design (2008).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Theme:
    """The colours of a figure: text (`ink`), axes and secondary text, grid lines, background, series.

    >>> LIGHT.colour(0) == LIGHT.colour(len(LIGHT.series))
    True
    """

    ink: str
    muted: str
    grid: str
    paper: str
    series: tuple[str, ...]

    def colour(self, number: int) -> str:
        """Return the colour of series `number`; colours repeat after the last."""
        return self.series[number % len(self.series)]

    def variables(self) -> dict[str, str]:
        """Return a mapping from CSS variable to colour."""
        named = {"ink": self.ink, "muted": self.muted, "grid": self.grid, "paper": self.paper}
        numbered = {str(number): colour for number, colour in enumerate(self.series, start=1)}
        return {f"--fl-{name}": colour for name, colour in (named | numbered).items()}


LIGHT = Theme(
    ink="#1f2328",
    muted="#59636e",
    grid="#dfe3e8",
    paper="#ffffff",
    series=("#0072b2", "#d55e00", "#009e73", "#7a2f6b", "#bf8300", "#3d9bd6", "#6b7680"),
)

DARK = Theme(
    ink="#e6edf3",
    muted="#9aa5b1",
    grid="#333b45",
    paper="#12161c",
    series=("#4aa8e0", "#f0813a", "#2dbf95", "#f2c2e0", "#e8b84a", "#9ad2f5", "#9aa5b1"),
)
