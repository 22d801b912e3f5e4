"""From a program file to kernels that can run: objects are made on their cores, and arguments are bound and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.errors import InputError, suggest
from kernbench.tanto.arguments import ArgumentBinder
from kernbench.tanto.cores.calls import Alone, RunningKernel
from kernbench.tanto.cores.grid_run import GridRun
from kernbench.tanto.cores.storage import Core, LocalPart, PipePart, SemaphorePart
from kernbench.tanto.device import TranslatedKernel
from kernbench.tanto.formats import find_format
from kernbench.tanto.language.methods import DATAFLOW_FUNCTIONS
from kernbench.tanto.language.scope import Unit
from kernbench.tanto.language.translate import DEFAULT_ELEMENT, MAIN
from kernbench.tanto.program_file import KERNEL_KINDS, KernelSource, KernelSpec, ProgramSpec
from kernbench.tanto.python_kernel import function_of
from kernbench.tanto.tiles import TILE

if TYPE_CHECKING:
    from kernbench.tanto.device import Device, KernelCode
    from kernbench.tanto.timing.lowering import Lowering

LIBRARY = Path(__file__).parent / "kernels"  # kernels that programs need no file of their own for
_MOVES = ("read", "write", "write_mcast", "write_mcast_with_self", "move", "move_init")


@dataclass(frozen=True, slots=True)
class KernelFiles:
    """Where kernel paths lead: a folder, else the library, and a map that replaces some of them."""

    folder: Path
    map: Mapping[str, KernelSource] = field(default_factory=dict[str, KernelSource])
    functions: Mapping[str, FunctionType] = field(default_factory=dict[str, FunctionType])  # that stand for paths

    def list_files(self, program: ProgramSpec) -> list[Path]:
        """The files that hold the kernels of a program. Errors: InputError for one that is not there."""
        named = [one for one in program.kernels if self._name(one) not in self.functions]
        return list(dict.fromkeys(self._locate(one)[0] for one in named))

    def find(self, spec: KernelSpec) -> tuple[Path | FunctionType, tuple[Any, ...]]:
        """The file or function of a kernel, and the values of its parameters. Errors: InputError for one that is not there."""
        entry, named = self.map.get(spec.path), self._name(spec)
        params = tuple(spec.compile_args or (entry.params if entry else []))
        if named in self.functions:
            return self.functions[named], params
        path, function = self._locate(spec)
        return function_of(path, function or MAIN) if path.suffix == ".py" else path, params

    def _name(self, spec: KernelSpec) -> str:
        entry = self.map.get(spec.path)
        return entry.src if entry else spec.path

    def _locate(self, spec: KernelSpec) -> tuple[Path, str]:
        """The file of a kernel, and the name of its function in a Python file, "" for the usual one."""
        entry, named = self.map.get(spec.path), self._name(spec)
        name, _, function = named.partition(":") if ".py" in named else (named, "", "")
        path = next((path for path in (self.folder / name, LIBRARY / name) if path.is_file()), None)
        if path is None:
            hint = suggest(spec.path, self.map) if self.map and entry is None else ""
            mapped = f", which the kernel map gives for {spec.path!r}" if entry and name != spec.path else ""
            raise InputError(f"no kernel file {name!r} in {self.folder}{mapped}{hint}")
        return path, function


def cores_of(ranges: list[tuple[int, int, int, int]], what: str, run: GridRun) -> list[Core]:
    """The cores of ranges, each once. Errors: InputError for cores that the chip lacks."""
    found = dict[Core, None]()
    for x0, y0, x1, y1 in ranges:
        if not (0 <= x0 <= x1 < run.places.w and 0 <= y0 <= y1 < run.places.h):
            raise InputError(
                f"{what}: range [{x0}, {y0}, {x1}, {y1}] is not on the chip, "
                f"whose cores are 0,0 to {run.places.w - 1},{run.places.h - 1}"
            )
        found |= {(x, y): None for y in range(y0, y1 + 1) for x in range(x0, x1 + 1)}
    return list(found)


class ProgramLoader:
    """Makes the run of one program on a device."""

    def __init__(
        self,
        device: Device,
        spec: ProgramSpec,
        files: KernelFiles,
        *,
        numbers: bool = True,
        lowering: Lowering | None = None,
    ) -> None:
        self.device, self.spec, self.files = device, spec, files
        self.run = GridRun(device.machine, numbers=numbers, nearest=device.nearest, lowering=lowering)
        self.binder = ArgumentBinder(device, spec, self.run)

    def load(self) -> GridRun:
        """Make all objects and kernels. Errors: InputError, KernelSourceError."""
        self._check_ids()
        for one in self.spec.globals:
            self.device.make_global(one.id, one.fmt, one.size, one.page)
        self._make_locals()
        self._make_pipes()
        spec = self.spec
        kinds = {"global": spec.globals, "local": spec.device_locals + spec.locals, "pipe": spec.pipes}
        for kind, all in (kinds | {"semaphore": spec.semaphores}).items():
            self.run.names |= {f"{kind} {one.id}": one.name for one in all if one.name}
        for one in self.spec.semaphores:
            cores = cores_of(one.ranges, f"semaphore {one.id}", self.run)
            parts = self.run.semaphores[one.id] = {core: SemaphorePart(one.id, core, one.init) for core in cores}
            for part in parts.values():
                self.run.lowering.count_semaphore(part)
        self.check_l1()
        self._start_kernels()
        return self.run

    def _check_ids(self) -> None:
        kinds = ("globals", "device_locals", "locals", "pipes", "semaphores")
        for kind in kinds:
            ids = [one.id for one in getattr(self.spec, kind)]
            twice = [id for id in ids if ids.count(id) > 1]
            if twice:
                raise InputError(f"{kind}: id {twice[0]} is given twice")

    def _make_locals(self) -> None:
        for one in self.spec.device_locals:
            everywhere = (0, 0, self.run.places.w - 1, self.run.places.h - 1)
            cores = cores_of(one.ranges or [everywhere], f"device local {one.id}", self.run)
            parts = self.run.locals[one.id] = self.device.make_local(one.id, one.fmt, one.size, cores)
            self.run.device_locals.add(one.id)
            for part in parts.values():
                part.begin()
        for one in self.spec.locals:
            self._check_size(find_format(one.fmt).bytes_of(one.size), f"local {one.id}")
            cores, fmt = cores_of(one.ranges, f"local {one.id}", self.run), find_format(one.fmt)
            self.run.locals[one.id] = {core: LocalPart(one.id, core, fmt, one.size) for core in cores}

    def _make_pipes(self) -> None:
        for one in self.spec.pipes:
            fmt, what = find_format(one.fmt), f"pipe {one.id}"
            if one.frame > one.tiles:
                raise InputError(f"{what}: a frame of {one.frame} tiles is larger than the pipe, which has {one.tiles}")
            self._check_size(fmt.bytes_of(one.tiles * TILE), what)
            parts = self.run.pipes[one.id] = {}
            for core in cores_of(one.ranges, what, self.run):
                under = self._local_under(one.local, core, what, fmt.bytes_of(one.tiles * TILE))
                if under is not None and under.fmt != fmt and (under.fmt.magnitude or fmt.magnitude):
                    raise InputError(
                        f"{what} of {fmt.name} lies over local {one.local} of {under.fmt.name}; "
                        "one of a block format lies over a local of the same format"
                    )
                count = one.tiles * TILE
                data = np.zeros(count, fmt.storage) if under is None else under.data.view(fmt.storage)[:count]
                part = parts[core] = PipePart(one.id, core, one.kind, fmt, one.tiles, one.frame, data)
                if under is not None:
                    part.twins = self.run.over.setdefault(id(under), [])
                    part.twins.append(part)
                self.run.lowering.count_pipe(part)

    def _local_under(self, id: int, core: Core, what: str, nbytes: int) -> LocalPart | None:
        if id < 0:
            return None
        if id not in self.run.locals:
            raise InputError(f"{what} lies over local {id}, which the program does not have")
        under = self.run.locals[id].get(core)
        room = 0 if under is None else under.fmt.bytes_of(under.size)
        if under is None or room < nbytes:
            there = "is not on the core" if under is None else f"has {room:,} bytes, the pipe {nbytes:,}"
            raise InputError(f"{what} on core {core[0]},{core[1]} lies over local {id}, which {there}")
        return under

    def _check_size(self, nbytes: int, what: str) -> None:
        most = int(self.run.lowering.core_figures["l1_bytes"])
        if nbytes > most:
            raise InputError(f"{what} takes {nbytes:,} bytes of L1, {nbytes - most:,} more than a core has ({most:,})")

    def check_l1(self) -> int:
        """The largest use of L1 of a core. Errors: InputError where it exceeds the capacity."""
        most, peak = int(self.run.lowering.core_figures["l1_bytes"]), 0
        for (x, y), uses in self.run.l1_bytes().items():
            total = sum(size for size, _ in uses)
            if total > most:
                largest = ", ".join(f"{name} {size:,}" for size, name in sorted(uses, reverse=True)[:4])
                raise InputError(
                    f"core {x},{y} needs {total:,} bytes of L1, {total - most:,} more than it has ({most:,}); "
                    f"the most take {largest}"
                )
            peak = max(peak, total)
        return peak

    # Kernels

    def _start_kernels(self) -> None:
        kinds: dict[Core, list[int]] = {}
        for spec in self.spec.kernels:
            cores = cores_of(spec.ranges, f"kernel {spec.path}", self.run)
            for core in cores:
                kinds.setdefault(core, []).append(spec.kind)
        for (x, y), found in kinds.items():
            if len(found) > 3:
                raise InputError(
                    f"core {x},{y} has {len(found)} kernels; it runs three at most: a reader, a writer, a math kernel"
                )
            if len(set(found)) < len(found):
                names = [KERNEL_KINDS[kind] for kind in found]
                raise InputError(f"core {x},{y} has two kernels of one kind ({', '.join(names)}); it runs one of each")
        for spec in self.spec.kernels:
            self._start(spec)

    def _start(self, spec: KernelSpec) -> None:
        source, params = self.files.find(spec)
        made = self._compiled(spec, source, params)
        cores = cores_of(spec.ranges, f"kernel {spec.path}", self.run)
        outside = [key for key in spec.args if key not in {f"{x},{y}" for x, y in cores}]
        if outside:
            raise InputError(f"kernel {spec.path} has arguments for core {outside[0]!r}, which is not in its ranges")
        for core in cores:
            kernel = RunningKernel(self.run, spec.kind, core, made.unit)
            call = made.bind(self.binder, spec, kernel, params)
            if isinstance(made, TranslatedKernel):
                kernel.alone = Alone(made.function, call.args, repr(spec.args.get(f"{core[0]},{core[1]}")))
            if made.unit.reads_data:
                self.binder.note_looks(spec, kernel)
            self.run.kernels.append(kernel)
            self.run.scheduler.start(kernel, partial(_run, kernel, call))

    def _compiled(self, spec: KernelSpec, source: Path | FunctionType, params: tuple[Any, ...]) -> KernelCode:
        """The kernel's code, with the element type that its arguments have."""
        made = self.device.kernel(source, params, DEFAULT_ELEMENT)
        given = next(iter(spec.args.values()), list[Any]())
        formats = self.binder.element_formats(made.unit, given)
        element = formats.pop() if len(formats) == 1 else DEFAULT_ELEMENT
        is_type = element != DEFAULT_ELEMENT and not find_format(element).magnitude  # a block format is no type
        if is_type and "T" not in self.device.defines:
            made = self.device.kernel(source, params, element)
        check_kind(made.unit, spec.kind)
        self.run.numbers |= made.unit.reads_data
        return made


def _run(kernel: RunningKernel, call: Callable[[], object]) -> None:
    with np.errstate(all="ignore"):  # a greenlet does not inherit that of the host
        call()
    kernel.rows.finish()


def check_kind(unit: Unit, kind: int) -> None:
    """Check that a kernel of a kind may do what its file does. Errors: InputError with the place."""
    for use in unit.uses:
        moves = use.kind in ("local", "pipe") and use.name in _MOVES
        dataflow = use.kind == "semaphore" or (use.name in DATAFLOW_FUNCTIONS and use.kind == "dataflow") or moves
        if (kind == 2 and dataflow) or (kind != 2 and use.kind == "math"):
            what = f"{use.object}.{use.name}" if use.object and use.object != use.name else use.name
            other = "reader or writer" if kind == 2 else "math"
            raise InputError(
                f"{unit.file}:{use.line}:{use.column}: {what} in a {KERNEL_KINDS[kind]} kernel; "
                f"only a {other} kernel can use it"
            )
