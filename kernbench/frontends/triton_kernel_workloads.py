"""Kernels of Triton by themselves as workloads: a run makes their tensors and launches them once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernbench.characters import check_characters
from kernbench.errors import InputError, suggest
from kernbench.frontends import triton_kernels
from kernbench.frontends.bench_workloads import BenchWorkload
from kernbench.frontends.frontend import Name, Values
from kernbench.frontends.prepared import Prepared, Request
from kernbench.frontends.shown import Shown
from kernbench.frontends.triton_kernels import GRID, OF_LAUNCH, DeclaredKernel, parameters_of, read_kernels, split_name
from kernbench.frontends.triton_launches import TritonWorkload
from kernbench.frontends.triton_simulation import SPLIT
from kernbench.library import show_path
from kernbench.runs.bench import Bench
from kernbench.schema.scalars import Scalar
from kernbench.triton.cuda_on_cpu import cuda_on_cpu
from kernbench.triton.kernel_arguments import KernelArguments, TensorText
from kernbench.triton.language.jit import Kernel
from kernbench.triton.language.modules import importable
from kernbench.triton.torch_placeholder import torch_unless_installed
from kernbench.triton.whole_file import Launch
from kernbench.user_modules import execute

_MEANINGS = {
    GRID: "programs along x, y and z, such as '16,16' or 'cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)'",
    "num_stages": "iterations of a loop whose loads are under way at once",
    "config": "the number of a configuration of an autotuned kernel",
    "order": "the axes of the grid, the fastest first",
    "dealing": "how programs are dealt to PEs: cyclic or blocked",
}


@dataclass(frozen=True, slots=True)
class TritonKernelWorkload(TritonWorkload):
    """A kernel of a file; `declared` is what its text says."""

    declared: DeclaredKernel = field(kw_only=True)

    record = triton_kernels.FRONT_END

    @property
    def source(self) -> str:
        """As of `Workload`."""
        return f"{self.of.file}:{self.declared.name}"

    @property
    def noted(self) -> str:
        """As of `Workload`."""
        return f"{self.of.file.absolute()}:{self.declared.name}"

    def read(self, name: str, value: object) -> Scalar:
        """As of `Workload`: a number, or the text of an argument."""
        if name not in self.of.parameters:
            raise InputError(f"{self.owner} takes no {name!r}{suggest(name, self.of.parameters)}")
        if isinstance(value, (bool, int, float)):
            return value
        text = check_characters(str(value), f"{name}: the value").strip()
        return int(text) if text.removeprefix("-").isdecimal() else text

    @property
    def owner(self) -> str:
        """The kernel and its place, as sentences begin."""
        return f"kernel {self.declared.name} at {show_path(self.of.file)}:{self.declared.line}"

    def describe(self) -> Shown:
        """As of `Workload`."""
        found = BenchWorkload.describe(self)
        return replace(
            found,
            kind=self.record.title,
            data={**found.data, "kind": self.record.kind},
            remarks=[
                f"kernbench run {self.given} --grid X,Y --arg NAME=VALUE launches it; tensors are such as f16[512, 512]"
            ],
        )

    def parameter_rows(self) -> list[dict[str, str]]:
        """As of `Workload`."""
        rows = BenchWorkload.parameter_rows(self)
        return [{**row, "allowed": self._allowed(row["field"]), "meaning": self._meaning(row["field"])} for row in rows]

    def _allowed(self, name: str) -> str:
        if name not in self.declared.parameters:
            return "number or text"
        return "constant" if name in self.declared.constants else "number, or tensor such as f16[512, 512]"

    def _meaning(self, name: str) -> str:
        return "" if name in self.declared.parameters else _MEANINGS[name]

    def prepare(self, request: Request) -> Prepared:
        """As of `Workload`; what is given has the types that it reads as."""
        given = {name: self.read(name, value) for name, value in request.parameters.items()}
        self._check(given)
        of = replace(self.of, parameters={**self.of.parameters, **given})
        prepared = TritonWorkload.prepare(replace(self, of=of), replace(request, parameters=given))
        return replace(prepared, workload=self)

    def _check(self, given: Mapping[str, Scalar]) -> None:
        """Errors: InputError for arguments that are missing, or that cannot be."""
        declared = self.declared
        if given.get(GRID, "") == "":
            raise InputError(f"{self.owner} got no grid; give --grid with one to three numbers, such as --grid 16,16")
        found = self.arguments(given)
        missing = [name for name in declared.parameters if name not in found and name not in declared.defaults]
        if missing and not declared.completed:
            tensors = {name: value for name, value in found.items() if isinstance(value, TensorText)}
            strides = "; ".join(
                f"{name}={value} has the strides {', '.join(map(str, value.strides))}"
                for name, value in tensors.items()
            )
            raise InputError(
                f"{self.owner} got no {', '.join(missing)}; give each as --arg NAME=NUMBER, or as a tensor, such as "
                f"--arg {missing[0]}=f16[512,512]{f' ({strides})' if strides else ''}"
            )

    def arguments(self, given: Mapping[str, Scalar]) -> dict[str, Any]:
        """The arguments that are given, read. Errors: InputError."""
        own = {name: value for name, value in given.items() if name in self.declared.parameters and value != ""}
        return KernelArguments(self.owner, own, self.declared.constants).read()

    def launch(self, torch: Any, **given: Scalar) -> None:
        """Make the tensors and launch the kernel. Errors: InputError, KernelError."""
        kernel = self._load()
        arguments = self.arguments({name: value for name, value in given.items() if name in self.declared.parameters})
        options = {name: given[name] for name in OF_LAUNCH[1:] if given[name] != "" and name not in arguments}
        made = {
            name: torch.from_numpy(value.make(number), SPLIT, name=name) if isinstance(value, TensorText) else value
            for number, (name, value) in enumerate(arguments.items())
        }
        on_grid = kernel[lambda meta: self._grid(str(given[GRID]), meta)]
        bound = on_grid.prepare_launch((), {**made, **options_of_kernel(options)}, None, None)
        self.launches.append(
            Launch(self.declared.name, kernel.place, bound.grid, {name: _told(one) for name, one in arguments.items()})
        )
        torch.launch(self.declared.name, on_grid, **made, **options)
        torch.synchronize()

    def _grid(self, text: str, meta: Mapping[str, Any]) -> tuple[int, ...]:
        names = {name: value for name, value in meta.items() if isinstance(value, (bool, int, float))}
        reader = KernelArguments(self.owner, {}, frozenset())
        return reader.numbers("the grid", text, names)

    def _load(self) -> Kernel:
        with ExitStack() as stack:
            for block in (importable(), cuda_on_cpu(), torch_unless_installed()):
                stack.enter_context(block)
            found = getattr(execute(self.of.file, "triton", "Triton file"), self.declared.name, None)
        if not isinstance(found, Kernel):
            raise InputError(f"{self.owner} is no kernel of its module; give one that stands at its top")
        return found


def options_of_kernel(options: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The options of a launch that its kernel sees: those that do not deal programs to PEs."""
    return {name: value for name, value in options.items() if name not in ("order", "dealing")}


def _told(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float)) or value is None else str(value)


def find(name: Name, values: Values) -> TritonKernelWorkload:
    """A kernel by `FILE.py:KERNEL`. Errors: InputError for one that the file does not have, with those that it has."""
    del values
    split = split_name(str(name))
    assert split is not None
    path, kernel = Path(split[0]), split[1]
    known = read_kernels(path)
    if kernel not in known:
        raise InputError(f"{show_path(path)} has no kernel {kernel!r}{suggest(kernel, known)}")
    declared = known[kernel]
    launches: list[Launch] = []

    def run(torch: Any, **given: Scalar) -> None:
        launches.clear()
        workload.launch(torch, **given)

    bench = Bench(
        declared.name.strip("_").replace("_", "-"), f"a kernel of Triton, {show_path(path)}", parameters_of(declared), path,
        run, docs=(None, declared.doc), line=declared.line,
    )  # fmt: skip
    workload = TritonKernelWorkload(bench, str(name), launches, declared=declared)
    return workload
