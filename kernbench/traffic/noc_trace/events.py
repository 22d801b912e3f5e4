"""The events of a NoC trace: what each type does, and the record of one.

Types are those of the public description of the format (tenstorrent/tt-npe, `noc_trace_format.md`), with or without the
underscore that some profilers write behind WRITE.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

NETWORKS = {"NOC_0": 0, "NOC_1": 1}
PROCESSORS = ("BRISC", "NCRISC")
NOTE_CYCLES = 20  # from the last event of a kernel to its end, and from a barrier's last reply to the note of its end

Place = tuple[int, int]  # x, y of the physical grid


class Kind(Enum):
    """What an event does."""

    READ = auto()
    WRITE = auto()
    MULTICAST = auto()
    SIGNAL = auto()
    READ_STATE = auto()  # announces a place and a size for reads, moves nothing
    WRITE_STATE = auto()
    WAIT_READS = auto()
    WAIT_WRITES = auto()
    WAIT_ALL = auto()
    WAITED = auto()  # the end of the barrier before it
    LOCAL = auto()  # on the core alone


TYPES = {
    "READ": Kind.READ,
    "READ_WITH_STATE": Kind.READ,
    "READ_WITH_STATE_AND_TRID": Kind.READ,
    "READ_DRAM_SHARDED_WITH_STATE": Kind.READ,
    "READ_SET_STATE": Kind.READ_STATE,
    "READ_DRAM_SHARDED_SET_STATE": Kind.READ_STATE,
    "READ_SET_TRID": Kind.LOCAL,
    "READ_BARRIER_START": Kind.WAIT_READS,
    "READ_BARRIER_WITH_TRID": Kind.WAIT_READS,
    "READ_BARRIER_END": Kind.WAITED,
    "WRITE": Kind.WRITE,
    "WRITE_": Kind.WRITE,
    "WRITE_INLINE": Kind.WRITE,
    "WRITE_WITH_TRID": Kind.WRITE,
    "WRITE_WITH_STATE": Kind.WRITE,
    "WRITE_WITH_TRID_WITH_STATE": Kind.WRITE,
    "WRITE_MULTICAST": Kind.MULTICAST,
    "WRITE_SET_STATE": Kind.WRITE_STATE,
    "WRITE_WITH_TRID_SET_STATE": Kind.WRITE_STATE,
    "WRITE_BARRIER_START": Kind.WAIT_WRITES,
    "WRITE_BARRIER_WITH_TRID": Kind.WAIT_WRITES,
    "WRITE_FLUSH": Kind.WAIT_WRITES,
    "WRITE_BARRIER_END": Kind.WAITED,
    "FULL_BARRIER": Kind.WAIT_ALL,
    "ATOMIC_BARRIER": Kind.WAIT_WRITES,
    "SEMAPHORE_INC": Kind.SIGNAL,
    "SEMAPHORE_SET": Kind.LOCAL,
    "SEMAPHORE_WAIT": Kind.LOCAL,
}
BETWEEN_CHIPS = "FABRIC_"
MOVES = (Kind.READ, Kind.WRITE, Kind.SIGNAL)  # to or from one place
STATE_OF = {Kind.READ: Kind.READ_STATE, Kind.WRITE: Kind.WRITE_STATE}
BARRIERS = (Kind.WAIT_READS, Kind.WAIT_WRITES, Kind.WAIT_ALL)


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a processor. `other` is the data's owner or the destination; of a multicast there are two corners."""

    row: int  # of the file's array, from 1
    kind: Kind
    network: int
    cycle: int  # of the trace, from its first record
    nbytes: int = 0
    other: Place | None = None
    corners: tuple[Place, Place] | None = None


@dataclass(frozen=True, slots=True)
class NocTrace:
    """The events of each processor, (x, y, name), in their order."""

    path: Path
    processors: dict[tuple[int, int, str], list[Event]]
    cycles: int  # from the first record to the last, less NOTE_CYCLES

    @property
    def event_count(self) -> int:
        """The events of all processors."""
        return sum(map(len, self.processors.values()))
