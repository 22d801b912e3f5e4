"""What the host keeps of one SIP: free memory, virtual addresses, and the page map of every PE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.dtypes import itemsize
from kernbench.errors import InputError, OutOfMemoryError
from kernbench.host.allocator import Allocator
from kernbench.host.layout import Layout
from kernbench.host.messages import Shard
from kernbench.host.mmu import PageMap, Regions, Segment
from kernbench.host.policy import Block, DPPolicy, split

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

Targets = dict[int, dict[int, Regions]]  # by cube, by PE: what its MMU is told


class Sip:
    """One SIP of a machine."""

    def __init__(self, machine: Machine, index: int) -> None:
        figures = machine.figures
        self.machine = machine
        self.index = index
        self.name = f"sip{index}"
        self._slice_bytes = int(figures["hbm.slice_bytes"])
        self._align = int(figures["hbm.burst_bytes"])  # so that each shard begins on a channel of its own
        self._addresses = Allocator(
            int(figures["mmu.va_base"]), int(figures["mmu.va_bytes"]), int(figures["mmu.page_bytes"])
        )
        self._slices: dict[tuple[int, int], Allocator] = {}
        self._maps: dict[tuple[int, int], PageMap] = {}
        self._unmapped = PageMap(self._decode)

    def place(self, name: str, shape: tuple[int, ...], dtype: str, policy: DPPolicy) -> Layout:
        """Find memory for all parts of a tensor.

        Errors: OutOfMemoryError, and nothing stays allocated; InputError for a policy with more cubes or PEs than there are.
        """
        cubes = self._count("num_cubes", policy.num_cubes, self.machine.places.cubes_per_sip, "cubes")
        pes = self._count("num_pes", policy.num_pes, self.machine.places.pes_per_cube, "PEs in a cube")
        size = itemsize(dtype)
        taken: list[Shard] = []
        parts: list[tuple[Block, tuple[Shard, ...]]] = []
        try:
            for block in split(policy, shape, cubes, pes):
                copies = []
                for cube, pe in _holders(block, cubes, pes):
                    taken.append(self._allocate(name, cube, pe, block.elements * size))
                    copies.append(taken[-1])
                parts.append((block, tuple(copies)))
            va = self._allocate_va(name, sum(block.elements for block, _ in parts) * size)
        except OutOfMemoryError:
            for shard in taken:
                self._free(shard)
            raise
        return Layout(va, shape, dtype, policy, cubes, pes, tuple(parts))

    def release(self, layout: Layout) -> None:
        """Free a tensor's memory and addresses."""
        for shard in layout.shards:
            self._free(shard)
        self._addresses.free(layout.va, layout.nbytes)

    def targets(self, layout: Layout) -> Targets:
        """What each PE that holds a tensor is told of it; PEs told the same share one object."""
        told: dict[tuple[int | None, int | None], Regions] = {}
        targets: Targets = {}
        for cube in range(layout.cubes):
            for pe in range(layout.pes):
                key = (
                    cube if layout.policy.cube == "replicate" else None,
                    pe if layout.policy.pe == "replicate" else None,
                )
                if key not in told:
                    told[key] = layout.regions(cube, pe)
                targets.setdefault(cube, {})[pe] = told[key]
        return targets

    def install(self, targets: Targets) -> None:
        """Write what PEs are told into their maps."""
        done: dict[tuple[int, int], PageMap] = {}  # PEs with one map that are told one thing have one map again
        for cube, pes in targets.items():
            for pe, regions in pes.items():
                before = self.page_map(cube, pe)
                key = (id(before), id(regions))
                if key not in done:
                    done[key] = before.install(regions)
                self._maps[cube, pe] = done[key]

    def page_map(self, cube: int, pe: int) -> PageMap:
        """What a PE's MMU holds now."""
        return self._maps.get((cube, pe), self._unmapped)

    def free_bytes(self, cube: int, pe: int) -> int:
        """Free memory in a PE's slice."""
        return self._slice(cube, pe).free_bytes

    def _count(self, axis: str, asked: int | None, there: int, what: str) -> int:
        if asked is not None and asked > there:
            raise InputError(f"DPPolicy {axis}={asked}, but {self.name} has {there} {what}; give at most {there}")
        return there if asked is None else asked

    def _slice(self, cube: int, pe: int) -> Allocator:
        found = self._slices.get((cube, pe))
        if found is None:
            found = self._slices[cube, pe] = Allocator(0, self._slice_bytes, self._align)
        return found

    def _allocate(self, name: str, cube: int, pe: int, nbytes: int) -> Shard:
        memory = self._slice(cube, pe)
        address = memory.allocate(nbytes)
        if address is None:
            raise OutOfMemoryError(
                f"tensor {name!r} needs {nbytes} bytes in the HBM slice of {self.name}.cube{cube}.pe{pe}, whose largest "
                f"free block is {memory.largest_free_bytes} of {memory.size} bytes; spread it over more PEs or free another"
            )
        return Shard(self.index, cube, pe, self.machine.places.hbm(self.index, cube, pe), address, nbytes)

    def _allocate_va(self, name: str, nbytes: int) -> int:
        va = self._addresses.allocate(nbytes)
        if va is None:
            raise OutOfMemoryError(
                f"tensor {name!r} needs {nbytes} virtual addresses on {self.name}, whose largest free range is "
                f"{self._addresses.largest_free_bytes}; free another tensor"
            )
        return va

    def _free(self, shard: Shard) -> None:
        assert shard.cube is not None
        assert shard.pe is not None
        self._slice(shard.cube, shard.pe).free(shard.pa, shard.nbytes)

    def _decode(self, address: int) -> Segment | None:
        try:
            node, offset = self.machine.places.hbm_of(address)
        except InputError:
            return None
        return node, offset, self._slice_bytes - offset


def _holders(block: Block, cubes: int, pes: int) -> list[tuple[int, int]]:
    if not block.elements:
        return []
    return [
        (cube, pe)
        for cube in (range(cubes) if block.cube is None else (block.cube,))
        for pe in (range(pes) if block.pe is None else (block.pe,))
    ]
