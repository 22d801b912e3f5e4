"""The stream of one SIP: its commands and copies in order, as threads of the program.

A command or copy begins when all that were issued to the SIP before are complete. Streams of different SIPs are independent.

A copy is one message for each shard, each by the PCIe endpoint nearest to its memory. The endpoint spends its overhead on each
and has no queue, so all leave together. A command goes host → io_cpu of the first IO chiplet → m_cpu of each cube → each PE;
completions go back the same way and are gathered at each step. A CPU works once on the message that it receives and once on the
completions that it gathers. The acknowledgement of an MMU is a zero-byte message, so the M_CPU counts the arrival of the
message that it acknowledges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kernbench.host.messages import MemoryRead, MemoryWrite
from kernbench.machine.intents import Intent, RouteKind

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program
    from kernbench.program.thread import Thread


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name in the log, and the bytes of its messages at each step."""

    name: str  # of the op; with a number also of the threads
    host_bytes: int
    cube_bytes: Mapping[int, int]  # by cube
    pe_bytes: Mapping[int, Mapping[int, int]]  # by cube, by PE

    @classmethod
    def carrying(
        cls, name: str, header_bytes: int, entry_bytes: int, targets: Mapping[int, Mapping[int, Sized]]
    ) -> Command:
        """A command with entries for PEs; entries that PEs share are sent once over the common part of their routes."""

        def size(carried: Iterable[Sized]) -> int:
            return header_bytes + entry_bytes * sum(map(len, {id(entries): entries for entries in carried}.values()))

        return cls(
            name,
            size(entries for pes in targets.values() for entries in pes.values()),
            {cube: size(pes.values()) for cube, pes in targets.items()},
            {cube: {pe: size([entries]) for pe, entries in pes.items()} for cube, pes in targets.items()},
        )


# Starts one PE: (m_cpu thread, cube, pe, counter of completions at the m_cpu).
Leaf = Callable[["Thread", int, int, int], None]


class Stream:
    """The host thread of one SIP."""

    def __init__(self, program: Program, sip: int) -> None:
        self.program = program
        self.machine: Machine = program.machine
        self.sip = sip
        self._ep = self.machine.places.pcie_ep(sip)
        self._endpoint_of: dict[int, int] = {}  # by memory
        self.thread = program.thread(f"{self.machine.node_name[self._ep]}/host")
        self._acted = program.counter(f"{self.thread.name} to act")
        self._copied = program.counter(f"copies of {self.thread.name}")
        self._commands = 0
        self._read_tag, self._write_tag = program.tag("host_read", "memory"), program.tag("host_write", "memory")
        self._lead = program.duration(("pcie_ep.overhead", 1))
        self.reply_bytes = int(self.machine.figures["command.bytes"])
        self._burst_bytes = int(self.machine.figures["hbm.burst_bytes"])

    def copy(self, messages: Sequence[MemoryWrite]) -> int:
        """Copy between host and shards; MemoryRead copies to the host. Returns the row that waits for all of them.

        Each shard is a transfer with a completion of its own, which the row counts.
        """
        for message in messages:
            self._move(message)
        return self.thread.wait(self._copied, len(messages), take=len(messages))

    def command(self, command: Command, leaf: Leaf) -> tuple[int, int]:
        """Send a command and wait for its completion; returns the first and the last row of the host thread."""
        label, tag = f"{command.name}#{self._commands}", self.program.tag(command.name)
        self._commands += 1
        places, io_cpu = self.machine.places, self.machine.places.io_cpu(self.sip)

        def to_pes(m: Thread, done: int, cube: int) -> int:
            for pe in command.pe_bytes[cube]:
                leaf(m, cube, pe, done)
            return len(command.pe_bytes[cube])

        def to_cubes(io: Thread, done: int) -> int:
            for cube, nbytes in command.cube_bytes.items():
                m_cpu = places.m_cpu(self.sip, cube)
                received = self._relay(m_cpu, label, tag, partial(to_pes, cube=cube), io_cpu, done)
                self.send(io, io_cpu, m_cpu, nbytes, received, tag)
            return len(command.cube_bytes)

        first = self.act(self.thread, self._ep, self._acted, tag)
        completed = self.program.counter(f"the completion of {label} at the host")
        received = self._relay(io_cpu, label, tag, to_cubes, self._ep, completed)
        self.send(self.thread, self._ep, io_cpu, command.host_bytes, received, tag)
        return first, self.thread.wait(completed, 1)

    def _relay(
        self, node: int, label: str, tag: int, forward: Callable[[Thread, int], int], above: int, reported: int
    ) -> int:
        """The thread of a CPU: receive, forward, gather completions, report to the one above. Returns the counter of receipt.

        `forward(thread, counter of completions)` returns the number of completions to wait for.
        """
        thread = self.program.thread(f"{self.machine.node_name[node]}/{label}")
        received = self.program.counter(f"{label} at {thread.name}")
        acted = self.program.counter(f"{thread.name} to act")
        done = self.program.counter(f"completions of {label} at {thread.name}")
        thread.wait(received, 1)
        self.act(thread, node, acted, tag)
        thread.wait(done, forward(thread, done))
        self.act(thread, node, acted, tag)
        self.send(thread, node, above, self.reply_bytes, reported, tag)
        return received

    def act(self, thread: Thread, node: int, acted: int, tag: int) -> int:
        """Let a CPU work on a message, then add to `acted`; returns the first row."""
        duration = self.program.duration((f"{self.machine.node_kind[node]}.overhead", 1))
        row = thread.exec(self.machine.places.cpu_server(node), duration, acted, tag)
        thread.wait(acted, 1, take=1)
        return row

    def send(self, thread: Thread, source: int, target: int, nbytes: int, arrived: int, tag: int) -> int:
        """Send a message, whose arrival adds 1 to the counter; returns the row."""
        route = self._route(source, target, RouteKind.MESSAGE)
        return thread.move(route, nbytes, arrive=arrived, tag=tag)

    def _move(self, message: MemoryWrite) -> None:
        reading = isinstance(message, MemoryRead)
        kind, tag = (RouteKind.READ, self._read_tag) if reading else (RouteKind.WRITE, self._write_tag)
        shard = message.shard
        node, offset, _ = self.machine.places.memory_of(shard.pa)
        endpoint = self._find_endpoint(node)
        self.thread.move(
            self._route(endpoint, node, kind, Intent.M_CPU_DMA),
            shard.nbytes,
            stripe=offset // self._burst_bytes % self.machine.terminals[node].stripes,
            done=self._copied,
            lead=self._lead,
            tag=tag,
        )

    def _find_endpoint(self, memory: int) -> int:
        """The PCIe endpoint by which copies reach a memory: the nearest."""
        if memory not in self._endpoint_of:
            endpoints = self.machine.places.pcie_eps(self.sip)
            self._endpoint_of[memory] = self.machine.routing.nearest(endpoints, memory, Intent.M_CPU_DMA)
        return self._endpoint_of[memory]

    def _route(self, source: int, target: int, kind: RouteKind, intent: Intent = Intent.ALL) -> int:
        return self.machine.routing.route(source, target, intent, kind)
