"""Whether this version's loops have been compiled before; the first run has to, and who waits for it wants to know."""

from __future__ import annotations

import os

from kernels_jit.cache import is_warm


def must_compile(*, group: bool = False) -> bool:
    """True until a run of this version has left its compiled loops in the cache; with `group`, until runs of a group have."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return False
    return not is_warm() or (group and not is_warm("group.run_points"))
