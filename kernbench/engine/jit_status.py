"""Whether this version's loops are in the cache: used to announce that a first run compiles them."""

from __future__ import annotations

import os

from kernels_jit.compile.cache import is_warm


def must_compile(*, group: bool = False) -> bool:
    """True until a run of this version has left its compiled loops in the cache; with `group`, until runs of a batch have."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return False
    return not is_warm() or (group and not is_warm("batch.run_points"))
