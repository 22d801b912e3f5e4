"""A bench that is bounded instead of run: its program is recorded, then only looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from kernbench.analytic import Sheet
from kernbench.errors import InputError
from kernbench.host.device import Device
from kernbench.host.launch import Launch
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.host.layout import Layout
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program, Thread


class RecordedDevice(Device):
    """A device on which nothing runs; what is issued is kept."""

    def __init__(self, machine: Machine, mode: str, live: bool = False) -> None:  # noqa: ARG002
        super().__init__(machine, live=live)

    def look(self, layout: Layout) -> NoReturn:
        """Errors: InputError; there are no numbers."""
        raise InputError(
            f"analytic mode computes no numbers, but the bench reads those of a tensor of shape {layout.shape}; "
            "use mode hybrid"
        )

    def run(self) -> None:
        """Nothing: what waits for it may follow at once, because streams keep their order."""


@dataclass(frozen=True, slots=True)
class BenchBounds:
    """Bounds of what a run reports, in femtoseconds; all but `upper` are from below."""

    latency_fs: int
    pe_exec_fs: int
    makespan_fs: int
    upper_fs: int  # of all three
    binding: str  # what sets that of the makespan

    def list_figures(self) -> dict[str, Any]:
        """What can be said without events, by the names that `RunResult` has for it."""
        return {
            "latency_ns": self.latency_fs / FS_PER_NS,
            "pe_exec_ns": self.pe_exec_fs / FS_PER_NS,
            "makespan_ns": self.makespan_fs / FS_PER_NS,
            "events": 0,
            "flit_hops": 0,
            "achieved_tflops": None,
            "achieved_gbs": None,
            "bottleneck": None,
            "bottleneck_part": None,
            "bottleneck_utilisation": None,
            "lower_ns": self.latency_fs / FS_PER_NS,
            "upper_ns": self.upper_fs / FS_PER_NS,
            "binding": self.binding,
        }


def find_bounds(program: Program, launches: Sequence[Launch]) -> BenchBounds:
    """The bounds of a recorded program. Errors: InputError for live kernels; DeadlockError."""
    sheet = Sheet(program, vary=False)
    whole = sheet.bounds()
    latencies, by_sip = [0] if launches else [whole.lower_fs], {}
    for launch in launches:
        _, end_fs = sheet.after([_row(launch.issued)])
        latencies += [other.back_fs(end_fs) for other in launches]
        took = launch.pe_exec_fs(*sheet.after([_row(place) for place in launch.started]))
        by_sip[launch.message.sip] = by_sip.get(launch.message.sip, 0) + max(0, took)
    return BenchBounds(
        latency_fs=max(latencies),
        pe_exec_fs=max(by_sip.values(), default=0),
        makespan_fs=whole.lower_fs,
        upper_fs=whole.upper_fs,
        binding=whole.binding,
    )


def _row(place: tuple[Thread, int]) -> int:
    thread, row = place
    return thread.find_row(row)
