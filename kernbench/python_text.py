"""What a Python file says in its text, read and not run: docstrings, constants, and how other values are written."""

from __future__ import annotations

import ast
import operator
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernbench.errors import InputError, error_text
from kernbench.library import show_path

_PARSER = threading.RLock()
_DEPTH = 50  # of names that stand for names
_MOST = 1 << 63
_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.BitOr: operator.or_, ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Not: operator.not_,
}  # fmt: skip


class Written(str):
    """An expression as it is written, whose value only running the file gives."""

    __slots__ = ()


class _UnknownError(Exception):
    """A value that the text does not give."""


@dataclass(frozen=True, slots=True)
class PythonText:
    """A parsed file, with what each name of its module is assigned, if that is done once and at its top."""

    path: Path
    tree: ast.Module
    constants: Mapping[str, ast.expr]

    @property
    def doc(self) -> str:
        """The docstring of the module."""
        return ast.get_docstring(self.tree) or ""

    def value(self, node: ast.expr | None) -> Any:
        """The value of an expression: numbers, texts, truths, and tuples, lists and mappings of these; `Written` otherwise.

        In a list, a tuple or the values of a mapping, each that is not known is `Written` by itself.
        """
        if node is None:
            return None
        try:
            return self._evaluate(node, 0)
        except _UnknownError:
            return Written(ast.unparse(node))

    def value_of(self, name: str) -> Any:
        """The value of a name of the module; None if it is not assigned once at its top."""
        return self.value(self.constants.get(name))

    def _evaluate(self, node: ast.expr, depth: int) -> Any:
        if depth > _DEPTH:
            raise _UnknownError
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and node.id in self.constants:
            return self._evaluate(self.constants[node.id], depth + 1)
        if isinstance(node, ast.Tuple | ast.List):
            found = [one for element in node.elts for one in self._elements(element, depth)]
            return tuple(found) if isinstance(node, ast.Tuple) else found
        if isinstance(node, ast.Dict) and None not in node.keys:
            keys = [self._evaluate(key, depth + 1) for key in node.keys if key is not None]
            return dict(zip(keys, map(self.value, node.values), strict=True))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
            made = {"tuple": tuple, "list": list, "sorted": sorted}.get(node.func.id)
            held = self._evaluate(node.args[0], depth + 1)
            if made is not None and isinstance(held, tuple | list | dict) and Written not in map(type, held):
                return made(held)
        return self._compute(node, depth)

    def _elements(self, node: ast.expr, depth: int) -> Iterator[Any]:
        if isinstance(node, ast.Starred):
            held = self._evaluate(node.value, depth + 1)
            if not isinstance(held, tuple | list | dict):
                raise _UnknownError
            yield from held
        else:
            yield self.value(node)

    def _compute(self, node: ast.expr, depth: int) -> Any:
        """The value of plain arithmetic on numbers, which cannot become large."""
        given = [node.left, node.right] if isinstance(node, ast.BinOp) else []
        given = [node.operand] if isinstance(node, ast.UnaryOp) else given
        compute = _OPERATORS.get(type(node.op)) if isinstance(node, ast.BinOp | ast.UnaryOp) else None
        values = [self._evaluate(one, depth + 1) for one in given]
        if compute is None or not all(isinstance(one, int | float) and abs(one) < _MOST for one in values):
            raise _UnknownError
        if compute is operator.lshift and not 0 <= values[1] < 63:
            raise _UnknownError
        try:
            return compute(*values)
        except (ArithmeticError, TypeError, ValueError):
            raise _UnknownError from None


def parse_python(text: str | bytes, file: str = "<text>") -> ast.Module:
    """The syntax of a text, one thread at a time. Errors: those of `ast.parse`.

    Python 3.11 counts the depth of a tree under construction for all threads together, and fails where two of them parse.
    """
    with _PARSER:
        return ast.parse(text, file)


def parse_expression(text: str) -> ast.expr:
    """The syntax of an expression, as `parse_python`."""
    with _PARSER:
        return ast.parse(text, mode="eval").body


def read_docstring(path: Path) -> str:
    """The docstring of a file; "" without one. Errors: InputError for one that cannot be read or is no Python."""
    try:
        return ast.get_docstring(parse_python(path.read_bytes())) or ""
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"{show_path(path)}: cannot be read as Python: {error}") from None


def read_python(path: Path, what: str) -> PythonText:
    """The text of a file, which `what` calls in messages.

    Errors: InputError for one that cannot be read or is no Python, in the words of `user_modules.execute`.
    """
    try:
        tree = parse_python(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(f"cannot read {what} {show_path(path)}: {error.strerror}") from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise InputError(f"{show_path(path)}{line}: {error_text(error)}; the {what} does not load") from None
    found: dict[str, list[ast.expr]] = {}
    for node in tree.body:
        for name, value in _assigned(node):
            found.setdefault(name, []).append(value)
    return PythonText(path, tree, {name: values[0] for name, values in found.items() if len(values) == 1})


def _assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement assigns, with the expressions."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id, node.value
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield from [(node.target.id, node.value)] * 2  # assigned again: not what it was before
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        if isinstance(target, ast.Name):
            yield target.id, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for name, value in zip(target.elts, node.value.elts, strict=False):
                if isinstance(name, ast.Name):
                    yield name.id, value
