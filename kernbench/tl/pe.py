"""The context of a kernel launch on one PE: its place, its thread, its queues and its access to memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from kernbench.machine.families.sip.places import pe_path

if TYPE_CHECKING:
    import numpy as np

    from kernbench.machine.families.sip.places import PePlace
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program
    from kernbench.program.thread import Thread
    from kernbench.replay.pe_memory import PeMemory
    from kernbench.tl.lowering.ipcq import PeQueues
    from kernbench.tl.lowering.plan_outline import PlanOutline
    from kernbench.tl.lowering.source_lines import LineFinder


class Translate(Protocol):
    """The pieces of memory behind a virtual range, in order: (memory node, offset in that memory, bytes) of each.

    Errors: a KernBenchError that names the address for one that is not mapped.
    """

    def __call__(self, va: int, nbytes: int, /) -> list[tuple[int, int, int]]: ...


class Locate(Protocol):
    """(memory node, offset in that memory, bytes) of a virtual range in one piece of a tensor; None for any other."""

    def __call__(self, va: int, nbytes: int, /) -> tuple[int, int, int] | None: ...


class TranslateMany(Protocol):
    """int64[n] memory node, int64[n] offset in that memory; node -1 for an access that is not wholly in one mapping."""

    def __call__(self, va: np.ndarray, nbytes: np.ndarray, /) -> tuple[np.ndarray, np.ndarray]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PeContext:
    """One PE of one launch."""

    program: Program
    thread: Thread
    machine: Machine
    place: PePlace
    locate: Locate
    translate: Translate
    translate_many: TranslateMany
    lines: LineFinder  # of the program's kernels
    lookups: int = 1  # in the MMU, before each access of a DMA
    peek: Translate | None = None  # as `translate`, for checks, which count as no access
    num_programs: int  # PEs per cube that run this kernel
    num_cubes: int
    memory: PeMemory | None = None  # its contents; only live kernels need them
    queues: PeQueues | None = None  # the queues to its neighbours, if it has any
    outlines: dict[Any, PlanOutline] = field(default_factory=dict[Any, "PlanOutline"])  # shared by PEs of the program

    @property
    def path(self) -> str:
        """The path of this PE for messages: `sip0.cube3.pe5`."""
        return pe_path(self.place.sip, self.place.cube, self.place.pe)
