"""Device: all SIPs of a machine as the host uses them, with one program, its run and its memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernbench.engine import Session
from kernbench.errors import AddressError, DeadlockError
from kernbench.host.device.buffer import Buffer
from kernbench.host.device.device_memory import DeviceMemory
from kernbench.host.device.kernels import Kernels
from kernbench.host.device.launch import Launch, RunPart, lower_launch
from kernbench.host.device.mmu_updates import by_cube, send_mmu_update, send_neighbour_tables
from kernbench.host.device.sip import Sip
from kernbench.host.device.stream import Stream
from kernbench.host.messages import KernelLaunch, MemoryRead, MemoryWrite, MmuMap, MmuUnmap, PeDma, Response
from kernbench.limits.run_limits import find_op_limit
from kernbench.limits.run_options import RunOptions
from kernbench.machine.address_decoder import AddressDecoder
from kernbench.machine.families.sip.places import pe_path
from kernbench.machine.intents import Intent, RouteKind
from kernbench.program.gc_pause import pause_gc
from kernbench.program.program import Program
from kernbench.tl.lowering.ipcq import Ipcq
from kernbench.tl.registry import replace_kernel

if TYPE_CHECKING:
    import numpy as np

    from kernbench.host.memory.address_models import Map, Placed
    from kernbench.host.memory.initial_values import Contents
    from kernbench.host.memory.placement import DPPolicy
    from kernbench.host.memory.tensor_layout import Layout
    from kernbench.host.messages import PeDma, Targets
    from kernbench.machine.families.sip.places import PePlace
    from kernbench.machine.machine import Machine
    from kernbench.program.thread import Thread
    from kernbench.tl.lowering.ipcq import NeighbourTable, Ring, Where
    from kernbench.tl.lowering.queue_thread import Answers


def lower_dma(program: Program, thread: Thread, place: PePlace, message: PeDma) -> None:
    """Lower the transfer. It holds the DMA channel for the whole round trip; its address is physical and needs no look-up.

    Errors: AddressError for a shard that is in no memory.
    """
    machine, shard = program.machine, message.shard
    found = AddressDecoder(machine.places).find(shard.pa)
    if found is None or shard.nbytes > found[2]:
        raise AddressError(
            f"PeDma of {pe_path(message.sip, message.cube, message.pe)}: {shard.nbytes} bytes at {shard.pa:#x} do not lie "
            "in one memory of the machine; give the physical address of a shard"
        )
    node, offset, _ = found
    kind, channel = (RouteKind.WRITE, place.dma_write) if message.write else (RouteKind.READ, place.dma_read)
    done = program.counter(f"the end of a transfer of {thread.name}")
    thread.move(
        machine.routing.route(place.dma, node, Intent.PE_DMA, kind),
        shard.nbytes,
        stripe=offset // int(machine.figures["hbm.burst_bytes"]) % machine.terminals[node].stripes,
        done=done,
        hold=channel,
        lead=program.duration(("pe_dma.overhead", 1)),
        tag=program.tag("dma_write" if message.write else "dma_read", "memory"),
    )
    thread.wait(done, 1)


class Device:
    """All SIPs of a machine under one program; live kernels run while the machine does."""

    def __init__(self, machine: Machine, options: RunOptions | None = None) -> None:
        options = options or RunOptions()
        self.machine = machine
        self.stage, self._on_progress = options.stage, options.on_progress
        self.program = Program(machine)
        self.program.most_ops, self.program.most_ops_are = find_op_limit(options.limits)
        self.session = Session(self.program, options.mode, count_waits=options.count_waits)
        self.memory = DeviceMemory(self.session, options.live)
        self._installed = 0
        self._answers: Answers = {}  # of threads beside queues, which need not end
        self._sips = [Sip(machine, i) for i in range(machine.places.sip_count)]
        self.ipcq = self._make_queues()  # for launches that bring no queues of their own
        self._kernels = Kernels(self.program, self.memory, options.live, self._answers)
        self._streams = [Stream(self.program, i) for i in range(machine.places.sip_count)]
        self._released: list[list[Placed]] = [[] for _ in self._sips]  # by SIP: tensors to unmap
        self._unanswered: list[Launch] = []

    def create(self, sip: int, name: str, contents: Contents, policy: DPPolicy) -> Layout:
        """Place a tensor, update the MMUs, and write its numbers to memory. Errors: as `Sip.place`."""
        self._unmap(sip)
        home, stream = self._sips[sip], self._streams[sip]
        placed = home.place(name, contents.shape, contents.dtype, policy)
        if home.addresses.updates_mmus:
            row = self._update_mmus(MmuMap(name, sip, placed.targets))
        else:
            row = stream.thread.mark(self.program.tag("tensor"))
        self.memory.deposit(stream.thread, row, name, placed.layout, contents)
        return placed.layout

    def release(self, sip: int, layout: Layout) -> None:
        """Free a tensor's memory; MMUs unmap it before the next command to the SIP."""
        self._released[sip].append(self._sips[sip].release(layout))

    def reserve(self, sip: int, space: str, cube: int, pe: int, nbytes: int) -> Buffer:
        """Allocate memory outside of tensors in "hbm", "tcm" or "sram". Errors: as `Pools.allocate`."""
        pools = self._sips[sip].pools
        return Buffer(pools, pools.allocate(space, cube, pe, nbytes, "a buffer"))

    def free_bytes(self, sip: int, space: str) -> int:
        """The bytes of TCM, SRAM or HBM that are free of the share of the PE that has least of its SIP's first cube."""
        pools, pes = self._sips[sip].pools, self.machine.places.pes_per_cube
        shared = pes if space == "sram" else 1
        return min(pools.free_bytes(space, 0, pe) for pe in range(pes)) // shared

    def write(self, sip: int, name: str, layout: Layout, contents: Contents) -> None:
        """Copy from the host, one message for each shard."""
        self._unmap(sip)
        row = self._streams[sip].copy([MemoryWrite(name, shard) for shard in layout.shards])
        self.memory.deposit(self._streams[sip].thread, row, name, layout, contents)

    def read(self, sip: int, name: str, layout: Layout) -> None:
        """Copy to the host, one message for the first copy of each part."""
        self._unmap(sip)
        self._streams[sip].copy([MemoryRead(name, copies[0]) for _, copies in layout.parts if copies])

    @property
    def unmapped_lookups(self) -> int:
        """The number of look-ups of addresses that no tensor maps, under address models that map tensors."""
        return sum(home.addresses.unmapped.count for home in self._sips)

    def map_of(self, sip: int, cube: int, pe: int) -> Map:
        """The address map of a PE now, in a launch without tensors."""
        return self._sips[sip].addresses.map_of(cube, pe, {})

    def install_neighbours(self, tables: Mapping[Where, NeighbourTable]) -> Ipcq:
        """Send PEs their neighbour tables; returns the queues. Their slots are freed when the queues are deleted.

        Errors: as `Ipcq.install`.
        """
        self._installed += 1
        queues = self._make_queues(f"{self._installed}/")
        queues.install(tables)
        for sip, targets in by_cube(tables).items():
            self._unmap(sip)
            send_neighbour_tables(self._streams[sip], sip, targets)
        return queues

    def remove_neighbours(self) -> None:
        """Let launches that bring no queues of their own have none; the slots of those they had are freed."""
        self.ipcq = self._make_queues()

    def launch(self, message: KernelLaunch, kernel: Callable[..., Any], queues: Ipcq | None = None) -> Launch:
        """Lower a launch. A recorded kernel runs here, once for each PE.

        Its messages go through `queues`, by default those that were installed last for all launches.

        Errors: InputError for unknown PEs or tensors. The KernelError of the kernel, with the device's response
        (`error.response`), is raised by `Launch.check_at_once`, or if a PE of the launch is still under way, by `run`.
        """
        home = self._sips[message.sip]
        replace_kernel(message.kernel_ref, kernel)
        run = self._kernels.prepare(message, kernel, home, queues or self.ipcq)
        launch = self._lower(message, run.carried, run)
        run.finish(launch)
        return launch

    def pe_dma(self, message: PeDma) -> Launch:
        """Move a shard by the DMA of a PE. The command is sent like a launch, and completes like one.

        Errors: InputError for an unknown PE. The AddressError for a shard in no memory is raised as that of a launch.
        """
        where = KernelLaunch("pe_dma", (), message.sip, (message.cube,), (message.pe,))

        def run_dma(launch: Launch, thread: Thread, place: PePlace, complete: Callable[[], None]) -> None:
            launch.attempt(thread, lambda: lower_dma(self.program, thread, place, message), complete)

        return self._lower(where, {}, run_dma)

    def _lower(self, message: KernelLaunch, carried: Targets, run: RunPart) -> Launch:
        places = self.machine.places
        for cube in message.target_cubes:
            for pe in message.target_pe:
                places.pe(message.sip, cube, pe)
        self._unmap(message.sip)
        launch = Launch(message)
        with pause_gc():
            lower_launch(self._streams[message.sip], launch, carried, run)
        self._unanswered.append(launch)
        return launch

    def meet(self, sips: Sequence[int]) -> None:
        """Let no host thread of these SIPs go on before all have come here; takes no time."""
        met = self.program.counter("the meeting of hosts")
        for sip in sips:
            self._streams[sip].thread.add(met)
            self._streams[sip].thread.wait(met, len(sips))

    def look(self, layout: Layout, copy: int = 0) -> np.ndarray:
        """Run all that was issued; returns the numbers of a copy of a tensor. Reading takes no simulated time."""
        self.run()
        return self.memory.look(layout, copy)

    def run(self) -> None:
        """Run until all that was issued is done.

        Errors: DeadlockError naming each waiting thread and what it waits for; KernelError of a live kernel, with the device's
        response, also if other kernels cannot end because of it.
        """
        with self.stage.within("simulating"):
            self.session.run(self._kernels.answer, self._on_progress)
        for launch in self._unanswered:
            launch.check()
        self._check_finished(self._unanswered)
        for launch in self._unanswered:
            launch.response = launch.response or Response(ok=True)
        self._unanswered.clear()

    def _check_finished(self, launches: Sequence[Launch]) -> None:
        """Errors: DeadlockError naming the kernels that wait, or all threads that wait if no kernel does."""
        try:
            self.session.check_finished(exclude=self._answers)
        except DeadlockError:
            kernels = {thread.id for launch in launches for thread, _ in launch.started}
            others = {thread.id for thread in self.program.threads} - kernels
            self.session.check_finished(exclude=self._answers.keys() | others)
            raise

    def _make_queues(self, name: str = "") -> Ipcq:
        slots: list[Buffer] = []
        sips, session = self._sips, self.session  # the queues do not hold the device, which holds them

        def place_ring(where: Where, ring: Ring) -> int:
            pools = sips[where[0]].pools
            shard = pools.allocate(ring.tier, *where[1:], ring.nbytes, f"a ring of {ring.n_slots} slots")
            slots.append(Buffer(pools, shard))
            return shard.pa

        return Ipcq(self.program, lambda counter: int(session.counter_value[counter]), place_ring, name, self._answers)

    def _update_mmus(self, message: MmuMap) -> int:
        """Install a mapping and send its message; returns the row of completion."""
        self._sips[message.sip].addresses.install(message)
        return send_mmu_update(self._streams[message.sip], message)

    def _unmap(self, sip: int) -> None:
        """Unmap the tensors that have been released."""
        gone, self._released[sip] = self._released[sip], []
        if self._sips[sip].addresses.updates_mmus:
            for placed in gone:
                self._update_mmus(MmuUnmap(placed.name, sip, placed.targets))
