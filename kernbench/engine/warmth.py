"""Whether this version's loops have been compiled before; the first run has to, and who waits for it wants to know."""

from __future__ import annotations

import os

from kernels_jit.cache import is_warm


def must_compile() -> bool:
    """True until a run of this version has left its compiled loops in the cache."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") == "0" and not is_warm()
