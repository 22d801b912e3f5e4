"""Translation of a kernel file to a Python module, once for each element type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kernbench.errors import suggest
from kernbench.tanto.language.expressions import children, parser, text
from kernbench.tanto.language.scope import Function, Object, Scalar, Scope, Unit, Variable
from kernbench.tanto.language.source import Source, read_source
from kernbench.tanto.language.statements import Statements
from kernbench.tanto.language.types import SCALARS, VOID

MAIN = "kernel"
DEFAULT_ELEMENT = "bfloat16"


def translate(path: Path, defines: Mapping[str, str] | None = None, params: tuple[Any, ...] | None = None) -> Unit:
    """The module of a kernel file, for macros (`T` is the element type) and values of its `param<>` declarations.

    Without values any will do, for a look at the file alone. Errors: KernelSourceError with file:line:column.
    """
    return translate_source(read_source(path, defines), params)


def translate_source(source: Source, params: tuple[Any, ...] | None = None) -> Unit:
    """As `translate`, for a source that was read."""
    element = SCALARS.get(source.macros["T"].text, None) if "T" in source.macros else SCALARS[DEFAULT_ELEMENT]
    if element is None:
        raise source.error(0, 0, f"T stands for {source.macros['T'].text!r}{suggest(source.macros['T'].text, SCALARS)}")
    try:
        return _Translation(source, element).run(params)
    except RecursionError:
        raise source.error(0, 0, "an expression or a block is nested too deeply; make it flatter") from None


class _Translation(Statements):
    def run(self, params: tuple[Any, ...] | None) -> Unit:
        root = parser().parse(self.source.code).root_node
        if root.has_error:
            raise self._syntax_error(root)
        self.params: list[tuple[str, Scalar]] = []
        self.given = params
        items = list(_items(root))
        for node in items:
            self._declare_global(node)
        if params is not None and len(params) != len(self.params):
            declared = ", ".join(name for name, _ in self.params) or "none"
            raise self.source.error(
                0, 0, f"got {len(params)} compile-time parameters, expected {len(self.params)}: {declared}"
            )
        for function in list(self.functions.values()):
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

    def _syntax_error(self, root: Any) -> Exception:
        """The first mistake of the syntax tree."""
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

    def _declare_global(self, node: Any) -> None:
        if node.type == "function_definition":
            self._declare_function(node, node.child_by_field_name("declarator"), node.child_by_field_name("body"))
        elif node.type == "declaration":
            self._global_declaration(node)
        elif node.type == "enum_specifier":
            self._enum(node)
        elif node.type == "alias_declaration":
            self.types[text(node.child_by_field_name("name"))] = self.scalar_type(node.child_by_field_name("type"))
        elif node.type == "type_definition":
            self.types[text(node.child_by_field_name("declarator"))] = self.scalar_type(
                node.child_by_field_name("type")
            )
        else:
            raise self.error(node, f"the language has no {node.type.replace('_', ' ')} at global scope")

    def _global_declaration(self, node: Any) -> None:
        declarator = node.child_by_field_name("declarator")
        if declarator is not None and declarator.type == "function_declarator":
            self._declare_function(node, declarator, None)
            return
        kind = self.type_of(node.child_by_field_name("type"))
        if not isinstance(kind, Object):
            self._s_declaration(node)
            self.cost = 0
            return
        if kind.kind != "param" or kind.element is None:
            raise self.error(node, f"{kind} objects are parameters of {MAIN}, not global")
        for one in node.children_by_field_name("declarator"):
            if one.type != "identifier":
                raise self.error(one, "a param<> is declared without a value; the host gives it")
            given = self.given[len(self.params)] if self.given and len(self.params) < len(self.given) else None
            value = self._constant(given, kind.element).const if given is not None else None
            found = self.declare(one, text(one), kind.element, constant=True, value=value)
            if value is None:
                self.emit(f"{found.code} = 1", node)
            self.params.append((text(one), kind.element))

    def _enum(self, node: Any) -> None:
        named = node.child_by_field_name("name")
        if named is not None:
            self.types[text(named)] = SCALARS["int"]
        following = 0
        for item in children(node.child_by_field_name("body")):
            given = item.child_by_field_name("value")
            if given is not None:
                const = self.number(given, SCALARS["int"]).const
                if const is None:
                    raise self.error(given, "the value of an enumerator must be a constant")
                following = int(const)
            name = item.child_by_field_name("name")
            self.declare(name, text(name), SCALARS["int"], constant=True, value=following)
            following += 1

    def _declare_function(self, node: Any, declarator: Any, body: Any) -> None:
        if declarator.type != "function_declarator":
            raise self.error(declarator, f"the language has no {declarator.type.replace('_', ' ')} as a result")
        name = text(declarator.child_by_field_name("declarator"))
        if node.child_by_field_name("type") is None:
            raise self.error(node, "the function has no type; write void before its name, or what it returns")
        returns = self.scalar_type(node.child_by_field_name("type"))
        known = self.functions.get(name)
        if known is not None and known.body is not None and body is not None:
            raise self.error(node, f"function {name} is defined twice; the language has no overloads")
        if known is None or body is not None:
            self.functions[name] = Function(name, f"f_{name}", returns, self.parameters(declarator), body, node)

    def _function(self, function: Function) -> None:
        body: Any = function.body
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

    def _referenced(self, body: Any) -> Iterator[str]:
        """The names of variables that calls in a body pass by reference."""
        stack = [body]
        while stack:
            node = stack.pop()
            stack += node.named_children
            if node.type != "call_expression":
                continue
            function = self.functions.get(text(node.child_by_field_name("function")))
            if function is None:
                continue
            arguments = children(node.child_by_field_name("arguments"))
            for parameter, argument in zip(function.parameters, arguments, strict=False):
                if parameter.reference and argument.type == "identifier":
                    yield text(argument)


def _items(root: Any) -> Iterator[Any]:
    """The declarations of a file."""
    for node in children(root):
        if node.type not in (";", "empty_statement", "expression_statement") or text(node).strip(" ;\n"):
            yield node


def _first_line(value: str) -> str:
    line = value.strip().split("\n")[0]
    return line if len(line) <= 40 else line[:37] + "..."
