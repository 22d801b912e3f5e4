"""A PE with a memory in which addresses are offsets, for tests of replay without a machine."""

from types import SimpleNamespace

from kernbench.program.program import Program
from kernbench.replay.pe_memory import PeMemory
from kernbench.replay.replay import RunTimes
from kernbench.replay.timed_store import TimedStore

MEMORY, TCM = 0, 1


def flat_memory():
    """The view of thread 0 on an empty memory."""
    program = Program(SimpleNamespace(figures={}))  # pyright: ignore[reportArgumentType]
    return PeMemory(TimedStore(RunTimes()), program, 0, lambda va, nbytes: [(MEMORY, va, nbytes)], TCM)
