"""Host-side state of one SIP: free memory, tensors, and the addresses of its PEs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.dtypes import itemsize
from kernbench.errors import InputError, OutOfMemoryError
from kernbench.host.memory.address_models import MODELS, AddressModel, Placed
from kernbench.host.memory.free_memory import Pools
from kernbench.host.memory.placement import Block, DPPolicy, split
from kernbench.host.memory.tensor_layout import Layout
from kernbench.machine.families.sip.places import sip_path

if TYPE_CHECKING:
    from kernbench.host.messages import Shard
    from kernbench.machine.machine import Machine


class Sip:
    """One SIP of a machine."""

    def __init__(self, machine: Machine, index: int) -> None:
        self.machine = machine
        self.index = index
        self.name = sip_path(index)
        self.pools = Pools(machine, index)
        self.addresses: AddressModel = MODELS[machine.places.shape.address_model](machine, index)
        self._tensors: dict[int, Placed] = {}  # by first address

    def place(self, name: str, shape: tuple[int, ...], dtype: str, policy: DPPolicy) -> Placed:
        """Allocate memory and addresses for all parts of a tensor.

        Errors: OutOfMemoryError, after which nothing stays allocated; InputError for a policy of more cubes or PEs than
        the SIP has.
        """
        cubes = self._count("num_cubes", policy.num_cubes, self.machine.places.cubes_per_sip, "cubes")
        pes = self._count("num_pes", policy.num_pes, self.machine.places.pes_per_cube, "PEs in a cube")
        size = itemsize(dtype)
        taken: list[Shard] = []
        parts: list[tuple[Block, tuple[Shard, ...]]] = []
        try:
            for block in split(policy, shape, cubes, pes):
                first = len(taken)
                for cube, pe in _holders(block, cubes, pes):
                    taken.append(self.pools.allocate("hbm", cube, pe, block.elements * size, f"tensor {name!r}"))
                parts.append((block, tuple(taken[first:])))
            va = self.addresses.begin(name, sum(block.elements for block, _ in parts) * size, taken)
        except OutOfMemoryError:
            for shard in taken:
                self.pools.free(shard)
            raise
        layout = Layout(va, shape, dtype, policy, cubes, pes, tuple(parts))
        placed = self._tensors[va] = Placed(name, layout, layout.targets(self.machine.places.pes_per_cube))
        return placed

    def release(self, layout: Layout) -> Placed:
        """Free a tensor's memory and addresses."""
        for shard in layout.shards:
            self.pools.free(shard)
        placed = self._tensors.pop(layout.va)
        self.addresses.end(placed)
        return placed

    def tensor_at(self, va: int) -> Placed:
        """The tensor that begins at an address. Errors: InputError for none."""
        if va not in self._tensors:
            raise InputError(f"no tensor of {self.name} begins at {va:#x}; give one that has not been deleted")
        return self._tensors[va]

    def _count(self, axis: str, asked: int | None, there: int, what: str) -> int:
        if asked is not None and asked > there:
            raise InputError(f"DPPolicy {axis}={asked}, but {self.name} has {there} {what}; give at most {there}")
        return there if asked is None else asked


def _holders(block: Block, cubes: int, pes: int) -> list[tuple[int, int]]:
    if not block.elements:
        return []
    return [
        (cube, pe)
        for cube in (range(cubes) if block.cube is None else (block.cube,))
        for pe in (range(pes) if block.pe is None else (block.pe,))
    ]
