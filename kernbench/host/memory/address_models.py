"""Address models: virtual, physical and logical addressing of the memory of one SIP (`mmu.model` of the topology).

* `va`, virtual: a tensor is one range of pages. When a tensor is made, messages update the MMU of every PE. Each access
  looks up the MMU.
* `pa`, physical: no MMU is updated and nothing is looked up. A kernel's pointers are physical addresses of its own copies.
* `la`, logical: a tensor is a segment, and an address is a segment with an offset in it. No MMU is updated when a
  tensor is made: each launch brings a table of the segments of its own tensors, which each access looks up. So launches
  are longer, and a kernel sees no other tensor.

In all three an address that names no tensor is a physical one. Where tensors are mapped, such look-ups are counted,
because a kernel that runs past the end of its tensor looks the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from kernbench.dtypes import canonical
from kernbench.errors import AddressError, OutOfMemoryError
from kernbench.host.memory.allocator import Allocator
from kernbench.host.memory.page_table import Merged, PageMap
from kernbench.host.memory.physical_pointers import Extent, PhysicalMap, PhysicalPointer, ranges
from kernbench.host.memory.pointer import Owner, Pointer
from kernbench.host.memory.va_regions import Regions
from kernbench.host.messages import Entries, MmuMap, MmuUnmap, Shard, Targets, distinct
from kernbench.machine.address_decoder import AddressDecoder, Segment
from kernbench.machine.families.sip.places import sip_path

if TYPE_CHECKING:
    import numpy as np

    from kernbench.host.memory.tensor_layout import Layout
    from kernbench.machine.machine import Machine

LOGICAL = 1 << 62  # the bit of a logical address; above it 22 bits of segment and 40 of offset
_SEGMENT_BITS, _OFFSET_BITS = 22, 40
_NOTHING: Targets = {}


class Map(Protocol):
    """Translation of the addresses of one PE during one launch."""

    def locate(self, va: int, nbytes: int, /) -> Segment | None: ...

    def translate(self, va: int, nbytes: int, /) -> list[Segment]: ...

    def translate_many(self, va: np.ndarray, nbytes: np.ndarray, /) -> tuple[np.ndarray, np.ndarray]: ...


class UnmappedLookups:
    """Look-ups of physical addresses that a PE maps to no tensor, and their number.

    An address of a tensor that is there, but mapped on PEs of other cubes, is an error: it would lead to other memory.
    """

    def __init__(self, decoder: AddressDecoder) -> None:
        self._decoder = decoder
        self._firsts: list[int] = []  # of the addresses of tensors
        self._tensors: dict[
            int, tuple[int, str, int]
        ] = {}  # by first address: its end, its name, the number of its cubes
        self.count = 0

    def begin(self, va: int, nbytes: int, name: str, cubes: int) -> None:
        """Note the addresses of a new tensor, which the first cubes map."""
        insort(self._firsts, va)
        self._tensors[va] = va + nbytes, name, cubes

    def end(self, va: int) -> None:
        """Forget a tensor."""
        del self._tensors[va]
        self._firsts.remove(va)

    def find(self, pa: int) -> Segment | None:
        """As `AddressDecoder.find`. Errors: AddressError for an address of a tensor."""
        self.count += 1
        self._check(pa)
        return self._decoder.find(pa)

    def find_many(self, pa: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `AddressDecoder.find_many`. Errors: AddressError for an address of a tensor."""
        self.count += len(pa)
        for address in pa.tolist() if self._firsts and pa.max() >= self._firsts[0] else ():
            self._check(address)
        return self._decoder.find_many(pa)

    def _check(self, pa: int) -> None:
        at = bisect_right(self._firsts, pa) - 1
        end, name, cubes = self._tensors[self._firsts[at]] if at >= 0 else (0, "", 0)
        if pa < end:
            where = "cube0" if cubes == 1 else f"cube0 to cube{cubes - 1}"
            raise AddressError(
                f"address {pa:#x} is in tensor {name!r}, which only the PEs of {where} map; make the tensor with a larger "
                "num_cubes, or let PEs of these cubes use it"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A tensor in memory, and the entries by which each PE finds its parts."""

    name: str
    layout: Layout
    targets: Targets

    @property
    def owner(self) -> Owner:
        """The tensor for the check of accesses."""
        return Owner(self.name, canonical(self.layout.dtype))

    def entries(self, cube: int, pe: int) -> Entries:
        """The entries of a PE; those of the first PE if it holds no part."""
        return self.targets.get(cube, self.targets[0]).get(pe, self.targets[0][0])


class AddressModel(ABC):
    """Base of the address models of one SIP."""

    lookups: ClassVar[int]  # in the MMU, for each access of a DMA
    updates_mmus: ClassVar[bool] = False  # whether messages update MMUs when a tensor is made

    def __init__(self, machine: Machine, sip: int) -> None:
        self._decoder = AddressDecoder(machine.places)
        self.unmapped = UnmappedLookups(self._decoder)
        self._sip = sip_path(sip)

    @abstractmethod
    def begin(self, name: str, nbytes: int, shards: Sequence[Shard]) -> int:
        """Allocate addresses for a new tensor; returns the first. Errors: OutOfMemoryError if too few are free."""

    @abstractmethod
    def end(self, tensor: Placed) -> None:
        """Free the addresses of a tensor."""

    @abstractmethod
    def map_of(self, cube: int, pe: int, carried: Targets) -> Map:
        """The map of a PE now, in a launch that carries these entries."""

    def install(self, message: MmuMap) -> None:  # noqa: B027 - most models keep no tables
        """Install the entries of a message in the tables of PEs."""

    def quiet(self, seen: Map) -> Map:
        """The same map for reading numbers, without counting look-ups."""
        return seen.before(self._decoder) if isinstance(seen, PageMap) else seen

    def carried(self, tensors: Sequence[Placed]) -> Targets:  # noqa: ARG002
        """The entries that a launch with these tensors carries to each PE."""
        return {}

    def argument(self, tensor: Placed, cube: int, pe: int) -> int:  # noqa: ARG002
        """The address that a kernel on a PE gets for a tensor."""
        return Pointer(tensor.layout.va, tensor.owner)

    def pieces(self, tensor: Placed, cube: int, pe: int, seen: Map) -> list[Segment]:  # noqa: ARG002
        """The pieces of memory behind a tensor for a PE, by rising byte of the tensor. Errors: AddressError."""
        return seen.translate(tensor.layout.va, tensor.layout.nbytes)


class VirtualAddresses(AddressModel):
    """Virtual addressing: one range of pages for each tensor, and a page map for each PE."""

    lookups = 1
    updates_mmus = True

    def __init__(self, machine: Machine, sip: int) -> None:
        super().__init__(machine, sip)
        figures = machine.figures
        self._pages = Allocator(
            int(figures["mmu.va_base"]), int(figures["mmu.va_bytes"]), int(figures["mmu.page_bytes"])
        )
        self._maps: dict[tuple[int, int], PageMap] = {}
        self._unmapped = PageMap(self.unmapped)

    def begin(self, name: str, nbytes: int, shards: Sequence[Shard]) -> int:
        """Allocate a range of pages."""
        va = _take(self._pages, name, nbytes, f"virtual addresses on {self._sip}")
        self.unmapped.begin(va, nbytes, name, len({shard.cube for shard in shards}))
        return va

    def end(self, tensor: Placed) -> None:
        """Free its pages."""
        self.unmapped.end(tensor.layout.va)
        self._pages.free(tensor.layout.va, tensor.layout.nbytes)

    def map_of(self, cube: int, pe: int, carried: Targets = _NOTHING) -> PageMap:  # noqa: ARG002
        """The page map in the MMU of the PE."""
        return self._maps.get((cube, pe), self._unmapped)

    def install(self, message: MmuMap) -> None:
        """Write the entries of a message into the maps of its PEs."""
        regions = {id(e): Regions.leading_to(e, self._decoder) for e in distinct(message.targets)}
        if isinstance(message, MmuUnmap):
            regions = {key: found.absent() for key, found in regions.items()}
        done: dict[tuple[int, int], PageMap] = {}  # PEs with the same map and the same entries go on sharing one map
        merged: Merged = {}
        for cube, pes in message.targets.items():
            for pe, entries in pes.items():
                before = self.map_of(cube, pe)
                key = (id(before), id(entries))
                if key not in done:
                    done[key] = before.install(regions[id(entries)], merged)
                self._maps[cube, pe] = done[key]


class PhysicalAddresses(AddressModel):
    """Physical addressing: no table."""

    lookups = 0

    def __init__(self, machine: Machine, sip: int) -> None:
        super().__init__(machine, sip)
        self._live: dict[int, np.ndarray] = {}  # by the address of the tensor: the ranges of its shards
        self._map: PhysicalMap | None = None
        self._pointers: dict[int, PhysicalPointer] = {}  # by the entries of the PEs

    def begin(self, name: str, nbytes: int, shards: Sequence[Shard]) -> int:  # noqa: ARG002
        """The physical address of the first shard."""
        self._live[shards[0].pa] = ranges(shards)
        self._map = None
        return shards[0].pa

    def end(self, tensor: Placed) -> None:
        """Forget its shards."""
        del self._live[tensor.layout.va]
        self._map = None
        self._pointers.clear()

    def map_of(self, cube: int, pe: int, carried: Targets = _NOTHING) -> PhysicalMap:  # noqa: ARG002
        """The map of physical addresses, one for all PEs."""
        if self._map is None:
            self._map = PhysicalMap(self._decoder, self._live.values())
        return self._map

    def argument(self, tensor: Placed, cube: int, pe: int) -> PhysicalPointer:
        """A pointer into the PE's own copies."""
        entries = tensor.entries(cube, pe)
        if id(entries) not in self._pointers:
            extent = Extent.of(tensor.name, tensor.layout.va, tensor.layout.nbytes, entries, tensor.owner)
            self._pointers[id(entries)] = PhysicalPointer(extent)
        return self._pointers[id(entries)]

    def pieces(self, tensor: Placed, cube: int, pe: int, seen: Map) -> list[Segment]:
        """The shards that the PE uses."""
        shards = [entry.shard for entry in tensor.entries(cube, pe)]
        return [piece for shard in shards for piece in seen.translate(shard.pa, shard.nbytes)]


class LogicalAddresses(AddressModel):
    """Logical addressing: one segment for each tensor, resolved by the table that a launch carries."""

    lookups = 1

    def __init__(self, machine: Machine, sip: int) -> None:
        super().__init__(machine, sip)
        self._segments = Allocator(LOGICAL, 1 << _SEGMENT_BITS + _OFFSET_BITS, 1 << _OFFSET_BITS)
        self._unmapped = PageMap(self.unmapped)
        self._latest: Targets = {}
        self._maps: dict[int, PageMap] = {}  # of the latest launch, by the entries of PEs

    def begin(self, name: str, nbytes: int, shards: Sequence[Shard]) -> int:  # noqa: ARG002
        """Allocate a segment."""
        return _take(self._segments, name, nbytes, f"logical addresses on {self._sip}")

    def end(self, tensor: Placed) -> None:
        """Free its segment."""
        self._segments.free(tensor.layout.va, tensor.layout.nbytes)

    def carried(self, tensors: Sequence[Placed]) -> Targets:
        """The segments of the tensors that a PE's cube holds; PEs with the same entries share one object."""
        tables = [tensor.targets for tensor in {tensor.layout.va: tensor for tensor in tensors}.values()]
        joined: dict[tuple[int, ...], Entries] = {}
        carried: dict[int, dict[int, Entries]] = {}
        widest = max(tables, key=len) if tables else None
        for cube, pes in widest.items() if widest else ():  # cubes are the first so many
            for pe in pes:
                parts = [table[cube][pe] for table in tables if cube in table]
                key = tuple(id(part) for part in parts)
                if key not in joined:
                    joined[key] = tuple(entry for part in parts for entry in part)
                carried.setdefault(cube, {})[pe] = joined[key]
        return carried

    def map_of(self, cube: int, pe: int, carried: Targets) -> PageMap:
        """The page map of the segments that the launch carries."""
        if self._latest is not carried:
            self._latest, self._maps = carried, {}
        entries = carried.get(cube, {}).get(pe, ())
        if id(entries) not in self._maps:
            self._maps[id(entries)] = self._unmapped.install(Regions.leading_to(entries, self._decoder))
        return self._maps[id(entries)]


MODELS: dict[str, type[AddressModel]] = {
    "va": VirtualAddresses,
    "pa": PhysicalAddresses,
    "la": LogicalAddresses,
}


def _take(free: Allocator, name: str, nbytes: int, what: str) -> int:
    found = free.allocate(nbytes)
    if found is None:
        raise OutOfMemoryError(
            f"tensor {name!r} needs {nbytes} {what}, whose largest free range is {free.largest_free_bytes}; "
            "free another tensor"
        )
    return found
