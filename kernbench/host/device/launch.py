"""Launching a kernel: all its PEs start at one instant.

Each PE reports to a barrier when its CPU has decoded the launch. The barrier opens when the last PE has reported; that
time is the start of the launch. `pe_exec` is the time from there to the end of the last PE.

A PE whose kernel fails responds at that row, and the responses of all PEs are gathered on the way to the host as usual.
So the device can run the next launch after one that failed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernbench.errors import KernBenchError
from kernbench.host.device.stream import Command, Stream
from kernbench.host.messages import KernelLaunch, Response, Targets
from kernbench.machine.part_index import sip_path
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import numpy as np

    from kernbench.machine.part_index import PePlace
    from kernbench.program.thread import Thread


@dataclass(slots=True, eq=False, repr=False)
class Launch:
    """A launch: the rows from which its times are read, each (thread, row of the thread), and its response.

    `response` is None until the launch has ended. `failure` is the first error of its PEs. `place` is the line of the
    host's call.
    """

    message: KernelLaunch
    issued: tuple[Thread, int] = field(init=False)
    completed: tuple[Thread, int] = field(init=False)
    started: list[tuple[Thread, int]] = field(default_factory=list)
    finished: list[tuple[Thread, int]] = field(default_factory=list)
    place: str = ""
    response: Response | None = None
    failure: KernBenchError | None = None

    def __repr__(self) -> str:
        message = self.message
        targets = f"{sip_path(message.sip)}, {len(message.target_cubes)} cubes x {len(message.target_pe)} PEs"
        return f"Launch({message.kernel_ref!r} on {targets}, at {self.place}, response={self.response})"

    def check(self) -> None:
        """Raise the error of the device's response, if any, with the line that launched it: the host has gone on since."""
        if self.failure is not None:
            raise type(self.failure)(f"{self.failure}; launched at {self.place}") from self.failure

    def attempt(self, step: Callable[[], bool | None], complete: Callable[[], None]) -> bool:
        """Run one step of a PE; returns whether more are to come. The PE responds at its end, or where it fails.

        The first error is that of the launch.
        """
        try:
            if step():
                return True
        except KernBenchError as error:
            if self.failure is None:
                self.failure, self.response = error, Response.of(error)
                error.attach_response(self.response)
        complete()
        return False

    def left_fs(self, issue_fs: np.ndarray) -> int:
        """The time at which it left the host. Arrays are int64[row] of the program's op table."""
        thread, row = self.issued
        return int(issue_fs[thread.find_row(row)])

    def back_fs(self, end_fs: np.ndarray) -> int:
        """The time at which the last completion was back at the host."""
        thread, row = self.completed
        return int(end_fs[thread.find_row(row)])

    def started_fs(self, end_fs: np.ndarray) -> int:
        """The time at which the barrier opened."""
        return min(int(end_fs[thread.find_row(row)]) for thread, row in self.started)

    def finished_fs(self, issue_fs: np.ndarray) -> int:
        """The time at which the last PE ended."""
        return max(int(issue_fs[thread.find_row(row)]) for thread, row in self.finished)

    def pe_exec_fs(self, issue_fs: np.ndarray, end_fs: np.ndarray) -> int:
        """The time from the opening of the barrier to the end of the last PE."""
        return self.finished_fs(issue_fs) - self.started_fs(end_fs)


# Writes the rows of a PE to its thread, and calls back at the end, where the completion is written.
RunPart = Callable[[Launch, "Thread", "PePlace", Callable[[], None]], None]


def lower_launch(stream: Stream, launch: Launch, carried: Targets, run: RunPart) -> None:
    """Lower a launch to the program of a stream; `carried` are the entries that it carries to PEs beside the command.

    After a PE has failed, the following PEs run no kernel.
    """
    program, machine, message = stream.program, stream.machine, launch.message
    brought = {
        cube: {pe: carried.get(cube, {}).get(pe, ()) for pe in message.target_pe} for cube in message.target_cubes
    }
    command = Command.carrying(
        "launch", int(machine.figures["command.bytes"]), int(machine.figures["mmu.entry_bytes"]), brought
    )
    at_barrier = program.counter(f"the barrier of kernel {message.kernel_ref!r}")
    count = len(message.target_cubes) * len(message.target_pe)
    tag, barrier_tag = program.tag("launch"), program.tag("barrier")

    def leaf(m: Thread, cube: int, pe: int, done: int) -> None:
        place = machine.places.pe(message.sip, cube, pe)
        m_cpu = machine.places.m_cpu(message.sip, cube)
        thread = program.thread(f"{machine.node_name[place.cpu]}/{message.kernel_ref}")
        arrived = program.counter(f"the launch of {message.kernel_ref!r}")
        stream.send(m, m_cpu, place.cpu, command.pe_bytes[cube][pe], arrived, tag)
        thread.wait(arrived, 1)
        stream.act(thread, place.cpu, program.counter(f"{thread.name} to act"), tag)
        thread.add(at_barrier)
        started = thread.wait(at_barrier, count, tag=barrier_tag)
        if message.target_start_ns is not None:
            started = thread.until(round(message.target_start_ns * FS_PER_NS))
        launch.started.append((thread, started))

        def complete() -> None:
            reply = stream.send(thread, place.cpu, m_cpu, stream.reply_bytes, done, tag)
            launch.finished.append((thread, reply))

        if launch.failure is None:
            run(launch, thread, place, complete)
        else:
            complete()

    first, last = stream.command(command, leaf)
    launch.issued, launch.completed = (stream.thread, first), (stream.thread, last)
