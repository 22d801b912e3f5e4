"""The benches that files declare, read from their text: neither the files nor numpy and the models are imported for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from kernbench import library
from kernbench.errors import KernBenchError
from kernbench.python_text import PythonText, Written, read_python
from kernbench.schema.guards import is_mapping

FOLDERS = ("benches", "benches/triton", "benches/tanto")  # in which benches are found by name
TL, TANTO = "tl", "tanto"  # the systems that kernels of a bench are written in
NAMED = re.compile(r"\.py:[^/\\]+$")  # a bench of a file with several


@dataclass(frozen=True, slots=True)
class DeclaredBench:
    """A function under `@bench`, as its text says; a default that the text does not give is `Written`."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # None for one without a default
    choices: Mapping[str, tuple[Any, ...]]
    live: bool
    system: str
    line: int
    doc: str
    takes_context: bool


@dataclass(frozen=True, slots=True)
class DeclaredFile:
    """The benches of a file; `unread` has the lines of those whose names the text does not give."""

    path: Path
    doc: str
    benches: tuple[DeclaredBench, ...]
    unread: tuple[int, ...] = field(default=())


def read_declared(path: Path) -> DeclaredFile:
    """What a bench file declares; it is read again when it has changed. Errors: InputError as `read_python`."""
    try:
        seen = path.stat()
    except OSError:  # `read_python` says so
        return _read_file(path, ())
    return _read_file(path, (seen.st_dev, seen.st_ino, seen.st_mtime_ns, seen.st_size))


@lru_cache(maxsize=512)
def _read_file(path: Path, version: tuple[int, ...]) -> DeclaredFile:
    del version  # a part of the key alone
    text = read_python(path, "bench file")
    benches = list[DeclaredBench]()
    named = set[ast.Call]()
    for function in text.tree.body:
        for call in function.decorator_list if isinstance(function, ast.FunctionDef) else ():
            if isinstance(function, ast.FunctionDef) and isinstance(call, ast.Call) and _is_bench(call):
                found = _read(text, function, call)
                if found is not None:
                    benches.append(found)
                    named.add(call)
    calls = (node for node in ast.walk(text.tree) if isinstance(node, ast.Call) and _is_bench(node))
    return DeclaredFile(path, text.doc, tuple(benches), tuple(call.lineno for call in calls if call not in named))


class Declared(NamedTuple):
    """A declared bench: the system of its kernels, and the values that each parameter is known to take, as texts."""

    system: str
    values: Mapping[str, tuple[str, ...]]


def find_declared() -> dict[str, Declared]:
    """The benches that files declare by a constant name."""
    found: dict[str, Declared] = {}
    for kind in FOLDERS:
        for folder in library.folders(kind):
            for path in sorted(folder.glob("[!_.]*.py")):
                with suppress(KernBenchError):
                    benches = read_declared(path).benches
                    found = {**{one.name: Declared(one.system, _values(one)) for one in benches}, **found}
    return found


def file_of_bench(bench: str) -> Path | None:
    """The file of a bench that is asked for by path; None for a name."""
    file = bench.rpartition(":")[0] if NAMED.search(bench) else bench
    return Path(file) if library.is_path(file) or library.is_file(Path(file)) else None


def _is_bench(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name | ast.Attribute) and ast.unparse(call.func).rpartition(".")[2] == "bench"


def _read(text: PythonText, function: ast.FunctionDef, call: ast.Call) -> DeclaredBench | None:
    given = {word.arg: word.value for word in call.keywords} | dict(
        zip(("name", "description"), call.args, strict=False)
    )
    name = text.value(given.get("name"))
    if not isinstance(name, str) or isinstance(name, Written):
        return None
    described = text.value(given.get("description"))
    return DeclaredBench(
        name,
        described if isinstance(described, str) else "",
        dict(_parameters(text, function.args)),
        dict(_choices(text, given.get("choices"))),
        text.value(given.get("live")) is True,
        system if isinstance(system := text.value(given.get("system")), str) else TL,
        min(one.lineno for one in function.decorator_list),
        ast.get_docstring(function) or "",
        bool(function.args.posonlyargs or function.args.args),
    )


def _parameters(text: PythonText, arguments: ast.arguments) -> Iterator[tuple[str, Any]]:
    ordinary = [*arguments.posonlyargs, *arguments.args][1:]  # the first is the context
    defaults = dict(zip(reversed(ordinary), reversed(arguments.defaults), strict=False))
    defaults |= {one: value for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value}
    for one in (*ordinary, *arguments.kwonlyargs):
        found = text.value(defaults.get(one))
        plain = found is None or isinstance(found, bool | int | float | str)
        yield one.arg, found if plain else Written(ast.unparse(defaults[one]))


def _choices(text: PythonText, node: ast.expr | None) -> Iterator[tuple[str, tuple[Any, ...]]]:
    found = text.value(node)
    for name, values in found.items() if is_mapping(found) else ():
        elements: tuple[Any, ...] | None = (
            tuple(cast("Any", values)) if isinstance(values, tuple | list | dict) else None
        )
        if elements is not None and Written not in map(type, elements):
            yield name, elements


def _values(one: DeclaredBench) -> dict[str, tuple[str, ...]]:
    truths = {name: ("true", "false") if isinstance(default, bool) else () for name, default in one.parameters.items()}
    return {**truths, **{name: tuple(map(str, values)) for name, values in one.choices.items()}}
