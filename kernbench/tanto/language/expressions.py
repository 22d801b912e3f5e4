"""Translation of expressions to Python: every integer is kept in the range of its type, so arithmetic wraps as in C++."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from kernbench.errors import suggest
from kernbench.tanto.language.methods import DATAFLOW_FUNCTIONS, FUNCTIONS, METHODS, READS_DATA, Method
from kernbench.tanto.language.scope import Function, Scope, Use, Variable
from kernbench.tanto.language.source import Source
from kernbench.tanto.language.types import (
    BOOL,
    FLOAT,
    INT,
    INT64,
    SCALARS,
    UINT32,
    UINT64,
    Array,
    Object,
    Scalar,
    Type,
    common,
    promote,
    wrap,
    wrap_value,
)

_LITERAL = re.compile(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9'][0-9']*)([uUlL]*)$")
_COMPARE = ("==", "!=", "<", ">", "<=", ">=")
_PYTHON = {"&&": "and", "||": "or"}
_CASTS = ("static_cast", "reinterpret_cast")


@cache
def parser() -> Any:
    """The parser of C++."""
    import tree_sitter_cpp
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cpp.language()))


@dataclass(slots=True)
class Value:
    """Code of an expression and its type; `const` is its value where that is known."""

    code: str
    type: Type
    const: int | float | None = None
    canonical: bool = True  # False: a truth that may be any Python value


def text(node: Any) -> str:
    """The source text of a node."""
    return node.text.decode()


def children(node: Any) -> list[Any]:
    """The named children of a node but for comments."""
    return [child for child in node.named_children if child.type != "comment"]


class Expressions:
    """The expressions of one file, in the scopes that statements open and close."""

    def __init__(self, source: Source, element: Scalar) -> None:
        self.source: Any = source  # a `Source`, or while a macro is translated the place of its use
        self.element = element
        self.types: dict[str, Scalar] = dict(SCALARS)
        self.functions: dict[str, Function] = {}
        self.scopes: list[Scope] = [Scope("global")]
        self.uses: list[Use] = []
        self.cost = 0  # operations of the processor since they were last counted
        self.acts = False  # whether the statement under translation calls something
        self.expanding: list[str] = []  # macros
        self._known_uses: set[tuple[str, str, str]] = set()

    def error(self, node: Any, message: str) -> Exception:
        """The error at a node."""
        return self.source.error_at(node, message)

    def find(self, name: str) -> Variable | None:
        """The variable of a name, in the innermost scope that has it."""
        for scope in reversed(self.scopes):
            if name in scope.names:
                return scope.names[name]
        return None

    # Types

    def scalar_type(self, node: Any) -> Scalar:
        """The scalar that a type node names. Errors: KernelSourceError for an unknown type."""
        found = self.type_of(node)
        if not isinstance(found, Scalar):
            raise self.error(node, f"got {found}, expected a scalar type")
        return found

    def type_of(self, node: Any) -> Type:
        """The type that a node names. Errors: KernelSourceError for an unknown type."""
        if node.type == "type_descriptor":
            return self.type_of(node.child_by_field_name("type"))
        if node.type == "template_type":
            return self._template_type(node)
        name = " ".join(text(node).split())
        if node.type == "sized_type_specifier":
            name = " ".join(word for word in name.split() if word != "int") if len(name.split()) > 1 else name
            name = name.removeprefix("signed ")
        if name == "semaphore":
            return Object("semaphore")
        for _ in range(8):
            if name in self.types:
                return self.types[name]
            if name not in self.source.macros:
                break
            name = self.source.macros[name].text
        if name == "T":
            return self.element
        known = [*self.types, "semaphore", "global<T>", "local<T>", "pipe<T>", "math<T>", "param<T>"]
        raise self.error(node, f"unknown type {name!r}{suggest(name, known)}")

    def _template_type(self, node: Any) -> Type:
        name, arguments = text(node.child_by_field_name("name")), children(node.child_by_field_name("arguments"))
        if name not in ("global", "local", "pipe", "math", "param"):
            raise self.error(
                node, f"unknown type {name!r}{suggest(name, ('global', 'local', 'pipe', 'math', 'param'))}"
            )
        if len(arguments) != 1 or arguments[0].type != "type_descriptor":
            raise self.error(node, f"{name} takes one type, as in {name}<T>")
        return Object(name, self.scalar_type(arguments[0]))

    # Expressions

    def number(self, node: Any, to: Scalar = UINT32) -> Value:
        """An expression as a scalar of a type."""
        return self.convert(self.expression(node), to, node)

    def truth(self, node: Any) -> str:
        """Code of a condition."""
        if node.type in ("condition_clause", "parenthesized_expression"):
            inner = children(node)
            if len(inner) != 1:
                raise self.error(node, "a condition is one expression")
            return self.truth(inner[0])
        found = self.expression(node)
        if not isinstance(found.type, Scalar):
            raise self.error(node, f"got {found.type}, expected a number or a truth")
        return found.code

    def convert(self, value: Value, to: Scalar, node: Any) -> Value:
        """A value in another type. Errors: KernelSourceError for an object."""
        own = value.type
        if not isinstance(own, Scalar) or own.kind == "void":
            raise self.error(node, f"got {own}, expected a number of type {to}")
        if own == to and value.canonical:
            return value
        if value.const is not None:
            return self._constant(value.const, to)
        if to.kind == "float":
            return Value(value.code if own.kind == "float" else f"float({value.code})", to)
        if to.kind == "bool":
            return Value(f"bool({value.code})", to)
        if own.kind == "bool":
            return Value(f"(1 if {value.code} else 0)", to)
        if own.kind == "float":
            return Value(wrap(f"int({value.code})", to), to)
        fits = (own.bits < to.bits and (to.signed or not own.signed)) or (
            own.bits == to.bits and own.signed == to.signed
        )
        return Value(value.code if fits else wrap(value.code, to), to)

    def _constant(self, value: int | float, to: Scalar) -> Value:
        if to.kind == "float":
            return Value(repr(float(value)), to, float(value))
        if to.kind == "bool":
            return Value(str(bool(value)), to, bool(value))
        whole = wrap_value(int(value), to)
        return Value(str(whole) if whole >= 0 else f"({whole})", to, whole)

    def expression(self, node: Any) -> Value:
        """Any expression. Errors: KernelSourceError for one that the language lacks."""
        handler = getattr(self, f"_x_{node.type}", None)
        if handler is None:
            if node.type == "ERROR" or node.is_missing:
                raise self.error(node, "this is no expression")
            raise self.error(node, f"the language has no {node.type.replace('_', ' ')}")
        return handler(node)

    def _x_parenthesized_expression(self, node: Any) -> Value:
        inner = children(node)
        if len(inner) != 1:
            raise self.error(node, "expected one expression in parentheses")
        return self.expression(inner[0])

    def _x_number_literal(self, node: Any) -> Value:
        literal = text(node)
        if literal[0] in "+-":  # the parser takes a sign at the start of an expression as part of the number
            sign, rest = literal[0], self._number(node, literal[1:].strip())
            assert isinstance(rest.type, Scalar)
            return (
                rest
                if sign == "+"
                else self._constant(-(rest.const or 0), rest.type if rest.type.kind == "float" else promote(rest.type))
            )
        return self._number(node, literal)

    def _number(self, node: Any, literal: str) -> Value:
        if matched := _LITERAL.match(literal):
            digits, suffix = matched[1].replace("'", ""), matched[2].lower()
            prefix = digits[:2].lower()
            octal = len(digits) > 1 and digits[0] == "0" and prefix not in ("0x", "0b")
            try:
                value = int(digits, 8 if octal else 0)
            except ValueError:
                raise self.error(node, f"{literal} is no number") from None
            return self._constant(value, _literal_type(value, suffix, decimal=not octal and prefix not in ("0x", "0b")))
        try:
            return self._constant(
                float.fromhex(literal) if "x" in literal.lower() else float(literal.rstrip("fFlL")), FLOAT
            )
        except ValueError:
            raise self.error(node, f"{literal} is no number") from None

    def _x_true(self, _node: Any) -> Value:
        return Value("True", BOOL, True)

    def _x_false(self, _node: Any) -> Value:
        return Value("False", BOOL, False)

    def _x_char_literal(self, node: Any) -> Value:
        inner = text(node)[1:-1].encode().decode("unicode_escape")
        return self._constant(ord(inner[:1] or "\0"), INT)

    def _x_identifier(self, node: Any) -> Value:
        name = text(node)
        found = self.find(name)
        if found is not None:
            if found.value is not None and isinstance(found.type, Scalar):
                return self._constant(found.value, found.type)
            return Value(found.read, found.type)
        if name in self.source.macros and self.source.macros[name].parameters is None:
            return self._expand(node, name, self.source.macros[name].text)
        if name in self.functions:
            raise self.error(node, f"{name} is a function; call it")
        known = [name for scope in self.scopes for name in scope.names]
        if name.isupper() or name == "T":
            raise self.error(
                node, f"macro or name {name!r} is not defined{suggest(name, [*known, *self.source.macros])}"
            )
        raise self.error(node, f"unknown name {name!r}{suggest(name, known)}")

    def _expand(self, node: Any, name: str, body: str) -> Value:
        """A macro's text as an expression at the place of its use."""
        if name in self.expanding:
            raise self.error(node, f"macro {name} stands for itself")
        tree = parser().parse(f"void f() {{ x = ({body}); }}".encode())
        if tree.root_node.has_error:
            raise self.error(node, f"macro {name} is {body!r}, which is no expression")
        inner = tree.root_node.children[0].child_by_field_name("body").named_children[0].named_children[0]
        outer, self.source = self.source, _At(self.source, node)
        self.expanding.append(name)
        try:
            return self.expression(inner.child_by_field_name("right"))
        finally:
            self.source = outer
            self.expanding.pop()

    def _x_unary_expression(self, node: Any) -> Value:
        operator, value = (
            text(node.child_by_field_name("operator")),
            self.expression(node.child_by_field_name("argument")),
        )
        self.cost += 1
        if not isinstance(value.type, Scalar):
            raise self.error(node, f"{operator} of {value.type}; it takes a number")
        if operator in ("!", "not"):
            const = None if value.const is None else not value.const
            return Value(str(const) if const is not None else f"(not {value.code})", BOOL, const)
        kind = promote(value.type) if value.type.kind != "float" else FLOAT
        value = self.convert(value, kind, node)
        if operator == "+":
            return value
        if operator == "-":
            if value.const is not None:
                return self._constant(-value.const, kind)
            return Value(
                f"(-{value.code})" if kind.kind == "float" or kind.signed else wrap(f"-{value.code}", kind), kind
            )
        if operator == "~" and kind.kind == "int":
            if value.const is not None:
                return self._constant(~int(value.const), kind)
            return Value(f"(~{value.code})" if kind.signed else f"({value.code} ^ {kind.mask})", kind)
        raise self.error(node, f"the language has no operator {operator} here")

    def _x_binary_expression(self, node: Any) -> Value:
        operator = text(node.child_by_field_name("operator"))
        left_node, right_node = node.child_by_field_name("left"), node.child_by_field_name("right")
        self.cost += 1
        if operator in ("&&", "||", "and", "or"):
            a, b = self.truth(left_node), self.truth(right_node)
            return Value(f"({a} {_PYTHON.get(operator, operator)} {b})", BOOL, canonical=False)
        return self.binary(node, operator, self.expression(left_node), self.expression(right_node))

    def binary(self, node: Any, operator: str, left: Value, right: Value) -> Value:
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
            found = Value(f"({left.code} {operator} {right.code})", FLOAT)
        elif operator in ("/", "%"):
            found = self._divide(operator, left, right, kind)
        elif operator in ("&", "|", "^"):
            found = Value(f"({left.code} {operator} {right.code})", kind)
        elif operator in ("+", "-", "*"):
            found = Value(wrap(f"{left.code} {operator} {right.code}", kind), kind)
        else:
            raise self.error(node, f"the language has no operator {operator}")
        if left.const is not None and right.const is not None and isinstance(found.type, Scalar):
            return self._fold(node, found)
        return found

    def _fold(self, node: Any, value: Value) -> Value:
        from kernbench.tanto.language.arithmetic import divide, remainder

        try:
            const = eval(value.code, {"__builtins__": {}, "divide": divide, "remainder": remainder})
        except (ZeroDivisionError, OverflowError):
            raise self.error(node, "division by zero") from None
        assert isinstance(value.type, Scalar)
        return self._constant(const, value.type)

    def _divide(self, operator: str, left: Value, right: Value, kind: Scalar) -> Value:
        self.cost += 8
        if kind.signed:
            return Value(f"{'divide' if operator == '/' else 'remainder'}({left.code}, {right.code})", kind)
        return Value(f"({left.code} {'//' if operator == '/' else '%'} {right.code})", kind)

    def _shift(self, node: Any, operator: str, left: Value, right: Value) -> Value:
        assert isinstance(left.type, Scalar)
        if left.type.kind == "float":
            raise self.error(node, f"{operator} of a float; it takes integers")
        kind = promote(left.type)
        left, right = self.convert(left, kind, node), self.convert(right, UINT32, node)
        count = str(int(right.const) % kind.bits) if right.const is not None else f"({right.code} & {kind.bits - 1})"
        code = f"{left.code} {operator} {count}"
        found = Value(wrap(code, kind) if operator == "<<" else f"({code})", kind)
        return self._fold(node, found) if left.const is not None and right.const is not None else found

    def _x_conditional_expression(self, node: Any) -> Value:
        condition = self.truth(node.child_by_field_name("condition"))
        if node.child_by_field_name("consequence") is None:
            raise self.error(node, "there is no value between ? and :")
        yes, no = (self.expression(node.child_by_field_name(name)) for name in ("consequence", "alternative"))
        self.cost += 2
        if isinstance(yes.type, Object) and yes.type == no.type:
            return Value(f"({yes.code} if {condition} else {no.code})", yes.type)
        if not isinstance(yes.type, Scalar) or not isinstance(no.type, Scalar):
            raise self.error(node, f"got {yes.type} and {no.type}; both sides of ?: must be of one kind")
        kind = yes.type if yes.type == no.type else common(yes.type, no.type)
        yes, no = self.convert(yes, kind, node), self.convert(no, kind, node)
        return Value(f"({yes.code} if {condition} else {no.code})", kind)

    def _x_cast_expression(self, node: Any) -> Value:
        return self.number(node.child_by_field_name("value"), self.scalar_type(node.child_by_field_name("type")))

    def _x_subscript_expression(self, node: Any) -> Value:
        array = self.expression(node.child_by_field_name("argument"))
        indices = children(node.child_by_field_name("indices"))
        if not isinstance(array.type, Array) or len(indices) != 1:
            raise self.error(node, f"{array.type} has no elements to index; use its methods")
        self.cost += 2
        index = self.number(indices[0])
        if index.const is not None and index.const >= array.type.length:
            raise self.error(node, f"index {index.const} of an array of {array.type.length}")
        return Value(f"{array.code}[{index.code}]", array.type.element)

    def _x_comma_expression(self, node: Any) -> Value:
        left, right = (self.expression(node.child_by_field_name(side)) for side in ("left", "right"))
        return Value(f"({left.code}, {right.code})[1]", right.type)

    def _x_assignment_expression(self, node: Any) -> Value:
        target, value = self.assigned(node)
        return self._store(target, value)

    def _x_update_expression(self, node: Any) -> Value:
        target, value = self.updated(node)
        stored = self._store(target, value)
        if node.children[0].type in ("++", "--"):
            return stored
        assert isinstance(target.type, Scalar)
        back = "-" if "++" in text(node) else "+"
        return Value(wrap(f"{stored.code} {back} 1", target.type), target.type)

    def _store(self, target: Value, value: Value) -> Value:
        if target.code.endswith("]"):
            owner, _, index = target.code[:-1].partition("[")
            return Value(f"put({owner}, {index}, {value.code})", target.type)
        return Value(f"({target.code} := {value.code})", target.type)

    def assigned(self, node: Any) -> tuple[Value, Value]:
        """The target of an assignment, and the value that it gets."""
        operator = text(node.child_by_field_name("operator"))
        target = self._target(node.child_by_field_name("left"))
        value = self.expression(node.child_by_field_name("right"))
        self.cost += 1
        if isinstance(target.type, Object):
            if target.type.kind == "math" or operator != "=" or value.type != target.type:
                raise self.error(node, f"{target.type} {operator} {value.type}; only an object of the same type fits")
            return target, value
        assert isinstance(target.type, Scalar)
        if operator != "=":
            value = self.binary(node, operator[:-1], target, value)
        return target, self.convert(value, target.type, node)

    def updated(self, node: Any) -> tuple[Value, Value]:
        """The target of ++ or --, and the value that it gets."""
        target = self._target(node.child_by_field_name("argument"))
        if not isinstance(target.type, Scalar):
            raise self.error(node, f"{text(node)}: {target.type} is no number")
        self.cost += 1
        sign = "+" if "++" in text(node) else "-"
        return target, self.convert(self.binary(node, sign, target, self._constant(1, INT)), target.type, node)

    def _target(self, node: Any) -> Value:
        while node.type == "parenthesized_expression":
            node = children(node)[0]
        if node.type == "identifier":
            name = text(node)
            found = self.find(name)
            if found is None:
                return self.expression(node)  # raises
            if found.constant:
                raise self.error(node, f"{name} is a constant and cannot be changed")
            if isinstance(found.type, Array):
                raise self.error(node, f"{name} is an array; assign its elements")
            return Value(found.read, found.type)
        if node.type == "subscript_expression":
            owner = node.child_by_field_name("argument")
            if owner.type == "identifier" and (found := self.find(text(owner))) and found.constant:
                raise self.error(node, f"{text(owner)} is a constant and cannot be changed")
            return self.expression(node)
        raise self.error(node, "this cannot be assigned to")

    # Calls

    def _x_call_expression(self, node: Any) -> Value:
        callee, arguments = node.child_by_field_name("function"), children(node.child_by_field_name("arguments"))
        if callee.type == "field_expression":
            return self._method(node, callee, arguments)
        if callee.type == "template_function" and text(callee.child_by_field_name("name")) in _CASTS:
            kinds = children(callee.child_by_field_name("arguments"))
            return self._cast(node, self.scalar_type(kinds[0]), arguments)
        name = text(callee)
        macro = self.source.macros.get(name)
        if macro is not None and macro.parameters is not None and name not in self.functions:
            return self._expand(node, name, self._substitute(node, name, macro.text, macro.parameters, arguments))
        if name in FUNCTIONS:
            kind = "dataflow" if name in DATAFLOW_FUNCTIONS else "math"
            self._note(node, "", name, kind)
            method, codes = self._overload(node, name, FUNCTIONS[name], arguments, None)
            return Value(f"K.{method.call}({', '.join(codes)})", SCALARS["void"])
        if name in self.functions:
            return self._call(node, self.functions[name], arguments)
        if callee.type == "primitive_type" or name in self.types or name == "T" or name in self.source.macros:
            return self._cast(node, self.scalar_type(callee), arguments)
        raise self.error(callee, f"unknown function {name!r}{suggest(name, [*self.functions, *FUNCTIONS, 'uint32'])}")

    def _cast(self, node: Any, to: Scalar, arguments: list[Any]) -> Value:
        if len(arguments) != 1:
            raise self.error(node, f"{to} takes one value, got {len(arguments)}")
        return self.number(arguments[0], to)

    def _substitute(self, node: Any, name: str, body: str, parameters: tuple[str, ...], arguments: list[Any]) -> str:
        if len(arguments) != len(parameters):
            raise self.error(node, f"macro {name} takes {len(parameters)} arguments, got {len(arguments)}")
        given = {parameter: f"({text(argument)})" for parameter, argument in zip(parameters, arguments, strict=True)}
        return re.sub(r"[A-Za-z_]\w*", lambda found: given.get(found[0], found[0]), body)

    def _call(self, node: Any, function: Function, arguments: list[Any]) -> Value:
        if len(arguments) != len(function.parameters):
            raise self.error(node, f"{function.name} takes {len(function.parameters)} arguments, got {len(arguments)}")
        codes = list[str]()
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            if parameter.reference:
                codes.append(self._reference(argument, parameter.type))
            elif isinstance(parameter.type, Scalar):
                codes.append(self.number(argument, parameter.type).code)
            else:
                value = self.expression(argument)
                if value.type != parameter.type:
                    raise self.error(argument, f"got {value.type} for {parameter.name}, expected {parameter.type}")
                codes.append(value.code)
        self.cost += 4
        self.acts = True
        return Value(f"{function.code}({', '.join(codes)})", function.returns)

    def _reference(self, node: Any, kind: Type) -> str:
        found = self.find(text(node)) if node.type == "identifier" else None
        if found is None or found.type != kind or not found.cell:
            raise self.error(node, f"a reference to {kind} takes a variable of that type, got {text(node)!r}")
        return found.code

    def _method(self, node: Any, callee: Any, arguments: list[Any]) -> Value:
        owner, name_node = callee.child_by_field_name("argument"), callee.child_by_field_name("field")
        value, name = self.expression(owner), text(name_node)
        if not isinstance(value.type, Object):
            raise self.error(owner, f"{text(owner)!r} is {value.type}; it has no methods")
        overloads = METHODS[value.type.kind].get(name)
        if overloads is None:
            raise self.error(
                name_node, f"unknown method {name!r} of {value.type}{suggest(name, METHODS[value.type.kind])}"
            )
        self._note(name_node, text(owner), name, value.type.kind)
        method, codes = self._overload(node, f"{text(owner)}.{name}", overloads, arguments, value.type.element)
        returns = value.type.element if method.returns == "t" and value.type.element else SCALARS["void"]
        return Value(f"{value.code}.{method.call}({', '.join(codes)})", returns)

    def _overload(
        self, node: Any, name: str, overloads: list[Method], arguments: list[Any], element: Scalar | None
    ) -> tuple[Method, list[str]]:
        """The overload that fits, and the code of the arguments. Errors: KernelSourceError if none does."""
        self.cost += 2
        self.acts = True
        values = [self.expression(argument) for argument in arguments]
        kinds = tuple(value.type.kind if isinstance(value.type, Object) else "" for value in values)
        for method in overloads:
            wanted = tuple(kind if len(kind) > 1 else "" for kind in method.arguments)
            if wanted == kinds:
                codes = [
                    self._argument(value, kind, element, argument)
                    for value, kind, argument in zip(values, method.arguments, arguments, strict=True)
                ]
                return method, codes
        forms = " or ".join(sorted({f"({', '.join(_WORDS.get(k, k) for k in m.arguments)})" for m in overloads}))
        got = ", ".join(str(value.type) for value in values)
        raise self.error(node, f"{name} takes {forms}, got ({got})")

    def _argument(self, value: Value, kind: str, element: Scalar | None, node: Any) -> str:
        if len(kind) > 1:
            return value.code
        to = BOOL if kind == "b" else element if kind == "t" and element else UINT32
        return self.convert(value, to, node).code

    def _note(self, node: Any, owner: str, name: str, kind: str) -> None:
        key = (kind, owner, name)
        if key not in self._known_uses:
            self._known_uses.add(key)
            row, column = node.start_point
            self.uses.append(Use(kind, name, owner, row + 1, column + 1))

    @property
    def reads_data(self) -> bool:
        """Whether any call so far returns data."""
        return any(use.name in READS_DATA for use in self.uses)


_WORDS = {"u": "uint32", "t": "T", "b": "bool"}


def _literal_type(value: int, suffix: str, *, decimal: bool) -> Scalar:
    if "ll" in suffix or value >= 1 << 32:
        return UINT64 if "u" in suffix or value >= 1 << 63 else INT64
    if "u" in suffix or (value >= 1 << 31 and not decimal):
        return UINT32
    return INT if value < 1 << 31 else INT64


class _At:
    """A source whose errors all stand at one node: that of a macro's use."""

    def __init__(self, source: Source, node: Any) -> None:
        self._source, self._node = source, node
        self.macros = source.macros

    def error_at(self, _node: Any, message: str) -> Exception:
        """The error at the use of the macro."""
        return self._source.error_at(self._node, f"in a macro: {message}")
