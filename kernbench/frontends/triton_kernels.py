"""Kernels of Triton by themselves, `FILE.py:KERNEL`: one launch, with a grid and arguments that the command gives."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kernbench.errors import KernBenchError
from kernbench.frontends.benches import CODE
from kernbench.frontends.benches import FRONT_END as BENCHES
from kernbench.frontends.frontend import Files, FrontEnd
from kernbench.frontends.triton_files import imports_triton, is_triton_file
from kernbench.python_text import Written, read_python
from kernbench.runs.declared_benches import NAMED

GRID = "grid"
OF_LAUNCH = (GRID, "num_stages", "config", "order", "dealing")  # what a launch has beside the arguments of its kernel


@dataclass(frozen=True, slots=True)
class DeclaredKernel:
    """A function under `@triton.jit`, as its text says; a parameter without a default has none in `defaults`."""

    name: str
    parameters: tuple[str, ...]
    constants: frozenset[str]
    defaults: Mapping[str, object]
    completed: bool  # by `autotune` or `heuristics`, which may give any parameter
    line: int
    doc: str


def split_name(name: str) -> tuple[Path, str] | None:
    """The file and the kernel of `FILE.py:KERNEL`; None for another name."""
    if not NAMED.search(name):
        return None
    file, _, kernel = name.rpartition(":")
    return Path(file), kernel


def read_kernels(path: Path) -> dict[str, DeclaredKernel]:
    """The functions of a file under `@triton.jit`, by name. Errors: InputError as `read_python`."""
    text = read_python(path, "Triton file")
    found: dict[str, DeclaredKernel] = {}
    for node in ast.walk(text.tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        decorators = [_last_name(one) for one in node.decorator_list]
        if "jit" not in decorators:
            continue
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        ordinary = [*node.args.posonlyargs, *node.args.args]
        written = dict(zip(reversed([one.arg for one in ordinary]), reversed(node.args.defaults), strict=False))
        written |= {
            one.arg: value for one, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if value
        }
        found[node.name] = DeclaredKernel(
            node.name,
            tuple(one.arg for one in given),
            frozenset(one.arg for one in given if one.annotation and "constexpr" in ast.unparse(one.annotation)),
            {name: text.value(value) for name, value in written.items()},
            len(decorators) > 1,
            min([node.lineno, *(one.lineno for one in node.decorator_list)]),
            ast.get_docstring(node) or "",
        )
    return found


def _last_name(node: ast.expr) -> str:
    call = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(call).rpartition(".")[2]


def parameters_of(kernel: DeclaredKernel) -> dict[str, bool | int | float | str]:
    """What a launch of a kernel takes, with defaults: an empty text for a parameter without one."""
    own = {name: _plain(kernel.defaults.get(name)) for name in kernel.parameters}
    return {**dict.fromkeys(OF_LAUNCH, ""), **own}


def _plain(value: object) -> bool | int | float | str:
    return value if isinstance(value, (bool, int, float, str)) and not isinstance(value, Written) else ""


def is_kernel(name: str) -> bool:
    """Whether a name is `FILE.py:KERNEL` of a file that imports Triton, or of no bench."""
    found = split_name(name)
    if found is None or not imports_triton(found[0]):
        return False
    with suppress(KernBenchError):
        return is_triton_file(str(found[0])) or found[1] in read_kernels(found[0])
    return True


def name_files(name: str, parameters: Mapping[str, object]) -> Files:
    """The file of the kernel, Python that runs."""
    del parameters
    found = split_name(name)
    return [(CODE, found[0])] if found else []


def list_inside(begun: str) -> list[str]:
    """The kernels of a file, for Tab behind its colon."""
    path = Path(begun.partition(".py:")[0] + ".py")
    with suppress(KernBenchError):
        return [f"{path}:{kernel}" for kernel in read_kernels(path)] if ".py:" in begun and imports_triton(path) else []
    return []


def complete(name: str) -> Mapping[str, tuple[str, ...]]:
    """What a launch of a kernel takes, for Tab."""
    found = split_name(name)
    with suppress(KernBenchError):
        kernel = read_kernels(found[0]).get(found[1]) if found else None
        return dict.fromkeys(parameters_of(kernel), ()) if kernel else {}
    return {}


FRONT_END = FrontEnd(
    name="triton-kernel",
    kind="triton-kernel",
    title="Triton kernel",
    machine=BENCHES.machine,
    workloads="kernbench.frontends.triton_kernel_workloads",
    claims=is_kernel,
    names=dict,
    small=BENCHES.small,
    files_of=name_files,
    options=BENCHES.options,
    suffixes=(".py",),
    inside=list_inside,
    parameters_of=complete,
)
