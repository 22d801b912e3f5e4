"""Arguments of kernels: numbers and references to objects of the program file, checked and bound on a core."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError
from kernbench.tanto.cores.local_end import LocalEnd
from kernbench.tanto.cores.pipe_end import PipeEnd
from kernbench.tanto.cores.semaphore_end import SemaphoreEnd
from kernbench.tanto.cores.transfers import GlobalEnd
from kernbench.tanto.language.types import Object, Scalar, Type, wrap_value
from kernbench.tanto.program_file import KernelSpec, ProgramSpec, find_reference

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.cores.grid_run import GridRun
    from kernbench.tanto.cores.storage import Core
    from kernbench.tanto.device import Device
    from kernbench.tanto.language.scope import Parameter, Unit

KINDS = {"g": "global", "l": "local", "p": "pipe", "s": "semaphore"}
End = GlobalEnd | LocalEnd | PipeEnd | SemaphoreEnd


class ArgumentBinder:
    """Binds the arguments of a program's kernels."""

    def __init__(self, device: Device, spec: ProgramSpec, run: GridRun) -> None:
        self.device, self.run = device, run
        self._globals = {one.id for one in spec.globals}

    def element_formats(self, unit: Unit, given: Sequence[object]) -> set[str]:
        """The formats of the arguments for parameters of type T, which decide what T stands for."""
        return {
            self.format_of(value)
            for parameter, value in zip(unit.parameters, given, strict=False)
            if parameter.spelling.endswith("<T>") and find_reference(value)
        } - {""}

    def format_of(self, value: object) -> str:
        """The name of the format of an object, "" for what has none."""
        kind, id = find_reference(value) or ("", -1)
        if kind == "g" and id in self.device.globals:
            return self.device.globals[id].fmt.name
        parts: Mapping[Core, Any] = {"l": self.run.locals, "p": self.run.pipes}.get(kind, {}).get(id, {})
        return next((part.fmt.name for part in parts.values()), "")

    def bind(self, spec: KernelSpec, unit: Unit, kernel: RunningKernel) -> Iterator[int | float | End]:
        """The arguments of a kernel on its core. Errors: InputError with the place of the parameter."""
        x, y = kernel.core
        given = spec.args.get(f"{x},{y}", [])
        if len(given) != len(unit.parameters):
            names = ", ".join(parameter.name for parameter in unit.parameters) or "none"
            raise InputError(
                f"{unit.main_place}: {kernel}: got {len(given)} arguments, expected {len(unit.parameters)}: {names}"
            )
        for value, parameter in zip(given, unit.parameters, strict=True):
            yield self.argument(unit, kernel, parameter, parameter.type, value)

    def note_looks(self, spec: KernelSpec, kernel: RunningKernel) -> None:
        """Note that a kernel reads elements of the locals that it is given."""
        x, y = kernel.core
        for kind, id in filter(None, map(find_reference, spec.args.get(f"{x},{y}", []))):
            if kind == "l" and kernel.core in self.run.locals[id]:
                self.run.locals[id][kernel.core].lookers.add(kernel)

    def place(self, unit: Unit, kernel: RunningKernel, parameter: Parameter) -> str:
        """How messages on an argument begin."""
        return f"{unit.file}:{parameter.line}:{parameter.column}: {kernel}: argument {parameter.name}"

    def argument(
        self, unit: Unit, kernel: RunningKernel, parameter: Parameter, kind: Type, value: object
    ) -> int | float | End:
        """An argument of a type. Errors: InputError with the place of the parameter."""
        place = self.place(unit, kernel, parameter)
        if isinstance(kind, Scalar):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InputError(f"{place}: got {_shown(value)}, expected a number of type {kind}")
            if kind.kind != "float" and isinstance(value, float) and not value.is_integer():
                raise InputError(f"{place}: got {value}, expected a whole number of type {kind}")
            return float(value) if kind.kind == "float" else wrap_value(int(value), kind)
        reference = find_reference(value)
        if not isinstance(kind, Object) or reference is None or KINDS[reference[0]] != kind.kind:
            raise InputError(f"{place}: got {_shown(value)}, expected a {kind}")
        self.run.names.setdefault(f"{kind.kind} {reference[1]}", parameter.name)
        return self.object(place, kernel, kind, reference[1])

    def object(self, place: str, kernel: RunningKernel, kind: Object, id: int) -> End:
        """An object as a kernel sees it. Errors: InputError for one that is not there."""
        run, core = self.run, kernel.core
        if kind.kind == "global":
            if id not in self._globals:
                raise InputError(f"{place}: the program has no global {id}")
            return GlobalEnd(run, kernel, self.device.globals[id])
        known = {"local": run.locals, "pipe": run.pipes, "semaphore": run.semaphores}[kind.kind]
        if id not in known:
            raise InputError(f"{place}: the program has no {kind.kind} {id}")
        if kind.kind == "local":
            return LocalEnd(run, kernel, id, run.locals[id].get(core), kind.element)
        if core not in known[id]:
            raise InputError(
                f"{place}: {kind.kind} {id} is not on core {core[0]},{core[1]}, which is outside of its grid"
            )
        if kind.kind == "semaphore":
            return SemaphoreEnd(run, kernel, run.semaphores[id][core])
        return PipeEnd(run, kernel, run.pipes[id][core], kind.element)


def _shown(value: object) -> str:
    reference = find_reference(value)
    return f"{KINDS[reference[0]]} {reference[1]}" if reference else repr(value)[:60]
