"""Events of a Perfetto trace: begins and ends of slices, instants, and values of counters.

Perfetto orders events by time, and those of one nanosecond as they stand in the file. They stand there by their exact times;
at one time ends come before instants, these before begins, and begins are in the order of the table. So slices of a track
follow each other as they did, and a flow leaves before it comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np

from kernbench.trace.interning import Interned, write_argument_names, write_argument_texts
from kernbench.trace.packets import BLOCK, make_event_packets
from kernbench.trace.tables import OF_SLICES
from kernbench.trace.wire import Messages, join_rows

if TYPE_CHECKING:
    import polars

_TYPE, _TRACK, _NAME, _CATEGORY, _ARGUMENT, _FLOW, _VALUE = 9, 11, 10, 3, 4, 47, 44  # in TrackEvent
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4  # types of events
_ARGUMENT_NAME, _INT, _TEXT_IID = 1, 4, 17  # in DebugAnnotation
START, DURATION = "start_fs", "duration_fs"  # arguments of all slices


class _Argument(NamedTuple):
    """An argument of slices: its values, or the numbers of its texts."""

    field: int
    values: np.ndarray  # int64[slice]
    given: np.ndarray  # bool[slice]
    texts: list[str]
    first: int  # number of the first text


class _Flows(NamedTuple):
    """The flows that leave or come to each slice; they touch its begin."""

    start: np.ndarray  # int64[slice + 1] into the flows
    number: np.ndarray  # int64[]

    @classmethod
    def of(cls, flows: polars.DataFrame, slices: int) -> _Flows:
        """The flows of so many slices."""
        ends = np.concatenate([flows["source"].to_numpy(), flows["target"].to_numpy()])
        number = np.tile(np.arange(1, len(flows) + 1), 2)
        count = np.bincount(ends, minlength=slices)
        return cls(np.concatenate([[0], np.cumsum(count)]), number[np.argsort(ends, kind="stable")])


class SliceEvents:
    """The events of slices."""

    def __init__(
        self,
        slices: polars.DataFrame,
        flows: polars.DataFrame,
        uuid: np.ndarray,
        name: np.ndarray,
        category: np.ndarray,
    ) -> None:
        """`uuid`: int64[slice] of the track; `name`, `category`: int64[slice] numbers of interned texts."""
        self._uuid, self._name, self._category = uuid, name, category
        self._start_fs, self._end_fs = slices["start_fs"].to_numpy(), slices["end_fs"].to_numpy()
        self._arguments = _list_arguments(slices)
        self._flows = _Flows.of(flows, len(slices))

    def write_interned(self, file: BinaryIO) -> None:
        """Write the names of arguments and their texts."""
        write_argument_names(file, list(self._arguments))
        for argument in self._arguments.values():
            write_argument_texts(file, argument.texts, argument.first)

    def write(self, file: BinaryIO) -> None:
        """Write all events, in their order."""
        spans = np.flatnonzero(self._end_fs > self._start_fs)
        instants = np.flatnonzero(self._end_fs == self._start_fs)
        time_fs = np.concatenate([self._end_fs[spans], self._start_fs[instants], self._start_fs[spans]])
        order = np.argsort(time_fs, kind="stable")
        which = np.concatenate([spans, instants, spans])
        types = np.repeat([_END, _INSTANT, _BEGIN], [len(spans), len(instants), len(spans)])
        for first in range(0, len(order), BLOCK):
            here = order[first : first + BLOCK]
            file.write(self._encode(types[here], which[here], time_fs[here]).data)

    def _encode(self, types: np.ndarray, which: np.ndarray, time_fs: np.ndarray) -> np.ndarray:
        """uint8[] the packets of some events, in this order."""
        flows = np.where(types == _END, 0, self._flows.start[which + 1] - self._flows.start[which])
        shape = types + 4 * flows
        for at, argument in enumerate(self._arguments.values()):
            shape += (argument.given[which] & (types != _END)) * (1 << (at + 32))
        found: list[tuple[np.ndarray, np.ndarray]] = []
        for code in np.unique(shape):
            place = np.flatnonzero(shape == code)
            message = self._event(int(types[place[0]]), which[place], int(flows[place[0]]))
            found.append((place, make_event_packets(time_fs[place], message)))
        return join_rows(found)

    def _event(self, kind: int, which: np.ndarray, flows: int) -> Messages:
        """Events of one type of slices, int64[n], that have the same arguments and as many flows."""
        found = Messages().number(_TYPE, kind).number(_TRACK, self._uuid[which])
        if kind == _END:
            return found
        for at in range(flows):
            found.fixed64(_FLOW, self._flows.number[self._flows.start[which] + at])
        found.number(_NAME, self._name[which]).number(_CATEGORY, self._category[which])
        for number, argument in enumerate(self._arguments.values(), 1):
            if argument.given[which[0]]:
                value = Messages().number(_ARGUMENT_NAME, number).number(argument.field, argument.values[which])
                found.message(_ARGUMENT, value)
        return found


def _list_arguments(slices: polars.DataFrame) -> dict[str, _Argument]:
    """The arguments of slices, by name."""
    import polars

    start_fs, end_fs = slices["start_fs"].to_numpy(), slices["end_fs"].to_numpy()
    every = np.ones(len(slices), bool)
    found = {
        START: _Argument(_INT, start_fs, every, [], 0),
        DURATION: _Argument(_INT, end_fs - start_fs, every, [], 0),
    }
    first = 1
    for column in slices.drop(OF_SLICES):
        if column.dtype == polars.String:
            interned = Interned.of(column)
            values = np.where(interned.iid > 0, interned.iid + first - 1, 0)
            found[column.name] = _Argument(_TEXT_IID, values, interned.iid > 0, interned.texts, first)
            first += len(interned.texts)
        else:
            given = column.is_not_null().to_numpy()
            found[column.name] = _Argument(_INT, column.fill_null(0).to_numpy(), given, [], 0)
    return found


def write_counters(counters: polars.DataFrame, file: BinaryIO) -> None:
    """Write the values of counters."""
    track, time_fs, value = (counters[name].to_numpy() for name in ("track", "time_fs", "value"))
    for first in range(0, len(counters), BLOCK):
        here = slice(first, first + BLOCK)
        event = Messages().number(_TYPE, _COUNTER).number(_TRACK, track[here] + 1).fixed64(_VALUE, value[here])
        file.write(make_event_packets(time_fs[here], event).data)
