"""The whole machine as the host drives it: one program, its run, its memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernbench.engine import Session
from kernbench.errors import KernBenchError
from kernbench.host.buffer import Buffer
from kernbench.host.dma import lower_dma
from kernbench.host.launch import Launch, lower_launch
from kernbench.host.mapping import tell, tell_neighbours
from kernbench.host.memory import DeviceMemory
from kernbench.host.messages import KernelLaunch, MemoryRead, MemoryWrite, MmuMap, MmuUnmap, PeDma, Response, TensorArg
from kernbench.host.sip import Sip
from kernbench.host.stream import Stream
from kernbench.program.program import Program
from kernbench.tl.ipcq import Ipcq
from kernbench.tl.pe import PeContext
from kernbench.tl.registry import replace_kernel
from kernbench.tl.runner import SteppedKernel, record_kernel

if TYPE_CHECKING:
    import numpy as np

    from kernbench.host.addressing import Map, Placed
    from kernbench.host.contents import Contents
    from kernbench.host.layout import Layout
    from kernbench.host.messages import Shard, Targets
    from kernbench.host.policy import DPPolicy
    from kernbench.machine.machine import Machine
    from kernbench.machine.places import PePlace
    from kernbench.program.program import Thread
    from kernbench.tl.ipcq import NeighbourTable, Ring, Where

Progress = Callable[[int, int, int], None]  # see `Session.run`


class Device:
    """All SIPs of a machine under one program; `live` kernels run while the machine does."""

    def __init__(self, machine: Machine, mode: str = "hybrid", live: bool = False) -> None:
        self.machine = machine
        self.on_progress: Progress | None = None  # told of long runs
        self.program = Program(machine)
        self.session = Session(self.program, mode)
        self.memory = DeviceMemory(self.session, live)
        self._tables_told = 0
        self._watchers: set[int] = set()  # threads of queues that may wait for ever
        self.ipcq = self._make_queues()  # how PEs reach their neighbours, unless a launch brings other queues
        self._live = live
        self._kernels: dict[int, Callable[[int], None]] = {}  # that run in steps, by PE thread: goes on at a time
        self._sips = [Sip(machine, i) for i in range(machine.places.sip_count)]
        self._streams = [Stream(self.program, i) for i in range(machine.places.sip_count)]
        self._released: list[list[Placed]] = [[] for _ in self._sips]  # by SIP: to be unmapped
        self._unanswered: list[Launch] = []

    def create(self, sip: int, name: str, contents: Contents, policy: DPPolicy) -> Layout:
        """Place a tensor, tell the MMUs, and let its numbers appear. Errors: as `Sip.place`."""
        self._unmap(sip)
        home, stream = self._sips[sip], self._streams[sip]
        placed = home.place(name, contents.shape, contents.dtype, policy)
        if home.addresses.tells_mmus:
            row = self._tell(MmuMap(name, sip, placed.targets))
        else:
            row = stream.thread.mark(self.program.tag("tensor"))
        self.memory.deposit(stream.thread, row, name, placed.layout, contents)
        return placed.layout

    def release(self, sip: int, layout: Layout) -> None:
        """Free a tensor's memory; its MMUs are told before the next thing is issued to the SIP."""
        self._released[sip].append(self._sips[sip].release(layout))

    def reserve(self, sip: int, space: str, cube: int, pe: int, nbytes: int) -> Shard:
        """Take memory in "hbm", "tcm" or "sram" for something that is no tensor. Errors: as `Pools.allocate`."""
        return self._sips[sip].pools.allocate(space, cube, pe, nbytes, f"a buffer in {space}")

    def free(self, shard: Shard) -> None:
        """Give back what was reserved."""
        assert shard.sip is not None
        self._sips[shard.sip].pools.free(shard)

    def write(self, sip: int, name: str, layout: Layout, contents: Contents) -> None:
        """Copy from the host, one message a shard."""
        self._unmap(sip)
        row = self._streams[sip].copy([MemoryWrite(name, shard) for shard in layout.shards])
        self.memory.deposit(self._streams[sip].thread, row, name, layout, contents)

    def read(self, sip: int, name: str, layout: Layout) -> None:
        """Copy to the host, one message for the first copy of each part."""
        self._unmap(sip)
        self._streams[sip].copy([MemoryRead(name, copies[0]) for _, copies in layout.parts if copies])

    def map_of(self, sip: int, cube: int, pe: int) -> Map:
        """How a PE finds memory now, in a launch without tensors."""
        return self._sips[sip].addresses.map_of(cube, pe, {})

    def tell_neighbours(self, tables: Mapping[Where, NeighbourTable]) -> Ipcq:
        """Let PEs know their neighbours, by messages as to MMUs; answers the queues, whose slots are free with them.

        Errors: as `Ipcq.install`.
        """
        self._tables_told += 1
        queues = self._make_queues(f"{self._tables_told}/")
        queues.install(tables)
        told: dict[int, dict[int, dict[int, NeighbourTable]]] = {}
        for (sip, cube, pe), table in tables.items():
            told.setdefault(sip, {}).setdefault(cube, {})[pe] = table
        for sip, targets in told.items():
            self._unmap(sip)
            tell_neighbours(self._streams[sip], sip, targets)
        return queues

    def launch(self, message: KernelLaunch, kernel: Callable[..., Any], queues: Ipcq | None = None) -> Launch:
        """Lower a launch; a recorded kernel runs here, once for each PE, until one of them fails.

        Its messages go through `queues`, else through those that PEs were told of last for all launches.

        Errors: InputError for PEs or tensors that are not there; KernelError, as the device's answer (`error.response`).
        A live kernel's comes from `run`.
        """
        addresses = self._sips[message.sip].addresses
        tensors = self._tensors(message)
        replace_kernel(message.kernel_ref, kernel)
        carried = addresses.carried(list(tensors.values()))

        def resolve(arg: Any, place: PePlace) -> Any:
            if isinstance(arg, TensorArg):
                return addresses.argument(tensors[arg.va_base], place.cube, place.pe)
            return tuple(resolve(item, place) for item in arg) if type(arg) is tuple else arg

        def run_kernel(launch: Launch, thread: Thread, place: PePlace, complete: Callable[[], None]) -> None:
            args = [resolve(arg, place) for arg in message.args]
            pe = self._context(
                thread, place, message, addresses.map_of(place.cube, place.pe, carried), queues or self.ipcq
            )
            if not self._live and pe.ports is None:
                _attempt(launch, lambda: record_kernel(pe, kernel, args, name=message.kernel_ref), complete)
                return
            running = SteppedKernel(pe, kernel, args, name=message.kernel_ref, live=self._live)
            if self._live:
                thread.ask()
            elif not _attempt(launch, lambda: running.resume(self.session.now_fs), complete):
                return

            def step(now_fs: int) -> None:
                if not _attempt(launch, lambda: running.resume(now_fs), complete):
                    del self._kernels[thread.id]

            self._kernels[thread.id] = step

        return self._lower(message, carried, run_kernel)

    def pe_dma(self, message: PeDma) -> Launch:
        """Let a PE's DMA move a shard: the command travels as a launch does, and its end as a completion.

        Errors: InputError for a PE that is not there; AddressError as the device's answer, for a shard in no memory.
        """
        where = KernelLaunch("pe_dma", (), message.sip, (message.cube,), (message.pe,))

        def run_dma(launch: Launch, thread: Thread, place: PePlace, complete: Callable[[], None]) -> None:
            _attempt(launch, lambda: lower_dma(self.program, thread, place, message), complete)

        return self._lower(where, {}, run_dma)

    def _lower(
        self,
        message: KernelLaunch,
        carried: Targets,
        run: Callable[[Launch, Thread, PePlace, Callable[[], None]], None],
    ) -> Launch:
        places = self.machine.places
        for cube in message.target_cubes:
            for pe in message.target_pe:
                places.pe(message.sip, cube, pe)
        self._unmap(message.sip)
        launch = Launch(message)

        def run_unless_failed(thread: Thread, place: PePlace, complete: Callable[[], None]) -> None:
            if launch.failure is None:
                run(launch, thread, place, complete)
            else:
                complete()

        lower_launch(self._streams[message.sip], launch, carried, run_unless_failed)
        if launch.failure is not None:
            raise launch.failure
        self._unanswered.append(launch)
        return launch

    def _tensors(self, message: KernelLaunch) -> dict[int, Placed]:
        """The tensors of a launch by the address at which they begin. Errors: InputError for one that is gone."""
        home = self._sips[message.sip]
        return {arg.va_base: home.tensor_at(arg.va_base) for arg in message.tensors}

    def look(self, layout: Layout, copy: int = 0) -> np.ndarray:
        """The numbers of a tensor, or of another copy, once all that was issued is done; takes no simulated time."""
        self.run()
        return self.memory.look(layout, copy)

    def run(self) -> None:
        """Run until all that was issued is done.

        Errors: DeadlockError naming who waits for what; KernelError of a live kernel, as the device's answer, whatever
        else could not end because of it.
        """
        self.session.run(self._answer, self.on_progress)
        answered, self._unanswered = self._unanswered, []
        for launch in answered:
            launch.check()
        self._check_finished(answered)
        for launch in answered:
            launch.response = Response(ok=True)

    def _check_finished(self, launches: Sequence[Launch]) -> None:
        """Errors: DeadlockError that names the kernels that wait, if any do, rather than all that wait for them."""
        kernels = {thread.id for launch in launches for thread, _ in launch.started}
        others = {thread.id for thread in self.program.threads} - kernels
        self.session.check_finished(exclude=self._watchers | others)
        self.session.check_finished(exclude=self._watchers)

    def _make_queues(self, name: str = "") -> Ipcq:
        slots: list[Buffer] = []

        def place_ring(where: Where, ring: Ring) -> int:
            shard = self._sips[where[0]].pools.allocate(
                ring.tier, *where[1:], ring.nbytes, f"a ring of {ring.n_slots} slots"
            )
            slots.append(Buffer(self, shard))
            return self.machine.places.memory_of(shard.pa)[1]

        queues = Ipcq(self.program, self.memory.mailbox, self._read_counter, place_ring, name)
        queues.watchers = self._watchers
        return queues

    def _read_counter(self, counter: int) -> int:
        return int(self.session.counter_value[counter])

    def _answer(self, thread: int, now_fs: int) -> None:
        step = self._kernels.get(thread)
        if step is None:
            self.memory.answer(thread)
        else:
            step(now_fs)

    def _context(self, thread: Thread, place: PePlace, message: KernelLaunch, seen: Map, queues: Ipcq) -> PeContext:
        window = self.memory.open_window(thread, seen)
        return PeContext(
            program=self.program,
            thread=thread,
            machine=self.machine,
            place=place,
            translate=seen.translate,
            translate_many=seen.translate_many,
            lookups=self._sips[message.sip].addresses.lookups,
            num_programs=len(message.target_pe),
            num_cubes=len(message.target_cubes),
            memory=window if self._live else None,
            ports=queues.ports(place),
        )

    def _tell(self, message: MmuMap) -> int:
        """Let MMUs know, and send the message; returns the row of completion."""
        self._sips[message.sip].addresses.install(message)
        return tell(self._streams[message.sip], message)

    def _unmap(self, sip: int) -> None:
        """Tell MMUs of tensors that are gone."""
        gone, self._released[sip] = self._released[sip], []
        if self._sips[sip].addresses.tells_mmus:
            for placed in gone:
                self._tell(MmuUnmap(placed.name, sip, placed.targets))


def _attempt(launch: Launch, step: Callable[[], bool | None], complete: Callable[[], None]) -> bool:
    """Let a PE go on; whether there is more to come. At its end, or where it fails, it answers."""
    try:
        if step():
            return True
    except KernBenchError as error:
        launch.fail(error)
    complete()
    return False
