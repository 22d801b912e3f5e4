"""Packets of a Perfetto trace, one or many at once. All are of one sequence, in which names are interned."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from kernbench.trace.wire import Messages
from kernbench.units import FS_PER_NS

_PACKET = 1  # in Trace
_TIMESTAMP, _SEQUENCE, _TRACK_EVENT, _SEQUENCE_FLAGS = 8, 10, 11, 13  # in TracePacket
_STATE_CLEARED, _NEEDS_STATE = 1, 2  # sequence flags: interned names begin here; they are known from before
_OUR_SEQUENCE = 1

BLOCK = 1 << 15  # packets that are encoded at once


def round_ns(time_fs: np.ndarray) -> np.ndarray:
    """int64[n] times in whole ns, the nearest of int64[n] fs."""
    return (time_fs + FS_PER_NS // 2) // FS_PER_NS


def write_packet(file: BinaryIO, contents: Messages, *, begins: bool = False) -> None:
    """Write one packet of fields that are no arrays; the first of a file `begins` the sequence."""
    flags = _STATE_CLEARED if begins else _NEEDS_STATE
    packet = Messages().number(_SEQUENCE, _OUR_SEQUENCE).number(_SEQUENCE_FLAGS, flags)
    packet.append(contents)
    file.write(Messages().message(_PACKET, packet).encode())


def make_event_packets(time_fs: np.ndarray, event: Messages) -> np.ndarray:
    """uint8[n, width] packets of track events of one shape at int64[n] times."""
    packet = Messages().number(_TIMESTAMP, round_ns(time_fs)).number(_SEQUENCE, _OUR_SEQUENCE)
    packet.number(_SEQUENCE_FLAGS, _NEEDS_STATE).message(_TRACK_EVENT, event)
    return Messages().message(_PACKET, packet).rows(len(time_fs))
