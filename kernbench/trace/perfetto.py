"""Write a trace in the native format of Perfetto: a protobuf message `Trace`, which is a sequence of packets.

Perfetto counts time in whole nanoseconds and has nothing finer. So each time is rounded to the nearest nanosecond, and each
slice has its exact times as the arguments `start_fs` and `duration_fs`. Rounding keeps the order of times, so slices that
follow each other or nest still do. A slice of less than a nanosecond may have no length.

Slices that overlap on a track go to tracks of the same name and parent, which Perfetto shows as one (`lanes`).
Source of names and numbers of fields: Perfetto, protos/perfetto/trace/trace_packet.proto and what it imports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from kernbench.atomic_output import write_file
from kernbench.trace.events import SliceEvents, write_counters
from kernbench.trace.lanes import Lanes
from kernbench.trace.packets import write_packet
from kernbench.trace.tables import COUNTER, GROUP, NO_PARENT, PROCESS
from kernbench.trace.wire import Messages

if TYPE_CHECKING:
    from pathlib import Path

    from kernbench.trace.tables import Chunk, Trace, TrackTable

_TRACK_DESCRIPTOR = 60  # in TracePacket
_UUID, _NAME, _PROCESS, _PARENT, _COUNTER, _CHILD_ORDERING, _RANK = 1, 2, 3, 5, 8, 11, 12  # in TrackDescriptor
_PID, _PROCESS_NAME = 1, 6  # in ProcessDescriptor
_UNIT_NAME = 6  # in CounterDescriptor
_EXPLICIT = 3  # a ChildTracksOrdering: by rank


def write_trace_file(trace: Trace, path: Path) -> None:
    """Write a trace to a file, which is there when it is whole. Errors: RunError if the disk refuses."""

    def write(partial: Path) -> None:
        with partial.open("wb") as file:
            write_perfetto(trace, file)

    write_file(path, write)


def write_perfetto(trace: Trace, file: BinaryIO) -> None:
    """Write a trace to a file that is open for writing, chunk by chunk, in packets of bounded size."""
    tracks, events = _Tracks(trace.tracks, file), SliceEvents(file)
    tracks.write_new()
    for chunk in trace.chunks:
        events.write(chunk, tracks.place(chunk))
    tracks.write_new()
    write_counters(trace.counters, tracks.uuids(trace.counters["track"].to_numpy()), file)


class _Tracks:
    """Writes descriptors of tracks, each before its first event."""

    def __init__(self, table: TrackTable, file: BinaryIO) -> None:
        self._table, self._file = table, file
        self._uuid: list[int] = []  # by the number of the track
        self._lane_uuid: dict[tuple[int, int], int] = {}  # by track and lane, but for the first lane
        self._lanes = Lanes()

    def uuids(self, track: np.ndarray) -> np.ndarray:
        """int64[n] the uuids of int64[n] tracks."""
        return np.array(self._uuid, np.int64)[track]

    def place(self, chunk: Chunk) -> np.ndarray:
        """int64[slice] the uuid of the track of each slice: that of its lane."""
        self.write_new()
        columns = ("track", "start_fs", "end_fs", "within")
        track, start_fs, end_fs, within = (chunk.slices[name].to_numpy() for name in columns)
        lane = self._lanes.assign(track, start_fs, end_fs, within)
        uuid = self.uuids(track)
        others = np.flatnonzero(lane)
        pairs, which = np.unique(np.stack([track[others], lane[others]]), axis=1, return_inverse=True)
        found = [self._find_lane(of, number) for of, number in pairs.T.tolist()]
        uuid[others] = np.array(found, np.int64)[which.ravel()]
        return uuid

    def write_new(self) -> None:
        """Write the descriptors of the tracks that are new in the table."""
        for number in range(len(self._uuid), len(self._table)):
            self._uuid.append(self._write(number))

    def _find_lane(self, track: int, lane: int) -> int:
        if (track, lane) not in self._lane_uuid:
            self._lane_uuid[track, lane] = self._write(track)
        return self._lane_uuid[track, lane]

    def _write(self, number: int) -> int:
        """Write a track, or another lane of one; returns its uuid."""
        name, kind, parent, unit = self._table.row(number)
        uuid = len(self._uuid) + len(self._lane_uuid) + 1
        found = Messages().number(_UUID, uuid).text(_NAME, name)
        if parent != NO_PARENT:
            found.number(_PARENT, self._uuid[parent]).number(_RANK, number)
        if kind == PROCESS:
            found.message(_PROCESS, Messages().number(_PID, uuid).text(_PROCESS_NAME, name))
        if kind in (PROCESS, GROUP):
            found.number(_CHILD_ORDERING, _EXPLICIT)
        if kind == COUNTER:
            found.message(_COUNTER, Messages().text(_UNIT_NAME, unit))
        write_packet(self._file, Messages().message(_TRACK_DESCRIPTOR, found), begins=uuid == 1)
        return uuid
