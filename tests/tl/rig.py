"""A PE of the tiny machine with a flat memory behind it, so kernels run without a host."""

import numpy as np

from kernbench.dtypes import itemsize, numpy_dtype
from kernbench.engine import Session
from kernbench.machine import load_machine
from kernbench.program.program import Program
from kernbench.tl.context import TLContext
from kernbench.tl.pe import PeContext
from kernbench.tl.runner import SteppedKernel, record_kernel

BASE = 1 << 32
BYTES = 1 << 20


class FlatMemory:
    """Addresses from BASE on, in one slice; with `cut`, those from BASE + cut on are in the slice of the other PE."""

    def __init__(self, machine, cut=BYTES):
        self.nodes = machine.places.hbm(0, 0, 0), machine.places.hbm(0, 0, 1)
        self.cut = cut
        self.data = np.zeros(BYTES, np.uint8)

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

    def read(self, va, shape, dtype):
        at, nbytes = va - BASE, int(np.prod(shape)) * itemsize(dtype)
        return self.data[at : at + nbytes].view(numpy_dtype(dtype)).reshape(shape).copy()

    def write(self, va, data):
        raw = np.ascontiguousarray(data).view(np.uint8).ravel()
        self.data[va - BASE : va - BASE + len(raw)] = raw


class Rig:
    """One thread of pe0 and what ran on it."""

    def __init__(self, overrides=None, cut=BYTES):
        self.machine = load_machine("tiny", overrides)
        self.memory = FlatMemory(self.machine, cut)
        self.program = Program(self.machine)
        self.thread = self.program.thread("pe0")
        self.place = self.machine.places.pe(0, 0, 0)
        self.pe = PeContext(
            program=self.program,
            thread=self.thread,
            machine=self.machine,
            place=self.place,
            locate=self.memory.locate,
            translate=self.memory.translate,
            translate_many=self.memory.translate_many,
            num_programs=2,
            num_cubes=2,
            memory=self.memory,
        )
        self.session = Session(self.program)

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
    from kernbench.tl.current_context import activate

    tl = TLContext(0, 1, **{"dispatch_cycles": 0, "scratch_base": 16, **context})
    with activate(tl):
        kernel(*args, tl=tl)
    return tl.commands
