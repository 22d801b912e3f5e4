"""The types that nodes of the syntax tree name, and the names that scopes hold."""

from __future__ import annotations

from tree_sitter import Node

from kernbench.errors import suggest
from kernbench.tanto.language.macros import ELEMENT
from kernbench.tanto.language.scope import Scope, Variable
from kernbench.tanto.language.source import KernelSourceError, Source
from kernbench.tanto.language.syntax import children, field, text
from kernbench.tanto.language.types import SCALARS, Object, Scalar, Type

_GENERIC = ("global", "local", "pipe", "math", "param")


class TypeNames:
    """The names of one file: its types, and the variables of the scopes that are open."""

    def __init__(self, source: Source, element: Scalar) -> None:
        self.source, self.element = source, element
        self.types: dict[str, Type] = dict(SCALARS)
        self.scopes: list[Scope] = [Scope("global")]

    def error(self, node: Node, message: str) -> KernelSourceError:
        """The error at a node."""
        return self.source.error_at(node, message)

    def find(self, name: str) -> Variable | None:
        """The variable of a name, in the innermost scope that has it."""
        for scope in reversed(self.scopes):
            if name in scope.names:
                return scope.names[name]
        return None

    def scalar_type(self, node: Node) -> Scalar:
        """The scalar that a type node names. Errors: KernelSourceError for an unknown type."""
        found = self.type_of(node)
        if not isinstance(found, Scalar):
            raise self.error(node, f"got {found}, expected a scalar type")
        return found

    def type_of(self, node: Node) -> Type:
        """The type that a node names. Errors: KernelSourceError for an unknown type."""
        if node.type == "type_descriptor":
            return self.type_of(field(node, "type"))
        if node.type == "template_type":
            return self._template_type(node)
        if node.type == "qualified_identifier":
            return self.type_of(field(node, "name"))
        name = " ".join(text(node).split())
        if node.type == "sized_type_specifier":
            words = [word for word in name.split() if word != "int"] or ["int"]
            name = " ".join(words).removeprefix("signed ")
        if name == "semaphore":
            return Object("semaphore")
        if name in self.types:
            return self.types[name]
        if name == ELEMENT:
            return self.element
        known = [*self.types, "semaphore", *(f"{kind}<T>" for kind in _GENERIC)]
        raise self.error(node, f"unknown type {name!r}{suggest(name, known)}")

    def type_in_parentheses(self, node: Node) -> Scalar | None:
        """The scalar of a type's name in parentheses, which the parser takes for a value; None for anything else."""
        inner = children(node)
        if node.type != "parenthesized_expression" or len(inner) != 1 or inner[0].type != "identifier":
            return None
        name = text(inner[0])
        found = self.element if name == ELEMENT else self.types.get(name)
        return found if isinstance(found, Scalar) and self.find(name) is None else None

    def _template_type(self, node: Node) -> Type:
        name, arguments = text(field(node, "name")), children(field(node, "arguments"))
        if name not in _GENERIC:
            raise self.error(node, f"unknown type {name!r}{suggest(name, _GENERIC)}")
        if len(arguments) != 1 or arguments[0].type != "type_descriptor":
            raise self.error(node, f"{name} takes one type, as in {name}<T>")
        return Object(name, self.scalar_type(arguments[0]))
