"""Calls: methods of objects, functions of the language and of the file, casts."""

from __future__ import annotations

from tree_sitter import Node

from kernbench.errors import suggest
from kernbench.tanto.language.expressions import Expressions, copied
from kernbench.tanto.language.macros import ELEMENT
from kernbench.tanto.language.methods import DATAFLOW_FUNCTIONS, FUNCTIONS, METHODS, Method
from kernbench.tanto.language.scope import Function, Parameter, Use
from kernbench.tanto.language.source import Source
from kernbench.tanto.language.syntax import children, field, spelled, text
from kernbench.tanto.language.types import BOOL, SCALARS, UINT32, Object, Scalar, Type
from kernbench.tanto.language.values import Value

_CASTS = ("static_cast", "reinterpret_cast")
_WORDS = {"u": "uint32", "t": "T", "b": "bool"}


class Calls(Expressions):
    """The calls of one file, and what it uses of the language's interface."""

    def __init__(self, source: Source, element: Scalar) -> None:
        super().__init__(source, element)
        self.uses: list[Use] = []
        self._known_uses: set[tuple[str, str, str]] = set()

    def x_call_expression(self, node: Node) -> Value:
        callee, arguments = field(node, "function"), children(field(node, "arguments"))
        if callee.type == "field_expression":
            return self._method(node, callee, arguments)
        if callee.type == "template_function" and text(field(callee, "name")) in _CASTS:
            kinds = children(field(callee, "arguments"))
            return self._cast(node, self.scalar_type(kinds[0]), arguments)
        if (to := self.type_in_parentheses(callee)) is not None:  # as the parser takes `(uint32)(x)`
            return self._cast(node, to, arguments)
        name = spelled(callee, self.source.code).rpartition("::")[2]
        if name in FUNCTIONS:
            kind = "dataflow" if name in DATAFLOW_FUNCTIONS else "math"
            self.note(node, "", name, kind)
            method, codes = self._overload(node, name, FUNCTIONS[name], arguments, None)
            return Value(f"K.{method.call}({', '.join(codes)})", SCALARS["void"])
        if name in self.functions:
            return self._call(node, self._chosen(self.functions[name], arguments), arguments)
        if callee.type == "primitive_type" or name in self.types or name == ELEMENT:
            return self._cast(node, self.scalar_type(callee), arguments)
        raise self.error(callee, f"unknown function {name!r}{suggest(name, [*self.functions, *FUNCTIONS, 'uint32'])}")

    def _cast(self, node: Node, to: Scalar, arguments: list[Node]) -> Value:
        if len(arguments) != 1:
            raise self.error(node, f"{to} takes one value, got {len(arguments)}")
        return self.number(arguments[0], to)

    def _chosen(self, function: Function, arguments: list[Node]) -> Function:
        """The overload that fits: by the number of arguments, then by their types."""
        fitting = [one for one in function.all if one.takes(len(arguments))]
        if len(fitting) <= 1:
            return fitting[0] if fitting else function
        cost = self.cost
        given = [self.expression(argument).type for argument in arguments]
        self.cost = cost

        def misfits(one: Function) -> tuple[bool, int]:
            pairs = [(kind, parameter.type) for kind, parameter in zip(given, one.parameters, strict=False)]
            wrong = [a != b for a, b in pairs]
            return any(a != b and not (isinstance(a, Scalar) and isinstance(b, Scalar)) for a, b in pairs), sum(wrong)

        return min(fitting, key=misfits)

    def _call(self, node: Node, function: Function, arguments: list[Node]) -> Value:
        takes, defaults = len(function.parameters), [p.default for p in function.parameters if p.default is not None]
        if not takes - len(defaults) <= len(arguments) <= takes:
            least = f"{takes - len(defaults)} to " if defaults else ""
            raise self.error(node, f"{function.name} takes {least}{takes} arguments, got {len(arguments)}")
        given = [*arguments, *defaults[len(defaults) - (takes - len(arguments)) :]]
        codes = [
            self._passed(parameter, argument) for parameter, argument in zip(function.parameters, given, strict=True)
        ]
        self.cost += 4
        self.acts = True
        return Value(f"{function.code}({', '.join(codes)})", function.returns)

    def _passed(self, parameter: Parameter, argument: Node) -> str:
        """Code of an argument of a function of the file."""
        if parameter.reference:
            return self._reference(argument, parameter.type)
        if isinstance(parameter.type, Scalar):
            return self.number(argument, parameter.type).code
        value = self.expression(argument)
        if value.type != parameter.type:
            raise self.error(argument, f"got {value.type} for {parameter.name}, expected {parameter.type}")
        return value.code if parameter.shares else copied(value).code

    def _reference(self, node: Node, kind: Type) -> str:
        found = self.find(text(node)) if node.type == "identifier" else None
        if found is None or found.type != kind or not found.cell:
            raise self.error(node, f"a reference to {kind} takes a variable of that type, got {text(node)!r}")
        return found.code

    def _method(self, node: Node, callee: Node, arguments: list[Node]) -> Value:
        owner, name_node = field(callee, "argument"), field(callee, "field")
        value, name = self.expression(owner), text(name_node)
        if not isinstance(value.type, Object):
            raise self.error(owner, f"{text(owner)!r} is {value.type}; it has no methods")
        overloads = METHODS[value.type.kind].get(name)
        if overloads is None:
            raise self.error(
                name_node, f"unknown method {name!r} of {value.type}{suggest(name, METHODS[value.type.kind])}"
            )
        self.note(name_node, text(owner), name, value.type.kind)
        method, codes = self._overload(node, f"{text(owner)}.{name}", overloads, arguments, value.type.element)
        returns = value.type.element if method.returns == "t" and value.type.element else SCALARS["void"]
        return Value(f"{value.code}.{method.call}({', '.join(codes)})", returns)

    def _overload(
        self, node: Node, name: str, overloads: list[Method], arguments: list[Node], element: Scalar | None
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

    def _argument(self, value: Value, kind: str, element: Scalar | None, node: Node) -> str:
        if len(kind) > 1:
            return value.code
        to = BOOL if kind == "b" else element if kind == "t" and element else UINT32
        return self.convert(value, to, node).code

    def note(self, node: Node, owner: str, name: str, kind: str) -> None:
        """Note that the file uses a method or function."""
        key = (kind, owner, name)
        if key not in self._known_uses:
            self._known_uses.add(key)
            self.uses.append(Use(kind, name, owner, *self.source.place(node)))
