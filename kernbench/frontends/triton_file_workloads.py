"""Files of Triton as workloads: a run executes the file; each launch of its kernels is simulated and computed.

A launch gets tensors of the device with the numbers that the host's have. Memory of the device holds no elements of 64 bits, so
those are held as 32 there; the numbers of the host's tensors are computed in their own types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernbench import library
from kernbench.errors import InputError
from kernbench.frontends import triton_files
from kernbench.frontends.bench_tables import summary_tables
from kernbench.frontends.bench_workloads import BenchWorkload
from kernbench.frontends.frontend import Name, Values
from kernbench.frontends.prepared import Prepared, Request
from kernbench.frontends.shown import Shown
from kernbench.host.memory.placement import DPPolicy
from kernbench.runs.bench import Bench
from kernbench.runs.result import RunResult
from kernbench.schema.scalars import Scalar
from kernbench.text_table import Column, TextTable
from kernbench.triton.host_arrays import HostMemory, is_tensor
from kernbench.triton.language.jit import KernelOnGrid
from kernbench.triton.whole_file import Launch, compute, run_file
from kernbench.units import FS_PER_NS

_HELD = {"int64": "int32", "uint64": "uint32", "float64": "float32", "bool": "uint8"}
_SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


@dataclass(frozen=True, slots=True)
class TritonFileWorkload(BenchWorkload):
    """A file; `launches` are those of its last run, in their order."""

    launches: list[Launch] = field(default_factory=list[Launch])

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

    def prepare(self, request: Request) -> Prepared:
        """As of `Workload`."""
        if request.options.verify:
            raise InputError(
                f"{self.name} states nothing that its numbers should equal; a bench does, with torch.expect"
            )
        return BenchWorkload.prepare(self, request)

    def tables(self, result: RunResult) -> list[TextTable]:
        """As of `Workload`, with a line for each launch."""
        return [*summary_tables(result), *_launch_table(self.launches, result)]


def _launch_table(launches: Sequence[Launch], result: RunResult) -> list[TextTable]:
    if not launches:
        return []
    columns = [
        Column("launch", [str(number) for number in range(len(launches))], right=True),
        Column("kernel", [one.kernel for one in launches]),
        Column("grid", [" x ".join(map(str, one.grid)) for one in launches]),
        Column("ns", [f"{time:,.3f}" for time in _times(result)], right=True),
        Column(
            "arguments", [", ".join(f"{name}={value}" for name, value in one.arguments.items()) for one in launches]
        ),
    ]
    return [TextTable(columns)]


def _times(result: RunResult) -> list[float]:
    """The time of each launch, from its barrier to its last PE, ns."""
    session = result.device.session
    issued, ended = session.op_issue_fs, session.op_end_fs
    return [(one.finished_fs(issued) - one.started_fs(ended)) / FS_PER_NS for one in result.launches]


def simulate(torch: Any, kernel: KernelOnGrid, args: Sequence[Any], options: Mapping[str, Any]) -> Launch:
    """Launch on the machine with tensors of the same numbers, then compute in those of the host."""
    made: dict[int, Any] = {}

    def on_device(value: Any) -> Any:
        if not is_tensor(value):
            return value
        memory = HostMemory()
        at = memory.pointer_to(value, "")
        held = memory.arrays[at.number][int(at.offsets) :]
        if held.ctypes.data not in made:
            made[held.ctypes.data] = torch.from_numpy(_as_held(held), _SPLIT)
        return made[held.ctypes.data]

    name = kernel.kernel.__name__
    torch.launch(name, kernel, *map(on_device, args), **{key: on_device(value) for key, value in options.items()})
    torch.synchronize()
    return compute(kernel, args, options)


def _as_held(array: np.ndarray) -> np.ndarray:
    kind = _HELD.get(array.dtype.name)
    return array.astype(kind) if kind else array


def find(name: Name, values: Values) -> TritonFileWorkload:
    """A file by its path. Errors: InputError."""
    del values
    path = Path(str(name))
    launches: list[Launch] = []

    def run(torch: Any, call: str = "") -> None:
        launches.clear()
        run_file(path, call or None, launch=lambda *given: launches.append(simulate(torch, *given)))

    title = f"a file of Triton, {library.show_path(path)}"
    return TritonFileWorkload(
        Bench(path.stem.replace("_", "-"), title, {"call": ""}, path, run, line=1), str(name), launches
    )
