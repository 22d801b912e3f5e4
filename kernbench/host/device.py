"""The whole machine as the host drives it: one program, its run, its memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from kernbench.engine import Session
from kernbench.host.launch import Launch, launch
from kernbench.host.memory import DeviceMemory
from kernbench.host.messages import KernelLaunch, MemoryRead, MemoryWrite, TensorArg
from kernbench.host.sip import Sip, Targets
from kernbench.host.stream import Command, Stream
from kernbench.program.program import Program
from kernbench.tl.ipcq import Ipcq
from kernbench.tl.pe import PeContext
from kernbench.tl.registry import replace_kernel
from kernbench.tl.runner import SteppedKernel, record_kernel

if TYPE_CHECKING:
    import numpy as np

    from kernbench.host.contents import Contents
    from kernbench.host.layout import Layout
    from kernbench.host.mmu import Regions
    from kernbench.host.policy import DPPolicy
    from kernbench.machine.machine import Machine
    from kernbench.machine.places import PePlace
    from kernbench.program.program import Thread

Progress = Callable[[int, int, int], None]  # see `Session.run`

REGION_BYTES = 16  # of a region in a mapping message: virtual address, physical address and length, in pages


class Device:
    """All SIPs of a machine under one program; `live` kernels run while the machine does."""

    def __init__(self, machine: Machine, mode: str = "hybrid", live: bool = False) -> None:
        self.machine = machine
        self.on_progress: Progress | None = None  # told of long runs
        self.program = Program(machine)
        self.session = Session(self.program, mode)
        self.memory = DeviceMemory(self.session, live)
        self.ipcq = Ipcq(self.program, self.memory.mailbox, self._read_counter)  # how PEs reach their neighbours
        self._live = live
        self._kernels: dict[int, Callable[[int], None]] = {}  # live, by PE thread: goes on at a time
        self._sips = [Sip(machine, i) for i in range(machine.places.sip_count)]
        self._streams = [Stream(self.program, i) for i in range(machine.places.sip_count)]
        self._released: list[list[Layout]] = [[] for _ in self._sips]  # by SIP: to be unmapped

    def create(self, sip: int, name: str, contents: Contents, policy: DPPolicy) -> Layout:
        """Place a tensor, tell the MMUs, and let its numbers appear. Errors: as `Sip.place`."""
        self._unmap(sip)
        home = self._sips[sip]
        layout = home.place(name, contents.shape, contents.dtype, policy)
        targets = home.targets(layout)
        home.install(targets)
        row = self._tell(sip, "mmu_map", targets)
        self.memory.deposit(self._streams[sip].thread, row, name, layout, contents)
        return layout

    def release(self, sip: int, layout: Layout) -> None:
        """Free a tensor's memory; its MMUs are told before the next thing is issued to the SIP."""
        self._sips[sip].release(layout)
        self._released[sip].append(layout)

    def write(self, sip: int, name: str, layout: Layout, contents: Contents) -> None:
        """Copy from the host, one message a shard."""
        self._unmap(sip)
        row = self._streams[sip].copy([MemoryWrite(name, shard) for shard in layout.shards])
        self.memory.deposit(self._streams[sip].thread, row, name, layout, contents)

    def read(self, sip: int, name: str, layout: Layout) -> None:
        """Copy to the host, one message for the first copy of each part."""
        self._unmap(sip)
        self._streams[sip].copy([MemoryRead(name, copies[0]) for _, copies in layout.parts if copies])

    def launch(self, message: KernelLaunch, kernel: Callable[..., Any]) -> Launch:
        """Lower a launch; a recorded kernel runs here, once for each PE. Errors: KernelError."""
        self._unmap(message.sip)
        replace_kernel(message.kernel, kernel)
        args = tuple(arg.va_base if isinstance(arg, TensorArg) else arg for arg in message.args)

        def run_kernel(thread: Thread, place: PePlace, complete: Callable[[], None]) -> None:
            pe = self._context(thread, place, message)
            if not self._live and pe.ports is None:
                record_kernel(pe, kernel, args, name=message.kernel)
                complete()
                return
            running = SteppedKernel(pe, kernel, args, name=message.kernel, live=self._live)
            if self._live:
                thread.ask()
            elif not running.resume(self.session.now_fs):
                complete()
                return
            self._kernels[thread.id] = _stepper(running, complete)

        return launch(self._streams[message.sip], message, run_kernel)

    def look(self, layout: Layout) -> np.ndarray:
        """The numbers of a tensor once all that was issued is done; takes no simulated time."""
        self.run()
        return self.memory.look(layout)

    def run(self) -> None:
        """Run until all that was issued is done. Errors: DeadlockError naming who waits for what; KernelError."""
        self.session.run(self._answer, self.on_progress)
        self.session.check_finished(exclude=self.ipcq.watchers)

    def _read_counter(self, counter: int) -> int:
        return int(self.session.counter_value[counter])

    def _answer(self, thread: int, now_fs: int) -> None:
        step = self._kernels.get(thread)
        if step is None:
            self.memory.answer(thread)
        else:
            step(now_fs)

    def _context(self, thread: Thread, place: PePlace, message: KernelLaunch) -> PeContext:
        page_map = self._sips[message.sip].page_map(place.cube, place.pe)
        window = self.memory.open_window(thread, page_map)
        return PeContext(
            program=self.program,
            thread=thread,
            machine=self.machine,
            place=place,
            translate=page_map.translate,
            translate_many=page_map.translate_many,
            num_programs=len(message.target_pes),
            num_cubes=len(message.target_cubes),
            memory=window if self._live else None,
            ports=self.ipcq.ports(place),
        )

    def _tell(self, sip: int, name: str, targets: Targets) -> int:
        """Send every PE what its MMU is to change; returns the row of completion."""
        header = int(self.machine.figures["command.bytes"])
        pe_bytes = {cube: {pe: header + _bytes([r]) for pe, r in pes.items()} for cube, pes in targets.items()}
        cube_bytes = {cube: header + _bytes(pes.values()) for cube, pes in targets.items()}
        host_bytes = header + _bytes(regions for pes in targets.values() for regions in pes.values())
        stream, places, tag = self._streams[sip], self.machine.places, self.program.tag(name)

        def leaf(m: Thread, cube: int, pe: int, done: int) -> None:
            stream.send(m, places.m_cpu(sip, cube), places.pe(sip, cube, pe).mmu, pe_bytes[cube][pe], done, tag)

        return stream.command(Command(name, host_bytes, cube_bytes, pe_bytes), leaf)[1]

    def _unmap(self, sip: int) -> None:
        """Tell MMUs of tensors that are gone."""
        gone, self._released[sip] = self._released[sip], []
        for layout in gone:
            targets = self._sips[sip].targets(layout)
            absent = {cube: {pe: regions.absent() for pe, regions in pes.items()} for cube, pes in targets.items()}
            self._sips[sip].install(absent)
            self._tell(sip, "mmu_unmap", targets)


def _stepper(kernel: SteppedKernel, complete: Callable[[], None]) -> Callable[[int], None]:
    def step(now_fs: int) -> None:
        if not kernel.resume(now_fs):
            complete()

    return step


def _bytes(regions: Iterable[Regions]) -> int:
    """Bytes that carry regions, each distinct list of them once."""
    return REGION_BYTES * sum(len(r.start) for r in {id(r): r for r in regions}.values())
