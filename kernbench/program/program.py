"""The device program: the intermediate form to which every front-end lowers, and which the loop runs.

A program is a set of threads, each a sequence of ops over integer operands, plus counters, tile plans and durations. Rows are
appended through `Thread`, and `flush` moves them into the op table. A program may grow while it runs: a thread that has
reached its end can get more rows, which is how live kernels and the host work.

A duration is a sum of amounts of the machine's figures (4096 of "pe_tcm.read_byte"), rounded once to femtoseconds. So the same
program runs on machines with other figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from kernbench.errors import LimitError, RunError
from kernbench.limits.memory_budget import check_fits
from kernbench.program.growable_array import GrowableArray
from kernbench.program.op_table import OpTable
from kernbench.program.ops import CLOCK, LONGEST_FS, NONE
from kernbench.program.plan_template import PlanTemplate, instantiate
from kernbench.program.rows import count_rows
from kernbench.program.thread import ZERO, Thread
from kernels_jit.layout import codes  # plain integers: reading an enum's member costs a lookup

if TYPE_CHECKING:
    from kernbench.machine.costs import Terms
    from kernbench.machine.machine import Machine
    from kernbench.program.encoded_rows import EncodedRows


class ProgramTables(NamedTuple):
    """The flushed part of a program."""

    op: EncodedRows  # int64[row, ROW_WIDTH] thread rows and stage rows
    plan_start: np.ndarray  # int64[plan + 1] first token of a plan
    token_start: np.ndarray  # int64[token] first stage row of a token; the rows of a plan are contiguous
    token_end: np.ndarray  # int64[token]
    duration_fs: np.ndarray  # int64[duration]; duration 0 is zero


class Totals(NamedTuple):
    """Sums over the flushed rows of a program."""

    rows: int  # that they are of
    jobs: np.ndarray  # int64[duration] the number of jobs that take it
    moved_bytes: np.ndarray  # int64[tag] of transfers


# Of a row of the op table at least: the number of its entry, and the three times of a run.
_ROW_BYTES = 4 + 24
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
        stages += len(template.kind)
    yield plans[first:]


class Waited(NamedTuple):
    """What a row waited for, as whoever wrote it knows: another row, from when on (fs) that was no longer in the way, and
    the time (fs) since, by what was done: up to the start of a job or transfer, to the end of another row."""

    row: int  # of the op table
    done_fs: int
    spent_fs: Mapping[str, int]
    shown: int  # the row that op logs and traces have as the cause: this one, or one that it ends

    def moved(self, place: np.ndarray) -> Waited:
        """The same where rows are at other places: int64[row]."""
        row, shown = (NONE if at == NONE else int(place[at]) for at in (self.row, self.shown))
        return self._replace(row=row, shown=shown)


class Program:
    """A device program for one machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.most_ops, self.most_ops_are = 1 << 62, ""  # that kernels may issue, and what that is, for a message
        self.issued_ops = 0  # by kernels, up to the end of their last step
        self.threads: list[Thread] = []
        self.counter_labels: list[object] = []  # `str` of a label is for messages only
        self.tags: list[tuple[str, str]] = [("", "control")]  # (op name, op kind) by tag
        self.sources: list[tuple[str, int]] = [("", 0)]  # (file, line) of a kernel; the first: no line
        self.plan_notes: list[Mapping[str, Any]] = []  # by plan
        self._tag_ids: dict[tuple[str, str], int] = {("", "control"): 0}
        self._source_ids: dict[tuple[str, int], int] = {("", 0): 0}
        self._duration_ids: dict[Terms, int] = {(): ZERO}
        self._durations: list[Terms] = [()]
        self.causes: dict[int, Waited] = {}  # by op-table row: what is known and does not follow from times
        self.plan_rows: list[int] = []  # by plan: op-table row of its first stage
        self.checked_rows = self.checked_entries = 0  # of the op table, which are known to be legal
        self.checked_sizes: tuple[int, ...] = ()  # `sizes` at the last check
        self.has_trees = False  # whether the machine has routes to many, as of then
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
        if not (self.op.values[:, 0] == codes.ASK).any() and all(len(thread.chunks) <= 1 for thread in self.threads):
            return self
        thread = self.op_thread[:]
        order = np.argsort(thread, kind="stable")  # NONE, of stages, is less than any thread
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        other = copy(self)
        other._table = self._table.take(order).replacing(codes.ASK, codes.MARK)
        other._token_start, other._token_end = GrowableArray(), GrowableArray()
        other._token_start.append(place[self.token_start])
        other._token_end.append(other.token_start + self.token_end - self.token_start)
        other.plan_rows = place[np.array(self.plan_rows, np.int64)].tolist()
        other.causes = {int(place[row]): cause.moved(place) for row, cause in self.causes.items()}
        other.checked_rows, other.checked_entries, other.checked_sizes = 0, 0, ()
        first = np.searchsorted(thread[order], np.arange(len(self.threads)))
        other.threads = [thread.at(at) for thread, at in zip(self.threads, first.tolist(), strict=True)]
        return other

    # For front-ends

    def thread(self, name: str, role: str = "") -> Thread:
        """A new thread. Its id orders its events among those of other threads at the same time.

        One with a role, such as "scheduler", is a part by itself: critical paths name its time by role and operation.
        """
        thread = Thread(len(self.threads), name, self._dirty, role)
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

    def source(self, file: str, line: int) -> int:
        """The id of a source line, for `Thread.begin_source`."""
        key = (file, line)
        found = self._source_ids.get(key)
        if found is None:
            found = self._source_ids[key] = len(self.sources)
            self.sources.append(key)
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

    def refuse_ops(self) -> NoReturn:
        """Errors: LimitError, always: kernels have issued more than `most_ops`."""
        raise self.ops_error()

    def ops_error(self) -> LimitError:
        """The error of a run whose kernels have issued more than `most_ops`."""
        return LimitError(
            f"the kernels of this run issue more than {self.most_ops:,} operations, {self.most_ops_are}; if none of them "
            "loops for ever, give a higher limit (--op-limit, or op_limit in a grid)"
        )

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
        self._templated_stages += len(template.kind)
        self.plan_notes.append(note)
        return len(self.plan_notes) - 1

    def plans_from(
        self, templates: Sequence[PlanTemplate], numbers: tuple[int, ...], notes: Sequence[Mapping[str, Any]]
    ) -> int:
        """Plans from templates, all with the same numbers, as `plan_from`; returns the first; the others follow."""
        if self._singles:
            self._flush_plans()
        self._templated += [(template, numbers) for template in templates]
        self._templated_stages += sum(len(template.kind) for template in templates)
        self.plan_notes += notes
        return len(self.plan_notes) - len(templates)

    def flush(self) -> list[tuple[int, int, int]]:
        """Move pending rows into the op table; returns (thread, first row, end row) of each thread that had any."""
        if self._templated:  # millions of stages, perhaps: room for all is made once
            more = self._templated_stages + sum(thread.pending_rows for thread in self._dirty)
            check_fits(more * _ROW_BYTES, f"{more:,} more rows of a run", "make it smaller, or its tiles larger")
            self._table.reserve(more)
        self._flush_plans()
        chunks: list[tuple[int, int, int]] = []
        if len(self._dirty) > 1:
            self._dirty.sort(key=attrgetter("id"))
            more = sum(thread.pending_rows for thread in self._dirty)
            repeated = sum(len(which) - len(rows) for thread in self._dirty for rows, which in thread.encoded)
            self._table.reserve(more, more - repeated)
        for thread in self._dirty:
            first = self._table.n
            for rows, which in thread.encoded:
                self._table.append_encoded(rows, which, thread.id)
            if thread.pending:
                self._table.write(thread.pending, thread.id)
            end = self._table.n
            thread.chunks.append((thread.row_count - (end - first), first, end - first))
            chunks.append((thread.id, first, end))
            thread.encoded.clear()
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
                self._note_plans(*instantiate(plans, self._table))
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

    def source_of(self, row: int) -> tuple[str, int]:
        """(file, line) of the source line that issued a row of the op table; ("", 0) if none did, as of a stage of a plan."""
        thread = int(self.op_thread[row])
        if thread == NONE:
            return self.sources[0]
        owner = self.threads[thread]
        return self.sources[owner.source_of(owner.find_index(row))]

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
    def op(self) -> EncodedRows:
        """int64[row, ROW_WIDTH] opcode and operands."""
        return self._table.op

    @property
    def op_tag(self) -> EncodedRows:
        """int32[row] the tag of each row."""
        return self._table.tags

    @property
    def op_thread(self) -> EncodedRows:
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

    def totals(self, own: np.ndarray | None = None) -> Totals:
        """Jobs and bytes of the flushed rows, found once for as many rows; or of those of bool[row]."""
        from kernels_jit.measure.row_totals import add_totals

        rows, durations, known = self.row_count, len(self._durations), self._totals
        if own is None and known is not None and (known.rows, len(known.jobs)) == (rows, durations):
            return known
        found = Totals(rows, np.zeros(durations, np.int64), np.zeros(len(self.tags), np.int64))
        op, count = self.op, self.op.counts(own)
        add_totals(op.values, self.op_tag.values, count, found.jobs, found.moved_bytes)
        if own is None:
            self._totals = found
        return found

    def tables(self) -> ProgramTables:
        """The tables of the flushed rows, valid until the next flush. Errors: as `duration_fs`."""
        return ProgramTables(self.op, self.plan_start, self.token_start, self.token_end, self.duration_fs())
