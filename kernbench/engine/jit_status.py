"""Is the JIT cache warm? Used to announce that a first run compiles the loops."""

from __future__ import annotations

import os

from kernels_jit.compile.cache import is_warm


def needs_compile(*, group: bool = False) -> bool:
    """True until the compiled loops of this version are in the cache; with `group`, those of runs in a batch."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return False
    return not is_warm() or (group and not is_warm("batch.run_points"))
