"""Allocation of the memories of one SIP: an HBM slice and a TCM for each PE, an SRAM for each cube; first fit.

The upper end of a TCM is the scratch memory of kernels and is never allocated. Neither are the first bytes, because
address 0 of a TCM means no address to kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.errors import InputError, OutOfMemoryError, suggest
from kernbench.host.memory.allocator import Allocator
from kernbench.host.messages import Shard
from kernbench.machine.address import MemorySpace, base_of
from kernbench.machine.families.sip.places import cube_path, pe_path

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

SPACES = {"hbm": MemorySpace.HBM, "tcm": MemorySpace.PE, "sram": MemorySpace.SRAM}
_NAMES = {MemorySpace.HBM: "HBM slice", MemorySpace.PE: "TCM", MemorySpace.SRAM: "SRAM"}
_ALIGN_BYTES = 16  # in TCM and SRAM, as for the results of kernels


class Pools:
    """The free memory of one SIP."""

    def __init__(self, machine: Machine, sip: int) -> None:
        figures = machine.figures
        self.places, self._sip = machine.places, sip
        tcm_end = max(_ALIGN_BYTES, int(figures["pe_tcm.bytes"]) - int(figures["pe.scratch_bytes"]))
        self._range = {
            MemorySpace.HBM: (0, int(figures["hbm.slice_bytes"])),
            MemorySpace.PE: (_ALIGN_BYTES, tcm_end - _ALIGN_BYTES),
            MemorySpace.SRAM: (0, int(figures["sram.bytes"])),
        }
        # HBM aligns to bursts, so that each shard begins with a whole burst of one channel.
        self._align = {
            MemorySpace.HBM: int(figures["hbm.burst_bytes"]),
            MemorySpace.PE: _ALIGN_BYTES,
            MemorySpace.SRAM: _ALIGN_BYTES,
        }
        self._by_base: dict[int, Allocator] = {}  # by the address at which a memory begins
        self._known: dict[tuple[str, int, int], tuple[Allocator, int]] = {}  # by space, cube, PE: with the base address

    def allocate(self, space: str, cube: int, pe: int, nbytes: int, what: str) -> Shard:
        """Allocate memory of a PE, or of its cube ("sram"), for `what`, which errors name.

        Errors: OutOfMemoryError naming the memory and its largest free block; InputError for an unknown place or space.
        """
        pool, base = self._known.get((space, cube, pe)) or self._find(space, cube, pe, what)
        offset = pool.allocate(nbytes)
        if offset is None:
            memory = SPACES[space]
            raise OutOfMemoryError(
                f"{what} needs {nbytes} bytes in the {_NAMES[memory]} of {self._owner(memory, cube, pe)}, whose largest free "
                f"block is {pool.largest_free_bytes} of {pool.size} bytes; spread it over more PEs or free another"
            )
        return Shard(self._sip, cube, pe, base + offset, nbytes)

    def free(self, shard: Shard) -> None:
        """Free an allocated shard."""
        base = base_of(shard.pa, self.places.shape.slice_bytes)
        self._by_base[base].free(shard.pa - base, shard.nbytes)

    def free_bytes(self, space: str, cube: int, pe: int) -> int:
        """Free memory of a PE, or of its cube."""
        return self._find(space, cube, pe, "what is asked for")[0].free_bytes

    def _find(self, space: str, cube: int, pe: int, what: str) -> tuple[Allocator, int]:
        """The free memory of a place, and the address at which it begins. Errors: InputError."""
        if space not in SPACES:
            raise InputError(f"{what} cannot lie in {space!r}{suggest(str(space), SPACES)}")
        memory = SPACES[space]
        self.places.hbm(self._sip, cube, pe)
        base = self.places.address_of(self._sip, cube, memory, 0 if memory == MemorySpace.SRAM else pe)
        pool = self._by_base.setdefault(base, Allocator(*self._range[memory], self._align[memory]))
        found = self._known[space, cube, pe] = pool, base
        return found

    def _owner(self, memory: MemorySpace, cube: int, pe: int) -> str:
        return cube_path(self._sip, cube) if memory == MemorySpace.SRAM else pe_path(self._sip, cube, pe)
