"""
How sure is a prediction?
=========================

A table of rents: size, rooms, year of construction, distance to the centre, and the district as text; some years
are missing. `predict_interval` returns a range for each flat. A range that asks for 90 % should hold the true rent of
nine new flats of ten. The table is drawn from a known rule, so that thousands of new flats can check it.
"""

import numpy as np
import pandas as pd

from firstlight.records import figure
from firstlight.records.figure import Series
from firstlight.rfm import RFMRegressor


def flats(count: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of flats and their monthly rents."""
    size = rng.gamma(9, 8, count).round()
    district = rng.choice(["harbour", "old town", "university", "west"], count)
    table = pd.DataFrame(
        {
            "size": size,
            "rooms": np.clip((size / 25 + rng.normal(0, 0.6, count)).round(), 1, None),
            "year": np.where(rng.random(count) < 0.1, np.nan, rng.integers(1900, 2024, count)),
            "distance": rng.gamma(2, 2, count).round(1),
            "district": district,
        }
    )
    price = 9 + 4 * np.exp(-table["distance"] / 3) + 3 * (district == "old town") - 2 * (district == "west")
    rent = 150 + size * (price + 0.02 * (table["year"].fillna(1960) - 1960).abs())
    return table, np.asarray(rent + rng.normal(0, 90, count))


rng = np.random.default_rng(0)
new, rents = flats(2000, rng)
table, paid = flats(160, rng)
model = RFMRegressor().fit(table, paid)
low, high = model.predict_interval(new, coverage=0.9).T
inside = (low <= rents) & (rents <= high)
print(f"R² on new flats: {model.score(new, rents):.2f}; rents within their interval of 90 %: {inside.mean():.1%}")

# %%
# Is that luck? Ten tables of 160 flats, and six coverages for each. The naive interval takes its width from the errors
# on the training rows. These rows have been fitted, so the interval is too narrow.
asked = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
reached, naive = np.zeros((10, 6)), np.zeros((10, 6))
for draw in range(10):
    table, paid = flats(160, rng)
    other = RFMRegressor().fit(table, paid)
    errors, fitted = np.abs(rents - other.predict(new)), np.abs(paid - other.predict(table))
    for place, coverage in enumerate(asked):
        low_, high_ = other.predict_interval(new, coverage).T
        reached[draw, place] = np.mean((low_ <= rents) & (rents <= high_))
        naive[draw, place] = np.mean(errors <= np.quantile(fitted, coverage))
for coverage, share, narrow in zip(asked, reached.mean(0), naive.mean(0), strict=True):
    print(f"asked {coverage:.0%}, reached {share:.1%}; naive {narrow:.1%}")

# %%
order = np.argsort(model.predict(new[:60]))
place = np.arange(60)
ranges = figure.curves(
    [
        Series("interval, 90 %", place, model.predict(new[:60])[order], low[:60][order], high[:60][order]),
        Series("rent that was paid", place, rents[:60][order], style="points"),
    ],
    x="60 new flats, by predicted rent",
    y="rent per month",
    title="A range for each flat",
)
coverage = figure.curves(
    [
        Series("interval", asked, reached.mean(0), reached.min(0), reached.max(0)),
        Series("naive", asked, naive.mean(0), naive.min(0), naive.max(0)),
        Series("as asked", asked, asked, style="dashed"),
    ],
    x="coverage asked for",
    y="share of new rents inside",
    title="Coverage: asked for and reached",
    caption="Mean of ten tables; the band spans all of them.",
)
figure.panels([ranges, coverage], columns=2, title="Prediction intervals of a table of 160 flats")
