"""Files of Triton as workloads: a run executes the file; each launch of its kernels is simulated and computed.

A launch gets tensors of the device with the numbers that the host's have. Memory of the device holds no elements of 64 bits, so
those are held as 32 there; the numbers of the host's tensors are computed in their own types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernbench import library
from kernbench.frontends import triton_files
from kernbench.frontends.bench_workloads import BenchWorkload
from kernbench.frontends.frontend import Name, Values
from kernbench.frontends.shown import Shown
from kernbench.frontends.triton_launches import SPLIT, TritonWorkload, as_held
from kernbench.runs.bench import Bench
from kernbench.schema.scalars import Scalar
from kernbench.triton.host_arrays import HostMemory, is_tensor
from kernbench.triton.language.jit import KernelOnGrid
from kernbench.triton.whole_file import Launch, compute, run_file


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
            made[held.ctypes.data] = torch.from_numpy(as_held(held), SPLIT)
        return made[held.ctypes.data]

    name = kernel.kernel.__name__
    torch.launch(name, kernel, *map(on_device, args), **{key: on_device(value) for key, value in options.items()})
    torch.synchronize()
    return compute(kernel, args, options)


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
