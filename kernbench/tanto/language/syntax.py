"""The syntax tree of C++: its parser, and what every reader of the tree needs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from tree_sitter import Language, Node, Parser

_AFTER_CAST = re.compile(rb"\)\s*\)\s*[-+*&]")  # what ends such a cast, and what its value begins with


@cache
def parser() -> Parser:
    """The parser of C++."""
    import tree_sitter_cpp

    return Parser(Language(tree_sitter_cpp.language()))


def parse(code: bytes) -> Node:
    """The syntax tree of a file.

    The parser takes `(a * (b * c)) - d` for a cast to a type of pointers to functions, which the language lacks. It is read
    again with a number in the place of `a`, which is no type; `spelled` has the name.
    """
    found = parser().parse(code).root_node
    names = list(_false_types(found))
    while names:
        for node in names:
            code = code[: node.start_byte] + b"0" * (node.end_byte - node.start_byte) + code[node.end_byte :]
        found = parser().parse(code).root_node
        names = list(_false_types(found))
    return found


def _false_types(root: Node) -> Iterator[Node]:
    """The names in the place of a type in casts to pointers and functions."""
    stack = [root] if _AFTER_CAST.search(root.text or b"") else []
    while stack:
        node = stack.pop()
        stack += node.named_children
        if node.type == "cast_expression":
            kind = field(node, "type")
            name = kind.child_by_field_name("type")
            if (
                name is not None
                and name.type == "type_identifier"
                and kind.child_by_field_name("declarator") is not None
            ):
                yield name


def spelled(node: Node, code: bytes) -> str:
    """The text of a node as it stands in the code that was parsed."""
    return code[node.start_byte : node.end_byte].decode()


def text(node: Node) -> str:
    """The source text of a node."""
    return (node.text or b"").decode()


def children(node: Node) -> list[Node]:
    """The named children of a node but for comments."""
    return [child for child in node.named_children if child.type != "comment"]


def field(node: Node, name: str) -> Node:
    """The child of a node that its grammar always has."""
    found = node.child_by_field_name(name)
    assert found is not None, (node.type, name)
    return found


def last_operand(node: Node) -> Node:
    """The operand that stands last in nested operations."""
    while node.type == "binary_expression":
        node = field(node, "right")
    return node


def flat_sum(node: Node) -> tuple[list[Node], list[str]]:
    """The operands of nested sums and products in their order in the text, and the operators between them."""
    if node.type != "binary_expression" or text(field(node, "operator")) not in ("+", "-", "*", "/", "%"):
        return [node], []
    left, right = flat_sum(field(node, "left")), flat_sum(field(node, "right"))
    return left[0] + right[0], [*left[1], text(field(node, "operator")), *right[1]]
