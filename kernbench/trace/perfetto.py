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

from kernbench.trace.events import SliceEvents, write_counters
from kernbench.trace.interning import Interned
from kernbench.trace.lanes import assign_lanes
from kernbench.trace.packets import write_packet
from kernbench.trace.tables import COUNTER, GROUP, NO_PARENT, PROCESS
from kernbench.trace.wire import Messages

if TYPE_CHECKING:
    from kernbench.trace.tables import Trace

_TRACK_DESCRIPTOR = 60  # in TracePacket
_UUID, _NAME, _PROCESS, _PARENT, _COUNTER, _CHILD_ORDERING, _RANK = 1, 2, 3, 5, 8, 11, 12  # in TrackDescriptor
_PID, _PROCESS_NAME = 1, 6  # in ProcessDescriptor
_UNIT_NAME = 6  # in CounterDescriptor
_EXPLICIT = 3  # a ChildTracksOrdering: by rank


def write_perfetto(trace: Trace, file: BinaryIO) -> None:
    """Write a trace to a file that is open for writing, in packets of bounded size."""
    uuid = _write_tracks(trace, file)
    slices = trace.slices
    names, categories = Interned.of(slices["name"]), Interned.of(slices["category"])
    events = SliceEvents(slices, trace.flows, uuid, names.iid, categories.iid)
    names.write_names(file)
    categories.write_categories(file)
    events.write_interned(file)
    events.write(file)
    write_counters(trace.counters, file)


def _write_tracks(trace: Trace, file: BinaryIO) -> np.ndarray:
    """Write a descriptor of each track; returns int64[slice] the uuid of the track of each slice."""
    tracks = trace.tracks.rows()
    for number, (name, kind, parent, unit) in enumerate(tracks):
        found = Messages().number(_UUID, number + 1).text(_NAME, name)
        if parent != NO_PARENT:
            found.number(_PARENT, parent + 1).number(_RANK, number)
        if kind == PROCESS:
            found.message(_PROCESS, Messages().number(_PID, number + 1).text(_PROCESS_NAME, name))
        if kind in (PROCESS, GROUP):
            found.number(_CHILD_ORDERING, _EXPLICIT)
        if kind == COUNTER:
            found.message(_COUNTER, Messages().text(_UNIT_NAME, unit))
        write_packet(file, Messages().message(_TRACK_DESCRIPTOR, found), begins=number == 0)
    columns = ("track", "start_fs", "end_fs", "within")
    track, start_fs, end_fs, within = (trace.slices[name].to_numpy() for name in columns)
    lane = assign_lanes(track, start_fs, end_fs, within)
    uuid = track + 1
    others = np.flatnonzero(lane)
    pairs, which = np.unique(np.stack([track[others], lane[others]]), axis=1, return_inverse=True)
    uuid[others] = len(tracks) + 1 + which.ravel()
    for number, of in enumerate(pairs[0].tolist()):
        name, _, parent, _ = tracks[of]
        found = Messages().number(_UUID, len(tracks) + 1 + number).text(_NAME, name)
        if parent != NO_PARENT:
            found.number(_PARENT, parent + 1).number(_RANK, of)
        write_packet(file, Messages().message(_TRACK_DESCRIPTOR, found))
    return uuid
