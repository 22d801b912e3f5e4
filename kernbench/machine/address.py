"""The 51-bit physical address.

    [50:47] SIP       [46:42] die: 0-15 cube, 16-20 IO chiplet, 21-31 reserved   [41:0] inside the die
    [41:39] memory space: 0 HBM, 1 a PE's own memory, 2 SRAM, 3 other, 4-7 reserved

Inside HBM the offset is flat over the cube and slice = offset // slice size; inside a PE's memory [38:30] is the PE.
Fields are reserved rather than packed: a new memory space takes a reserved code, and no address changes.

The SIP field is the uppermost, so it grows upwards in a tray of more than 16 SIPs. Addresses of smaller trays do not change;
an address in a tray of 1024 SIPs has 57 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from kernbench.errors import InputError

ADDRESS_BITS, SIP_SHIFT, DIE_SHIFT, SPACE_SHIFT, PE_SHIFT = 51, 47, 42, 39, 30
SIPS, CUBES, IO_CHIPLETS = 16, 16, 5  # the most that 51 bits address
PES = 1 << (SPACE_SHIFT - PE_SHIFT)  # the most of a cube
HBM_BYTES = 1 << SPACE_SHIFT  # the most of a cube
PE_BYTES = 1 << PE_SHIFT  # the most of a PE's own memory
_DIES, _SPACES, _LOCAL = 31, 7, HBM_BYTES - 1


class MemorySpace(IntEnum):
    """The kind of memory that an address is in."""

    HBM = 0
    PE = 1
    SRAM = 2
    OTHER = 3


_HBM, _PE = int(MemorySpace.HBM), int(MemorySpace.PE)  # plain integers: reading an enum's member costs a lookup


def address_bits(sips: int) -> int:
    """The number of address bits in a tray of `sips` SIPs."""
    return max(ADDRESS_BITS, SIP_SHIFT + (sips - 1).bit_length())


@dataclass(frozen=True, slots=True)
class Address:
    """A byte in memory. `offset` counts from the start of the PE's HBM slice, of its own memory, or of the die's memory."""

    sip: int
    die: int
    space: MemorySpace
    pe: int
    offset: int

    def encode(self, slice_bytes: int, sips: int = SIPS) -> int:
        """The address as an integer, in a tray of `sips` SIPs. Errors: InputError for a field that does not fit."""
        _fits("SIP", self.sip, max(sips, SIPS))
        _fits("die", self.die, CUBES + IO_CHIPLETS if self.space == MemorySpace.OTHER else CUBES)
        if self.space == MemorySpace.HBM:
            _fits("offset in an HBM slice", self.offset, slice_bytes)
            local = self.pe * slice_bytes + self.offset
            _fits("HBM offset", local, HBM_BYTES)
        elif self.space == MemorySpace.PE:
            _fits("PE", self.pe, PES)
            _fits("offset in a PE's memory", self.offset, PE_BYTES)
            local = self.pe << PE_SHIFT | self.offset
        else:
            _fits("PE of a memory that no PE owns", self.pe, 1)
            _fits("offset in a die", self.offset, _LOCAL + 1)
            local = self.offset
        return self.sip << SIP_SHIFT | self.die << DIE_SHIFT | self.space << SPACE_SHIFT | local


def decode(number: int, slice_bytes: int, sips: int = SIPS) -> Address:
    """The fields of an address in a tray of `sips` SIPs. Errors: InputError for a number that is no address."""
    _fits("address", number, 1 << address_bits(sips))
    die, space, local = number >> DIE_SHIFT & _DIES, number >> SPACE_SHIFT & _SPACES, number & _LOCAL
    if die >= CUBES + IO_CHIPLETS:
        raise InputError(f"address {number:#x}: die {die} is reserved; dies are 0 to {CUBES + IO_CHIPLETS - 1}")
    if space >= len(MemorySpace):
        raise InputError(f"address {number:#x}: kind {space} is reserved; kinds are 0 to {len(MemorySpace) - 1}")
    if die >= CUBES and space != MemorySpace.OTHER:
        raise InputError(
            f"address {number:#x}: die {die} is an IO chiplet, which has no {MemorySpace(space).name} memory"
        )
    pe, offset = 0, local
    if space == MemorySpace.HBM:
        pe, offset = divmod(local, slice_bytes)
    elif space == MemorySpace.PE:
        pe, offset = local >> PE_SHIFT, local & PE_BYTES - 1
    return Address(number >> SIP_SHIFT, die, MemorySpace(space), pe, offset)


def base_of(number: int, slice_bytes: int) -> int:
    """The first address of the memory around an address: a PE's slice of HBM, a PE's own memory, or another space of a die."""
    space, local = number >> SPACE_SHIFT & _SPACES, number & _LOCAL
    if space == _HBM:
        return number - local % slice_bytes
    return number - (local & PE_BYTES - 1 if space == _PE else local)


def _fits(what: str, value: int, end: int) -> None:
    if not 0 <= value < end:
        raise InputError(f"{what} {value:#x} is out of range; it is at least 0 and below {end:#x}")
