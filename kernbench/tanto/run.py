"""Running a program on a device: its kernels, the numbers they leave, and the times of its device program."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.program.gc_pause import pause_gc
from kernbench.tanto.cores.kernel import TantoDeadlock, TantoError
from kernbench.tanto.cores.races import Race
from kernbench.tanto.loading import KernelFiles, ProgramLoader
from kernbench.tanto.program_file import ProgramSpec, load_program
from kernbench.tanto.timing.thread_rows import give_rows

if TYPE_CHECKING:
    import polars

    from kernbench.engine import Session
    from kernbench.limits.run_options import OnProgress
    from kernbench.program.program import Program
    from kernbench.tanto.cores.grid_run import GridRun
    from kernbench.tanto.device import Device

OK, DEADLOCK = "ok", "deadlock"


@dataclass(slots=True)
class TantoResult:
    """What came of a program. `latency_ns` and `cycles` are None where it did not come to its end."""

    program: str
    status: str
    latency_ns: float | None
    cycles: float | None
    cores: int
    races: list[Race]
    out_of_range: list[str]
    warnings: list[str]
    l1_peak_bytes: int
    error: str = ""
    session: Session | None = field(default=None, repr=False)
    device_program: Program | None = field(default=None, repr=False)

    def op_log(self) -> polars.DataFrame:
        """The op log; its columns are described in `kernbench.oplog.log`."""
        from kernbench.oplog.log import build_log

        assert self.session is not None
        session = self.session
        return build_log(session.program, *session.times)

    @property
    def told(self) -> tuple[str, ...]:
        """A sentence for each race, each call that is missing, and each place that reads outside of a buffer."""
        warnings = [f"warning: {sentence}" for sentence in (*self.warnings, *self.out_of_range)]
        return (*map(str, self.races), *warnings)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, in the order of the documentation."""
        found: dict[str, Any] = {
            "program": self.program,
            "latency_ns": self.latency_ns,
            "cycles": self.cycles,
            "cores": self.cores,
            "status": self.status,
            "races": [race.to_dict() for race in self.races],
            "out_of_range": self.out_of_range,
            "l1_peak_bytes": self.l1_peak_bytes,
        }
        told = {"warnings": self.warnings, "error": self.error}
        return found | {name: value for name, value in told.items() if value}


@pause_gc()
def run_program(
    device: Device,
    program: ProgramSpec | Path,
    files: KernelFiles,
    *,
    name: str = "",
    numbers: bool = True,
    mode: str = "hybrid",
    on_progress: OnProgress | None = None,
    scripts: bool = True,
) -> TantoResult:
    """Run a program; its buffers stay on the device.

    Without `numbers`, rows are made of scripts of the kernels where that can be; with `scripts` False kernels run in turn all
    the same, which gives the same rows.

    A deadlock is a status. Errors: InputError for a program that cannot be loaded, TantoError for a kernel that does what
    it must not, both before anything is written to results.
    """
    if isinstance(program, Path):
        name, program = name or str(program), load_program(program)
    loader = ProgramLoader(device, program, files, numbers=numbers)
    run = loader.load()
    found = TantoResult(name, OK, None, None, len({k.core for k in run.kernels}), [], [], [], loader.check_l1())
    try:
        write_program_rows(run, scripts=scripts)
    except TantoDeadlock as deadlock:
        found.status, found.error = DEADLOCK, run.named(str(deadlock))
    except TantoError as error:
        raise TantoError(run.named(str(error))) from error
    found.out_of_range, found.warnings = (list(map(run.named, all.values())) for all in (run.outside, run.warnings))
    if found.error:
        return found
    from kernbench.engine import Session  # with numba, which those that only make programs do without

    session = Session(run.lowering.program, mode)
    now_fs = session.run(on_progress=on_progress)
    session.check_finished()
    found.latency_ns = now_fs / 1e6
    found.cycles = round(now_fs / device.machine.figures["tensix_core.cycle"], 3)
    races = run.races.find(run.lowering, session.op_start_fs, session.op_end_fs)
    found.races = [replace(race, name=run.named(race.object).removeprefix(race.object)[2:]) for race in races]
    found.session, found.device_program = session, run.lowering.program
    return found


def write_program_rows(run: GridRun, *, scripts: bool = True) -> None:
    """Run the kernels of a program, or their scripts, and give its threads their rows. Errors: TantoDeadlock, TantoError."""
    if not (scripts and _write_rows(run)):
        run.scheduler.run()
        run.note_unread()
        give_rows([kernel.rows for kernel in run.kernels])


def _write_rows(run: GridRun) -> bool:
    """As `kernbench.tanto.scripts.recording.write_rows`, which needs numba."""
    if run.numbers:
        return False
    from kernbench.tanto.scripts.recording import write_rows

    return write_rows(run)
