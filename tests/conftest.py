"""Shapes and types of the public API are checked by beartype here, and only here."""

import contextlib
import os
import signal

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("MPLBACKEND", "agg")

# A job started in the background ignores Ctrl-C, and so would the tests that press it, and their children.
with contextlib.suppress(ValueError):  # only the main thread may say so
    signal.signal(signal.SIGINT, signal.default_int_handler)

from hypothesis import settings
from jaxtyping import install_import_hook

install_import_hook("firstlight", "beartype.beartype")

settings.register_profile("firstlight", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("firstlight")
