"""Shapes and types of the public API are checked by beartype here, and only here."""

import contextlib
import os
import signal
import sys
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("MPLBACKEND", "agg")

# Two workers on two cores: more threads only wait for each other. torch halves its processor time with one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Workers, the commands they start and the next run of the tests compile the same programs: once is enough.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "xla"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# A job started in the background ignores Ctrl-C, and so would the tests that press it, and their children.
with contextlib.suppress(ValueError):  # only the main thread may say so
    signal.signal(signal.SIGINT, signal.default_int_handler)

from hypothesis import settings
from jaxtyping import _import_hook, install_import_hook

# The same is true of modules.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


class _OutermostFunctions(_import_hook.JaxtypingTransformer):
    """Check all functions but those inside others, which Python would decorate again at every call, 0.5 ms each."""

    inside = False

    def visit_FunctionDef(self, node):
        if not self.inside:
            self.inside = True
            super().visit_FunctionDef(node)
            self.inside = False
        return node


# Bytecode is stored under a name that depends on the expression: the two spaces tell it from that of all functions.
# An expression, which the hook evaluates; with PEP 484's tower `float` admits an `int`.
_import_hook.JaxtypingTransformer = _OutermostFunctions
install_import_hook("firstlight", "beartype.beartype(conf=beartype.BeartypeConf(  is_pep484_tower=True))")

settings.register_profile("firstlight", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("firstlight")
