"""The benches that files declare, read from their text: neither the files nor numpy and the models are imported for it.

A bench whose name is no constant is not seen; to load the files finds it, but takes a second.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import suppress

from kernbench import library
from kernbench.errors import KernBenchError


def find_declared() -> dict[str, dict[str, tuple[str, ...]]]:
    """The benches that files declare by a constant name, with the values that each parameter is known to take."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for kind in ("benches", "benches/tanto"):
        for folder in library.folders(kind):
            for path in sorted(folder.glob("[!_.]*.py")):
                with suppress(OSError, SyntaxError, ValueError):
                    found = {**dict(_declarations(ast.parse(path.read_bytes()))), **found}
    return found


def find_cases(name: str) -> dict[str, list[str]]:
    """The cases of a bench of task graphs with the names of their parameters, if its file has them as constants."""
    with suppress(KernBenchError, OSError, SyntaxError, ValueError, AttributeError):
        for node in ast.parse(library.find("benches/pto", name).read_bytes()).body:
            if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["ALL_CASES"]:
                return {str(case): list(parameters) for case, parameters in ast.literal_eval(node.value).items()}
    return {}


def _declarations(module: ast.Module) -> Iterator[tuple[str, dict[str, tuple[str, ...]]]]:
    constants = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for function in module.body:
        for call in function.decorator_list if isinstance(function, ast.FunctionDef) else ():
            if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == "bench" and call.args:
                name = call.args[0]
                if isinstance(name, ast.Constant) and isinstance(function, ast.FunctionDef):
                    yield str(name.value), _parameters(function, call, constants)


def _parameters(
    function: ast.FunctionDef, call: ast.Call, constants: Mapping[str, ast.expr]
) -> dict[str, tuple[str, ...]]:
    arguments = function.args
    ordinary = [*arguments.posonlyargs, *arguments.args][1:]  # the first is the context
    defaults = dict(zip(reversed(ordinary), reversed(arguments.defaults), strict=False))
    defaults |= dict(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
    found = {one.arg: _truths(defaults.get(one)) for one in (*ordinary, *arguments.kwonlyargs)}
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "choices"), None)
    if isinstance(given, ast.Dict):
        for name, values in zip(given.keys, given.values, strict=True):
            if isinstance(name, ast.Constant):
                found[str(name.value)] = tuple(_constants(values, constants))
    return found


def _truths(default: ast.expr | None) -> tuple[str, ...]:
    return ("true", "false") if isinstance(default, ast.Constant) and isinstance(default.value, bool) else ()


def _constants(node: ast.expr, constants: Mapping[str, ast.expr]) -> Iterator[str]:
    """The texts in a tuple, a list or the keys of a mapping, also behind a name of the module or a call of `tuple`."""
    if isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    if isinstance(node, ast.Name):
        node = constants.get(node.id, node)
    elements = node.keys if isinstance(node, ast.Dict) else node.elts if isinstance(node, ast.Tuple | ast.List) else ()
    for one in elements:
        if isinstance(one, ast.Constant):
            yield str(one.value)
