"""Shapes and types of the public API are checked by beartype here, and only here."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("MPLBACKEND", "agg")

from hypothesis import settings
from jaxtyping import install_import_hook

install_import_hook("firstlight", "beartype.beartype")

settings.register_profile("firstlight", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("firstlight")
