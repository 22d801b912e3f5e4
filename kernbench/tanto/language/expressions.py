"""Translation of expressions to Python: every integer is kept in the range of its type, so arithmetic wraps as in C++."""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from kernbench.errors import suggest
from kernbench.tanto.language.macros import ELEMENT
from kernbench.tanto.language.operation_costs import product_cost, quotient_cost
from kernbench.tanto.language.scope import Function
from kernbench.tanto.language.source import Source
from kernbench.tanto.language.syntax import children, field, flat_sum, last_operand, spelled, text
from kernbench.tanto.language.type_names import TypeNames
from kernbench.tanto.language.types import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    UINT32,
    VOID,
    Array,
    Object,
    Scalar,
    Struct,
    Type,
    common,
    literal_type,
    promote,
    wrap,
)
from kernbench.tanto.language.values import Value, constant, converted, folded, rounded

_LITERAL = re.compile(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9'][0-9']*)([uUlL]*)$")
_COMPARE = ("==", "!=", "<", ">", "<=", ">=")
_CHANGES = re.compile(r":=|\bput\(|\bf_\w+\(")  # code that does more than compute
_PYTHON = {"&&": "and", "||": "or"}


class Expressions(TypeNames):
    """The expressions of one file, in the scopes that statements open and close; calls are of `Calls`."""

    def __init__(self, source: Source, element: Scalar) -> None:
        super().__init__(source, element)
        self.functions: dict[str, Function] = {}
        self.cost = 0  # operations of the processor since they were last counted
        self.acts = False  # whether the statement under translation calls something

    def number(self, node: Node, to: Scalar = UINT32) -> Value:
        """An expression as a scalar of a type."""
        return self.convert(self.expression(node), to, node)

    def truth(self, node: Node) -> str:
        """Code of a condition."""
        return self._truth(node).code

    def _truth(self, node: Node) -> Value:
        if node.type in ("condition_clause", "parenthesized_expression"):
            inner = children(node)
            if len(inner) != 1:
                raise self.error(node, "a condition is one expression")
            return self._truth(inner[0])
        found = self.expression(node)
        if not isinstance(found.type, Scalar) or found.type.kind == "void":
            raise self.error(node, f"got {found.type}, expected a number or a truth")
        return found

    def convert(self, value: Value, to: Scalar, node: Node) -> Value:
        """A value in another type. Errors: KernelSourceError for an object."""
        if not isinstance(value.type, Scalar) or (value.type.kind == "void") != (to.kind == "void"):
            raise self.error(node, f"got {value.type}, expected a number of type {to}")
        return value if to.kind == "void" else converted(value, value.type, to)

    def expression(self, node: Node) -> Value:
        """Any expression. Errors: KernelSourceError for one that the language lacks."""
        handler: Callable[[Node], Value] | None = getattr(self, f"x_{node.type}", None)
        if handler is None:
            if node.type == "ERROR" or node.is_missing:
                raise self.error(node, "this is no expression")
            raise self.error(node, f"the language has no {node.type.replace('_', ' ')}")
        return handler(node)

    def x_parenthesized_expression(self, node: Node) -> Value:
        inner = children(node)
        if len(inner) != 1:
            raise self.error(node, "expected one expression in parentheses")
        return self.expression(inner[0])

    def x_number_literal(self, node: Node) -> Value:
        literal = spelled(node, self.source.code)
        if literal[0].isalpha() or literal[0] == "_":
            return self.named(node, literal)
        if literal[0] in "+-":  # the parser takes a sign at the start of an expression as part of the number
            sign, rest = literal[0], self._number(node, literal[1:].strip())
            assert isinstance(rest.type, Scalar)
            return (
                rest
                if sign == "+"
                else constant(-(rest.const or 0), rest.type if rest.type.kind == "float" else promote(rest.type))
            )
        return self._number(node, literal)

    def _number(self, node: Node, literal: str) -> Value:
        if matched := _LITERAL.match(literal):
            digits, suffix = matched[1].replace("'", ""), matched[2].lower()
            prefix = digits[:2].lower()
            octal = len(digits) > 1 and digits[0] == "0" and prefix not in ("0x", "0b")
            try:
                value = int(digits, 8 if octal else 0)
            except ValueError:
                raise self.error(node, f"{literal} is no number") from None
            return constant(value, literal_type(value, suffix, decimal=not octal and prefix not in ("0x", "0b")))
        try:
            plain = literal.rstrip("fFlL") if "x" not in literal.lower() else literal.rstrip("lL")
            whole = float.fromhex(plain) if "x" in plain.lower() else float(plain)
            return constant(whole, FLOAT if literal[-1] in "fF" and "x" not in plain.lower() else DOUBLE)
        except ValueError:
            raise self.error(node, f"{literal} is no number") from None

    def x_true(self, _node: Node) -> Value:
        return Value("True", BOOL, True)

    def x_false(self, _node: Node) -> Value:
        return Value("False", BOOL, False)

    def x_char_literal(self, node: Node) -> Value:
        inner = text(node)[1:-1].encode().decode("unicode_escape")
        return constant(ord(inner[:1] or "\0"), INT)

    def x_identifier(self, node: Node) -> Value:
        return self.named(node, text(node))

    def named(self, node: Node, name: str) -> Value:
        """The value of a name. Errors: KernelSourceError for one that has none."""
        found = self.find(name)
        if found is not None:
            if found.value is not None and isinstance(found.type, Scalar):
                return constant(found.value, found.type)
            return Value(found.read, found.type)
        if name in self.functions:
            raise self.error(node, f"{name} is a function; call it")
        known = [name for scope in self.scopes for name in scope.names]
        if name.isupper() or name == ELEMENT:
            raise self.error(
                node, f"macro or name {name!r} is not defined{suggest(name, [*known, *self.source.macros])}"
            )
        raise self.error(node, f"unknown name {name!r}{suggest(name, known)}")

    def x_unary_expression(self, node: Node) -> Value:
        self.cost += 1
        return self.unary(node, text(field(node, "operator")), self.expression(field(node, "argument")))

    def unary(self, node: Node, operator: str, value: Value) -> Value:
        """An operation of one value."""
        if not isinstance(value.type, Scalar):
            raise self.error(node, f"{operator} of {value.type}; it takes a number")
        if operator in ("!", "not"):
            const = None if value.const is None else not value.const
            return Value(str(const) if const is not None else f"(not {value.code})", BOOL, const)
        kind = promote(value.type)
        value = self.convert(value, kind, node)
        if operator == "+":
            return value
        if operator == "-":
            if value.const is not None:
                return constant(-value.const, kind)
            return Value(
                f"(-{value.code})" if kind.kind == "float" or kind.signed else wrap(f"-{value.code}", kind), kind
            )
        if operator == "~" and kind.kind == "int":
            if value.const is not None:
                return constant(~int(value.const), kind)
            return Value(f"(~{value.code})" if kind.signed else f"({value.code} ^ {kind.mask})", kind)
        raise self.error(node, f"the language has no operator {operator} here")

    def x_binary_expression(self, node: Node) -> Value:
        operator = text(field(node, "operator"))
        left_node, right_node = field(node, "left"), field(node, "right")
        self.cost += 1
        if operator in ("&&", "||", "and", "or"):
            a, b = self._truth(left_node), self._truth(right_node)
            canonical = all(one.type == BOOL and one.canonical for one in (a, b))
            return Value(f"({a.code} {_PYTHON.get(operator, operator)} {b.code})", BOOL, canonical=canonical)
        if operator in ("-", "+") and self.type_in_parentheses(last_operand(left_node)) is not None:
            return self._with_signed_casts(node)
        return self.binary(node, operator, self.expression(left_node), self.expression(right_node))

    def _with_signed_casts(self, node: Node) -> Value:
        """The value of sums such as `a + (uint32)-x * y`, which the parser takes for `(a + (uint32)) - (x * y)`."""
        operators, values = list[str](), list[Value]()
        operands, between = flat_sum(node)
        while operands:
            operand = operands.pop(0)
            to = self.type_in_parentheses(operand) if between and between[0] in "+-" else None
            if to is not None:
                sign, operand = between.pop(0), operands.pop(0)
                values.append(self.convert(self.unary(node, sign, self.expression(operand)), to, node))
            else:
                values.append(self.expression(operand))
            if len(operators) and operators[-1] in "*/%":
                right, left = values.pop(), values.pop()
                values.append(self.binary(node, operators.pop(), left, right))
            operators += between[:1]
            del between[:1]
        found = values[0]
        for operator, value in zip(operators, values[1:], strict=True):
            found = self.binary(node, operator, found, value)
        self.cost += len(values)
        return found

    def binary(self, node: Node, operator: str, left: Value, right: Value) -> Value:
        """An arithmetic or comparing operation of two values."""
        if not isinstance(left.type, Scalar) or not isinstance(right.type, Scalar):
            raise self.error(node, f"{left.type} {operator} {right.type}; both sides must be numbers")
        if operator in ("<<", ">>"):
            return self._shift(node, operator, left, right)
        kind = common(left.type, right.type)
        left, right = self.convert(left, kind, node), self.convert(right, kind, node)
        if operator in _COMPARE:
            found = Value(f"({left.code} {operator} {right.code})", BOOL)
        elif kind.kind == "float":
            if operator not in "+-*/":
                raise self.error(node, f"{operator} of a float; it takes integers")
            plain = (
                f"quotient({left.code}, {right.code})" if operator == "/" else f"({left.code} {operator} {right.code})"
            )
            found = Value(rounded(plain, kind), kind)
        elif operator in ("/", "%"):
            found = self._divide(operator, left, right, kind)
        elif operator in ("&", "|", "^"):
            found = Value(f"({left.code} {operator} {right.code})", kind)
        elif operator in ("+", "-", "*"):
            self.cost += product_cost(left.const, right.const) if operator == "*" else 0
            residue = f"({left.residue or left.code} {operator} {right.residue or right.code})"
            found = Value(wrap(residue[1:-1], kind), kind, residue=residue)
        else:
            raise self.error(node, f"the language has no operator {operator}")
        if left.const is not None and right.const is not None and isinstance(found.type, Scalar):
            return self._fold(node, found)
        return found

    def _fold(self, node: Node, value: Value) -> Value:
        assert isinstance(value.type, Scalar)
        try:
            return folded(value.code, value.type)
        except (ZeroDivisionError, OverflowError):
            raise self.error(node, "division by zero") from None

    def _divide(self, operator: str, left: Value, right: Value, kind: Scalar) -> Value:
        self.cost += quotient_cost(right.const, remainder=operator == "%")
        if kind.signed:
            return Value(f"{'divide' if operator == '/' else 'remainder'}({left.code}, {right.code})", kind)
        return Value(f"({left.code} {'//' if operator == '/' else '%'} {right.code})", kind)

    def _shift(self, node: Node, operator: str, left: Value, right: Value) -> Value:
        assert isinstance(left.type, Scalar)
        if left.type.kind == "float":
            raise self.error(node, f"{operator} of a float; it takes integers")
        kind = promote(left.type)
        left, right = self.convert(left, kind, node), self.convert(right, UINT32, node)
        count = str(int(right.const) % kind.bits) if right.const is not None else f"({right.code} & {kind.bits - 1})"
        code = f"{left.code} {operator} {count}"
        found = Value(wrap(code, kind) if operator == "<<" else f"({code})", kind)
        return self._fold(node, found) if left.const is not None and right.const is not None else found

    def x_conditional_expression(self, node: Node) -> Value:
        condition = self.truth(field(node, "condition"))
        if node.child_by_field_name("consequence") is None:
            raise self.error(node, "there is no value between ? and :")
        yes, no = (self.expression(field(node, name)) for name in ("consequence", "alternative"))
        self.cost += 2
        if isinstance(yes.type, Object) and yes.type == no.type:
            return Value(f"({yes.code} if {condition} else {no.code})", yes.type)
        if not isinstance(yes.type, Scalar) or not isinstance(no.type, Scalar):
            raise self.error(node, f"got {yes.type} and {no.type}; both sides of ?: must be of one kind")
        kind = yes.type if yes.type == no.type else common(yes.type, no.type)
        yes, no = self.convert(yes, kind, node), self.convert(no, kind, node)
        return Value(f"({yes.code} if {condition} else {no.code})", kind)

    def x_cast_expression(self, node: Node) -> Value:
        if text(field(node, "type")) == "void":
            return Value(self.expression(field(node, "value")).code, VOID)
        return self.number(field(node, "value"), self.scalar_type(field(node, "type")))

    def x_compound_literal_expression(self, node: Node) -> Value:  # uint32{x}
        inner = children(field(node, "value"))
        if len(inner) > 1:
            raise self.error(node, f"expected one value, got {len(inner)}")
        to = self.scalar_type(field(node, "type"))
        return self.number(inner[0], to) if inner else constant(0, to)

    def x_subscript_expression(self, node: Node) -> Value:
        array, indices = self.expression(field(node, "argument")), children(field(node, "indices"))
        if not isinstance(array.type, Array) or len(indices) != 1:
            raise self.error(node, f"{array.type} has no elements to index; use its methods")
        self.cost += 2
        index = self.number(indices[0])
        if index.const is not None and index.const >= array.type.length:
            raise self.error(node, f"index {index.const} of an array of {array.type.length}")
        return Value(f"{array.code}[{index.code}]", array.type.element)

    def x_field_expression(self, node: Node) -> Value:
        owner, name = self.expression(field(node, "argument")), text(field(node, "field"))
        at = owner.type.index(name) if isinstance(owner.type, Struct) else None
        if at is None or not isinstance(owner.type, Struct):
            raise self.error(node, f"{owner.type} has no field {name!r}")
        return Value(f"{owner.code}[{at}]", owner.type.fields[at][1])

    def x_type_identifier(self, node: Node) -> Value:  # as the parser takes q in `uint32 p(q)`
        return self.x_identifier(node)

    def x_qualified_identifier(self, node: Node) -> Value:
        return self.expression(field(node, "name"))

    def x_sizeof_expression(self, node: Node) -> Value:
        named = node.child_by_field_name("type")
        kind = self.type_of(named) if named is not None else self._sized(field(node, "value"))
        if not isinstance(kind, Scalar) or not kind.bits:
            raise self.error(node, f"{kind} has no size here; sizeof takes a scalar")
        return constant(kind.bits // 8, UINT32)

    def _sized(self, node: Node) -> Type:
        while node.type == "parenthesized_expression":
            node = children(node)[0]
        name = text(node)
        return self.element if name == ELEMENT else self.types.get(name) or self.expression(node).type

    def x_comma_expression(self, node: Node) -> Value:
        left, right = (self.expression(field(node, side)) for side in ("left", "right"))
        return Value(f"({left.code}, {right.code})[1]", right.type)

    def x_assignment_expression(self, node: Node) -> Value:
        target, value = self.assigned(node)
        return self._store(target, value)

    def x_update_expression(self, node: Node) -> Value:
        target, value = self.updated(node)
        stored = self._store(target, value)
        if node.children[0].type in ("++", "--"):
            return stored
        assert isinstance(target.type, Scalar)
        back = "-" if "++" in text(node) else "+"
        before = self.binary(node, back, Value(stored.code, target.type), constant(1, INT))
        return self.convert(before, target.type, node)

    def _store(self, target: Value, value: Value) -> Value:
        if target.code.endswith("]"):
            owner, index = _last_index(target.code)
            return Value(f"put({owner}, {index}, {value.code})", target.type)
        return Value(f"({target.code} := {value.code})", target.type)

    def assigned(self, node: Node) -> tuple[Value, Value]:
        """The target of an assignment, and the value that it gets."""
        operator = text(field(node, "operator"))
        target = self._target(field(node, "left"))
        value = self.expression(field(node, "right"))
        self.cost += 1
        if not isinstance(target.type, Scalar):
            is_math = isinstance(target.type, Object) and target.type.kind == "math"
            if is_math or operator != "=" or value.type != target.type or isinstance(target.type, Array):
                raise self.error(node, f"{target.type} {operator} {value.type}; only a value of the same type fits")
            return target, copied(value)
        if operator != "=":
            if _CHANGES.search(target.code):
                raise self.error(node, f"{operator} of an element whose index changes something; use two statements")
            value = self.binary(node, operator[:-1], target, value)
        return target, self.convert(value, target.type, node)

    def updated(self, node: Node) -> tuple[Value, Value]:
        """The target of ++ or --, and the value that it gets."""
        target = self._target(field(node, "argument"))
        if not isinstance(target.type, Scalar):
            raise self.error(node, f"{text(node)}: {target.type} is no number")
        self.cost += 1
        sign = "+" if "++" in text(node) else "-"
        return target, self.convert(self.binary(node, sign, target, constant(1, INT)), target.type, node)

    def _target(self, node: Node) -> Value:
        while node.type == "parenthesized_expression":
            node = children(node)[0]
        if node.type == "identifier":
            name = text(node)
            found = self.find(name)
            if found is None:
                return self.expression(node)  # raises
            if found.constant:
                raise self.error(node, f"{name} is a constant and cannot be changed")
            return Value(found.read, found.type)
        if node.type == "subscript_expression":
            owner = field(node, "argument")
            if owner.type == "identifier" and (found := self.find(text(owner))) and found.constant:
                raise self.error(node, f"{text(owner)} is a constant and cannot be changed")
            return self.expression(node)
        if node.type == "field_expression":
            self._target(field(node, "argument"))
            return self.expression(node)
        raise self.error(node, "this cannot be assigned to")


def copied(value: Value) -> Value:
    """A value that shares nothing with the one it comes from: structures and arrays are copied."""
    return Value(f"duplicate({value.code})", value.type) if isinstance(value.type, Struct | Array) else value


def _last_index(code: str) -> tuple[str, str]:
    """The code before the last index, and of the index."""
    depth = 0
    for at in range(len(code) - 1, -1, -1):
        depth += {"]": 1, "[": -1}.get(code[at], 0)
        if depth == 0:
            return code[:at], code[at + 1 : -1]
    return code, ""
