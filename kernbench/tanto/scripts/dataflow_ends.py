"""Locals, pipes and semaphores in the script of a kernel that moves data.

Their methods are those of `kernbench.tanto.cores`, without numbers, and without what waiting, errors and races need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernbench.engine.turns import acts
from kernbench.tanto.scripts.script import ReadsPending, ScriptPipe, Unscripted
from kernbench.tanto.tiles import TILE
from kernbench.tanto.verbs.transfers import HALF, TransferVerbs, as_signed

if TYPE_CHECKING:
    from kernbench.tanto.cores.storage import Core, GlobalBuffer, LocalPart, PipePart, SemaphorePart
    from kernbench.tanto.scripts.dataflow_script import DataflowScript
    from kernbench.tanto.timing.kernel_log import Row


_OFFSETS_MOST = 1 << 14  # of reads whose forms are known


class DataflowObject(TransferVerbs):
    """What locals and pipes have in common."""

    script: DataflowScript
    size = 0  # elements of a part
    room = 0  # elements of the part on this core, if this kernel may write there
    outlives = False  # the run
    name: tuple[str, int]  # letter and id
    source: GlobalBuffer | None = None  # of the reads last begun, their elements, and their forms by offset there
    count = last_target = 0
    read_forms: dict[int, int]

    def begin_read(self, dst: int, count: int) -> None:
        """Begin a transfer to elements of the part on this core. Errors: Unscripted where they cannot be written."""
        if not 0 <= dst <= self.room - count:
            raise Unscripted
        self.script.pending.append((self.name, self.write_base() + dst, count))

    def have_read(self, dst: int, src: DataflowObject, part: Any, src_offset: int, count: int) -> None:
        if part.core == self.script.core:
            src.check_settled(src.read_base() + src_offset, count)
        self.begin_read(dst, count)

    def begin_write(self, first: int, count: int) -> None:
        """Begin a transfer from elements of the part on this core. Errors: Unscripted where they may be on their way."""
        self.check_settled(first, count)
        self.script.writes_pending.add(self.name)

    def have_written(
        self,
        base: int,
        src: int,
        dst: DataflowObject,
        parts: list[Any],
        at: int,  # noqa: ARG002
        count: int,
        row: Row,  # noqa: ARG002
    ) -> None:
        self.begin_write(base + src, count)
        own = self.script.core
        self.script.far.update([(*dst.name, part.core) for part in parts if part.core != own])

    def lack_context(self, count: int | None) -> None:  # noqa: ARG002
        raise Unscripted

    def check_settled(self, first: int, count: int) -> None:
        """Check that no transfer to elements is under way. Errors: Unscripted."""
        script = self.script
        if script.flow.reads > script.settled_reads:
            if not script.follows_reads:
                raise ReadsPending
            for name, begin, size in script.pending:
                if name == self.name and first < begin + size and begin < first + count:
                    raise Unscripted  # perhaps a race

    def set(self, index: int, value: int | float) -> None:
        """Set the element at an index."""
        if (not isinstance(value, float) and value < 0) or self.outlives:
            raise Unscripted  # not all formats take it, and the next program may read what a local of the device has
        self.part_on(self.script.core)
        if not 0 <= index < self.size or self.name in self.script.writes_pending:
            raise Unscripted
        self.check_room("set of", index, 1)
        self.script.flow.store()

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
            script.flow.read_dram(src, as_signed(src_offset), count)
            return
        if not 0 <= dst <= self.last_target:  # as `begin_read`, of which a call costs a tenth of such a read
            raise Unscripted
        rows = script.flow
        rows.log += (script.c, script.line, form, 0)
        rows.reads += 1

    def _find_read(self, src: GlobalBuffer, src_offset: int, count: int) -> int | None:
        """The form of a read of one packet, or None for another, and if reads are followed. It is in `read_forms` then."""
        script, end, nbytes = self.script, src_offset + count, src.fmt.bytes_of(count)
        rows, lowering = script.flow, script.flow.lowering
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
            self.check_there("write from", src, count)
            self.begin_write(self.read_base() + src, count)
            self.script.flow.write_dram(dst, first, count)


class DataflowPipe(ScriptPipe, DataflowObject):
    """A pipe in the script of a reader or writer."""

    script: DataflowScript

    def __init__(self, script: DataflowScript, part: PipePart) -> None:
        super().__init__(script, part)
        self.mover, self.size = script, part.tiles * TILE
        self.name, self.read_forms = ("p", part.id), {}
        self.met_before: int = 0  # semaphores that were waited for before the last push
        self.reads_before: int = 0

    def await_room(self) -> int:
        self._set_room(self.frame)
        return super().await_room()

    def check_push(self) -> None:
        super().check_push()
        script, reads = self.script, self.script.flow.reads
        if reads > script.settled_reads:
            if not script.follows_reads:
                raise ReadsPending
            begin = self.write_base()
            end = begin + self.frame * TILE
            for name, first, count in script.pending:
                if name == self.name and first < end and begin < first + count:
                    raise Unscripted  # perhaps a race
        if len(script.meetings) == self.met_before and reads == self.reads_before:
            script.unasked.add(self.name)
        self.met_before, self.reads_before = len(script.meetings), reads

    def pushed(self, row: Row) -> None:  # noqa: ARG002
        self._set_room(self.reserved - self.written_tiles - self.frame)

    def check_pop(self) -> None:
        if self.name in self.script.writes_pending:
            raise Unscripted  # perhaps a race
        super().check_pop()

    def _set_room(self, tiles: int) -> None:
        """Set how many tiles of the write frame are reserved."""
        self.room = min(tiles, self.tiles) * TILE
        self.last_target = self.room - self.count

    def check_there(self, call: str, offset: int, count: int) -> None:  # noqa: ARG002
        if offset >= HALF or self.read_tiles * TILE + offset + count > self.waited * TILE:
            raise Unscripted

    def check_room(self, call: str, offset: int, count: int) -> None:  # noqa: ARG002
        if offset + count > self.room:
            raise Unscripted

    def part_on(self, core: Core) -> PipePart:
        found = self.script.run.pipes[self.part.id].get(core)
        if found is None:
            raise Unscripted
        return found

    def check_target(self, part: Any, offset: int, count: int) -> None:  # noqa: ARG002
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
        self.mover, self.size = script, part.size
        self.room, self.read_forms = self.size if script.core in self.parts else 0, {}

    def read_base(self) -> int:
        return 0

    write_base = read_base

    def part_on(self, core: Core) -> LocalPart:
        found = self.parts.get(core)
        if found is None:
            raise Unscripted
        return found

    def check_target(self, part: Any, offset: int, count: int) -> None:  # noqa: ARG002
        if offset < 0 or offset + count > self.size:
            raise Unscripted

    def check_settled(self, first: int, count: int) -> None:
        super().check_settled(first, count)
        self.script.unasked.add(self.name)


class ScriptSemaphore:
    """A semaphore in a script."""

    def __init__(self, script: DataflowScript, part: SemaphorePart) -> None:
        self.script, self.id = script, part.id
        self.parts = script.run.semaphores[part.id]
        self.number = script.object("s", part.id)
        self.signals: dict[tuple[int, int], tuple[int, int]] = {}  # form and object by physical place
        self.change_form = script.flow.change_form(part.counter)
        self.meet_form = script.flow.meet_form(part.counter)

    def set(self, value: int) -> None:
        """Set the value on this core."""
        self.script.acts += (acts.SET, self.number, value, 0)
        self.script.flow.add(self.change_form)

    def _part_on(self, core: Core) -> SemaphorePart:
        found = self.parts.get(core)
        if found is None:
            raise Unscripted
        return found

    def _signal(self, what: int, amount: int, x: int, y: int) -> None:
        script, known = self.script, self.signals.get((x, y))
        if known is None:
            core = script.find_core(x, y)
            form = script.flow.signal_form(core, self._part_on(core).counter)
            known = self.signals[x, y] = form, script.object("s", self.id, core)
        form, number = known
        script.flow.signal(form)
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
        script.flow.multicast_signal(cores, counters)
        for core in cores:
            script.acts += (acts.COPY, script.object("s", self.id, core), src.number, 0)

    def wait(self, value: int) -> None:
        """Wait until the value on this core equals one."""
        script = self.script
        script.check(True)
        script.meetings.append(script.flow.count)
        script.acts += (acts.MEET, self.number, value, 0)
        script.flow.add(self.meet_form)
