"""Translation of a kernel file to a Python module, once for each element type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tree_sitter import Node

from kernbench.errors import suggest
from kernbench.tanto.language.reading import read_source
from kernbench.tanto.language.scope import Function, Scope, Unit, Variable
from kernbench.tanto.language.source import KernelSourceError, Source
from kernbench.tanto.language.statements import Statements
from kernbench.tanto.language.syntax import children, field, parse, text
from kernbench.tanto.language.types import SCALARS, VOID, Object, Scalar
from kernbench.tanto.language.values import constant

MAIN = "kernel"
DEFAULT_ELEMENT = "bfloat16"


def translate(path: Path, defines: Mapping[str, str] | None = None, params: tuple[Any, ...] | None = None) -> Unit:
    """The module of a kernel file, for macros (`T` is the element type) and values of its `param<>` declarations.

    Without values any will do, for a look at the file alone. Errors: KernelSourceError with file:line:column.
    """
    return translate_source(read_source(path, {"T": DEFAULT_ELEMENT, **(defines or {})}), params)


def translate_source(source: Source, params: tuple[Any, ...] | None = None) -> Unit:
    """As `translate`, for a source that was read."""
    element = SCALARS.get(source.macros["T"].text, None) if "T" in source.macros else SCALARS[DEFAULT_ELEMENT]
    if element is None:
        raise source.error(0, 0, f"T stands for {source.macros['T'].text!r}{suggest(source.macros['T'].text, SCALARS)}")
    try:
        return _Translation(source, element).run(params)
    except RecursionError:
        raise source.error(0, 0, "an expression or a block is nested too deeply; make it flatter") from None


_TYPES = ("enum_specifier", "struct_specifier", "class_specifier", "alias_declaration", "type_definition")


class _Translation(Statements):
    def run(self, params: tuple[Any, ...] | None) -> Unit:
        root = parse(self.source.code)
        if root.has_error:
            raise self._syntax_error(root)
        self.params: list[tuple[str, Scalar]] = []
        self.given, self.known_params = params, params is not None
        items = list(_items(root))
        for node in items:
            self._declare_global(node)
        if params is not None and len(params) != len(self.params):
            declared = ", ".join(name for name, _ in self.params) or "none"
            raise self.source.error(
                0, 0, f"got {len(params)} compile-time parameters, expected {len(self.params)}: {declared}"
            )
        for function in [one for known in self.functions.values() for one in known.all]:
            if function.body is not None:
                self._function(function)
            elif function.name != MAIN:
                raise self.error(function.node, f"function {function.name} is declared but has no body")
        main = self.functions.get(MAIN)
        if main is None or main.body is None:
            raise self.source.error(0, 0, f"no function {MAIN!r}; a kernel file has one: void kernel(...)")
        if main.returns.kind != "void":
            raise self.error(main.node, f"{MAIN} returns {main.returns}, expected void")
        if reference := next((p for p in main.parameters if p.reference), None):
            raise self.source.error(
                reference.line - 1, reference.column - 1, "the kernel's own parameters are no references"
            )
        return Unit(
            self.source.file,
            main.parameters,
            self.params,
            "\n".join(self.lines) + "\n",
            self.places,
            self.uses,
            list(self.functions),
            self.element.name,
        )

    def _syntax_error(self, root: Node) -> KernelSourceError:
        """The first mistake of the syntax tree, or the bracket that has no other."""
        if unmatched := self.source.unmatched_bracket():
            return unmatched
        stack = [root]
        while stack:
            node = stack.pop()
            if node.is_missing:
                return self.error(node, f"{node.type!r} is missing here")
            if node.type == "ERROR":
                wrong = next((child for child in node.children if child.type == "ERROR"), node)
                return self.error(wrong, f"syntax error at {_first_line(text(wrong))!r}")
            if node.has_error:
                stack += reversed(node.children)
        return self.error(root, "syntax error")

    # Declarations at global scope

    def _declare_global(self, node: Node) -> None:
        if node.type == "function_definition":
            self._declare_function(node, field(node, "declarator"), field(node, "body"))
        elif node.type == "declaration":
            self._global_declaration(node)
        elif node.type in _TYPES:
            self.statement(node)
        elif node.type == "static_assert_declaration":
            self.s_static_assert_declaration(node)
        elif node.type in ("namespace_definition", "linkage_specification"):
            body = field(node, "body")
            for inner in _items(body) if body.type == "declaration_list" else [body]:
                self._declare_global(inner)
        elif node.type != "using_declaration":
            raise self.error(node, f"the language has no {node.type.replace('_', ' ')} at global scope")

    def _global_declaration(self, node: Node) -> None:
        declarator = node.child_by_field_name("declarator")
        if declarator is not None and declarator.type == "function_declarator":
            self._declare_function(node, declarator, None)
            return
        if declarator is not None and declarator.type == "init_declarator":
            inner, body = field(declarator, "declarator"), field(declarator, "value")
            if inner.type == "function_declarator" and not children(body):  # as the parser takes `void f() {};`
                self._declare_function(node, inner, body)
                return
        kind = self.named_type(node)
        if not isinstance(kind, Object):
            self.s_declaration(node)
            self.cost = 0
            return
        if kind.kind != "param" or kind.element is None:
            raise self.error(node, f"{kind} objects are parameters of {MAIN}, not global")
        for one in node.children_by_field_name("declarator"):
            if one.type != "identifier":
                raise self.error(one, "a param<> is declared without a value; the host gives it")
            given = self.given[len(self.params)] if self.given and len(self.params) < len(self.given) else None
            value = constant(given, kind.element).const if given is not None else None
            found = self.declare(one, text(one), kind.element, constant=True, value=value)
            if value is None:
                self.emit(f"{found.code} = 1", node)
            self.params.append((text(one), kind.element))

    def s_struct_specifier(self, node: Node) -> None:
        """A structure; a declaration of its name alone says nothing."""
        if node.child_by_field_name("body") is not None:
            self.declare_struct(node)

    s_class_specifier = s_struct_specifier

    def s_alias_declaration(self, node: Node) -> None:
        """Another name of a type."""
        self.types[text(field(node, "name"))] = self.type_of(field(node, "type"))

    def s_type_definition(self, node: Node) -> None:
        """Other names of a type."""
        for declarator in node.children_by_field_name("declarator"):
            self.types[text(declarator)] = self.type_of(field(node, "type"))

    def s_enum_specifier(self, node: Node) -> None:
        """An enumeration: its constants, and its name for their type."""
        if node.child_by_field_name("body") is None:
            return
        named = node.child_by_field_name("name")
        if named is not None:
            self.types[text(named)] = SCALARS["int"]
        following = 0
        for item in children(field(node, "body")):
            given = item.child_by_field_name("value")
            if given is not None:
                const = self.number(given, SCALARS["int"]).const
                if const is None:
                    raise self.error(given, "the value of an enumerator must be a constant")
                following = int(const)
            name = field(item, "name")
            self.declare(name, text(name), SCALARS["int"], constant=True, value=following)
            following += 1

    def _declare_function(self, node: Node, declarator: Node, body: Node | None) -> None:
        if declarator.type != "function_declarator":
            raise self.error(declarator, f"the language has no {declarator.type.replace('_', ' ')} as a result")
        name = text(field(declarator, "declarator"))
        kind = node.child_by_field_name("type")
        if kind is None:
            raise self.error(node, f"function {name} has no result type; void is one")
        returns = self.scalar_type(kind)
        made = Function(name, f"f_{name}", returns, self.parameters(declarator), node, body)
        known = self.functions.get(name)
        if known is None:
            self.functions[name] = made
            return
        kinds = [parameter.type for parameter in made.parameters]
        same = next((one for one in known.all if [parameter.type for parameter in one.parameters] == kinds), None)
        if same is None and name != MAIN:
            made.code += f"_{len(known.all)}"
            known.overloads.append(made)
        elif same is None or (same.body is not None and body is not None):
            raise self.error(node, f"function {name} is defined twice")
        elif body is not None:
            same.parameters, same.node, same.body = made.parameters, node, body

    def _function(self, function: Function) -> None:
        body = function.body
        assert body is not None
        self.cells = set(self._referenced(body))
        self.returns = function.returns
        scope = Scope("function")
        self.scopes.append(scope)
        codes, boxed = list[str](), list[str]()
        for parameter in function.parameters:
            cell = parameter.reference or (parameter.name in self.cells and isinstance(parameter.type, Scalar))
            if parameter.name in scope.names:
                raise self.source.error(parameter.line - 1, parameter.column - 1, f"{parameter.name} is declared twice")
            made = Variable(parameter.type, self.name(parameter.name), cell=cell)
            scope.names[parameter.name] = made
            codes.append(made.code)
            if cell and not parameter.reference:
                boxed.append(made.code)
        self.emit(f"def {function.code}({', '.join(codes)}):", function.node)
        self.depth += 1
        for code in boxed:
            self.emit(f"{code} = [{code}]")
        self.depth -= 1
        self.cost = 2
        self.block(children(body))
        if function.returns != VOID:
            self.depth += 1
            self.emit("return 0")
            self.depth -= 1
        self.scopes.pop()

    def _referenced(self, body: Node) -> Iterator[str]:
        """The names of variables that calls in a body pass by reference, or that have a second name."""
        stack = [body]
        while stack:
            node = stack.pop()
            stack += node.named_children
            if node.type == "init_declarator" and field(node, "declarator").type == "reference_declarator":
                yield text(field(node, "value"))
            if node.type != "call_expression":
                continue
            function = self.functions.get(text(field(node, "function")))
            arguments = children(field(node, "arguments"))
            for one in function.all if function else ():
                for parameter, argument in zip(one.parameters, arguments, strict=False):
                    if parameter.reference and argument.type == "identifier":
                        yield text(argument)


def _items(root: Node) -> Iterator[Any]:
    """The declarations of a file."""
    for node in children(root):
        if node.type not in (";", "empty_statement", "expression_statement") or text(node).strip(" ;\n"):
            yield node


def _first_line(value: str) -> str:
    line = value.strip().split("\n")[0]
    return line if len(line) <= 40 else line[:37] + "..."
