"""Neighbouring PEs of a machine, each with a kernel, without a host."""

from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from kernbench.engine import Session
from kernbench.host.device.device_memory import LiveTimes
from kernbench.machine import load_machine
from kernbench.machine.address import MemorySpace
from kernbench.program.program import Program
from kernbench.replay.numbers import Numbers
from kernbench.replay.replay import Replay, RunTimes
from kernbench.replay.timed_store import TimedStore
from kernbench.tl.lowering.ipcq import Ipcq, Ring
from kernbench.tl.lowering.source_lines import LineFinder
from kernbench.tl.pe import PeContext
from kernbench.tl.runner import SteppedKernel
from tests.tl.rig import Memory

BASE = 1 << 32
BYTES = 1 << 20
A, B, C = (0, 0, 0), (0, 0, 1), (0, 1, 0)  # PEs of "tiny": two of cube0, one of cube1


class Slice:
    """Addresses from BASE on, in a PE's own slice, and physical ones."""

    def __init__(self, machine, where):
        self.node = machine.places.hbm(*where)
        self.memory_of = machine.places.memory_of

    def locate(self, va, nbytes):
        found = self.translate(va, nbytes)
        return found[0] if len(found) == 1 else None

    def translate(self, va, nbytes):
        if BASE <= va < BASE + BYTES:
            return [(self.node, va - BASE, nbytes)]
        return [(*self.memory_of(va)[:2], nbytes)]

    def translate_many(self, va, nbytes):
        found = [self.translate(int(at), int(size))[0] for at, size in zip(va, nbytes, strict=True)]
        return np.array([node for node, _, _ in found]), np.array([offset for _, offset, _ in found])


def line(*wheres, **ring):
    """Tables of PEs in a row: each has the next at E, which has it at W."""
    tables = {where: {} for where in wheres}
    for west, east in pairwise(wheres):
        tables[west]["E"] = Ring(*east, "W", **ring)
        tables[east]["W"] = Ring(*west, "E", **ring)
    return tables


class Mesh:
    """Some PEs with their tables; `run` gives each a kernel."""

    def __init__(self, tables, topology="tiny", overrides=None, live=False, mode="hybrid"):
        self.machine = load_machine(topology, overrides)
        self._taken = dict.fromkeys(tables, 4096)  # bytes for slots, of each PE
        self.program = Program(self.machine)
        self.session = Session(self.program, mode)
        self.live = live
        self.ipcq = Ipcq(self.program, lambda counter: int(self.session.counter_value[counter]), self._place_ring)
        self.ipcq.install(tables)
        self.replayed = RunTimes()
        self.store = TimedStore(LiveTimes(self.session) if live else self.replayed)
        self.memory = {}
        self.pes = {where: self._pe(where) for where in tables}

    def _place_ring(self, where, ring):
        self._taken[where] += ring.nbytes
        sip, cube, pe = where
        kind = {"tcm": MemorySpace.PE, "sram": MemorySpace.SRAM, "hbm": MemorySpace.HBM}[ring.tier]
        apart = {"tcm": 0, "sram": pe << 17, "hbm": BYTES}[
            ring.tier
        ]  # from the rings of others, from the tests' own data
        offset = self._taken[where] - ring.nbytes + apart
        return self.machine.places.address_of(sip, cube, kind, 0 if kind == MemorySpace.SRAM else pe, offset)

    def _pe(self, where):
        place, flat = self.machine.places.pe(*where), Slice(self.machine, where)
        thread = self.program.thread("sip{}.cube{}.pe{}.pe_cpu/k".format(*where))
        self.memory[where] = Memory(self.store, self.program, thread.id, flat.translate, place.tcm)
        return PeContext(
            lines=LineFinder(self.program),
            program=self.program,
            thread=thread,
            machine=self.machine,
            place=place,
            locate=flat.locate,
            translate=flat.translate,
            translate_many=flat.translate_many,
            num_programs=2,
            num_cubes=2,
            memory=self.memory[where] if self.live else None,
            queues=self.ipcq.pe_queues(place),
        )

    def run(self, kernels):
        """Run a kernel on each of some PEs; returns the end of each (fs), and writes what they computed to memory."""
        running = {}
        for where, kernel in kernels.items():
            pe = self.pes[where]
            stepped = SteppedKernel(pe, kernel, live=self.live)
            running[pe.thread.id] = pe, stepped
            if self.live:
                pe.thread.ask()
            else:
                self._step(pe, stepped)
        answers = {thread: partial(self._step, *one) for thread, one in running.items()}
        self.session.run(lambda thread: (answers.get(thread) or self.ipcq.answers[thread])())
        self.session.check_finished(exclude=self.ipcq.answers)
        if not self.live:
            of_thread = {pe.thread.id: self.memory[where] for where, pe in self.pes.items()}
            replay = Replay(self.program, lambda thread: Numbers(of_thread[thread]), self.replayed)
            replay.advance(self.session.op_issue_fs, self.session.op_end_fs)
        return [self._end(where) for where in kernels]

    def _step(self, pe, stepped):
        goes_on = stepped.resume()
        if not goes_on:
            pe.thread.mark(self.program.tag("end"))
        if pe.queues is not None and (goes_on or self.live):
            pe.queues.multicasts.close()

    def _end(self, where):
        thread = self.pes[where].thread
        return int(self.session.op_end_fs[thread.find_row(thread.row_count - 1)])

    def bytes_of(self, where):
        """The memory of a PE from BASE on."""
        return self.memory[where].read(BASE, (BYTES,), "u8")

    def times(self, name):
        """(issue, start, end) of each row with an op name, in the order of their start."""
        tags = [tag for tag, (known, _) in enumerate(self.program.tags) if known == name]
        rows = np.flatnonzero(np.isin(self.program.op_tag, tags))
        session = self.session
        columns = (session.op_issue_fs, session.op_start_fs, session.op_end_fs)
        return sorted((tuple(int(column[row]) for column in columns) for row in rows), key=lambda t: t[1])


def both(kernels, tables, **options):
    """Run kernels recorded and live; holds that ends and memories are the same, and returns the ends and a recorded mesh."""
    found = []
    for live in (False, True):
        mesh = Mesh(tables, live=live, **options)
        found.append((mesh, mesh.run(kernels)))
    (recorded, ends), (alive, live_ends) = found
    assert ends == live_ends
    for where in tables:
        assert (recorded.bytes_of(where) == alive.bytes_of(where)).all()
    return SimpleNamespace(ends=ends, mesh=recorded)
