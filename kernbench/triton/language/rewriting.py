"""The source of a kernel as Triton reads it, run by Python.

Triton compiles a kernel, so some lines mean otherwise than in Python: a name that is given a number holds a typed scalar;
`and`, `or` and `not` of blocks are those of their elements; `range` is a loop whose loads may overlap; a global has to be a
constant. The function is compiled again from its source with these meanings; its file and its lines stay.
"""

from __future__ import annotations

import ast
import builtins
import linecache
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cache
from types import CellType, CodeType, FunctionType
from typing import Any

from kernbench.errors import InputError
from kernbench.library import show_path
from kernbench.python_text import parse_python
from kernbench.triton.language import functions
from kernbench.triton.language.block import tensor

_BUILTINS = {"range": functions.range, "min": functions.minimum, "max": functions.maximum, "abs": functions.abs}
_TYPED, _BOTH, _EITHER, _NOT, _VALUE = (f"_triton_{name}" for name in ("typed", "both", "either", "not", "value"))


def _both(*parts: Callable[[], Any]) -> Any:
    found = parts[0]()
    for part in parts[1:]:
        if isinstance(found, tensor) and found.shape:
            found = found & part()
        elif found:
            found = part()
    return found


def _either(*parts: Callable[[], Any]) -> Any:
    found = parts[0]()
    for part in parts[1:]:
        if isinstance(found, tensor) and found.shape:
            found = found | part()
        elif not found:
            found = part()
    return found


def _not(x: Any) -> Any:
    return x == 0 if isinstance(x, tensor) and x.shape else not x


def _value(x: Any) -> Any:
    return x if isinstance(x, (bool, int, float, str)) or x is None else x.value


_HELPERS = {_TYPED: functions.typed, _BOTH: _both, _EITHER: _either, _NOT: _not, _VALUE: _value}


class _Meanings(ast.NodeTransformer):
    """Calls in place of what means otherwise in Triton."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            node.value = _call(_TYPED, [node.value], node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        parts: list[ast.expr] = [ast.copy_location(ast.Lambda(nothing, value), value) for value in node.values]
        return _call(_BOTH if isinstance(node.op, ast.And) else _EITHER, parts, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _call(_NOT, [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr == "value" and isinstance(node.ctx, ast.Load):
            return _call(_VALUE, [node.value], node)
        return node


def _call(name: str, args: list[ast.expr], at: ast.expr | ast.stmt) -> ast.expr:
    return ast.fix_missing_locations(ast.copy_location(ast.Call(ast.Name(name, ast.Load()), args, []), at))


@cache
def _tree(file: str, text: str) -> ast.Module | None:
    try:
        return parse_python(text, file)
    except SyntaxError:
        return None


def _source(file: str) -> ast.Module | None:
    return _tree(file, "".join(linecache.getlines(file)))


def _definition(function: FunctionType) -> ast.FunctionDef | None:
    """The definition in the source; None if the source is not there."""
    tree, code = _source(function.__code__.co_filename), function.__code__
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def rewrite(function: FunctionType) -> Callable[..., Any]:
    """The function with the meanings of Triton. Errors: InputError for a global without constexpr."""
    linecache.checkcache(function.__code__.co_filename)  # a file may have changed since it was read
    definition = _definition(function)
    _check_globals(function, definition)
    given = function.__globals__
    own = {name: one for name, one in _BUILTINS.items() if given.get(name) in (None, getattr(builtins, name))}
    helpers: Mapping[str, Any] = {**_HELPERS, **own}
    if definition is None:
        made = FunctionType(
            function.__code__, {**given, **own}, function.__name__, function.__defaults__, function.__closure__
        )
    else:
        made = _compiled(function, definition, helpers)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _compiled(function: FunctionType, definition: ast.FunctionDef, helpers: Mapping[str, Any]) -> FunctionType:
    free = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    body = _Meanings().visit(deepcopy(definition))
    body.decorator_list, body.returns = [], None
    for one in [*body.args.posonlyargs, *body.args.args, *body.args.kwonlyargs]:
        one.annotation = None
    body.args.defaults, body.args.kw_defaults = [], [None for _ in body.args.kwonlyargs]
    outer = ast.FunctionDef(
        name="_triton_scope",
        args=ast.arguments(
            posonlyargs=[],
            args=[ast.arg(name) for name in {**helpers, **free}],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        ),
        body=[body],
        decorator_list=[],
    )
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(outer, body)], []))
    code = compile(module, function.__code__.co_filename, "exec")
    inner = _code_of(_code_of(code, "_triton_scope"), function.__name__)
    cells = {**{name: CellType(one) for name, one in helpers.items()}, **free}
    closure = tuple(cells[name] for name in inner.co_freevars)
    return FunctionType(inner, function.__globals__, function.__name__, function.__defaults__, closure)


def _code_of(code: CodeType, name: str) -> CodeType:
    return next(one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == name)


def _check_globals(function: FunctionType, definition: ast.FunctionDef | None) -> None:
    if definition is None:
        return
    own = {name for name in function.__code__.co_names if name in function.__globals__}
    for node in ast.walk(ast.Module(definition.body, [])):
        if not isinstance(node, ast.Name) or node.id not in own:
            continue
        value = function.__globals__[node.id]
        if isinstance(value, (bool, int, float, str, list, dict, set)) and not _is_constant(function, node.id):
            place = f"{show_path(function.__code__.co_filename)}:{node.lineno}"
            raise InputError(
                f"{place}: kernel {function.__name__} reads the global {node.id}, which is no constexpr; write "
                f"{node.id} = tl.constexpr({value!r}), or give it as an argument"
            )


def _is_constant(function: FunctionType, name: str) -> bool:
    """Whether a module-level line makes the global a `tl.constexpr`, or it came from another file."""
    tree = _source(function.__code__.co_filename)
    if tree is None:
        return True
    lines = [node for node in ast.walk(tree) if _assigns(node, name)]
    return not lines or any(_says_constexpr(node) for node in lines)


def _assigns(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name) and node.target.id == name
    return isinstance(node, ast.Assign) and any(
        isinstance(one, ast.Name) and one.id == name for target in node.targets for one in ast.walk(target)
    )


def _says_constexpr(node: ast.AST) -> bool:
    parts = [node.annotation, node.value] if isinstance(node, ast.AnnAssign) else [getattr(node, "value", None)]
    return any("constexpr" in ast.unparse(one) for one in parts if one is not None)
