"""Benches of task graphs: a module in the shape of the runtime's `kernel_config.py` and `golden.py`, loaded by path.

It has KERNELS (func_id, name, core_type, and here a function of arrays and a cost), ORCHESTRATION (function_name),
RUNTIME_CONFIG (runtime, aicpu_thread_num, block_dim), ALL_CASES (parameters by name), `generate_inputs(params)`, which returns
(name, array or number) pairs, and `compute_golden(tensors, params)`, which writes what must come out. DEFAULT_CASE,
`__outputs__`, RTOL and ATOL are optional. A folder with `kernel_config.py` and `golden.py` is read as one module.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import numpy as np

from kernbench import library
from kernbench.dtypes import widen
from kernbench.errors import InputError, KernBenchError, shorten, suggest
from kernbench.machine import load_machine
from kernbench.machine.overrides import split_settings
from kernbench.machine.setting_names import check_names
from kernbench.modes import Mode
from kernbench.pto import MACHINE
from kernbench.pto.api import PTO2Runtime
from kernbench.pto.declarations import (
    NEEDED,
    check_computed,
    check_declarations,
    check_inputs,
    check_settable,
    find_backend,
    is_array,
    run_golden,
)
from kernbench.pto.kernels import Kernel, read_kernels
from kernbench.pto.launch import BuildMode, Launch, Outcome
from kernbench.pto.results.summary import FS_PER_US
from kernbench.pto.runtime.fatal import FatalCode, FatalError, InvalidArgsError
from kernbench.pto.runtime.host_copies import copy_fs
from kernbench.pto.runtime.orchestrator import Backend, Orchestrator
from kernbench.pto.settings import RuntimeSettings, check_family
from kernbench.python_text import Written, read_python
from kernbench.schema.guards import is_mapping, is_whole
from kernbench.schema.scalars import read_parameter
from kernbench.units import unit_of
from kernbench.user_modules import execute, is_read, line_of, raised

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

FOLDER = "benches/pto"
T = TypeVar("T")
_PARTS = ("kernel_config.py", "golden.py")


@dataclass(frozen=True, slots=True)
class PtoBench:
    """A bench with its declarations, checked."""

    name: str
    file: Path  # or the folder
    sources: tuple[Path, ...]
    description: str
    kernels: Mapping[int, Kernel]
    entry: Callable[..., object]
    config: Callable[..., Any] | None
    runtime: Mapping[str, Any]
    cases: Mapping[str, Mapping[str, Any]]
    default_case: str
    generate_inputs: Callable[..., Any]
    compute_golden: Callable[..., object]
    outputs: tuple[str, ...]
    rtol: float
    atol: float

    def parameters(self, case: str | None, changed: Mapping[str, object]) -> dict[str, Any]:
        """The parameters of a case, with changes as typed. Errors: InputError for an unknown case or parameter."""
        case = case or self.default_case
        if case not in self.cases:
            raise InputError(f"bench {self.name!r} has no case {shorten(case)!r}{suggest(case, self.cases)}")
        found = dict(self.cases[case])
        for name, text in changed.items():
            if name not in found:
                raise InputError(f"bench {self.name!r} has no parameter {shorten(name)!r}{suggest(name, found)}")
            check_settable(name, found[name], self.name)
            found[name] = read_parameter(f"parameter {name!r} of bench {self.name!r}", found[name], text, unit_of(name))
        return found


def find_bench(name: str | Path) -> PtoBench:
    """A bench by name, file or folder. Errors: InputError if there is none, or if it is not in the shape of one."""
    path = Path(name)
    if path.is_dir():
        return _load(path, [path / part for part in _PARTS])
    file = library.find(FOLDER, name)
    return _load(file, [file])


def list_benches() -> list[PtoBench]:
    """All benches that can be named, by name. Errors: InputError for one that does not load."""
    return [find_bench(name) for name in library.list_names(FOLDER)]


def _load(path: Path, files: Sequence[Path]) -> PtoBench:
    where = library.show_path(path)
    modules = [_read(file) if is_read(file) else vars(execute(file, "benches_pto", "bench")) for file in files]
    held: dict[str, Any] = {name: value for module in modules for name, value in module.items()}
    for name in NEEDED:
        if isinstance(held.get(name), Written):
            raise InputError(
                f"{where}: {name} is {held[name]}, which only running the bench gives; kernbench run runs it"
            )
    check_declarations(held, where)
    cases: Mapping[str, Any] = held["ALL_CASES"]
    return PtoBench(
        name=path.stem.replace("_", "-"),
        file=path,
        sources=tuple(files),
        description=_first_line([module.get("__doc__") for module in modules]),
        kernels=read_kernels(held["KERNELS"], where),
        entry=held[held["ORCHESTRATION"]["function_name"]],
        config=held.get("aicpu_orchestration_config"),
        runtime=held["RUNTIME_CONFIG"],
        cases=cases,
        default_case=held.get("DEFAULT_CASE", next(iter(cases))),
        generate_inputs=held["generate_inputs"],
        compute_golden=held["compute_golden"],
        outputs=tuple(held.get("__outputs__", ())),
        rtol=float(held.get("RTOL", 1e-5)),
        atol=float(held.get("ATOL", 1e-5)),
    )


def _read(file: Path) -> dict[str, Any]:
    """What the text of a file gives to each name of its module; functions, and what it imports, are there and cannot be called.

    Errors: InputError as `read_python`.
    """
    text = read_python(file, "bench")
    functions = [node.name for node in text.tree.body if isinstance(node, ast.FunctionDef)]
    imported = [one for node in text.tree.body if isinstance(node, ast.Import | ast.ImportFrom) for one in node.names]
    named = dict.fromkeys([*functions, *(one.asname or one.name for one in imported)], _refuse_call)
    known = {name: text.value_of(name) for name in text.constants}
    needed = {name: value for name, value in known.items() if name in NEEDED or not isinstance(value, Written)}
    kernels = needed.get("KERNELS")
    if isinstance(kernels, list):
        needed["KERNELS"] = [_name_functions(kernel) for kernel in cast("list[Any]", kernels)]
    return {**named, **needed, "__doc__": text.doc}


def _name_functions(kernel: Any) -> Any:
    """A kernel of KERNELS with what cannot be called in place of what its text does not give."""
    if not is_mapping(kernel):
        return kernel
    return {name: _refuse_call if isinstance(value, Written) else value for name, value in kernel.items()}


def _refuse_call(*_: object) -> NoReturn:
    raise InputError("a bench of task graphs that was looked at cannot run")


def _first_line(docs: Sequence[str | None]) -> str:
    return next((text.strip().splitlines()[0].rstrip(".") for text in docs if text and text.strip()), "")


@dataclass(frozen=True, slots=True)
class BenchRun:
    """A finished run of a bench. `verified` is None if no numbers were computed; `mismatches` has a sentence an output.

    `array_bytes`: the sizes of its arrays by name.
    """

    bench: PtoBench
    topology: str
    parameters: Mapping[str, Any]
    outcome: Outcome
    verified: bool | None
    mismatches: tuple[str, ...]
    array_bytes: Mapping[str, int]

    @property
    def clusters(self) -> int:
        """How many clusters it took: as many as the bench's block_dim, or all if the machine has fewer."""
        return sum(core.place.index == 0 for core in self.outcome.device.cores)

    def host_copies_us(self) -> dict[str, float]:
        """Times in microseconds: of all arrays to the device before the run, and of the outputs back after it."""
        machine, outputs = self.outcome.device.machine, self.bench.outputs or tuple(self.array_bytes)
        back = [nbytes for name, nbytes in self.array_bytes.items() if name in outputs]
        return {
            "host_in_us": copy_fs(machine, list(self.array_bytes.values()), to_device=True) / FS_PER_US,
            "host_out_us": copy_fs(machine, back, to_device=False) / FS_PER_US,
        }


def run_bench(
    bench: PtoBench | str | Path,
    topology: str = MACHINE,
    *,
    case: str | None = None,
    parameters: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    backend: str | None = None,
    mode: str = Mode.HYBRID,
    verify: bool = True,
    speed: float = 1.0,
) -> BenchRun:
    """Run a bench and compare its outputs with the golden ones.

    `backend` is one of the runtimes (default: the bench's own); kernels whose times are given are faster by `speed`. Errors:
    InputError for names and values; FatalError for what stops the runtime; RunError for an orchestration function or a
    kernel that raises.
    """
    bench = bench if isinstance(bench, PtoBench) else find_bench(bench)
    chosen = find_backend(backend or bench.runtime.get("runtime", Backend.RINGS.value))
    own, fields = split_settings(parameters, overrides)
    known = bench.parameters(case, {})
    check_names(own, known, topology, owner=f"bench {bench.name!r}", option="parameters")
    given = bench.parameters(case, own)
    machine, block_dim = _machine_of(bench, topology, fields)
    build_mode = BuildMode(bench.runtime.get("build_mode", BuildMode.WITH_SCHEDULERS))
    if build_mode != BuildMode.WITH_SCHEDULERS and chosen != Backend.AICPU:
        raise InputError(f"build_mode is of {Backend.AICPU.value}, and bench {bench.name!r} runs with {chosen.value}")
    launch = Launch(
        machine, RuntimeSettings.of(machine), bench.kernels, chosen, block_dim, mode, verify, speed, build_mode
    )
    inputs = _guarded(bench, lambda: check_inputs(bench.generate_inputs(given), bench.outputs, bench.name))
    device = launch.device()
    addresses = [device.memory.upload(value) if is_array(value) else value for _, value in inputs]

    def body(orchestrator: Orchestrator) -> None:
        _check_arguments(bench, addresses)
        _check_return(bench.entry(PTO2Runtime(orchestrator), addresses, len(addresses)))

    with np.errstate(all="ignore"):
        outcome = _guarded(bench, lambda: launch.run(body, device))
    array_bytes = {name: value.nbytes for name, value in inputs if is_array(value)}
    mismatches: tuple[str, ...] = ()
    if verify:
        mismatches = _guarded(bench, lambda: _compare(bench, given, inputs, addresses, outcome))
    verified = not mismatches if verify else None
    return BenchRun(bench, machine.name, given, outcome, verified, mismatches, array_bytes)


def _machine_of(bench: PtoBench, topology: str, overrides: Mapping[str, object]) -> tuple[Machine, int | None]:
    """The machine with as many threads as the bench asks for, and how many of its clusters the bench takes."""
    fields = dict(overrides)
    if "aicpu_thread_num" in bench.runtime:
        fields.setdefault("pto_runtime.aicpu_threads", bench.runtime["aicpu_thread_num"])
    try:
        machine = load_machine(topology, fields)
    except InputError:
        check_family(load_machine(topology))  # a machine of another family lacks the fields: say that instead
        raise
    clusters = getattr(machine.shape, "clusters", 0)
    return machine, min(int(bench.runtime.get("block_dim", clusters)), clusters) or None


def _check_arguments(bench: PtoBench, args: Sequence[Any]) -> None:
    """Errors: InvalidArgsError if the orchestration expects another number of arguments."""
    if bench.config is None:
        return
    returned = bench.config(args, len(args))
    expected = getattr(returned, "expected_arg_count", None)
    if not is_whole(expected):
        raise InvalidArgsError(
            f"aicpu_orchestration_config returned {shorten(repr(returned))}, expected "
            "PTO2OrchestrationConfig(expected_arg_count)"
        )
    if expected != len(args):
        raise InvalidArgsError(
            f"the orchestration expects {expected} arguments and generate_inputs gives {len(args)}; make them agree"
        )


def _check_return(returned: object) -> None:
    """Errors: FatalError, fatal code 9, if the orchestration function says with a number that it failed; InvalidArgsError for
    what it cannot mean to return, such as a generator, whose tasks nobody has submitted."""
    if returned is None or returned == 0:
        return
    if not is_whole(returned):
        raise InvalidArgsError(f"the orchestration returned {shorten(repr(returned))}, expected nothing, or 0")
    raise FatalError(FatalCode.EXPLICIT, f"FATAL: the orchestration returned {returned}, which says that it failed")


def _guarded(bench: PtoBench, run: Callable[[], T]) -> T:
    """What a function of a bench returns. Errors: RunError with the line that raised; a KernBenchError stays as it is."""
    try:
        return run()
    except KernBenchError:
        raise
    except (Exception, SystemExit) as error:  # a user's bench may raise anything
        raise raised(f"bench {bench.name!r}", error, line_of(error, bench.file)) from error


def _compare(
    bench: PtoBench, params: Mapping[str, Any], inputs: list[tuple[str, Any]], addresses: list[Any], outcome: Outcome
) -> tuple[str, ...]:
    """A sentence for each output that differs from its golden one."""
    found: list[str] = []
    all_golden = run_golden(bench.compute_golden, inputs, params, bench.name)
    written, computed = outcome.device.written, dict[str, bool]()
    for (name, value), address in zip(inputs, addresses, strict=True):
        if not is_array(value) or (bench.outputs and name not in bench.outputs):
            continue
        is_written = any(address <= each < address + value.nbytes for each in written)
        computed[name] = is_written or all_golden[name].tobytes() != value.tobytes()
        got = outcome.device.memory.bytes_at(address, value.nbytes).view(value.dtype).reshape(value.shape)
        golden = all_golden[name]
        close = np.isclose(widen(got), widen(golden), bench.rtol, bench.atol, equal_nan=True)
        if not close.all():
            at = tuple(int(i) for i in np.argwhere(~close)[0])
            found.append(
                f"{name}: {int((~close).sum()):,} of {close.size:,} elements differ from the golden ones, the first at {at}: "
                f"got {got[at]!s}, expected {golden[at]!s}"
            )
    check_computed(computed, bench.outputs, bench.name)
    return tuple(found)
