"""Locals, pipes and semaphores in the script of a kernel that moves data.

Their methods are those of `kernbench.tanto.cores`, without numbers, and without what waiting, errors and races need.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from kernbench.engine.turns import acts
from kernbench.program.ops import NONE
from kernbench.tanto.cores.transfers import HALF, as_signed
from kernbench.tanto.scripts.script import ReadsPending, ScriptPipe, Unscripted
from kernbench.tanto.tiles import TILE

if TYPE_CHECKING:
    from kernbench.tanto.cores.storage import Core, GlobalBuffer, LocalPart, PipePart, SemaphorePart
    from kernbench.tanto.formats import Format
    from kernbench.tanto.scripts.dataflow_script import DataflowScript


_OFFSETS_MOST = 1 << 14  # of reads whose forms are known


class DataflowObject(ABC):
    """What locals and pipes have in common."""

    script: DataflowScript
    size = 0  # elements of a part
    fmt: Format
    room = 0  # elements of the part on this core, if this kernel may write there
    outlives = False  # the run
    name: tuple[str, int]  # letter and id
    begin = 0  # the element at which the frame begins that is written next
    source: GlobalBuffer | None = None  # of the reads last begun, their elements, and their forms by offset there
    count = last_target = 0
    read_forms: dict[int, int]
    _move_count: int | None = None
    _moved = (-1, -1)

    @abstractmethod
    def part_on(self, core: Core) -> Any:
        """The part on a core. Errors: Unscripted outside of the grid."""

    @abstractmethod
    def check_there(self, offset: int, count: int) -> None:
        """Check that elements that are read were waited for. Errors: Unscripted."""

    @abstractmethod
    def check_target(self, offset: int, count: int) -> None:
        """Check that elements of a part may be written. Errors: Unscripted."""

    def begin_read(self, dst: int, count: int) -> None:
        """Begin a transfer to elements of the part on this core. Errors: Unscripted where they cannot be written."""
        if not 0 <= dst <= self.room - count:
            raise Unscripted
        self.script.pending.append((self.name, self.begin + dst, count))

    def check_source(self, first: int, count: int) -> None:
        """Begin a transfer from elements of the part on this core. Errors: Unscripted where they may be on their way."""
        self.check_settled(first, count)
        self.script.writes_pending.add(self.name)

    def check_settled(self, first: int, count: int) -> None:
        """Check that no transfer to elements is under way. Errors: Unscripted."""
        script = self.script
        if script.rows.reads > script.settled_reads:
            if not script.follows_reads:
                raise ReadsPending
            for name, begin, size in script.pending:
                if name == self.name and first < begin + size and begin < first + count:
                    raise Unscripted  # perhaps a race

    def check_read_frame(self, offset: int, count: int) -> None:
        """Check that elements of the read frame were waited for. Errors: Unscripted."""
        self.check_source(offset, count)

    def check_write_frame(self, offset: int, count: int) -> None:  # noqa: B027  # locals have no frames
        """Check that elements of the write frame were reserved. Errors: Unscripted."""

    def set(self, index: int, value: int | float) -> None:
        """Set the element at an index."""
        if (not isinstance(value, float) and value < 0) or self.outlives:
            raise Unscripted  # not all formats take it, and the next program may read what a local of the device has
        self.part_on(self.script.core)
        if not 0 <= index < self.size or self.name in self.script.writes_pending:
            raise Unscripted
        self.check_write_frame(index, 1)
        self.script.rows.store()

    # Transfers

    def read_global(self, dst: int, src: GlobalBuffer, src_offset: int, count: int) -> None:
        """Read from DRAM; most reads are in one page, and one packet. An offset is often read again."""
        script = self.script
        form = self.read_forms.get(src_offset) if src is self.source and count == self.count else None
        if form is None:
            if not count:
                return
            form = self._find_read(src, src_offset, count)
        if form is None:
            self.begin_read(dst, count)
            script.rows.read_dram(src, as_signed(src_offset), count)
            return
        if not 0 <= dst <= self.last_target:  # as `begin_read`, of which a call costs a tenth of such a read
            raise Unscripted
        rows = script.rows
        rows.log += (script.c, script.line, form, 0)
        rows.reads += 1

    def _find_read(self, src: GlobalBuffer, src_offset: int, count: int) -> int | None:
        """The form of a read of one packet, or None for another, and if reads are followed. It is in `read_forms` then."""
        script, end, nbytes = self.script, src_offset + count, src.fmt.bytes_of(count)
        rows, lowering = script.rows, script.rows.lowering
        number = src_offset // src.page
        if end > (number + 1) * src.page or end > src.size or src_offset >= HALF or nbytes > lowering.packet_bytes:
            return None
        if script.follows_reads:
            return None
        if src is not self.source or count != self.count or len(self.read_forms) == _OFFSETS_MOST:
            self.source, self.count, self.last_target, self.read_forms = src, count, self.room - count, {}
        found = self.read_forms[src_offset] = rows.page_form(number, nbytes)
        return found

    def write_global(self, src: int, dst: GlobalBuffer, dst_offset: int, count: int) -> None:
        """Write to DRAM."""
        first = as_signed(dst_offset)
        if count:
            if first < 0 or first + count > dst.size:
                raise Unscripted
            self.check_read_frame(src, count)
            self.script.rows.write_dram(dst, first, count)

    def read_local(
        self,
        dst: int,
        src: DataflowObject,
        src_offset: int,
        count: int,
        x: int = -1,
        y: int = -1,
    ) -> None:
        """Read from a local or a pipe, of this core or another."""
        if count:
            script, core = self.script, self.script.core_at(x, y)
            src.part_on(core)
            if core == script.core:
                src.check_there(src_offset, count)
            self.begin_read(dst, count)
            script.rows.read_core(core, self.fmt.bytes_of(count))

    read_pipe = read_local

    def write_local(
        self,
        src: int,
        dst: DataflowObject,
        dst_offset: int,
        count: int,
        x: int = -1,
        y: int = -1,
    ) -> None:
        """Write to a local or a pipe, of this core or another."""
        if count:
            script, core = self.script, self.script.core_at(x, y)
            self.part_on(script.core)
            dst.part_on(core)
            dst.check_target(dst_offset, count)
            if core == script.core:
                dst.check_write_frame(dst_offset, count)
            else:
                script.far.add((*dst.name, core))
            self.check_read_frame(src, count)
            script.rows.write_core(core, self.fmt.bytes_of(count))

    write_pipe = write_local

    def write_mcast(self, src: int, dst: DataflowObject, dst_offset: int, count: int, *corners: int) -> None:
        """Write to all parts in a rectangle of cores but this one."""
        self._multicast(src, dst, dst_offset, count, corners, with_self=False)

    def write_mcast_with_self(self, src: int, dst: DataflowObject, dst_offset: int, count: int, *corners: int) -> None:
        """Write to all parts in a rectangle of cores."""
        self._multicast(src, dst, dst_offset, count, corners, with_self=True)

    def _multicast(
        self,
        src: int,
        dst: DataflowObject,
        dst_offset: int,
        count: int,
        corners: tuple[int, ...],
        *,
        with_self: bool,
    ) -> None:
        script = self.script
        cores = script.find_cores(corners, with_self=with_self)
        for core in cores:
            dst.part_on(core)
        if count:
            self.part_on(script.core)
            if cores:
                dst.check_target(dst_offset, count)
            script.far.update([(*dst.name, core) for core in cores if core != script.core])
            self.check_write_frame(src, count)
            self.check_source(self.begin + src, count)
            script.rows.multicast(cores, self.fmt.bytes_of(count), (NONE,) * len(cores))

    def move_init(self, count: int) -> None:
        """Prepare moves of so many elements."""
        self._move_count = count
        self.part_on(self.script.core)
        self.script.rows.begin_moves()
        self._keep_context()

    def _keep_context(self) -> None:
        script = self.script
        rows = script.rows
        script.moves_to, self._moved = self.name, (rows.reads, rows.writes)

    def move(self, dst: int, src: DataflowObject, src_offset: int) -> None:
        """Move elements within the core."""
        script, rows, count = self.script, self.script.rows, self._move_count
        if count is None:
            raise Unscripted
        if count and (script.moves_to != self.name or self._moved != (rows.reads, rows.writes)):
            raise Unscripted
        if count:
            self.begin_read(dst, count)
            src.part_on(script.core)
            src.check_there(src_offset, count)
            rows.move(self.fmt.bytes_of(count))
            self._keep_context()


class DataflowPipe(ScriptPipe, DataflowObject):
    """A pipe in the script of a reader or writer."""

    script: DataflowScript

    def __init__(self, script: DataflowScript, part: PipePart) -> None:
        super().__init__(script, part)
        self.name, self.read_forms = ("p", part.id), {}
        self.met_before: int = 0  # semaphores that were waited for before the last push
        self.reads_before: int = 0

    def reserve_back(self) -> None:
        super().reserve_back()
        self._set_room(self.frame)

    def push_back(self) -> None:
        script, reads = self.script, self.script.rows.reads
        if reads > script.settled_reads:
            if not script.follows_reads:
                raise ReadsPending
            end = self.begin + self.frame * TILE
            for name, first, count in script.pending:
                if name == self.name and first < end and self.begin < first + count:
                    raise Unscripted  # perhaps a race
        if len(script.meetings) == self.met_before and reads == self.reads_before:
            script.unasked.add(self.name)
        self.met_before, self.reads_before = len(script.meetings), reads
        super().push_back()
        self.begin = self.written_tiles % self.tiles * TILE
        self._set_room(self.reserved - self.written_tiles)

    def pop_front(self) -> None:
        if self.name in self.script.writes_pending:
            raise Unscripted  # perhaps a race
        super().pop_front()

    def _set_room(self, tiles: int) -> None:
        """Set how many tiles of the write frame are reserved."""
        self.room = min(tiles, self.tiles) * TILE
        self.last_target = self.room - self.count

    def check_there(self, offset: int, count: int) -> None:
        if offset >= HALF or self.read_tiles * TILE + offset + count > self.waited * TILE:
            raise Unscripted
        self.check_settled(self.read_tiles % self.tiles * TILE + offset, count)

    def check_read_frame(self, offset: int, count: int) -> None:
        self.check_there(offset, count)
        self.check_source(self.read_tiles % self.tiles * TILE + offset, count)

    def check_write_frame(self, offset: int, count: int) -> None:
        if offset + count > self.room:
            raise Unscripted

    def part_on(self, core: Core) -> PipePart:
        found = self.script.run.pipes[self.part.id].get(core)
        if found is None:
            raise Unscripted
        return found

    def check_target(self, offset: int, count: int) -> None:
        if not self.may_write or offset < 0 or offset + count > self.size:
            raise Unscripted


class DataflowLocal(DataflowObject):
    """A local in the script of a reader or writer."""

    def __init__(self, script: DataflowScript, id: int) -> None:
        self.script, self.id, self.name = script, id, ("l", id)
        self.parts, self.outlives = script.run.locals[id], id in script.run.device_locals
        part = next(iter(self.parts.values()), None)
        if part is None:
            raise Unscripted
        self.size, self.fmt = part.size, part.fmt
        self.room, self.read_forms = self.size if script.core in self.parts else 0, {}

    def part_on(self, core: Core) -> LocalPart:
        found = self.parts.get(core)
        if found is None:
            raise Unscripted
        return found

    def check_target(self, offset: int, count: int) -> None:
        if offset < 0 or offset + count > self.size:
            raise Unscripted

    def check_source(self, first: int, count: int) -> None:
        super().check_source(first, count)
        self.script.unasked.add(self.name)

    def check_there(self, offset: int, count: int) -> None:
        self.check_settled(offset, count)
        self.script.unasked.add(self.name)


class ScriptSemaphore:
    """A semaphore in a script."""

    def __init__(self, script: DataflowScript, part: SemaphorePart) -> None:
        self.script, self.id = script, part.id
        self.parts = script.run.semaphores[part.id]
        self.number = script.object("s", part.id)
        self.signals: dict[tuple[int, int], tuple[int, int]] = {}  # form and object by physical place
        self.change_form = script.rows.change_form(part.counter)
        self.meet_form = script.rows.meet_form(part.counter)

    def set(self, value: int) -> None:
        """Set the value on this core."""
        self.script.acts += (acts.SET, self.number, value, 0)
        self.script.rows.add(self.change_form)

    def _part_on(self, core: Core) -> SemaphorePart:
        found = self.parts.get(core)
        if found is None:
            raise Unscripted
        return found

    def _signal(self, what: int, amount: int, x: int, y: int) -> None:
        script, known = self.script, self.signals.get((x, y))
        if known is None:
            core = script.find_core(x, y)
            form = script.rows.signal_form(core, self._part_on(core).counter)
            known = self.signals[x, y] = form, script.object("s", self.id, core)
        form, number = known
        script.rows.signal(form)
        script.acts += (what, number, amount, 0)

    def set_remote(self, src: ScriptSemaphore, x: int, y: int) -> None:
        """Set the value on another core to that of a semaphore here."""
        self._signal(acts.COPY, src.number, x, y)

    def inc(self, x: int, y: int, value: int) -> None:
        """Add to the value on a core."""
        self._signal(acts.INCREASE, value, x, y)

    def set_mcast(self, src: ScriptSemaphore, *corners: int) -> None:
        """Set the values on all other cores of a rectangle to that of a semaphore here."""
        script = self.script
        cores = script.find_cores(corners, with_self=False)
        counters = tuple([self._part_on(core).counter for core in cores])
        script.rows.multicast_signal(cores, counters)
        for core in cores:
            script.acts += (acts.COPY, script.object("s", self.id, core), src.number, 0)

    def wait(self, value: int) -> None:
        """Wait until the value on this core equals one."""
        script = self.script
        script.check(True)
        script.meetings.append(script.rows.count)
        script.acts += (acts.MEET, self.number, value, 0)
        script.rows.add(self.meet_form)
