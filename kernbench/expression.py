"""Expressions over parameter names: arithmetic, comparison and `cdiv(a, b)`, a quotient rounded up; nothing else.

The text is parsed by Python's own parser and lowered, node by node, from a short list of what is allowed, to closures;
whatever is not on the list is refused with its text. Nothing is ever given to `eval`, and the few operators whose cost
is unbounded (powers, repeated strings) are bounded, so a grid file from a stranger can do no harm.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from typing import Any

from kernbench.python_text import parse_expression

Names = Mapping[str, Any]
Lowered = Callable[[Names], Any]

MOST_BASE, MOST_EXPONENT = 2**64, 64


def _number(value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    raise ValueError(f"{value!r} is not a number")


def _power(base: Any, exponent: Any) -> Any:
    if abs(exponent) > MOST_EXPONENT or abs(base) > MOST_BASE:
        raise ValueError(f"{base} ** {exponent} is too large a power")
    return base**exponent


ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}

COMPARISON: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda value, among: value in among,
    ast.NotIn: lambda value, among: value not in among,
}


class Expression:
    """A checked expression; `names` are the names it reads, `evaluate(names)` its value for one point."""

    __slots__ = ("_lowered", "names", "text")

    def __init__(self, text: str) -> None:
        """Errors: ValueError, one sentence without a place."""
        self.text = text.strip()
        self.names: set[str] = set()
        try:
            self._lowered = self._lower(parse_expression(self.text))
        except (SyntaxError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else "nested too deep"
            raise ValueError(f"{self.text!r} is not an expression ({reason})") from None

    def evaluate(self, names: Names) -> Any:
        """The value. Errors: ValueError when it has none, such as a division by zero."""
        try:
            return self._lowered(names)
        except (ArithmeticError, TypeError, ValueError) as error:
            values = ", ".join(f"{name} = {names[name]!r}" for name in sorted(self.names)) or "no names"
            raise ValueError(f"{self.text!r} cannot be evaluated with {values} ({error})") from None

    def figure(self, names: Names) -> bool | int | float:
        """The value as a number or a truth. Errors: ValueError when it is neither, or infinite."""
        value = self.evaluate(names)
        with suppress(OverflowError):  # an integer beyond all floats
            if isinstance(value, int | float) and math.isfinite(value):
                return value
        raise ValueError(f"{self.text!r} is {value!r}, not a number")

    def is_truth(self, truths: Set[str]) -> bool:
        """Whether the value, if there is one, is true or false, where these names are."""
        return _is_truth(parse_expression(self.text), truths)

    def _lower(self, node: ast.expr) -> Lowered:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return lambda _: value
            case ast.Name() | ast.Attribute():
                return self._lower_name(node)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
                return _binary(ARITHMETIC[type(op)], self._lower(left), self._lower(right))
            case ast.Call(func=ast.Name(id="cdiv"), args=[left, right], keywords=[]):
                return _binary(lambda a, b: -(-a // b), self._lower(left), self._lower(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value_of = self._lower(operand)
                return lambda names: -_number(value_of(names))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                truth_of = self._lower(operand)
                return lambda names: not truth_of(names)
            case ast.BoolOp(op=op, values=values):
                return _junction(isinstance(op, ast.And), [self._lower(value) for value in values])
            case ast.Compare(left=left, ops=ops, comparators=rights):
                return self._lower_comparison(left, ops, rights)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                members = [self._lower(item) for item in items]
                return lambda names: [member(names) for member in members]
            case _:
                raise ValueError(
                    f"{ast.unparse(node)!r} is not allowed in {self.text!r}; use parameter names, numbers, + - * / // % ** "
                    "cdiv(), comparisons, in, and, or, not"
                )

    def _lower_name(self, node: ast.expr) -> Lowered:
        name = ast.unparse(node)
        if not all(part.isidentifier() for part in name.split(".")):
            raise ValueError(f"{name!r} is not a parameter's name in {self.text!r}")
        self.names.add(name)
        return lambda names: names[name]

    def _lower_comparison(self, left: ast.expr, ops: list[ast.cmpop], rights: list[ast.expr]) -> Lowered:
        if any(type(op) not in COMPARISON for op in ops):
            raise ValueError(f"'is' is not allowed in {self.text!r}; use ==")
        steps = [(COMPARISON[type(op)], self._lower(right)) for op, right in zip(ops, rights, strict=True)]
        first = self._lower(left)

        def compare(names: Names) -> bool:
            value = first(names)
            for holds, right in steps:
                other = right(names)
                if not holds(value, other):
                    return False
                value = other
            return True

        return compare


class Condition(Expression):
    """An expression that is true or false."""

    __slots__ = ()

    def holds(self, names: Names) -> bool:
        """Whether it is true. Errors: ValueError when it has no truth, such as a division by zero."""
        result = self.evaluate(names)
        if not isinstance(result, bool):
            raise ValueError(f"{self.text!r} is {result!r}, neither true nor false; compare it with something")
        return result


def _binary(apply: Callable[[Any, Any], Any], left: Lowered, right: Lowered) -> Lowered:
    return lambda names: apply(_number(left(names)), _number(right(names)))


def _junction(every: bool, parts: list[Lowered]) -> Lowered:
    decide = all if every else any
    return lambda names: decide(part(names) for part in parts)


def _is_truth(node: ast.expr, truths: Set[str]) -> bool:
    match node:
        case ast.Constant(value=bool()) | ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Name() | ast.Attribute():
            return ast.unparse(node) in truths
        case _:
            return False
