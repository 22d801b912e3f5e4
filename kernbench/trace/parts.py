"""The tracks of parts: a process for each cube, IO chiplet, core or cluster, a group for each PE, a track for each part.

They follow from the path of a part: "sip0.cube1.pe2.pe_dma.read" is the track "pe_dma.read" in the group "pe2" of the process
"sip0.cube1". A part whose path has one piece, such as "switch", is in the process of the machine. A thread that runs on no
part, nor on a core, has a track in the process "threads".

A composite in flight is no work of its part: its stages are, on the tracks of theirs. So it has a track beside the part,
"pe_cpu.composites".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kernbench.trace.tables import GROUP, PROCESS, SLICES, TrackTable

if TYPE_CHECKING:
    import polars

    from kernbench.machine.machine import Machine

COMPOSITE, COMPOSITES = "composite", "composites"  # the kind of a composite in flight, and the track of those of a part
THREADS = "threads"  # the process of threads that run on no part
RUN = "run"  # the process of what concerns the whole run
_SIP = re.compile(r"sip\d+")
_PE = re.compile(r"pe\d+")


class PartTracks:
    """The tracks of the parts of one machine, made when they are asked for."""

    def __init__(self, machine: Machine, tracks: TrackTable) -> None:
        self._machine, self._tracks = machine, tracks
        self._processes = {split_path(name, machine.name)[0] for name in machine.node_name} - {machine.name}

    def find(self, part: str) -> int:
        """The track of a part, by its path."""
        process, rest = self.split(part)
        known = part in self._machine.node_id or part in self._machine.server_id
        if not known and process not in self._processes:
            return self._tracks.find(part, SLICES, self._tracks.find(THREADS, PROCESS))
        parent = self._tracks.find(process, PROCESS)
        if len(rest) > 1 and _PE.fullmatch(rest[0]):
            parent, rest = self._tracks.find(rest[0], GROUP, parent), rest[1:]
        return self._tracks.find(".".join(rest), SLICES, parent)

    def split(self, part: str) -> tuple[str, list[str]]:
        """The process of a part, and the rest of its path; of a link or a channel of a memory too."""
        return split_path(part, self._machine.name)


def list_track_paths(component: polars.Series, op_kind: polars.Series) -> polars.Series:
    """The path of the track of each row of an op log, by its columns."""
    import polars

    in_flight = (op_kind == COMPOSITE).arg_true()
    if in_flight.is_empty():
        return component
    beside = component.gather(in_flight).cast(polars.String) + f".{COMPOSITES}"
    return component.cast(polars.String).scatter(in_flight, beside)


def split_path(part: str, machine: str) -> tuple[str, list[str]]:
    """The process of a part of a machine, by its name, and the rest of its path."""
    path = part.partition(" -> ")[0].split(".")
    depth = 2 if _SIP.fullmatch(path[0]) and len(path) > 2 else 1
    if len(path) == depth:
        return machine, path
    return ".".join(path[:depth]), path[depth:]
