"""Interval arithmetic: expressions over columns of which only bounds are known.

The value of each operation lies between the ends of its interval, at each point. Where nothing can be said (a text,
a division by what may be 0, a remainder) the ends are infinite: unknown is never taken for known. Truths are 0 and 1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from kernbench.expression import Expression
from kernbench.python_text import parse_expression

_SLACK = 1e-12  # of powers, which are not rounded the same way everywhere


class Interval(NamedTuple):
    """Ends, float64[point] each."""

    low: np.ndarray
    high: np.ndarray


def unknown(count: int) -> Interval:
    """Anything at all."""
    return Interval(np.full(count, -np.inf), np.full(count, np.inf))


def find_interval(expression: Expression, columns: Mapping[str, Interval], count: int) -> Interval:
    """The interval of an expression at each of `count` points; names without a column are unknown."""
    with np.errstate(all="ignore"):
        found = _Evaluator(columns, count).value(parse_expression(expression.text))
    lost = np.isnan(found.low) | np.isnan(found.high)
    return Interval(np.where(lost, -np.inf, found.low), np.where(lost, np.inf, found.high))


class _Evaluator:
    def __init__(self, columns: Mapping[str, Interval], count: int) -> None:
        self._columns = columns
        self._count = count

    def value(self, node: ast.expr) -> Interval:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return Interval(np.full(self._count, float(value)), np.full(self._count, float(value)))
            case ast.Name() | ast.Attribute():
                return self._columns.get(ast.unparse(node), unknown(self._count))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                of = self.value(operand)
                return Interval(-of.high, -of.low)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                of = self._truth(operand)
                return Interval(1 - of.high, 1 - of.low)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self.value(left), self.value(right))
            case ast.BoolOp(op=op, values=values):
                parts = [self._truth(value) for value in values]
                join = np.minimum.reduce if isinstance(op, ast.And) else np.maximum.reduce
                return Interval(join([part.low for part in parts]), join([part.high for part in parts]))
            case ast.Compare(left=left, ops=ops, comparators=rights):
                return self._compare(left, ops, rights)
            case _:
                return unknown(self._count)

    def _truth(self, node: ast.expr) -> Interval:
        of = self.value(node)
        return Interval(np.clip(of.low, 0, 1), np.clip(of.high, 0, 1))

    def _binary(self, op: ast.operator, a: Interval, b: Interval) -> Interval:
        match op:
            case ast.Add():
                return Interval(a.low + b.low, a.high + b.high)
            case ast.Sub():
                return Interval(a.low - b.high, a.high - b.low)
            case ast.Mult():
                return _ends(_times(x, y) for x in a for y in b)
            case ast.Div():
                found = _ends(x / y for x in a for y in b)
                through_zero = (b.low <= 0) & (b.high >= 0)
                return _where(through_zero, unknown(self._count), found)
            case ast.Pow():
                found = _ends(x**y for x in a for y in b)
                slack = _SLACK * np.maximum(abs(found.low), abs(found.high))
                wide = Interval(found.low - slack, found.high + slack)
                return _where(a.low > 0, wide, unknown(self._count))
            case _:
                return unknown(self._count)

    def _compare(self, left: ast.expr, ops: list[ast.cmpop], rights: list[ast.expr]) -> Interval:
        low, high, a = np.ones(self._count), np.ones(self._count), self.value(left)
        for op, right in zip(ops, rights, strict=True):
            b = self.value(right)
            sure, possible = _decide(op, a, b)
            low, high, a = np.minimum(low, sure), np.minimum(high, possible), b
        return Interval(low, high)


def _decide(op: ast.cmpop, a: Interval, b: Interval) -> tuple[np.ndarray | float, np.ndarray | float]:
    """Whether a comparison surely holds, and whether it may."""
    match op:
        case ast.Lt():
            return a.high < b.low, a.low < b.high
        case ast.LtE():
            return a.high <= b.low, a.low <= b.high
        case ast.Gt():
            return a.low > b.high, a.high > b.low
        case ast.GtE():
            return a.low >= b.high, a.high >= b.low
        case ast.Eq() | ast.NotEq():
            same = (a.low == a.high) & (b.low == b.high) & (a.low == b.low)
            apart = (a.high < b.low) | (b.high < a.low)
            return (same, ~apart) if isinstance(op, ast.Eq) else (apart, ~same)
        case _:
            return 0.0, 1.0


def _times(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where((x == 0) | (y == 0), 0.0, x * y)  # nothing of anything, however much that may be


def _ends(values: Iterable[np.ndarray]) -> Interval:
    found = list(values)
    return Interval(np.minimum.reduce(found), np.maximum.reduce(found))


def _where(which: np.ndarray, a: Interval, b: Interval) -> Interval:
    return Interval(np.where(which, a.low, b.low), np.where(which, a.high, b.high))
