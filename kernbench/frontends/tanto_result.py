"""Results of Tanto programs: what came of one, beside the figures of its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.frontends.bench_tables import result_lines
from kernbench.runs.files import write_files
from kernbench.runs.metrics import run_metrics
from kernbench.runs.result import RunResult
from kernbench.text_table import TextTable, list_table

if TYPE_CHECKING:
    from kernbench.engine import Session
    from kernbench.program.program import Program
    from kernbench.runs.explanation import Explanation
    from kernbench.runs.what_if import WhatIf
    from kernbench.tanto.device import Device
    from kernbench.tanto.program_file import ProgramSpec
    from kernbench.tanto.run import TantoResult


@dataclass(slots=True)
class TantoDevice:
    """What a result keeps of a run: its session and program."""

    session: Session
    program: Program
    unmapped_lookups: int = 0


def measure(result: TantoResult) -> dict[str, Any]:
    """The fields of a `RunResult` that a program's result has."""
    assert result.session is not None
    assert result.device_program is not None
    device = TantoDevice(result.session, result.device_program)
    return {"device": device, "warnings": result.told, **run_metrics(result.session, ())}


@dataclass(frozen=True, slots=True, repr=False)
class ProgramResult(RunResult):
    """The result of a program file, with its cycles, cores, races and the buffers of its chip."""

    left_behind = ("device", "write_buffers")

    figures: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)
    write_buffers: Callable[[Path], object] = field(default=lambda _: None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """As of `RunResult`, with what came of the program."""
        return {**RunResult.to_dict(self), **self.figures}

    def write(
        self, out: str | Path, explanation: Explanation | None = None, what_if: WhatIf | None = None
    ) -> dict[str, str]:
        """As of `RunResult`; the global buffers are beside, g<ID>.npy."""
        return write_files(self, Path(out), explanation, what_if, None, self.write_beside)

    def write_beside(self, directory: Path) -> None:
        """As of `RunResult`: the global buffers, g<ID>.npy."""
        self.write_buffers(directory)


def write_globals(device: Device, spec: ProgramSpec, directory: Path) -> None:
    """Write the global buffers of a program, as the host gets them."""
    for one in spec.globals:
        np.save(directory / f"g{one.id}.npy", device.read(one.id))


def program_tables(result: RunResult) -> list[TextTable]:
    """The summary of a program that came to its end."""
    told: Mapping[str, Any] = result.to_dict()
    latency, *others = result_lines(told)
    clock = ("", f"{told['cycles']:,.0f} cycles", "of the chip's clock")
    cores = ("cores", f"{told['cores']:,}", "that run kernels")
    memory = ("L1", f"{told['l1_peak_bytes']:,} B", "at most, of one core")
    return [list_table([latency, clock, cores, memory, *others])]
