"""The conditions of #if: constant expressions of C++ over integers."""

from __future__ import annotations

import operator
from collections.abc import Callable

from tree_sitter import Node

from kernbench.tanto.language.arithmetic import divide, remainder
from kernbench.tanto.language.syntax import children, field, parser, text

_MOST_CHARACTERS = 2000
_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": divide, "%": remainder, "&": lambda a, b: a & b,
    "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
    "<=": operator.le, ">=": operator.ge, "<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63),
    "&&": lambda a, b: bool(a) and bool(b), "||": lambda a, b: bool(a) or bool(b),
}  # fmt: skip
_UNARY: dict[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "!": operator.not_,
}


def evaluate(condition: str) -> int:
    """The value of a condition whose macros are expanded; other names are 0. Errors: ValueError, ZeroDivisionError."""
    if len(condition) > _MOST_CHARACTERS:
        raise ValueError(condition)
    root = parser().parse(f"int x = ({condition});".encode()).root_node
    if root.has_error or len(children(root)) != 1:
        raise ValueError(condition)
    return _value(field(field(children(root)[0], "declarator"), "value"))


def _value(node: Node) -> int:
    if node.type == "parenthesized_expression":
        return _value(children(node)[0])
    if node.type == "number_literal":
        digits = text(node).rstrip("uUlL").replace("'", "")
        octal = digits[:1] == "0" and digits.isdigit()
        return int(digits, 8 if octal else 0)
    if node.type in ("identifier", "true", "false"):
        return int(node.type == "true")
    if node.type == "unary_expression":
        return int(_UNARY[text(field(node, "operator"))](_value(field(node, "argument"))))
    if node.type == "binary_expression":
        return _binary(text(field(node, "operator")), field(node, "left"), field(node, "right"))
    if node.type == "conditional_expression":
        return _value(field(node, "consequence" if _value(field(node, "condition")) else "alternative"))
    raise ValueError(text(node))


def _binary(symbol: str, left: Node, right: Node) -> int:
    first = _value(left)
    if (symbol == "&&" and not first) or (symbol == "||" and first):
        return int(bool(first))
    if symbol not in _BINARY:
        raise ValueError(symbol)
    return int(_BINARY[symbol](first, _value(right)))
