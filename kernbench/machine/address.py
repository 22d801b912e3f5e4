"""The 51-bit physical address.

    [50:47] SIP       [46:42] die: 0-15 cube, 16-20 IO chiplet, 21-31 reserved   [41:0] inside the die
    [41:40] what: HBM, a PE's own memory, SRAM, other

Inside HBM the offset is flat over the cube and slice = offset // slice size; inside a PE's memory [39:32] is the PE.
Fields are reserved rather than packed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from kernbench.errors import InputError

ADDRESS_BITS, SIP_SHIFT, DIE_SHIFT, KIND_SHIFT, PE_SHIFT = 51, 47, 42, 40, 32
CUBES, IO_CHIPLETS = 16, 5
HBM_BYTES = 1 << KIND_SHIFT  # of a cube, at most
_LOCAL = HBM_BYTES - 1


class Kind(IntEnum):
    """What an address is inside of."""

    HBM = 0
    PE = 1
    SRAM = 2
    OTHER = 3


@dataclass(frozen=True, slots=True)
class Address:
    """A place in memory. `offset` counts from the start of the PE's slice (HBM), of its memory (PE), or of the die's."""

    sip: int
    die: int
    kind: Kind
    pe: int
    offset: int

    def encode(self, slice_bytes: int) -> int:
        """The address as a number. Errors: InputError for a field that does not fit."""
        _fits("SIP", self.sip, 16)
        _fits("die", self.die, CUBES + IO_CHIPLETS)
        if self.kind == Kind.HBM:
            _fits("offset in an HBM slice", self.offset, slice_bytes)
            local = self.pe * slice_bytes + self.offset
            _fits("HBM offset", local, _LOCAL + 1)
        elif self.kind == Kind.PE:
            _fits("PE", self.pe, 1 << (KIND_SHIFT - PE_SHIFT))
            _fits("offset in a PE's memory", self.offset, 1 << PE_SHIFT)
            local = self.pe << PE_SHIFT | self.offset
        else:
            _fits("PE of a memory that no PE owns", self.pe, 1)
            _fits("offset in a die", self.offset, _LOCAL + 1)
            local = self.offset
        return self.sip << SIP_SHIFT | self.die << DIE_SHIFT | self.kind << KIND_SHIFT | local


def decode(number: int, slice_bytes: int) -> Address:
    """The place of an address. Errors: InputError for what is no address."""
    _fits("address", number, 1 << ADDRESS_BITS)
    die = number >> DIE_SHIFT & 31
    if die >= CUBES + IO_CHIPLETS:
        raise InputError(f"address {number:#x}: die {die} is reserved; dies are 0 to {CUBES + IO_CHIPLETS - 1}")
    kind, local = Kind(number >> KIND_SHIFT & 3), number & _LOCAL
    pe, offset = 0, local
    if kind == Kind.HBM:
        pe, offset = divmod(local, slice_bytes)
    elif kind == Kind.PE:
        pe, offset = local >> PE_SHIFT, local & (1 << PE_SHIFT) - 1
    return Address(number >> SIP_SHIFT, die, kind, pe, offset)


def _fits(what: str, value: int, end: int) -> None:
    if not 0 <= value < end:
        raise InputError(f"{what} {value:#x} is out of range; it is at least 0 and below {end:#x}")
