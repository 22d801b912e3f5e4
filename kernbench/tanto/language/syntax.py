"""The syntax tree of C++: its parser, and what every reader of the tree needs."""

from __future__ import annotations

from functools import cache

from tree_sitter import Language, Node, Parser


@cache
def parser() -> Parser:
    """The parser of C++."""
    import tree_sitter_cpp

    return Parser(Language(tree_sitter_cpp.language()))


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
