"""The web lab: watch a network learn in the browser, beside what the theories said it would do.

`serve` starts the server of `firstlight lab`. The server process reads the store and renders pages; it never imports
JAX. A recorder process per store holds the writer's lock and outlives the server; worker processes train and forecast.

>>> from firstlight import lab
>>> lab.thin([0, 1, 2, 3], most=10)
[0, 1, 2, 3]
"""

from firstlight.lab._errors import LabError
from firstlight.lab._form import default_form, spec_of
from firstlight.lab._serve import serve
from firstlight.lab._thin import thin, thin_rows

__all__ = ["LabError", "default_form", "serve", "spec_of", "thin", "thin_rows"]
