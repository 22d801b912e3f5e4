"""Declarations: variables, arrays, structures and parameters; and the lines of the module that statements add to."""

from __future__ import annotations

from dataclasses import replace

from tree_sitter import Node

from kernbench.tanto.language.calls import Calls
from kernbench.tanto.language.expressions import copied
from kernbench.tanto.language.scope import Parameter, Variable
from kernbench.tanto.language.source import Source
from kernbench.tanto.language.syntax import children, field, text
from kernbench.tanto.language.types import VOID, Array, Object, Scalar, Struct, Type
from kernbench.tanto.language.values import Value

_QUALIFIERS = ("type_qualifier", "storage_class_specifier")
_MOST_ELEMENTS = 1 << 20


class Declarations(Calls):
    """The declarations of one file."""

    def __init__(self, source: Source, element: Scalar) -> None:
        super().__init__(source, element)
        self.lines: list[str] = []
        self.places: dict[int, tuple[int, int]] = {}
        self.known_params = True  # whether the values of `param<>` declarations are given
        self.depth = 0
        self.serial = 0
        self.cells: set[str] = set()  # variables of the function that are passed by reference
        self.returns: Scalar | None = None

    def emit(self, code: str, node: Node | None = None) -> None:
        """Add a line of the module, which stands for a place of the file."""
        self.lines.append("    " * self.depth + code)
        if node is not None:
            self.places[len(self.lines)] = self.source.place(node)

    def name(self, name: str) -> str:
        """A Python name for a variable that no other has."""
        self.serial += 1
        return f"v{self.serial}_{name}"

    def flush_cost(self, acting: Node | None = None) -> None:
        """Count the operations of the code so far; before a statement that acts also say which line it is."""
        found = [f"K.c += {self.cost}"] if self.cost else []
        if acting is not None:
            found.append(f"K.line = {self.source.place(acting)[0]}")
        if found:
            self.emit("; ".join(found))
        self.cost = 0

    def declare(
        self,
        node: Node,
        name: str,
        kind: Type,
        *,
        constant: bool = False,
        cell: bool = False,
        value: int | float | None = None,
    ) -> Variable:
        """A new variable in the innermost scope. Errors: KernelSourceError for a name that it has already."""
        scope = self.scopes[-1]
        if name in scope.names:
            raise self.error(node, f"{name} is declared twice in one block")
        found = scope.names[name] = Variable(kind, self.name(name), constant, cell, value)
        return found

    def named_type(self, node: Node) -> Type | None:
        """The type that a declaration names; None for auto."""
        kind = field(node, "type")
        return None if kind.type == "placeholder_type_specifier" else self.type_of(kind)

    # Variables

    def s_declaration(self, node: Node) -> None:
        """Variables of one type."""
        qualifiers = {text(child) for child in node.children if child.type in _QUALIFIERS}
        constant = bool(qualifiers & {"const", "constexpr"})
        kind = self.named_type(node)
        for declarator in node.children_by_field_name("declarator"):
            self._declare_one(node, declarator, kind, constant)

    def _declare_one(self, node: Node, declarator: Node, kind: Type | None, constant: bool) -> None:
        value = node.child_by_field_name("value")  # of a declaration that is a condition
        if declarator.type == "init_declarator":
            value, declarator = field(declarator, "value"), field(declarator, "declarator")
        elif declarator.type == "function_declarator":  # as the parser takes `pipe<T> q(p)`
            value, declarator = self._only(field(declarator, "parameters")), field(declarator, "declarator")
            value = field(value, "type")
        self.acts = False
        if declarator.type == "reference_declarator":
            declarator = children(declarator)[0]
            if self._declare_reference(declarator, kind, value, constant):
                return
        if declarator.type == "array_declarator":
            owner, array = self._array(declarator, kind, value)
            self._declare_aggregate(node, owner, array, value, constant)
        elif declarator.type != "identifier":
            raise self.error(declarator, f"the language has no {declarator.type.replace('_', ' ')}")
        elif isinstance(kind, Struct | Array):
            self._declare_aggregate(node, declarator, kind, value, constant)
        elif isinstance(kind, Object) and kind.kind == "math":
            self._declare_math(node, declarator, kind, value)
        else:
            found = self.expression(self._only(value)) if value is not None else None
            kind = kind or (found.type if found else None)
            if isinstance(kind, Object):
                self._declare_object(node, declarator, kind, found, constant)
            else:
                self._declare_scalar(node, declarator, kind, found, constant)

    def _declare_reference(self, declarator: Node, kind: Type | None, value: Node | None, constant: bool) -> bool:
        """A second name of a variable. Returns False for a constant reference to a value, which is a copy of it."""
        inner = None if value is None else self._only(value)
        found = self.find(text(inner)) if inner is not None and inner.type == "identifier" else None
        if found is not None and kind in (None, found.type) and (constant or not found.constant):
            name, scope = text(declarator), self.scopes[-1]
            if name in scope.names:
                raise self.error(declarator, f"{name} is declared twice in one block")
            scope.names[name] = replace(found, constant=constant or found.constant)
            return True
        if not constant or inner is None:
            raise self.error(declarator, f"a reference to {kind or 'auto'} takes a variable of that type")
        return False

    def _only(self, node: Node) -> Node:
        """The one value in parentheses or braces, or the value itself."""
        if node.type not in ("argument_list", "initializer_list", "parameter_list"):
            return node
        inner = children(node)
        if len(inner) != 1:
            raise self.error(node, f"expected one value, got {len(inner)}")
        return inner[0]

    def _declare_math(self, node: Node, declarator: Node, kind: Object, value: Node | None) -> None:
        if value is not None:
            raise self.error(value, "a math object is declared without a value")
        self.flush_cost(node)
        found = self.declare(declarator, text(declarator), kind)
        self.emit(f"{found.code} = K.begin_math({str(kind.element)!r})", node)
        self.scopes[-1].maths.append(found.code)
        self.note(node, text(declarator), "math", "math")

    def _declare_object(self, node: Node, declarator: Node, kind: Object, value: Value | None, constant: bool) -> None:
        name = text(declarator)
        if value is None or value.type != kind:
            raise self.error(declarator, f"{kind} objects come as arguments of the kernel; {name} has no value")
        found = self.declare(declarator, name, kind, constant=constant)
        self.emit(f"{found.code} = {value.code}", node)

    def _declare_scalar(
        self, node: Node, declarator: Node, kind: Type | None, value: Value | None, constant: bool
    ) -> None:
        name = text(declarator)
        if not isinstance(kind, Scalar):
            raise self.error(declarator, f"auto {name} needs a number to take its type from")
        if kind.kind == "void":
            raise self.error(declarator, f"{name} cannot be void")
        if value is None and constant:
            raise self.error(declarator, f"constant {name} has no value")
        made = self.convert(value, kind, declarator) if value else Value(_zero(kind), kind)
        self.cost += 1
        if self.acts:
            self.flush_cost(node)
        cell = (name in self.cells or len(self.scopes) == 1) and not constant
        known = made.const if constant else None
        found = self.declare(declarator, name, kind, constant=constant, cell=cell, value=known)
        if known is None:
            self.emit(f"{found.code} = [{made.code}]" if cell else f"{found.code} = {made.code}", node)

    # Arrays and structures

    def _array(self, declarator: Node, kind: Type | None, values: Node | None) -> tuple[Node, Array]:
        """The name of an array, and its type. Errors: KernelSourceError for a length that is not known."""
        if kind is None or (isinstance(kind, Object) and kind.kind == "math"):
            raise self.error(declarator, f"the language has no arrays of {kind or 'auto'}")
        owner, size = field(declarator, "declarator"), declarator.child_by_field_name("size")
        is_list = values is not None and values.type == "initializer_list"
        if size is None and (owner.type != "identifier" or not is_list):
            raise self.error(declarator, "an array without a length takes a list of values in braces")
        found = len(children(values)) if size is None and values is not None else self._length(size or declarator)
        if not 0 < found <= _MOST_ELEMENTS:
            raise self.error(declarator, f"an array of {found}; it has 1 to {_MOST_ELEMENTS:,} elements")
        array = Array(kind, found)
        return (owner, array) if owner.type == "identifier" else self._array(owner, array, values)

    def _length(self, node: Node) -> int:
        found = self.number(node).const
        if found is None:
            if not self.known_params:
                return 1  # only the file itself is checked: a length that follows from param<> values is not known
            raise self.error(node, "the length of an array must be a constant")
        return int(found)

    def _declare_aggregate(
        self, node: Node, owner: Node, kind: Array | Struct, values: Node | None, constant: bool
    ) -> None:
        code = self._filled(owner, kind, values)
        if self.acts:
            self.flush_cost(node)
        found = self.declare(owner, text(owner), kind, constant=constant)
        self.emit(f"{found.code} = {code}", node)

    def _filled(self, owner: Node, kind: Type, values: Node | None) -> str:
        """Code of a value of a type, from a list in braces or an expression; zeros where there is none."""
        if isinstance(kind, Array | Struct) and values is not None and values.type == "initializer_list":
            given = children(values)
            kinds = [kind.element] * kind.length if isinstance(kind, Array) else [one for _, one in kind.fields]
            if len(given) > len(kinds):
                raise self.error(values, f"{kind} takes {len(kinds)} values, got {len(given)}")
            codes = [self._filled(owner, one, value) for one, value in zip(kinds, given, strict=False)]
            self.cost += len(codes)
            rest = kinds[len(codes) :]
            more = "" if not rest else f" + [{_zero(rest[0])}] * {len(rest)}"
            if (rest and not isinstance(rest[0], Scalar)) or len(set(rest)) > 1:
                more = f" + [{', '.join(self._filled(owner, one, None) for one in rest)}]"
            return f"[{', '.join(codes)}]{more}"
        if values is not None and isinstance(kind, Scalar):
            return self.number(self._only(values), kind).code
        if values is not None:
            value = self.expression(values)
            if value.type != kind:
                raise self.error(values, f"got {value.type}, expected {kind}")
            return copied(value).code
        return self._empty(owner, kind)

    def _empty(self, owner: Node, kind: Type) -> str:
        """Code of zeros of a type."""
        if isinstance(kind, Scalar):
            return _zero(kind)
        if isinstance(kind, Object):
            raise self.error(owner, f"{kind} objects come as arguments of the kernel; {text(owner)} has no value")
        if isinstance(kind, Array):
            one = self._empty(owner, kind.element)
            return (
                f"[{one}] * {kind.length}"
                if isinstance(kind.element, Scalar)
                else f"[{one} for _ in range({kind.length})]"
            )
        return f"[{', '.join(self._empty(owner, one) for _, one in kind.fields)}]"

    def declare_struct(self, node: Node) -> None:
        """A structure of scalars, objects, arrays and structures."""
        found = list[tuple[str, Type]]()
        for item in children(field(node, "body")):
            if item.type != "field_declaration":
                raise self.error(item, f"a structure has no {item.type.replace('_', ' ')} here, but fields alone")
            kind = self.type_of(field(item, "type"))
            for declarator in item.children_by_field_name("declarator"):
                owner, own = declarator, kind
                while owner.type == "array_declarator":
                    own = Array(own, self._length(field(owner, "size")))
                    owner = field(owner, "declarator")
                if owner.type != "field_identifier" or item.child_by_field_name("default_value"):
                    raise self.error(item, "a field of a structure is a name, or an array, without a value")
                found.append((text(owner), own))
        named = node.child_by_field_name("name")
        if named is None:
            raise self.error(node, "a structure has a name: struct name { ... };")
        self.types[text(named)] = Struct(text(named), tuple(found))

    # Parameters

    def parameters(self, node: Node) -> list[Parameter]:
        """The parameters of a function's declarator."""
        found = list[Parameter]()
        for item in children(field(node, "parameters")):
            if item.type not in ("parameter_declaration", "optional_parameter_declaration"):
                raise self.error(item, f"the language has no {item.type.replace('_', ' ')}")
            one = self._parameter(item, len(found))
            if one.type != VOID:
                found.append(one)
        return found

    def _parameter(self, item: Node, number: int) -> Parameter:
        declarator, kind_node = item.child_by_field_name("declarator"), field(item, "type")
        kind, reference, shares = self.type_of(kind_node), False, False
        if declarator is not None and "reference" in declarator.type:
            constant = any(text(child) == "const" for child in item.children)
            reference, shares = isinstance(kind, Scalar) and not constant, not isinstance(kind, Scalar)
            declarator = next(iter(children(declarator)), None)
        if declarator is not None and declarator.type != "identifier":
            raise self.error(declarator, f"the language has no {declarator.type.replace('_', ' ')} as a parameter")
        name = text(declarator) if declarator is not None else f"unnamed{number}"
        line, column = self.source.place(item)
        spelling, default = "".join(text(kind_node).split()), item.child_by_field_name("default_value")
        return Parameter(name, kind, reference, line, column, spelling, default, shares)


def _zero(kind: Type) -> str:
    return "0.0" if isinstance(kind, Scalar) and kind.kind == "float" else "0"
