"""Contents of the memories of a device, in recorded and in live runs.

In a recorded run numbers are computed from notes when they are read. In a live run kernels use memory that changes with
simulated time, so data of the host is written at an `ask` of the host thread, at the row where replay would write it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kernbench.errors import InputError
from kernbench.limits.memory_budget import check_fits
from kernbench.program.op_semantics import Note
from kernbench.replay.numbers import Numbers
from kernbench.replay.pe_memory import PeMemory
from kernbench.replay.replay import Performer, Replay, RunTimes
from kernbench.replay.timed_store import NEVER, TimedStore
from kernbench.text import plural

if TYPE_CHECKING:
    from kernbench.engine import Session
    from kernbench.host.memory.address_models import Map
    from kernbench.host.memory.initial_values import Contents
    from kernbench.host.memory.tensor_layout import Layout
    from kernbench.machine.families.sip.places import PePlace
    from kernbench.program.op_semantics import Composite
    from kernbench.program.thread import Thread

SMALLER = "make the tensors smaller, or run for the times alone, without --verify-data and --live"


@dataclass(slots=True, eq=False)
class HostData(Note):
    """Data of the host: memory holds it from the completion of this row on."""

    op: ClassVar[str] = "host_data"
    tensor: str
    shape: tuple[int, ...]
    dtype: str
    deposit: int  # its number


@dataclass(slots=True, eq=False)
class GridData(Note):
    """The numbers of a launch with a grid: memory holds them from the completion of this row on."""

    op: ClassVar[str] = "grid"
    kernel: str
    step: int  # its number


class LiveTimes:
    """The times of a run while it goes on; see `Clock`. Outside of asks it is the end of all time."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def now_fs(self) -> int:
        """The time of the ask under way."""
        asked = self._session.ask_fs
        return NEVER - 1 if asked is None else asked

    @property
    def issue_fs(self) -> np.ndarray:
        """The issue of each row."""
        return self._session.op_issue_fs

    @property
    def end_fs(self) -> np.ndarray:
        """The end of each row."""
        return self._session.op_end_fs


class Deposits:
    """Data that the host writes to a store during one run; `locate` returns the memory of a physical address."""

    def __init__(self, store: TimedStore, locate: Callable[[int], tuple[int, int, int]]) -> None:
        self._store, self._locate = store, locate
        self._all: list[tuple[Layout, Contents]] = []
        self._steps: list[Callable[[TimedStore], None]] = []
        self._due: tuple[int, int] = (0, 0)  # deposits whose memory is checked, and bytes of those not computed yet

    def over(self, store: TimedStore) -> Deposits:
        """The same deposits, into another store."""
        found = Deposits(store, self._locate)
        found._all, found._steps = self._all, self._steps
        return found

    def add(self, layout: Layout, contents: Contents) -> int:
        """Keep a deposit; returns its number."""
        self._all.append((layout, contents))
        return len(self._all) - 1

    def make(self, number: int) -> None:
        """Put a deposit into memory; its numbers are computed when one of them is first accessed."""
        layout, contents = self._all[number]

        def make() -> np.ndarray:
            check_fits(
                contents.making_bytes + layout.nbytes, f"the numbers of a tensor of shape {layout.shape}", SMALLER
            )
            found = contents.make()
            self._due = self._due[0], self._due[1] - layout.nbytes
            return found

        layout.scatter(self._store, make, self._locate)

    def add_step(self, step: Callable[[TimedStore], None]) -> int:
        """Keep what a launch does with the numbers in a store; returns its number."""
        self._steps.append(step)
        return len(self._steps) - 1

    def do_step(self, number: int) -> None:
        """Do it."""
        self._steps[number](self._store)

    def check_budget(self) -> None:
        """Check that this computer's memory holds the deposits that are not computed. Errors: LimitError."""
        checked, held = self._due
        most = held
        for layout, contents in self._all[checked:]:
            most = max(most, held + contents.making_bytes + layout.nbytes)
            held += layout.nbytes
        self._due = len(self._all), held
        check_fits(most, f"the numbers of {plural(len(self._all), 'tensor')}", SMALLER)


class DeviceMemory:
    """The contents of all memories of a machine during one run."""

    def __init__(self, session: Session, live: bool) -> None:
        self._session = session
        self._live = live
        times = RunTimes()
        self._store = TimedStore(LiveTimes(session) if live else times)
        self._locate = session.program.machine.places.memory_of
        self._deposits = Deposits(self._store, self._locate)
        self._pending: dict[int, deque[int]] = {}  # in live runs, by host thread: deposits that are not made yet
        self._views: dict[int, PeMemory] = {}  # by PE thread
        self._replay = Replay(session.program, partial(_performer, self._views, self._deposits), times)
        self._computed = (0, 0)  # rows and events up to which the replay has run

    def deposit(self, thread: Thread, row: int, name: str, layout: Layout, contents: Contents) -> None:
        """Let memory hold `contents` from the completion of `row`, the last of a host thread.

        Errors: LimitError in a live run if this computer's memory cannot hold it.
        """
        number = self._deposits.add(layout, contents)
        thread.note(row, HostData(name, layout.shape, layout.dtype, number))
        if self._live:
            self._pending.setdefault(thread.id, deque()).append(number)
            thread.ask()
            self._deposits.check_budget()

    def note_numbers(self, thread: Thread, row: int, kernel: str, step: Callable[[TimedStore], None]) -> None:
        """Let a launch with a grid change the numbers in memory at the completion of a row of a host thread."""
        thread.note(row, GridData(kernel, self._deposits.add_step(step)))

    def read_now(self, layout: Layout) -> np.ndarray:
        """The numbers of a tensor at this time of the run."""
        self._catch_up()
        return self.gather(layout, self._store)

    def write_now(self, layout: Layout, array: np.ndarray) -> None:
        """Put the numbers of a tensor into memory at this time of a live run."""
        self.scatter(layout, array, self._store)

    def gather(self, layout: Layout, store: TimedStore) -> np.ndarray:
        """The numbers of a tensor in a store. Errors: LimitError if this computer's memory cannot hold them."""
        check_fits(layout.nbytes, f"the numbers of a tensor of shape {layout.shape}", SMALLER)
        return layout.gather(store, self._locate)

    def scatter(self, layout: Layout, array: np.ndarray, store: TimedStore) -> None:
        """Put the numbers of a tensor into a store."""
        layout.scatter(store, lambda: array, self._locate)

    def answer(self, thread: int) -> None:
        """Make the next deposit of a host thread, at its ASK row."""
        self._deposits.make(self._pending[thread].popleft())

    def open_view(self, thread: Thread, place: PePlace, page_map: Map) -> PeMemory:
        """The memory that the PE of a thread can access, by its page map."""
        program = self._session.program
        view = self._views[thread.id] = PeMemory(self._store, program, thread.id, page_map.translate, place.tcm)
        return view

    def look(self, layout: Layout, copy: int = 0) -> np.ndarray:
        """The numbers of a copy of a tensor, by default the first, after all that has run."""
        self._catch_up()
        check_fits(layout.nbytes, f"the numbers of a tensor of shape {layout.shape}", "make it smaller")
        return layout.gather(self._store, self._locate, copy)

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """uint8[nbytes] at a physical address after all that has run; a view if one block of the store holds all of them.

        Errors: InputError for an address without memory, or a range beyond the end of a memory.
        """
        node, offset, left = self._locate(address)
        if not 0 <= nbytes <= left:
            raise InputError(
                f"{nbytes} bytes at {address:#x} do not lie in one memory, which ends {left} bytes from there"
            )
        self._catch_up()
        return self._store.read(node, offset, nbytes)

    def _catch_up(self) -> None:
        """Replay the rows that have run since the last read; in live runs the kernels have computed them."""
        run = (self._session.program.row_count, self._session.events)
        if not self._live and run != self._computed:
            self._deposits.check_budget()
            self._replay.advance(self._session.op_issue_fs, self._session.op_end_fs)
            self._computed = run

    def find_operands(self, wanted: Mapping[str, Any]) -> list[np.ndarray]:
        """The operands of a note when it was performed. All that has run is computed once more for this."""
        found: list[np.ndarray] = []
        times = RunTimes()
        store = TimedStore(times)
        views = {thread: view.over(store) for thread, view in self._views.items()}
        perform = partial(_performer, views, self._deposits.over(store))
        again = Replay(self._session.program, lambda thread: _Watcher(perform(thread), wanted, found), times)
        again.advance(self._session.op_issue_fs, self._session.op_end_fs)
        return found


def _performer(views: Mapping[int, PeMemory], deposits: Deposits, thread: int) -> Performer:
    return Numbers(views[thread]) if thread in views else _Depositor(deposits)


class _Watcher:
    """Keeps the operands of one note just before it is performed."""

    def __init__(self, performer: Performer, wanted: Mapping[str, Any], found: list[np.ndarray]) -> None:
        self._performer, self._wanted, self._found = performer, wanted, found

    def begin(self, note: Composite, plan: int, /) -> None:
        """Start a composite."""
        self._performer.begin(note, plan)

    def perform(self, note: Note, plan: int, /) -> None:
        """Perform a note."""
        if note is self._wanted and isinstance(self._performer, Numbers):
            self._found += [np.array(array) for array in self._performer.look(note, plan)]
        self._performer.perform(note, plan)


class _Depositor:
    """Performs the notes of a host thread."""

    def __init__(self, deposits: Deposits) -> None:
        self._deposits = deposits

    def begin(self, note: Composite, plan: int, /) -> None:
        """A host thread starts no composite."""

    def perform(self, note: Note, plan: int, /) -> None:  # noqa: ARG002
        """Make the deposit that a note stands for."""
        if isinstance(note, GridData):
            self._deposits.do_step(note.step)
        else:
            self._deposits.make(note["deposit"])
