"""Traces as the official library of Protocol Buffers decodes them, by the schema that Perfetto publishes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent


@dataclass(slots=True)
class Slice:
    """A slice or an instant, in the nanoseconds of the file."""

    uuid: int
    start_ns: int
    end_ns: int
    name: str
    category: str
    arguments: dict[str, Any]
    flows: list[int]
    parent: Slice | None

    @property
    def start_fs(self) -> int:
        """The exact start."""
        return self.arguments["start_fs"]

    @property
    def end_fs(self) -> int:
        """The exact end."""
        return self.start_fs + self.arguments["duration_fs"]


@dataclass(slots=True)
class Decoded:
    """All that a file holds."""

    tracks: dict[int, tuple[str, ...]] = field(default_factory=dict)  # names from the process on, by uuid
    processes: dict[int, str] = field(default_factory=dict)  # by uuid
    slices: list[Slice] = field(default_factory=list)  # in the order of their begins
    counters: dict[int, list[tuple[int, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )  # (ns, value) by uuid

    def path(self, one: Slice) -> str:
        """The names of the track of a slice, as the path of a part."""
        return ".".join(self.tracks[one.uuid])


def decode(file: Path) -> Decoded:
    """Decode each packet of a file; slices must nest, and all must end."""
    trace = Trace()
    trace.ParseFromString(file.read_bytes())
    size = trace.ByteSize()
    trace.DiscardUnknownFields()
    assert trace.ByteSize() == size  # the schema knows all fields
    found, names, stacks = Decoded(), defaultdict[str, dict[int, str]](dict), defaultdict[int, list[Slice]](list)
    assert trace.packet[0].sequence_flags == 1  # interned names begin here
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        for kind in ("event_names", "event_categories", "debug_annotation_names"):
            names[kind].update((one.iid, one.name) for one in getattr(packet.interned_data, kind))
        names["texts"].update(
            (one.iid, one.str.decode()) for one in packet.interned_data.debug_annotation_string_values
        )
        if packet.HasField("track_descriptor"):
            _add_track(found, packet.track_descriptor)
        if packet.HasField("track_event"):
            _add_event(found, packet.timestamp, packet.track_event, names, stacks[packet.track_event.track_uuid])
    assert not any(stacks.values())
    return found


def _add_track(found: Decoded, track: Any) -> None:
    assert track.uuid not in found.tracks
    if track.HasField("process"):
        assert track.process.pid not in found.processes
        found.processes[track.uuid] = track.process.process_name
    above = found.tracks[track.parent_uuid] if track.parent_uuid else ()
    found.tracks[track.uuid] = (*above, track.name)


def _add_event(found: Decoded, time_ns: int, event: Any, names: dict[str, dict[int, str]], stack: list[Slice]) -> None:
    assert event.track_uuid in found.tracks
    if event.type == TrackEvent.TYPE_COUNTER:
        found.counters[event.track_uuid].append((time_ns, event.double_counter_value))
        return
    if event.type == TrackEvent.TYPE_SLICE_END:
        stack.pop().end_ns = time_ns
        return
    arguments = {
        names["debug_annotation_names"][one.name_iid]: (
            names["texts"][one.string_value_iid] if one.string_value_iid else one.int_value
        )
        for one in event.debug_annotations
    }
    (category,) = event.category_iids
    texts = names["event_names"][event.name_iid], names["event_categories"][category]
    one = Slice(
        event.track_uuid, time_ns, time_ns, *texts, arguments, list(event.flow_ids), stack[-1] if stack else None
    )
    found.slices.append(one)
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        stack.append(one)
    else:
        assert event.type == TrackEvent.TYPE_INSTANT
