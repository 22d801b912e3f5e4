"""Events of a Perfetto trace: begins and ends of slices, instants, and values of counters.

Perfetto orders events by time, and those of one nanosecond as they stand in the file. They stand there by their exact times;
at one time ends come before instants, these before begins, and begins are in the order of the table. So slices of a track
follow each other as they did, and a flow leaves before it comes. Slices come in chunks: one stays in memory until its end is
written, which is when a chunk begins later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np

from kernbench.arrays import expand_ranges
from kernbench.trace.interning import ARGUMENT_NAMES, ARGUMENT_TEXTS, CATEGORIES, NAMES, Interned
from kernbench.trace.packets import BLOCK, make_event_packets
from kernbench.trace.tables import OF_SLICES
from kernbench.trace.wire import Messages, join_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars

    from kernbench.trace.tables import Chunk

_TYPE, _TRACK, _NAME, _CATEGORY, _ARGUMENT, _FLOW, _VALUE = 9, 11, 10, 3, 4, 47, 44  # in TrackEvent
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4  # types of events
_ARGUMENT_NAME, _INT, _TEXT_IID = 1, 4, 17  # in DebugAnnotation
START, DURATION = "start_fs", "duration_fs"  # arguments of all slices


class _Argument(NamedTuple):
    """An argument of slices: its values, or the numbers of its texts."""

    field: int
    values: np.ndarray  # int64[slice]
    given: np.ndarray  # bool[slice]


class _Flows(NamedTuple):
    """The flows that leave or come to each slice; they touch its begin."""

    start: np.ndarray  # int64[slice + 1] into the flows
    number: np.ndarray  # int64[]

    @classmethod
    def of(cls, flows: polars.DataFrame, slices: int, first: int) -> _Flows:
        """The flows of so many slices, numbered from a number on."""
        ends = np.concatenate([flows["source"].to_numpy(), flows["target"].to_numpy()])
        number = np.tile(np.arange(first, first + len(flows)), 2)
        count = np.bincount(ends, minlength=slices)
        return cls(np.concatenate([[0], np.cumsum(count)]), number[np.argsort(ends, kind="stable")])

    def take(self, which: np.ndarray) -> _Flows:
        """Those of some slices."""
        at, _ = expand_ranges(self.start[which], self.start[which + 1])
        count = self.start[which + 1] - self.start[which]
        return _Flows(np.concatenate([[0], np.cumsum(count)]), self.number[at])

    def join(self, other: _Flows) -> _Flows:
        """Those of the slices of both, one after the other."""
        start = np.concatenate([self.start, self.start[-1] + other.start[1:]])
        return _Flows(start, np.concatenate([self.number, other.number]))


_COLUMNS = ("uuid", "name", "category", "start_fs", "end_fs")  # of slices, without flows and arguments


class _Slices(NamedTuple):
    """Slices whose texts are numbers."""

    uuid: np.ndarray  # int64[slice] of the track
    name: np.ndarray  # int64[slice] number of an interned text, as is the category
    category: np.ndarray
    start_fs: np.ndarray
    end_fs: np.ndarray
    flows: _Flows
    arguments: Mapping[int, _Argument]  # by the number of its name

    def take(self, which: np.ndarray) -> _Slices:
        """Some of them, int64[n]."""
        arguments = {
            name: _Argument(one.field, one.values[which], one.given[which]) for name, one in self.arguments.items()
        }
        uuid, name, category, start_fs, end_fs = (getattr(self, of)[which] for of in _COLUMNS)
        return _Slices(uuid, name, category, start_fs, end_fs, self.flows.take(which), arguments)

    def join(self, other: _Slices) -> _Slices:
        """These and then the others."""
        both = self, other
        uuid, name, category, start_fs, end_fs = (np.concatenate([getattr(one, of) for one in both]) for of in _COLUMNS)
        arguments: dict[int, _Argument] = {}
        for argument in dict.fromkeys([*self.arguments, *other.arguments]):
            found = [one.arguments.get(argument) or _absent(len(one.uuid)) for one in both]
            values, given = (np.concatenate([getattr(one, of) for one in found]) for of in ("values", "given"))
            arguments[argument] = _Argument(max(one.field for one in found), values, given)
        return _Slices(uuid, name, category, start_fs, end_fs, self.flows.join(other.flows), arguments)


def _absent(slices: int) -> _Argument:
    """An argument that none of so many slices has."""
    return _Argument(0, np.zeros(slices, np.int64), np.zeros(slices, bool))


class SliceEvents:
    """Writes the events of slices, chunk by chunk."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._names, self._categories = Interned(NAMES, file), Interned(CATEGORIES, file)
        self._argument_names, self._texts = Interned(ARGUMENT_NAMES, file), Interned(ARGUMENT_TEXTS, file)
        self._open: _Slices | None = None  # slices whose end is not written yet
        self._from_fs = -1  # events before are written
        self._flows = 0

    def write(self, chunk: Chunk, uuid: np.ndarray) -> None:
        """Write all events before the end of a chunk; `uuid`: int64[slice] of the track of each of its slices."""
        slices = self._read(chunk, uuid)
        if self._open is not None:
            slices = self._open.join(slices)
        spans = np.flatnonzero(slices.end_fs > slices.start_fs)
        instants = np.flatnonzero(slices.end_fs == slices.start_fs)
        time_fs = np.concatenate([slices.end_fs[spans], slices.start_fs[instants], slices.start_fs[spans]])
        which = np.concatenate([spans, instants, spans])
        types = np.repeat([_END, _INSTANT, _BEGIN], [len(spans), len(instants), len(spans)])
        order = np.argsort(time_fs, kind="stable")
        begin, end = np.searchsorted(time_fs[order], [self._from_fs, chunk.until_fs]).tolist()
        for first in range(begin, end, BLOCK):
            here = order[first : min(first + BLOCK, end)]
            self._file.write(_encode(slices, types[here], which[here], time_fs[here]).data)
        self._open = slices.take(np.flatnonzero(slices.end_fs >= chunk.until_fs))
        self._from_fs = chunk.until_fs

    def _read(self, chunk: Chunk, uuid: np.ndarray) -> _Slices:
        table = chunk.slices
        start_fs, end_fs = table["start_fs"].to_numpy(), table["end_fs"].to_numpy()
        every = np.ones(len(table), bool)
        found = {START: _Argument(_INT, start_fs, every), DURATION: _Argument(_INT, end_fs - start_fs, every)}
        found |= {column.name: self._read_argument(column) for column in table.drop(OF_SLICES)}
        numbers = self._argument_names.add(found).tolist()
        name, category = self._names.number(table["name"]), self._categories.number(table["category"])
        flows = _Flows.of(chunk.flows, len(table), self._flows + 1)
        self._flows += len(chunk.flows)
        arguments = dict(zip(numbers, found.values(), strict=True))
        return _Slices(uuid, name, category, start_fs, end_fs, flows, arguments)

    def _read_argument(self, column: polars.Series) -> _Argument:
        import polars

        if column.dtype == polars.String:
            values = self._texts.number(column)
            return _Argument(_TEXT_IID, values, values > 0)
        return _Argument(_INT, column.fill_null(0).to_numpy(), column.is_not_null().to_numpy())


def _encode(slices: _Slices, types: np.ndarray, which: np.ndarray, time_fs: np.ndarray) -> np.ndarray:
    """uint8[] the packets of some events, in this order."""
    flows = np.where(types == _END, 0, slices.flows.start[which + 1] - slices.flows.start[which])
    shape = types + 4 * flows
    for at, argument in enumerate(slices.arguments.values()):
        shape += (argument.given[which] & (types != _END)) * (1 << (at + 32))
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for code in np.unique(shape):
        place = np.flatnonzero(shape == code)
        message = _event(slices, int(types[place[0]]), which[place], int(flows[place[0]]))
        found.append((place, make_event_packets(time_fs[place], message)))
    return join_rows(found)


def _event(slices: _Slices, kind: int, which: np.ndarray, flows: int) -> Messages:
    """Events of one type of slices, int64[n], that have the same arguments and as many flows."""
    found = Messages().number(_TYPE, kind).number(_TRACK, slices.uuid[which])
    if kind == _END:
        return found
    for at in range(flows):
        found.fixed64(_FLOW, slices.flows.number[slices.flows.start[which] + at])
    found.number(_NAME, slices.name[which]).number(_CATEGORY, slices.category[which])
    for number, argument in slices.arguments.items():
        if argument.given[which[0]]:
            value = Messages().number(_ARGUMENT_NAME, number).number(argument.field, argument.values[which])
            found.message(_ARGUMENT, value)
    return found


def write_counters(counters: polars.DataFrame, uuid: np.ndarray, file: BinaryIO) -> None:
    """Write the values of counters; `uuid`: int64[value] of their tracks."""
    time_fs, value = counters["time_fs"].to_numpy(), counters["value"].to_numpy()
    for first in range(0, len(counters), BLOCK):
        here = slice(first, first + BLOCK)
        event = Messages().number(_TYPE, _COUNTER).number(_TRACK, uuid[here]).fixed64(_VALUE, value[here])
        file.write(make_event_packets(time_fs[here], event).data)
