"""
Frequencies, the largest first
==============================

Addition mod 20 with a template: each number is a shifted copy of one curve. A network from small weights learns the
Fourier components of this curve one by one, the strongest first. AGF gives the levels of the loss in closed form.
"""

import numpy as np

from firstlight.records import figure
from firstlight.records.figure import Series
from firstlight.theories import agf

template = agf.harmonic_template(20, {1: 10, 3: 5, 5: 2.5})
levels = agf.lemmas.fourier_levels(template)
print("levels of the loss:", levels.levels)

# %%
# The template, and what is left of it after each step.
spectrum = np.fft.fft(template)
parts = [template]
for k in (1, 3, 5):
    gone = np.where(np.isin(np.arange(20), [k, 20 - k]), 0, np.fft.fft(parts[-1]))
    parts.append(np.fft.ifft(gone).real)
names = ["at the start", "without frequency 1", "without 1 and 3"]
left = figure.curves(
    [Series(name, np.arange(20), part) for name, part in zip(names, parts, strict=False)],
    x="position",
    y="what is left to learn",
    title="The template loses its waves",
)
removed = np.zeros(9)
removed[[0, 2, 4]] = -np.diff(levels.levels)
right = figure.spectrum(
    {"strength in the template": np.abs(spectrum[1:10]), "loss that it removes": removed},
    at=np.arange(1, 10),
    x="frequency",
    y="size",
    title="Strong frequencies remove most of the loss",
)
figure.panels([left, right], columns=2, title="Addition mod 20 with a template of three waves")
