"""The front-end of Tanto program files: `bench:` is a path that ends in .json."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.errors import InputError, suggest
from kernbench.library import TANTO_TOPOLOGY
from kernbench.runs.request import split_texts
from kernbench.schema.scalars import read_parameter
from kernbench.sweep.execution.point_progress import report_run, report_stage
from kernbench.sweep.front_ends.tanto_benches import SMALL, mode_problems
from kernbench.sweep.grid.axis import Value
from kernbench.sweep.workload import FrontEnd, family_of
from kernbench.units import unit_of

if TYPE_CHECKING:
    from kernbench.schema.model import Model
    from kernbench.sweep.grid.grid import Grid
    from kernbench.sweep.point import Point
    from kernbench.tanto.loading import KernelFiles

_FILES = ("program", "kernels", "kernel_map", "inputs")  # the parameters that name files


@dataclass(frozen=True, slots=True)
class TantoProgramWorkload:
    """A program file, or several that a grid compares; `files` has a digest of all that its points read."""

    program: str
    given: Mapping[str, tuple[str, ...]]  # the values of `_FILES` in the grid

    @property
    def front_end(self) -> str:
        """As of `Workload`."""
        return FRONT_END.name

    @property
    def name(self) -> str:
        """As of `Workload`."""
        return self.program

    @property
    def bench(self) -> str:
        """As of `Workload`."""
        return self.program

    @property
    def parameters(self) -> Mapping[str, Value]:
        """As of `Workload`: the program, the folder of its kernels ("": its own), and the rest as for `kernbench tanto run`."""
        return {"program": self.program, "kernels": "", "kernel_map": "", "inputs": "", "defines": ""}

    @property
    def digests(self) -> Mapping[str, str]:
        """As of `Workload`."""
        digest = hashlib.sha256()
        for file in sorted({str(file) for point in self._choices() for file in _list_files(point)}):
            digest.update(f"{file}\n".encode() + Path(file).read_bytes())
        return {f"program {self.program}": digest.hexdigest()}

    @property
    def files(self) -> Sequence[Path]:
        """As of `Workload`."""
        return [file for point in self._choices() for file in _list_files(point) if file.suffix == ".py"]

    def read(self, name: str, value: Value) -> Value:
        """As of `Workload`."""
        known = self.parameters
        if name not in known:
            raise InputError(f"a program file has no parameter {name!r}{suggest(name, known)}")
        read = read_parameter(f"parameter {name!r} of program {self.program!r}", known[name], value, unit_of(name))
        if name == "defines":
            _read_defines(str(read))
        return read

    def problems(self, grid: Grid) -> Iterator[str]:
        """As of `Workload`."""
        yield from mode_problems(grid)
        for point in self._choices():
            try:
                _list_files(point)
            except InputError as error:
                for line in str(error).splitlines():
                    yield f"{grid.marks['bench']}: {line}"
                return

    def refuse(self, grid: Grid, topology: Model) -> str | None:
        """As of `Workload`."""
        if (family := family_of(topology)) == "tensix":
            return None
        return (
            f"bench {self.program!r} is a Tanto program, which runs on family 'tensix', and topology {grid.topology!r} is of "
            f"family {family!r}; --topology {TANTO_TOPOLOGY} would do"
        )

    def _choices(self) -> Iterator[dict[str, str]]:
        """All combinations of the files that the grid names."""
        for values in product(*self.given.values()):
            yield dict(zip(self.given, values, strict=True))


def _find(grid: Grid) -> TantoProgramWorkload | None:
    if grid.bench is None or not grid.bench.endswith(".json"):
        return None
    named = {axis.name: tuple(map(str, axis.values)) for axis in grid.axes}
    defaults = {"program": (grid.bench,), **dict.fromkeys(_FILES[1:], ("",))}
    return TantoProgramWorkload(grid.bench, {name: named.get(name, defaults[name]) for name in _FILES})


def _kernel_files(parameters: Mapping[str, Value]) -> KernelFiles:
    """Where the kernels of a point are. Errors: InputError."""
    from kernbench.tanto.loading import KernelFiles
    from kernbench.tanto.program_file import load_kernel_map

    given, folder = (
        str(parameters["kernel_map"]),
        Path(str(parameters["kernels"] or Path(str(parameters["program"])).parent)),
    )
    if not folder.is_dir():
        raise InputError(f"kernels takes a folder, and {folder} is none")
    return KernelFiles(folder, load_kernel_map(Path(given)) if given else {})


def _list_files(parameters: Mapping[str, str]) -> list[Path]:
    """All files that a point reads. Errors: InputError for one that is not there or cannot be read."""
    from kernbench.tanto.program_file import load_program
    from kernbench.tanto.program_settings import read_inputs

    path, files = Path(parameters["program"]), _kernel_files(parameters)
    program = load_program(path)
    read_inputs(split_texts(parameters["inputs"]), [program], "inputs")
    inputs = [Path(text.partition("=")[2]) for text in split_texts(parameters["inputs"])]
    maps = [Path(parameters["kernel_map"])] if parameters["kernel_map"] else []
    return [path, *files.list_files(program), *inputs, *maps]


def _read_defines(text: str) -> dict[str, str]:
    from kernbench.tanto.program_settings import read_defines

    return read_defines(split_texts(text), "defines")


def _run(point: Point) -> object:
    from kernbench.runs.tanto_run import run_program_file

    parameters = point.parameters
    return run_program_file(
        Path(str(parameters["program"])),
        _kernel_files(parameters),
        point.topology,
        inputs=split_texts(str(parameters["inputs"])),
        defines=_read_defines(str(parameters["defines"])),
        parameters=parameters,
        overrides=point.overrides,
        mode=point.mode,
        time_limit=point.limits.time_s,
        on_stage=partial(report_stage, point.index),
        on_progress=partial(report_run, point.index),
    )


FRONT_END = FrontEnd("tanto-program", _find, _run, SMALL)
