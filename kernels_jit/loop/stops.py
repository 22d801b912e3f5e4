"""Why the loop comes back from the network, and when it has done as much work as it may."""

from __future__ import annotations

from kernels_jit.compile.jit import inlined

SERVED_ALL, GATHERED, FULL, STOPPED = 0, 1, 2, 3


@inlined
def is_enough(state):
    """Whether as much work is done as one call of the loop may do."""
    return state.events + state.looks >= state.stop
