"""A PE of the tiny machine with a flat memory behind it, so kernels run without a host."""

import numpy as np

from kernbench.engine import Session
from kernbench.host.device.device_memory import LiveTimes
from kernbench.machine import load_machine
from kernbench.program.op_semantics import Ref
from kernbench.program.program import Program
from kernbench.replay.pe_memory import PeMemory
from kernbench.replay.timed_store import TimedStore
from kernbench.tl.language.context import TLContext
from kernbench.tl.lowering.source_lines import LineFinder
from kernbench.tl.pe import PeContext
from kernbench.tl.runner import SteppedKernel, record_kernel

BASE = 1 << 32
BYTES = 1 << 20


class FlatMemory:
    """Addresses from BASE on, in one slice; with `cut`, those from BASE + cut on are in the slice of the other PE."""

    def __init__(self, machine, cut=BYTES):
        self.nodes = machine.places.hbm(0, 0, 0), machine.places.hbm(0, 0, 1)
        self.cut = cut

    def locate(self, va, nbytes):
        found = self.translate(va, nbytes)
        return found[0] if len(found) == 1 else None

    def translate(self, va, nbytes):
        start, end = va - BASE, va - BASE + nbytes
        if start < self.cut < end:
            return [(self.nodes[0], start, self.cut - start), (self.nodes[1], 0, end - self.cut)]
        return [(self.nodes[0], start, nbytes) if start < self.cut else (self.nodes[1], start - self.cut, nbytes)]

    def translate_many(self, va, nbytes):
        start, end = va - BASE, va - BASE + nbytes
        far = start >= self.cut
        node = np.where(far, self.nodes[1], self.nodes[0])
        node[(start < self.cut) & (end > self.cut)] = -1
        return node, np.where(far, start - self.cut, start)


class Memory(PeMemory):
    """The memory of a PE for tests to read and write."""

    def read(self, at, shape=None, dtype=None):
        """The elements of a reference, or at an address."""
        return super().read(at if isinstance(at, Ref) else Ref(at, shape, dtype))


class Rig:
    """One thread of pe0 and what ran on it."""

    def __init__(self, overrides=None, cut=BYTES):
        self.machine = load_machine("tiny", overrides)
        flat = FlatMemory(self.machine, cut)
        self.program = Program(self.machine)
        self.session = Session(self.program)
        self.thread = self.program.thread("pe0")
        self.place = self.machine.places.pe(0, 0, 0)
        store = TimedStore(LiveTimes(self.session))
        self.memory = Memory(store, self.program, self.thread.id, flat.translate, self.place.tcm)
        self.pe = PeContext(
            lines=LineFinder(self.program),
            program=self.program,
            thread=self.thread,
            machine=self.machine,
            place=self.place,
            locate=flat.locate,
            translate=flat.translate,
            translate_many=flat.translate_many,
            num_programs=2,
            num_cubes=2,
            memory=self.memory,
        )

    def record(self, kernel, *args):
        """Run a kernel recorded; returns the time of its end (fs)."""
        record_kernel(self.pe, kernel, args)
        return self.simulate()

    def live(self, kernel, *args):
        """Run a kernel live; returns the time of its end (fs)."""
        running = SteppedKernel(self.pe, kernel, args)
        self.thread.ask()
        return self.simulate(lambda thread: running.resume())

    def simulate(self, on_ask=None):
        end = self.session.run(on_ask)
        self.session.check_finished()
        return end

    def notes(self):
        return list(self.thread.notes.values())


def commands(kernel, *args, **context):
    """The commands of a kernel run without a machine."""
    from kernbench.tl.language.current_context import activate

    tl = TLContext(0, 1, **{"dispatch_cycles": 0, "scratch_base": 16, **context})
    with activate(tl):
        kernel(*args, tl=tl)
    return tl.commands
