"""Kernels of the launches of a device: each is lowered for its PE at once, or runs step by step during the run.

Live kernels run step by step. So do recorded kernels that may have to ask which message has arrived from a neighbour. While
such a kernel is under way, later launches on its PE begin step by step too, at their own time: which messages are theirs is
known only when it has ended.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from kernbench.errors import InputError
from kernbench.host.messages import TensorArg
from kernbench.tl.lowering.source_lines import LineFinder
from kernbench.tl.pe import PeContext
from kernbench.tl.runner import SteppedKernel, record_kernel

if TYPE_CHECKING:
    from kernbench.host.device.device_memory import DeviceMemory
    from kernbench.host.device.grid_run import GridRun
    from kernbench.host.device.launch import Launch
    from kernbench.host.device.sip import Sip
    from kernbench.host.memory.address_models import Placed
    from kernbench.host.messages import KernelLaunch, Targets
    from kernbench.machine.families.sip.places import PePlace
    from kernbench.program.program import Program
    from kernbench.program.thread import Thread
    from kernbench.tl.lowering.ipcq import Ipcq
    from kernbench.tl.lowering.plan_outline import PlanOutline
    from kernbench.tl.lowering.queue_thread import Answers
    from kernbench.triton.lowering.accesses import Descriptions
    from kernbench.triton.lowering.grid_kernel import GridKernel
    from kernbench.triton.lowering.issue import Facts


class Kernels:
    """The kernels of one device."""

    def __init__(self, program: Program, memory: DeviceMemory, live: bool, answers: Answers) -> None:
        self.program, self.memory, self.live = program, memory, live
        self._answers = answers  # of threads beside queues
        self._steps: dict[int, Callable[[], None]] = {}  # by PE thread: runs its next step
        self._latest: dict[int, int] = {}  # by PE CPU: the thread of the latest kernel that runs step by step
        self.outlines: dict[Any, PlanOutline] = {}  # of composites; PEs share them
        self.lines = LineFinder(program)
        self.grid_facts: Facts | None = None  # of launches with a grid
        self.descriptions: Descriptions | None = None
        self.records_together = True  # programs of a grid that do the same; False is for tests
        self.runs_nothing = False  # on a device that only records
        self._remarked: set[str] = set()

    def prepare(
        self, message: KernelLaunch, kernel: Callable[..., Any] | GridKernel, home: Sip, queues: Ipcq
    ) -> PeRun | GridRun:
        """Prepare the kernel of a launch for each of its PEs. Errors: InputError for a tensor that is freed."""
        if callable(kernel):
            return PeRun(self, message, kernel, home, queues)
        from kernbench.host.device.grid_run import GridRun

        return GridRun(self, message, kernel, home)

    def tell_once(self, remarks: Sequence[str]) -> None:
        """Warn of what has no meaning here, of each once a run."""
        for remark in remarks:
            if remark not in self._remarked:
                self._remarked.add(remark)
                warnings.warn(remark, stacklevel=2)

    def need_live(self, kernel: str) -> None:
        """Note that a kernel has to run live. Errors: InputError on a device that runs nothing."""
        if self.runs_nothing:
            raise InputError(
                f"{kernel} reads data for its control flow or its addresses, so it runs while the machine does; use mode hybrid"
            )

    def context(
        self, thread: Thread, place: PePlace, message: KernelLaunch, home: Sip, carried: Targets, queues: Any = None
    ) -> PeContext:
        """The context of a launch on a PE."""
        seen = home.addresses.map_of(place.cube, place.pe, carried)
        quiet = home.addresses.quiet(seen)
        view = self.memory.open_view(thread, place, quiet)
        return PeContext(
            program=self.program,
            thread=thread,
            machine=self.program.machine,
            place=place,
            locate=seen.locate,
            translate=seen.translate,
            translate_many=seen.translate_many,
            peek=quiet.translate,
            lookups=home.addresses.lookups,
            num_programs=len(message.target_pe),
            num_cubes=len(message.target_cubes),
            memory=view if self.live else None,
            queues=queues,
            outlines=self.outlines,
            lines=self.lines,
        )

    def answer(self, thread: int) -> None:
        """Resume the thread at an ASK row: a kernel, a thread beside a queue, or a host thread with data for memory."""
        step = self._steps.get(thread) or self._answers.get(thread)
        if step is None:
            self.memory.answer(thread)
        else:
            step()

    def is_under_way(self, place: PePlace) -> bool:
        """Whether a kernel of the PE that runs step by step has not ended."""
        return self._latest.get(place.cpu) in self._steps

    def run_in_steps(self, thread: Thread, place: PePlace, step: Callable[[], bool]) -> None:
        """Run a kernel of the PE at each ask of its thread; `step` returns whether another will follow."""

        def answer() -> None:
            if not step():
                del self._steps[thread.id]

        self._steps[thread.id] = answer
        self._latest[place.cpu] = thread.id


class PeRun:
    """The kernel of one launch, called for each PE. `carried` are the entries that the launch carries to PEs."""

    def __init__(
        self, kernels: Kernels, message: KernelLaunch, kernel: Callable[..., Any], home: Sip, queues: Ipcq
    ) -> None:
        self._kernels, self._message, self._kernel, self._queues = kernels, message, kernel, queues
        self._home, self._addresses = home, home.addresses
        self._tensors: dict[int, Placed] = {arg.va_base: home.tensor_at(arg.va_base) for arg in message.tensors}
        self.carried = home.addresses.carried(list(self._tensors.values()))

    def __call__(self, launch: Launch, thread: Thread, place: PePlace, complete: Callable[[], None]) -> None:
        """Write the kernel to the thread of a PE: all of it, or its first step."""
        kernels, name = self._kernels, self._message.kernel_ref
        args = [self._resolve(arg, place) for arg in self._message.args]
        pe = kernels.context(thread, place, self._message, self._home, self.carried, self._queues.pe_queues(place))
        waits = kernels.live or kernels.is_under_way(place)
        if not waits and pe.queues is None:
            launch.attempt(thread, lambda: record_kernel(pe, self._kernel, args, name=name), complete)
            return
        running = SteppedKernel(pe, self._kernel, args, name=name, live=kernels.live)
        if waits:
            thread.ask()
        elif not launch.attempt(thread, running.resume, complete):
            return
        elif pe.queues is not None:
            pe.queues.multicasts.close()

        def step() -> bool:
            goes_on = launch.attempt(thread, running.resume, complete)
            if pe.queues is not None:
                pe.queues.multicasts.close()
            return goes_on

        kernels.run_in_steps(thread, place, step)

    def finish(self, launch: Launch) -> None:
        """Nothing is left to do when the launch has been lowered."""

    def _resolve(self, arg: Any, place: PePlace) -> Any:
        """The value of an argument for the kernel on a PE."""
        if isinstance(arg, TensorArg):
            return self._addresses.argument(self._tensors[arg.va_base], place.cube, place.pe)
        return tuple(self._resolve(item, place) for item in cast("tuple[Any, ...]", arg)) if type(arg) is tuple else arg
