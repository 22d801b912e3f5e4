"""The kernel of a launch with a grid on the PEs of the launch: recorded for all of them at once, or live on each.

Recorded programs leave only rows. Their numbers are computed program by program when somebody asks for them, since programs of
a grid may not depend on each other's times. A kernel whose control flow or addresses read data runs live, on every device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kernbench.dtypes import itemsize
from kernbench.errors import InputError, KernBenchError
from kernbench.host.device.grid_programs import LivePrograms, PeThread
from kernbench.host.messages import TensorArg
from kernbench.limits.time_limit import watched_kernel
from kernbench.tl.language.errors import naming
from kernbench.triton.lowering.accesses import Descriptions, TensorFacts
from kernbench.triton.lowering.block_array import ReadsDataError
from kernbench.triton.lowering.dealing import program_ids
from kernbench.triton.lowering.grid_kernel import GridKernel, TensorArgument
from kernbench.triton.lowering.grouped import DivergedError
from kernbench.triton.lowering.groups import Scripts, record_groups
from kernbench.triton.lowering.issue import Facts
from kernbench.triton.lowering.live import LiveRecorder
from kernbench.triton.lowering.recorder import Recorder
from kernbench.triton.lowering.render import ProgramRows, render
from kernbench.triton.lowering.tensor_pieces import TensorPieces
from kernbench.triton.lowering.work import Works

if TYPE_CHECKING:
    from kernbench.host.device.kernels import Kernels
    from kernbench.host.device.launch import Launch
    from kernbench.host.device.sip import Sip
    from kernbench.host.memory.address_models import Placed
    from kernbench.host.messages import KernelLaunch
    from kernbench.machine.families.sip.places import PePlace
    from kernbench.program.thread import Thread
    from kernbench.replay.timed_store import TimedStore


class GridRun:
    """The kernel of one launch with a grid, called for each PE. `carried` are the entries that the launch carries to PEs."""

    def __init__(self, kernels: Kernels, message: KernelLaunch, kernel: GridKernel, home: Sip) -> None:
        self._kernels, self._message, self._kernel, self._home = kernels, message, kernel, home
        self._tensors: dict[int, Placed] = {arg.va_base: home.tensor_at(arg.va_base) for arg in message.tensors}
        self.carried = home.addresses.carried(list(self._tensors.values()))
        self._placed = list(self._tensors.values())
        for placed in self._placed:
            _check_layout(placed)
        kernels.tell_once(kernel.remarks)
        number = {va: at for at, va in enumerate(self._tensors)}
        kernel.bind([self._as_argument(arg, number) for arg in message.args])
        self._scripts: Scripts | None = None
        self._failure: KernBenchError | None = None
        self._dealt: list[np.ndarray] = []
        self._ids = np.zeros((0, 3), np.int64)
        self._numbers: list[np.ndarray] | None = None  # of a live launch: the elements of its tensors
        self._running = 0  # PEs of a live launch that have not ended

    def __call__(self, launch: Launch, thread: Thread, place: PePlace, complete: Callable[[], None]) -> None:
        """Write the programs of a PE to its thread, or their first step."""
        kernels = self._kernels
        number = len(launch.started) - 1
        if number == 0:
            launch.attempt(thread, self._prepare, lambda: None)
        if self._failure is not None:
            complete()
            return
        mine = self._dealt[number]
        if self._scripts is not None and not kernels.is_under_way(place):
            launch.attempt(thread, lambda: self._write(thread, place, mine), complete)
            return
        steps = LivePrograms(self, thread, place, mine)
        self._running += 1
        thread.ask()
        kernels.run_in_steps(thread, place, lambda: launch.attempt(thread, steps.resume, complete))

    def finish(self, launch: Launch) -> None:
        """Note the numbers of a launch that was lowered at the row of its completion, and drop what recorded it."""
        self._scripts = None
        if self._kernels.grid_facts is not None:
            self._kernels.grid_facts.works.forget_plans()
        if self._failure is None:
            thread, row = launch.completed
            self._kernels.memory.note_numbers(thread, row, self._message.kernel_ref, self._store_numbers)

    # The launch

    def _prepare(self) -> None:
        """Deal the programs and record them. Errors: those of the kernel, which the other PEs share."""
        try:
            grid = self._kernel.grid
            programs = grid[0] * grid[1] * grid[2]
            self._ids = np.stack(program_ids(np.arange(programs), grid), axis=1)
            pes = len(self._message.target_cubes) * len(self._message.target_pe)
            self._dealt = self._kernel.dealing.deal(grid, pes)
            if not self._kernels.live:
                self._record(programs)
        except KernBenchError as error:
            self._failure = error
            raise

    def _record(self, programs: int) -> None:
        try:
            found = record_groups(programs, self._record_group, together=self._kernels.records_together)
        except ReadsDataError:
            self._kernels.need_live(self._tell())
            return
        self._scripts = found

    def _record_group(self, programs: np.ndarray) -> Recorder:
        recorder = Recorder(*self._recording(self._ids[programs]))
        self._run(recorder)
        return recorder

    def _recording(self, ids: np.ndarray) -> tuple[Any, ...]:
        """The arguments of a recorder."""
        kernels = self._kernels
        if kernels.grid_facts is None:
            kernels.grid_facts = Facts(kernels.program, Works(kernels.program))
            figures = kernels.program.machine.figures
            kernels.descriptions = Descriptions(int(figures["hbm.burst_bytes"]), int(figures["pe_dma.descriptor_dims"]))
        facts = [
            TensorFacts(one.name, int(np.prod(one.layout.shape)), itemsize(one.layout.dtype), one.layout.copies)
            for one in self._placed
        ]
        return ids, self._kernel.grid, facts, kernels.grid_facts, kernels.lines, kernels.descriptions

    def _run(self, recorder: Recorder) -> None:
        """Run the programs of a recorder to their end. Errors: KernelError with the kernel and its line."""
        with watched_kernel(), naming(self._tell(), self._kernel.code, (ReadsDataError, DivergedError)):
            with np.errstate(all="ignore"):
                self._kernel.run(recorder)
            recorder.issuer.finish()

    def _tell(self) -> str:
        return f"kernel {self._message.kernel_ref}"

    def _as_argument(self, arg: Any, number: dict[int, int]) -> Any:
        if isinstance(arg, TensorArg):
            placed = self._tensors[arg.va_base]
            return TensorArgument(
                number[arg.va_base], placed.name, int(np.prod(placed.layout.shape)), placed.layout.dtype
            )
        return (
            tuple(self._as_argument(one, number) for one in cast("tuple[Any, ...]", arg)) if type(arg) is tuple else arg
        )

    # A PE

    def _write(self, thread: Thread, place: PePlace, programs: np.ndarray) -> None:
        """Write all programs of a PE."""
        assert self._scripts is not None
        found = self._scripts
        pe = self._pe(thread, place)
        rendered: dict[int, ProgramRows] = {}
        for one in np.unique(found.script[programs]).tolist():
            own = programs[found.script[programs] == one]
            script = found.scripts[int(one)]
            rows = render(script, found.place[own], pe.numbers(script.counters), pe.tensors)
            rendered.update(zip(own.tolist(), rows, strict=True))
        for program in programs.tolist():
            pe.extend(rendered[program], found.scripts[int(found.script[program])])
        pe.check_limit()

    def _pe(self, thread: Thread, place: PePlace) -> PeThread:
        context = self._kernels.context(thread, place, self._message, self._home, self.carried)
        addresses = self._home.addresses
        seen = addresses.map_of(place.cube, place.pe, self.carried)
        tensors = {
            at: TensorPieces(context, addresses.pieces(placed, place.cube, place.pe, seen))
            for at, placed in enumerate(self._placed)
        }
        assert self._kernels.grid_facts is not None
        return PeThread(context, tensors, self._kernels.grid_facts)

    # Numbers

    def read_numbers(self) -> list[np.ndarray]:
        """The elements of the tensors of a live launch, read when the first PE begins."""
        if self._numbers is None:
            memory = self._kernels.memory
            self._numbers = [np.array(memory.read_now(one.layout)).reshape(-1) for one in self._placed]
        return self._numbers

    def end_pe(self) -> None:
        """A PE of a live launch has ended."""
        self._running -= 1
        if not self._running and self._kernels.live:
            self._put(self.read_numbers())

    def _store_numbers(self, store: TimedStore) -> None:
        """Put the numbers of the launch into a store, whose other numbers are those at its end."""
        memory, numbers = self._kernels.memory, self._numbers
        if numbers is None:
            numbers = [np.array(memory.gather(one.layout, store)).reshape(-1) for one in self._placed]
            with np.errstate(all="ignore"):
                self._kernel.compute(numbers)
        self._put(numbers, store)

    def _put(self, numbers: Sequence[np.ndarray], store: TimedStore | None = None) -> None:
        memory = self._kernels.memory
        for placed, array in zip(self._placed, numbers, strict=True):
            if placed.layout.copies > 1:
                continue
            shaped = array.reshape(placed.layout.shape)
            if store is None:
                memory.write_now(placed.layout, shaped)
            else:
                memory.scatter(placed.layout, shaped, store)

    def live_recorder(self, program: int) -> LiveRecorder:
        """The recorder of one live program."""
        return LiveRecorder(*self._recording(self._ids[program : program + 1]))

    def run_live(self, recorder: LiveRecorder) -> None:
        """Run a live program."""
        self._run(recorder)

    def open_pe(self, thread: Thread, place: PePlace) -> PeThread:
        """The thread of a PE, to write to."""
        self._recording(self._ids[:1])
        return self._pe(thread, place)


def _check_layout(placed: Placed) -> None:
    """Errors: InputError for a tensor whose addresses do not follow its rows."""
    layout = placed.layout
    columns = layout.shape[-1]
    for block, _ in layout.parts:
        whole = block.col_end - block.col_start in (0, columns) or block.row_end - block.row_start <= 1
        if (
            block.elements
            and len(layout.shape) > 1
            and not (whole and block.first_element == block.row_start * columns + block.col_start)
        ):
            raise InputError(
                f"tensor {placed.name!r} is cut by columns ({layout.policy}), but kernels of Triton find elements by rows; "
                "make it with torch.DPPolicy(cube='row_wise', pe='row_wise')"
            )
