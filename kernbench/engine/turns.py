"""Kernels that meet in pipes and semaphores, run in turn by their acts alone: see `kernels_jit.turns`."""

from kernels_jit.turns import acts
from kernels_jit.turns.run_in_turn import run_in_turn

__all__ = ["acts", "run_in_turn"]
