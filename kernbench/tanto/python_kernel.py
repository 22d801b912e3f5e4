"""Kernels that are Python functions: their source gets the costs of its code, and their arguments are handles of objects.

A function has the arguments of the kernel as positional parameters, and the values of `param<>` as keyword-only ones, by
position. An annotation such as "pipe<uint16>" says with which element type the kernel looks at an object; without one it is
that of its format.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError, suggest
from kernbench.library import show_path
from kernbench.python_text import parse_python
from kernbench.tanto.arguments import KINDS, ArgumentBinder
from kernbench.tanto.cores.kernel import MODULE
from kernbench.tanto.kernel_functions import HANDLES, NAMES, spend
from kernbench.tanto.language.methods import DATAFLOW_FUNCTIONS, FUNCTIONS, READS_DATA
from kernbench.tanto.language.python_costs import SPEND, CostCounter
from kernbench.tanto.language.scope import Parameter, Unit, Use
from kernbench.tanto.language.types import SCALARS, Object, Scalar, Type
from kernbench.tanto.program_file import find_reference
from kernbench.user_modules import execute

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.program_file import KernelSpec

_ANNOTATION = re.compile(r"(global|local|pipe)[<\[](\w+)[>\]]$")
ANY = Scalar("any", "any", 0)  # a parameter without an annotation


def function_of(path: Path, name: str) -> FunctionType:
    """A function of a Python file. Errors: InputError for a file that does not load, or has no such function."""
    module = execute(path, "kernels", "kernel file")
    found = vars(module).get(name)
    if not isinstance(found, FunctionType):
        known = [key for key, value in vars(module).items() if isinstance(value, FunctionType)]
        raise InputError(f"{show_path(path)} has no function {name!r}{suggest(name, known)}")
    return found


@dataclass(frozen=True, slots=True)
class PythonKernel:
    """A function with the costs of its code, which runs as a kernel."""

    unit: Unit
    call: FunctionType
    keywords: tuple[str, ...]

    def bind(
        self, binder: ArgumentBinder, spec: KernelSpec, kernel: RunningKernel, params: Sequence[int | float]
    ) -> partial[None]:
        """The call with its arguments on a core. Errors: InputError for arguments that do not fit."""
        x, y = kernel.core
        given = spec.args.get(f"{x},{y}", [])
        for words, got, names in (
            ("arguments", given, [one.name for one in self.unit.parameters]),
            ("compile-time parameters", params, list(self.keywords)),
        ):
            if len(got) != len(names):
                expected = f"expected {len(names)}: {', '.join(names) or 'none'}"
                raise InputError(f"{self.unit.file}: {kernel}: got {len(got)} {words}, {expected}")
        values = [self._argument(binder, kernel, *pair) for pair in zip(self.unit.parameters, given, strict=True)]
        return partial(self.call, *values, **dict(zip(self.keywords, params, strict=True)))

    def _argument(self, binder: ArgumentBinder, kernel: RunningKernel, parameter: Parameter, value: object) -> Any:
        reference = find_reference(value)
        if parameter.type == ANY and reference is not None:
            kind = KINDS[reference[0]]
            element = SCALARS.get(binder.format_of(value))
            place = binder.place(self.unit, kernel, parameter)
            return HANDLES[kind](binder.object(place, kernel, Object(kind, element), reference[1]))
        if parameter.type == ANY and isinstance(value, int | float):
            return value
        kind = parameter.type if parameter.type != ANY else SCALARS["uint32"]
        found = binder.argument(self.unit, kernel, parameter, kind, value)
        return HANDLES[kind.kind](found) if isinstance(kind, Object) else found


def compile_function(function: FunctionType, element: str) -> PythonKernel:
    """A function as a kernel whose T is an element type. Errors: InputError for one whose source is not to be had."""
    file = Path(function.__code__.co_filename)
    node = _definition(function, file)
    shown = show_path(file)
    namespace: dict[str, Any] = {**NAMES, **function.__globals__, **_enclosed(function), SPEND: spend}
    tree = ast.Module([], [])
    _add(tree, function, namespace, set())
    places = {one.lineno: (one.lineno, one.col_offset + 1) for one in ast.walk(tree) if isinstance(one, ast.stmt)}
    exec(compile(tree, f"{MODULE}{shown}>", "exec"), namespace)
    if node.args.vararg or node.args.kwarg or node.args.defaults:
        raise InputError(f"{shown}:{node.lineno}: a kernel has plain parameters, without * and defaults")
    parameters = [_parameter(one, shown, element) for one in (*node.args.posonlyargs, *node.args.args)]
    unit = Unit(shown, parameters, [], "", places, list(_uses(tree)), [function.__name__], element)
    return PythonKernel(unit, namespace[node.name], tuple(one.arg for one in node.args.kwonlyargs))


def _enclosed(function: FunctionType) -> dict[str, Any]:
    """The variables of enclosing functions that a function reads."""
    cells = function.__closure__ or ()
    return {name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, cells, strict=True)}


def _add(tree: ast.Module, function: FunctionType, namespace: dict[str, Any], known: set[str]) -> None:
    """Add the definition of a function, and before it those of the functions of its file that it calls."""
    known.add(function.__name__)
    helpers = set[str]()
    for name in function.__code__.co_names:
        value = namespace.get(name)
        if isinstance(value, FunctionType) and value.__globals__ is function.__globals__:
            helpers.add(name)
            if name not in known:
                _add(tree, value, namespace, known)
    node = _definition(function, Path(function.__code__.co_filename))
    node.decorator_list = []
    node.returns = None
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        argument.annotation = None
    CostCounter(helpers | {function.__name__}).visit(node)
    tree.body.append(node)


def _definition(function: FunctionType, file: Path) -> ast.FunctionDef:
    """The syntax of a function. Errors: InputError if its source is not to be had."""
    try:
        tree = parse_python(file.read_text())
    except (OSError, SyntaxError):
        raise InputError(
            f"the source of {function.__name__} is not to be had; a kernel is a function of a file"
        ) from None
    first = function.__code__.co_firstlineno
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            lines = [node.lineno, *(one.lineno for one in node.decorator_list)]
            if min(lines) == first:
                return node
    raise InputError(f"{show_path(file)}:{first}: a kernel is a function that is defined with def")


def _parameter(node: ast.arg, file: str, element: str) -> Parameter:
    kind: Type = ANY
    spelling = ""
    if node.annotation is not None:
        one = node.annotation
        plain = one.value if isinstance(one, ast.Constant) and isinstance(one.value, str) else ast.unparse(one)
        spelling = "".join(plain.split())
        kind = _type_of(spelling, element, f"{file}:{node.lineno}:{node.col_offset + 1}")
    return Parameter(node.arg, kind, False, node.lineno, node.col_offset + 1, spelling or f"{node.arg}<T>")


def _type_of(spelling: str, element: str, place: str) -> Type:
    if spelling == "semaphore":
        return Object("semaphore")
    if matched := _ANNOTATION.match(spelling):
        found = SCALARS.get(element if matched[2] == "T" else matched[2])
        if found is not None:
            return Object(matched[1], found)
    elif spelling in SCALARS:
        return SCALARS[spelling]
    known = [*SCALARS, "semaphore", "global<T>", "local<T>", "pipe<T>"]
    raise InputError(f"{place}: unknown type {spelling!r}{suggest(spelling, known)}")


def _uses(tree: ast.Module) -> Iterator[Use]:
    """The functions of the language that code calls, and its methods that read data."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        at = (node.lineno, node.col_offset + 1)
        if isinstance(node.func, ast.Attribute) and node.func.attr in READS_DATA:
            yield Use("", node.func.attr, ast.unparse(node.func.value), *at)
        elif isinstance(node.func, ast.Name) and (node.func.id in FUNCTIONS or node.func.id == "math"):
            name = node.func.id
            yield Use("dataflow" if name in DATAFLOW_FUNCTIONS else "math", name, "", *at)
