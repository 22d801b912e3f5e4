"""Launching a kernel: all its PEs start at one instant.

Each PE reports to a barrier when its CPU has decoded the launch; the barrier opens when the last has. That instant is the
launch's start, from which `pe_exec` counts, to the last PE's end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernbench.host.messages import KernelLaunch
from kernbench.host.stream import Command, Stream

if TYPE_CHECKING:
    import numpy as np

    from kernbench.machine.places import PePlace
    from kernbench.program.program import Thread


@dataclass(slots=True)
class Launch:
    """The rows of a launch from which its times are read; each is (thread, row of the thread)."""

    message: KernelLaunch
    issued: tuple[Thread, int]
    completed: tuple[Thread, int]
    started: list[tuple[Thread, int]] = field(default_factory=list)
    finished: list[tuple[Thread, int]] = field(default_factory=list)

    def left_fs(self, issue_fs: np.ndarray) -> int:
        """When it left the host. Arrays are int64[row] of the program's op table."""
        thread, row = self.issued
        return int(issue_fs[thread.find_row(row)])

    def back_fs(self, end_fs: np.ndarray) -> int:
        """When the host knew that all PEs were done."""
        thread, row = self.completed
        return int(end_fs[thread.find_row(row)])

    def pe_exec_fs(self, issue_fs: np.ndarray, end_fs: np.ndarray) -> int:
        """From the opening of the barrier to the last PE's end."""
        start = min(int(end_fs[thread.find_row(row)]) for thread, row in self.started)
        return max(int(issue_fs[thread.find_row(row)]) for thread, row in self.finished) - start


# Writes a kernel to the thread of a PE, and at its end calls back, so that the completion follows it.
RunKernel = Callable[["Thread", "PePlace", Callable[[], None]], None]


def launch(stream: Stream, message: KernelLaunch, run_kernel: RunKernel) -> Launch:
    """Lower a launch to the program of a stream."""
    program, machine = stream.program, stream.machine
    nbytes = int(machine.figures["command.bytes"])
    pe_bytes = dict.fromkeys(message.target_pes, nbytes)
    command = Command(
        "launch", nbytes, dict.fromkeys(message.target_cubes, nbytes), dict.fromkeys(message.target_cubes, pe_bytes)
    )
    at_barrier = program.counter(f"the barrier of kernel {message.kernel!r}")
    count = len(message.target_cubes) * len(message.target_pes)
    tag, barrier_tag = program.tag("launch"), program.tag("barrier")
    started: list[tuple[Thread, int]] = []
    finished: list[tuple[Thread, int]] = []

    def leaf(m: Thread, cube: int, pe: int, done: int) -> None:
        place = machine.places.pe(message.sip, cube, pe)
        m_cpu = machine.places.m_cpu(message.sip, cube)
        thread = program.thread(f"{machine.node_name[place.cpu]}/{message.kernel}")
        arrived = program.counter(f"the launch of {message.kernel!r}")
        stream.send(m, m_cpu, place.cpu, nbytes, arrived, tag)
        thread.wait(arrived, 1)
        stream.act(thread, place.cpu, program.counter(f"{thread.name} to act"), tag)
        thread.add(at_barrier)
        started.append((thread, thread.wait(at_barrier, count, tag=barrier_tag)))

        def complete() -> None:
            finished.append((thread, stream.send(thread, place.cpu, m_cpu, nbytes, done, tag)))

        run_kernel(thread, place, complete)

    first, last = stream.command(command, leaf)
    return Launch(message, (stream.thread, first), (stream.thread, last), started, finished)
