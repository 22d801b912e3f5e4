"""Launching a kernel: all its PEs start at one instant.

Each PE reports to a barrier when its CPU has decoded the launch. The barrier opens when the last PE has reported; that
time is the start of the launch. `pe_exec` is the time from there to the end of the last PE.

A PE whose kernel fails responds at that row, and the responses of all PEs are gathered on the way to the host as usual. The
other PEs began at the same instant, so their kernels run to their own ends. So the device can run the next launch after one
that failed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernbench.errors import KernBenchError, LimitError
from kernbench.host.device.stream import Command, Stream
from kernbench.host.messages import KernelLaunch, Response, Targets
from kernbench.machine.families.sip.places import sip_path
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import numpy as np

    from kernbench.machine.families.sip.places import PePlace
    from kernbench.program.thread import Thread


@dataclass(slots=True, eq=False, repr=False)
class Launch:
    """A launch: the rows from which its times are read, each (thread, row of the thread), and its response.

    `response` is None until the launch has ended. `failure` is the error of its first PE that has failed, in their order, which
    is known when none is under way; a limit of the run comes before all others. `place` is the line of the host's call.
    """

    message: KernelLaunch
    issued: tuple[Thread, int] = field(init=False)
    completed: tuple[Thread, int] = field(init=False)
    started: list[tuple[Thread, int]] = field(default_factory=list["tuple[Thread, int]"])
    finished: list[tuple[Thread, int]] = field(default_factory=list["tuple[Thread, int]"])
    place: str = ""
    response: Response | None = None
    failure: KernBenchError | None = None
    _failed: int = -1  # the thread of the failure
    _is_told: bool = False  # whether the host knows of the failure

    def __repr__(self) -> str:
        message = self.message
        targets = f"{sip_path(message.sip)}, {len(message.target_cubes)} cubes x {len(message.target_pe)} PEs"
        return f"Launch({message.kernel_ref!r} on {targets}, at {self.place}, response={self.response})"

    @property
    def is_over_limit(self) -> bool:
        """Whether a PE has met a limit of the run, which ends it."""
        return isinstance(self.failure, LimitError)

    def check_at_once(self) -> None:
        """Raise its error, if it is known while the host is still at the line that launched it."""
        if self.failure is not None and (self.is_over_limit or len(self.finished) == len(self.started)):
            self._is_told = True
            raise self.failure

    def check(self) -> None:
        """Raise its error, if any and not raised yet, with the line that launched it: the host has gone on since."""
        if self.failure is not None and not self._is_told:
            self._is_told = True
            raise type(self.failure)(f"{self.failure}; launched at {self.place}") from self.failure

    def attempt(self, thread: Thread, step: Callable[[], bool | None], complete: Callable[[], None]) -> bool:
        """Run one step of the PE of a thread; returns whether more are to come. It responds at its end, or where it fails."""
        try:
            if step():
                return True
        except KernBenchError as error:
            self._fail(thread, error)
        complete()
        return False

    def _fail(self, thread: Thread, error: KernBenchError) -> None:
        first = self.failure is None or (thread.id < self._failed and not self.is_over_limit)
        if first or isinstance(error, LimitError):
            self.failure, self._failed, self.response = error, thread.id, Response.of(error)
            error.attach_response(self.response)

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

    After a PE has met a limit of the run, the following PEs run no kernel.
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

        if not launch.is_over_limit:
            run(launch, thread, place, complete)
        else:
            complete()

    first, last = stream.command(command, leaf)
    launch.issued, launch.completed = (stream.thread, first), (stream.thread, last)
