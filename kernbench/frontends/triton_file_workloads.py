"""Files of Triton as workloads: a run executes the file; each launch of its kernels is simulated and computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernbench import library
from kernbench.errors import RunError
from kernbench.frontends import triton_files
from kernbench.frontends.bench_workloads import BenchWorkload
from kernbench.frontends.frontend import Name, Values
from kernbench.frontends.shown import Shown
from kernbench.frontends.triton_kernels import read_kernels
from kernbench.frontends.triton_launches import TritonWorkload
from kernbench.frontends.triton_simulation import Simulation
from kernbench.runs.bench import Bench
from kernbench.schema.scalars import Scalar
from kernbench.triton.device_facts import describing
from kernbench.triton.whole_file import Launch, run_file


@dataclass(frozen=True, slots=True)
class TritonFileWorkload(TritonWorkload):
    """A file."""

    record = triton_files.FRONT_END

    @property
    def source(self) -> str:
        """As of `Workload`."""
        return str(self.of.file)

    @property
    def noted(self) -> str:
        """As of `Workload`."""
        return str(self.of.file.absolute())

    def read(self, name: str, value: object) -> Scalar:
        """As of `Workload`."""
        return str(value) if name == "call" else BenchWorkload.read(self, name, value)

    def describe(self) -> Shown:
        """As of `Workload`."""
        found, place = BenchWorkload.describe(self), library.show_path(self.of.file)
        return replace(
            found,
            kind=self.record.title,
            data={**found.data, "kind": self.record.kind},
            remarks=[f"kernbench run {place} runs it; --set call=FUNCTION calls one of its functions"],
        )


def find(name: Name, values: Values) -> TritonFileWorkload:
    """A file by its path. Errors: InputError."""
    del values
    path = Path(str(name))
    launches: list[Launch] = []

    def run(torch: Any, call: str = "") -> None:
        launches.clear()
        simulation = Simulation(torch, launches)
        with describing(simulation.facts):
            run_file(path, call or None, launcher=simulation.launcher)
        if not launches:
            raise RunError(_tell_no_launch(path, call))

    title = f"a file of Triton, {library.show_path(path)}"
    return TritonFileWorkload(
        Bench(path.stem.replace("_", "-"), title, {"call": ""}, path, run, line=1), str(name), launches
    )


def _tell_no_launch(path: Path, call: str) -> str:
    """What a file without a launch could be run with."""
    kernel, place = next(iter(read_kernels(path)), None), library.show_path(path)
    by_itself = (
        f", or run a kernel alone, as `kernbench run {place}:{kernel} --grid 4 --arg NAME=VALUE`" if kernel else ""
    )
    if call:
        return f"{call} of {place} launched no kernel; call one that does{by_itself}"
    return f"{place} launched no kernel; call one of its functions with --call{by_itself}"
