"""The host's stream of one SIP, as threads of the program.

Whatever is issued to a SIP begins when all that was issued to it before is complete. Streams of different SIPs know nothing
of each other.

A copy is one message a shard, all in flight together. A command travels host → io_cpu → m_cpu of each cube → each PE, and
its completion back, gathered at each step. A CPU acts once for what it receives and once for what it gathers. An MMU's
acknowledgement is a zero-byte message, which the M_CPU counts as the arrival it acknowledges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernbench.host.messages import MemoryRead, MemoryWrite
from kernbench.machine.intents import Intent, RouteKind

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program, Thread


@dataclass(frozen=True, slots=True)
class Command:
    """What is sent down: its name in the log, and the bytes of its messages at each step."""

    name: str  # of the op and, with a number, of the threads
    host_bytes: int
    cube_bytes: Mapping[int, int]  # by cube
    pe_bytes: Mapping[int, Mapping[int, int]]  # by cube, by PE


# Starts the part of one PE: (m_cpu thread, cube, pe, counter of completions at the m_cpu).
Leaf = Callable[["Thread", int, int, int], None]


class Stream:
    """The host thread of one SIP and what it has in flight."""

    def __init__(self, program: Program, sip: int) -> None:
        self.program = program
        self.machine: Machine = program.machine
        self.sip = sip
        self._ep = self.machine.places.pcie_ep(sip)
        self.thread = program.thread(f"{self.machine.node_name[self._ep]}/host")
        self._acted = program.counter(f"{self.thread.name} to act")
        self._copied = program.counter(f"copies of {self.thread.name}")
        self._commands = 0
        self._read_tag, self._write_tag = program.tag("host_read", "memory"), program.tag("host_write", "memory")
        self._reply_bytes = int(self.machine.figures["command.bytes"])
        self._burst_bytes = int(self.machine.figures["hbm.burst_bytes"])
        self._channels = int(self.machine.figures["hbm.channels"])

    def copy(self, messages: Sequence[MemoryWrite]) -> int:
        """Move bytes between host and shards, to the host for MemoryRead; returns the row that waits for all of them."""
        for message in messages:
            self._move(message)
        return self.thread.wait(self._copied, len(messages), take=len(messages))

    def command(self, command: Command, leaf: Leaf) -> tuple[int, int]:
        """Send a command and wait for its completion; returns the first and the last row of the host thread."""
        label = f"{command.name}#{self._commands}"
        self._commands += 1
        tag = self.program.tag(command.name)
        first = self.act(self.thread, self._ep, self._acted, tag)
        io_cpu = self.machine.places.io_cpu(self.sip)
        io = self._worker(io_cpu, label)
        received = self.program.counter(f"{label} at {io.name}")
        self.send(self.thread, self._ep, io_cpu, command.host_bytes, received, tag)
        done = self.program.counter(f"the completion of {label} at the host")
        self._fan_out(io, io_cpu, received, command, label, leaf, done)
        return first, self.thread.wait(done, 1)

    def _fan_out(
        self, io: Thread, io_cpu: int, received: int, command: Command, label: str, leaf: Leaf, done: int
    ) -> None:
        tag = self.program.tag(command.name)
        acted = self.program.counter(f"{io.name} to act")
        gathered = self.program.counter(f"completions of {label} at {io.name}")
        io.wait(received, 1)
        self.act(io, io_cpu, acted, tag)
        for cube, nbytes in command.cube_bytes.items():
            m_cpu = self.machine.places.m_cpu(self.sip, cube)
            m = self._worker(m_cpu, label)
            m_received = self.program.counter(f"{label} at {m.name}")
            self.send(io, io_cpu, m_cpu, nbytes, m_received, tag)
            m.wait(m_received, 1)
            m_acted = self.program.counter(f"{m.name} to act")
            self.act(m, m_cpu, m_acted, tag)
            pe_done = self.program.counter(f"completions of {label} at {m.name}")
            for pe in command.pe_bytes[cube]:
                leaf(m, cube, pe, pe_done)
            m.wait(pe_done, len(command.pe_bytes[cube]))
            self.act(m, m_cpu, m_acted, tag)
            self.send(m, m_cpu, io_cpu, self._reply_bytes, gathered, tag)
        io.wait(gathered, len(command.cube_bytes))
        self.act(io, io_cpu, acted, tag)
        self.send(io, io_cpu, self._ep, self._reply_bytes, done, tag)

    def act(self, thread: Thread, node: int, acted: int, tag: int) -> int:
        """Let a CPU do its work on a message, then go on; returns the first row."""
        duration = self.program.duration((f"{self.machine.node_kind[node]}.overhead", 1))
        row = thread.exec(self.machine.places.cpu_server(node), duration, acted, tag)
        thread.wait(acted, 1, take=1)
        return row

    def send(self, thread: Thread, source: int, target: int, nbytes: int, arrived: int, tag: int) -> int:
        """Send a message; on its arrival 1 is added to the counter. Returns the row."""
        route = self._route(source, target, RouteKind.MESSAGE)
        return thread.move(route, nbytes, arrive=arrived, tag=tag)

    def _move(self, message: MemoryWrite) -> None:
        reading = isinstance(message, MemoryRead)
        kind, tag = (RouteKind.READ, self._read_tag) if reading else (RouteKind.WRITE, self._write_tag)
        shard = message.shard
        self.act(self.thread, self._ep, self._acted, tag)
        self.thread.move(
            self._route(self._ep, shard.node, kind, Intent.M_CPU_DMA),
            shard.nbytes,
            stripe=shard.pa // self._burst_bytes % self._channels,
            done=self._copied,
            tag=tag,
        )

    def _worker(self, node: int, label: str) -> Thread:
        return self.program.thread(f"{self.machine.node_name[node]}/{label}")

    def _route(self, source: int, target: int, kind: RouteKind, intent: Intent = Intent.ALL) -> int:
        return self.machine.routing.route(source, target, intent, kind)
