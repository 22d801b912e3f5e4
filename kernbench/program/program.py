"""The device program: the intermediate form to which every front-end lowers, and which the loop runs.

A program is a set of threads, each a sequence of ops over integer operands, plus counters, tile plans and durations. Rows are
appended through `Thread`, and `flush` moves them into the op table. A program may grow while it runs: a thread that has
reached its end can get more rows, which is how live kernels and the host work.

A duration is a sum of amounts of the machine's figures (4096 of "pe_tcm.read_byte"), rounded once to femtoseconds. So the same
program runs on machines with other figures.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from copy import copy
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.errors import RunError
from kernbench.program.growable_array import GrowableArray
from kernbench.program.op_table import OpTable
from kernbench.program.ops import CLOCK, GE, LONGEST_FS, NONE
from kernbench.program.plan_template import PlanTemplate, instantiate
from kernbench.program.program_tables import ProgramTables, Totals
from kernbench.program.rows import ROW_BYTES, count_rows, pack_row
from kernels_jit.layout import codes  # plain integers: reading an enum's member costs a lookup

if TYPE_CHECKING:
    from kernbench.machine.costs import Terms
    from kernbench.machine.machine import Machine

ZERO = 0  # the id of the duration 0
_ASK = pack_row(0, codes.ASK, 0, 0, 0, 0, 0, 0, 0)
_MOST_STAGES = 1 << 16  # of plans that are instantiated at once, which fit in a processor's cache


def unrounded_fs(terms: Terms, figures: Mapping[str, Any]) -> Any:
    """A duration before rounding, for figures that are numbers or arrays; both give the same bits."""
    total: Any = 0
    for figure, amount in terms:
        total = total + figures[figure] * amount
    return total


def _portions(
    plans: list[tuple[PlanTemplate, tuple[int, ...]]],
) -> Iterator[list[tuple[PlanTemplate, tuple[int, ...]]]]:
    """Plans in turn, no more at once than are instantiated quickly."""
    first = stages = 0
    for at, (template, _) in enumerate(plans):
        if stages >= _MOST_STAGES:
            yield plans[first:at]
            first, stages = at, 0
        stages += len(template.rows)
    yield plans[first:]


class Thread:
    """One thread of a program. Each verb appends a row and returns the row's index within the thread."""

    __slots__ = ("_dirty", "chunks", "id", "name", "notes", "pending", "row_count")

    def __init__(self, id: int, name: str, dirty: list[Thread]) -> None:
        self.id = id
        self.name = name
        self.row_count = 0
        self.notes: dict[
            int, Mapping[str, Any]
        ] = {}  # by row index: the computation of a row, for the op log and replay
        self.chunks: list[tuple[int, int, int]] = []  # (first row index, first op-table row, rows) of each flush
        self.pending: list[bytes] = []  # packed rows, until the next flush
        self._dirty = dirty

    def extend(self, rows: bytes, at: int = 0, note: Mapping[str, Any] | None = None) -> int:
        """Append rows as `kernbench.program.rows` packs them; returns the index of the first.

        A note is attached to row `at` among them.
        """
        if not self.pending:
            self._dirty.append(self)
        self.pending.append(rows)
        first = self.row_count
        self.row_count = first + len(rows) // ROW_BYTES
        if note is not None:
            self.notes[first + at] = note
        return first

    def delay(self, duration: int, tag: int = 0) -> int:
        """Wait for a duration."""
        return self.extend(pack_row(tag, codes.DELAY, duration, 0, 0, 0, 0, 0, 0))

    def exec(self, server: int, duration: int, counter: int = NONE, tag: int = 0) -> int:
        """Queue for a slot of a server, hold it for a duration, then add 1 to the counter. The thread goes on at once."""
        return self.extend(pack_row(tag, codes.EXEC, server, duration, counter, 0, 0, 0, 0))

    def move(
        self,
        route: int,
        nbytes: int,
        *,
        stripe: int = 0,
        done: int = NONE,
        hold: int = NONE,
        arrive: int = NONE,
        lead: int = ZERO,
        tag: int = 0,
    ) -> int:
        """Start a transfer; the thread goes on at once.

        With `hold`, it first queues for a slot of that server and keeps it until completion. `lead` is a duration spent
        between the start and the first byte (an address translation). When the last byte is at the destination, 1 is
        added to `arrive`; on completion (a write's acknowledgement is back) 1 is added to `done`.
        """
        return self.extend(pack_row(tag, codes.MOVE, route, nbytes, stripe, done, hold, arrive, lead))

    def until(self, time_fs: int) -> int:
        """Wait until an absolute time; if it is past, do nothing."""
        return self.extend(pack_row(0, codes.UNTIL, time_fs, 0, 0, 0, 0, 0, 0))

    def add(self, counter: int, amount: int = 1) -> int:
        """Add to a counter at once."""
        return self.extend(pack_row(0, codes.ADD, counter, amount, 0, 0, 0, 0, 0))

    def wait(self, counter: int, value: int, *, compare: int = GE, take: int = 0, tag: int = 0) -> int:
        """Wait until counter >= value (or ==, with EQ), then subtract `take` from it."""
        return self.extend(pack_row(tag, codes.WAIT, counter, compare, value, take, 0, 0, 0))

    def pipe(self, plan: int, counter: int = NONE, tag: int = 0) -> int:
        """Start all tokens of a plan; when the last has left its last stage, add 1 to the counter."""
        return self.extend(pack_row(tag, codes.PIPE, plan, counter, 0, 0, 0, 0, 0))

    def mark(self, tag: int) -> int:
        """Write a label to the log."""
        return self.extend(pack_row(tag, codes.MARK, 0, 0, 0, 0, 0, 0, 0))

    def ask(self) -> int:
        """Hand control to Python, which may append more rows to this thread."""
        return self.extend(_ASK)

    def note(self, row: int, params: Mapping[str, Any]) -> None:
        """Attach to a row its computation, which the op log shows and replay performs."""
        self.notes[row] = params

    @property
    def pending_rows(self) -> int:
        """How many rows are not in the op table yet."""
        if not self.chunks:
            return self.row_count
        first, _, count = self.chunks[-1]
        return self.row_count - (first + count)

    def at(self, row: int) -> Thread:
        """A finished thread of the same rows, which stand together from a row of the op table on."""
        other = Thread(self.id, self.name, [])
        other.row_count, other.notes = self.row_count, self.notes
        other.chunks = [(0, row, self.row_count)] * (self.row_count > 0)
        return other

    def find_row(self, row: int) -> int:
        """The op-table row of a row index of this thread. Errors: IndexError if it has not been flushed."""
        chunk = bisect_right(self.chunks, row, key=itemgetter(0)) - 1
        if chunk >= 0:
            first, at, count = self.chunks[chunk]
            if row < first + count:
                return at + row - first
        raise IndexError(f"row {row} of thread {self.name} is not in the op table")


class Program:
    """A device program for one machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.threads: list[Thread] = []
        self.counter_labels: list[object] = []  # `str` of a label is for messages only
        self.tags: list[tuple[str, str]] = [("", "control")]  # (op name, op kind) by tag
        self.plan_notes: list[Mapping[str, Any]] = []  # by plan
        self._tag_ids: dict[tuple[str, str], int] = {("", "control"): 0}
        self._duration_ids: dict[Terms, int] = {(): ZERO}
        self._durations: list[Terms] = [()]
        self.plan_rows: list[int] = []  # by plan: op-table row of its first stage
        self.checked_rows = 0  # of the op table, which are known to be legal
        self.checked_sizes: tuple[int, ...] = ()  # `sizes` at the last check
        self.legal = np.zeros(0, np.int64)  # the ranges of operands at the last check, see `kernbench.program.check`
        self._table = OpTable()
        self._totals: Totals | None = None
        self._plan_start = GrowableArray()
        self._plan_start.append([0])
        self._token_start = GrowableArray()
        self._token_end = GrowableArray()
        self._duration_fs = GrowableArray()
        self._dirty: list[Thread] = []  # threads with pending rows
        self._singles: list[bytes] = []  # pending plans of one token
        self._single_stages: list[int] = []  # of each
        self._templated: list[tuple[PlanTemplate, tuple[int, ...]]] = []  # pending plans of templates
        self._templated_stages = 0

    def on(self, machine: Machine) -> Program:
        """This program on a machine that differs in times alone: the same rows, other durations.

        The two share their rows, so neither may grow any more.
        """
        self.flush()
        other = copy(self)
        other.machine = machine
        other._duration_fs = GrowableArray()
        return other

    def settled(self) -> Program:
        """A finished program as one that was known from the start: each thread's rows together, rows that ask are marks.

        A program grows where the host waits in between, and where kernels run live. All rows keep their index within their
        thread (`Thread.find_row`); the stages of plans come first. It is this program itself if nothing is to do.
        """
        self.flush()
        asks = self.op[:, 0] == codes.ASK
        if not asks.any() and all(len(thread.chunks) <= 1 for thread in self.threads):
            return self
        order = np.argsort(self.op_thread, kind="stable")  # NONE, of stages, is less than any thread
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        other = copy(self)
        other._table = self._table.take(order)
        other.op[asks[order], 0] = codes.MARK
        other._token_start, other._token_end = GrowableArray(), GrowableArray()
        other._token_start.append(place[self.token_start])
        other._token_end.append(other.token_start + self.token_end - self.token_start)
        other.plan_rows = place[np.array(self.plan_rows, np.int64)].tolist()
        other.checked_rows, other.checked_sizes = 0, ()
        first = np.searchsorted(self.op_thread[order], np.arange(len(self.threads)))
        other.threads = [thread.at(at) for thread, at in zip(self.threads, first.tolist(), strict=True)]
        return other

    # For front-ends

    def thread(self, name: str) -> Thread:
        """A new thread. Its id orders its events among those of other threads at the same time."""
        thread = Thread(len(self.threads), name, self._dirty)
        self.threads.append(thread)
        return thread

    def counter(self, label: object) -> int:
        """A new counter, 0 at the start; the message of a deadlock names it by its label."""
        self.counter_labels.append(label)
        return len(self.counter_labels) - 1

    def tag(self, name: str, kind: str = "control") -> int:
        """The id of an op name and kind ("memory", "gemm", "math", "control"), which the op log shows."""
        key = (name, kind)
        found = self._tag_ids.get(key)
        if found is None:
            found = self._tag_ids[key] = len(self.tags)
            self.tags.append(key)
        return found

    def duration(self, *terms: tuple[str, float]) -> int:
        """The id of a duration: a sum of amounts of the machine's figures, rounded once to femtoseconds.

        For example `duration(("pe_tcm.read_byte", 4096))`. Errors: KeyError for a figure that the machine lacks.
        """
        found = self._duration_ids.get(terms)
        if found is None:
            for figure, _ in terms:
                if figure not in self.machine.figures:
                    raise KeyError(figure)
            found = self._duration_ids[terms] = len(self._durations)
            self._durations.append(terms)
        return found

    def plan(self, rows: np.ndarray, token_start: np.ndarray, tags: np.ndarray, note: Mapping[str, Any]) -> int:
        """A tile plan: int64[stage, ROW_WIDTH] rows of EXEC and MOVE, int64[token + 1] offsets, int32[stage] tags.

        A token walks its own stages in order. All tokens of a plan begin on the same server, which serves them in order.
        A token whose next stage is on the server it holds keeps it. Counters of stage rows are NONE.
        """
        self._flush_plans()
        self._append_plans(rows, tags, np.asarray(token_start, np.int64), np.array([0, len(token_start) - 1]))
        self.plan_notes.append(note)
        return len(self.plan_notes) - 1

    def token(self, rows: bytes, note: Mapping[str, Any]) -> int:
        """A plan of one token, with packed stages: faster than `plan`; the next flush moves it into the op table."""
        if self._templated:
            self._flush_plans()
        self._singles.append(rows)
        self._single_stages.append(count_rows(rows))
        self.plan_notes.append(note)
        return len(self.plan_notes) - 1

    def plan_from(self, template: PlanTemplate, numbers: tuple[int, ...], note: Mapping[str, Any]) -> int:
        """A plan from a template and its own numbers: faster than `plan`; the next flush moves it into the op table."""
        if self._singles:
            self._flush_plans()
        self._templated.append((template, numbers))
        self._templated_stages += len(template.rows)
        self.plan_notes.append(note)
        return len(self.plan_notes) - 1

    def flush(self) -> list[tuple[int, int, int]]:
        """Move pending rows into the op table; returns (thread, first row, end row) of each thread that had any."""
        if self._templated:  # millions of stages, perhaps: room for all is made once
            self._table.reserve(self._templated_stages + sum(thread.pending_rows for thread in self._dirty))
        self._flush_plans()
        chunks: list[tuple[int, int, int]] = []
        if len(self._dirty) > 1:
            self._dirty.sort(key=attrgetter("id"))
        for thread in self._dirty:
            first = self._table.write(thread.pending, thread.id)
            end = self._table.n
            thread.chunks.append((thread.row_count - (end - first), first, end - first))
            chunks.append((thread.id, first, end))
            thread.pending.clear()
        self._dirty.clear()
        return chunks

    def _flush_plans(self) -> None:
        """Move pending plans into the tables; all are single tokens, or all are from templates."""
        if self._singles:
            at, stages = self._table.write(self._singles, NONE), np.cumsum([0, *self._single_stages])
            self._note_plans(at + stages, np.arange(len(stages)))
            self._singles.clear()
            self._single_stages.clear()
        if self._templated:
            for plans in _portions(self._templated):
                self._append_plans(*instantiate(plans))
            self._templated.clear()
            self._templated_stages = 0

    def _append_plans(
        self, rows: np.ndarray, tags: np.ndarray, token_start: np.ndarray, plan_start: np.ndarray
    ) -> None:
        """Append plans: int64[token + 1] offsets into the rows, int64[plan + 1] offsets into the tokens."""
        self._note_plans(self._table.append(rows, tags, NONE) + token_start, plan_start)

    def _note_plans(self, token_start: np.ndarray, plan_start: np.ndarray) -> None:
        """Register plans in the op table: int64[token + 1] first stage rows, int64[plan + 1] offsets into these."""
        first = self._token_start.append(token_start[:-1])
        self._token_end.append(token_start[1:])
        self._plan_start.append(first + plan_start[1:])
        self.plan_rows += token_start[plan_start[:-1]].tolist()

    # For the checker, the engine and the op log

    @property
    def row_count(self) -> int:
        """The number of rows of the op table."""
        return self._table.n

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """The numbers of threads, counters, durations, plans and routes."""
        routes = self.machine.routing.route_count
        return len(self.threads), len(self.counter_labels), len(self._durations), len(self.plan_notes), routes

    @property
    def op(self) -> np.ndarray:
        """int64[row, ROW_WIDTH] opcode and operands."""
        return self._table.op

    @property
    def op_tag(self) -> np.ndarray:
        """int32[row] the tag of each row."""
        return self._table.tags

    @property
    def op_thread(self) -> np.ndarray:
        """int64[row] the thread of each row; NONE for stage rows."""
        return self._table.owners

    @property
    def plan_start(self) -> np.ndarray:
        """int64[plan + 1] offsets into the tokens."""
        return self._plan_start.rows

    @property
    def token_start(self) -> np.ndarray:
        """int64[token] the first stage row."""
        return self._token_start.rows

    @property
    def token_end(self) -> np.ndarray:
        """int64[token] the end of the stage rows."""
        return self._token_end.rows

    @property
    def durations(self) -> list[Terms]:
        """The terms of each duration."""
        return self._durations

    def duration_fs(self) -> np.ndarray:
        """int64[duration] on this program's machine. Errors: RunError for a duration beyond the clock."""
        if (known := self._duration_fs.n) < len(self._durations):
            new, figures = self._durations[known:], self.machine.figures
            found = [round(unrounded_fs(terms, figures)) for terms in new]
            if max(found) >= LONGEST_FS:
                asked = " and ".join(f"{n:g} x {figure}" for figure, n in new[found.index(max(found))])
                raise RunError(f"an operation takes {asked}, beyond {CLOCK}; ask for less")
            self._duration_fs.append(found)
        return self._duration_fs.rows

    def totals(self) -> Totals:
        """Jobs and bytes of the flushed rows; found once for as many rows."""
        from kernels_jit.measure.row_totals import add_totals

        rows, durations, found = self.row_count, len(self._durations), self._totals
        if found is None or (found.rows, len(found.jobs)) != (rows, durations):
            found = self._totals = Totals(rows, np.zeros(durations, np.int64), np.zeros(len(self.tags), np.int64))
            add_totals(self.op, self.op_tag, found.jobs, found.moved_bytes)
        return found

    def tables(self) -> ProgramTables:
        """The tables of the flushed rows, valid until the next flush. Errors: as `duration_fs`."""
        return ProgramTables(self.op, self.plan_start, self.token_start, self.token_end, self.duration_fs())
