"""Translation of statements to Python, one line for each, so that a line of the module tells the place in the kernel file.

A block ends the math objects that it declared, also where `break`, `continue` or `return` leaves it. What the processor itself
does is counted in `K.c`, as operations of straight code.
"""

from __future__ import annotations

from typing import Any

from kernbench.tanto.language.expressions import Expressions, Value, children, text
from kernbench.tanto.language.scope import Array, Object, Parameter, Scalar, Scope, Variable
from kernbench.tanto.language.types import UINT32, Type

_LOOP_COST = 2  # a comparison and a branch


class Statements(Expressions):
    """The statements of the functions of one file."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.lines: list[str] = []
        self.places: dict[int, tuple[int, int]] = {}
        self.depth = 0
        self.serial = 0
        self.cells: set[str] = set()  # variables of the function that are passed by reference
        self.returns: Scalar | None = None

    def emit(self, code: str, node: Any = None) -> None:
        """Add a line of the module, which stands for a place of the file."""
        self.lines.append("    " * self.depth + code)
        if node is not None:
            row, column = node.start_point
            self.places[len(self.lines)] = (row + 1, column + 1)

    def name(self, name: str) -> str:
        """A Python name for a variable that no other has."""
        self.serial += 1
        return f"v{self.serial}_{name}"

    def flush_cost(self) -> None:
        """Count the operations of the code so far."""
        if self.cost:
            self.emit(f"K.c += {self.cost}")
            self.cost = 0

    def declare(self, node: Any, name: str, kind: Type, **more: Any) -> Variable:
        """A new variable in the innermost scope. Errors: KernelSourceError for a name that it has already."""
        scope = self.scopes[-1]
        if name in scope.names:
            raise self.error(node, f"{name} is declared twice in one block")
        found = scope.names[name] = Variable(kind, self.name(name), **more)
        return found

    # Statements

    def statement(self, node: Any) -> None:
        """Any statement. Errors: KernelSourceError for one that the language lacks."""
        handler = getattr(self, f"_s_{node.type}", None)
        if handler is None:
            if node.type == "ERROR" or node.is_missing:
                raise self.error(node, "this is no statement")
            raise self.error(node, f"the language has no {node.type.replace('_', ' ')}")
        handler(node)

    def block(self, nodes: list[Any], kind: str = "block") -> None:
        """Statements in a scope of their own, indented."""
        self.depth += 1
        self.scopes.append(Scope(kind))
        first = len(self.lines)
        for node in nodes:
            self.statement(node)
        self.flush_cost()
        self._end_maths(self.scopes[-1])
        if len(self.lines) == first:
            self.emit("pass")
        self.scopes.pop()
        self.depth -= 1

    def body(self, node: Any, kind: str = "block") -> None:
        """A statement as the body of another."""
        self.block(children(node) if node.type == "compound_statement" else [node], kind)

    def _end_maths(self, scope: Scope) -> None:
        for code in reversed(scope.maths):
            self.emit(f"K.end_math({code})")

    def _s_compound_statement(self, node: Any) -> None:
        self.emit("if True:")
        self.block(children(node))

    def _s_expression_statement(self, node: Any) -> None:
        for inner in children(node):
            self.effect(inner)

    def effect(self, node: Any) -> None:
        """An expression for its effect."""
        while node.type == "parenthesized_expression":
            node = children(node)[0]
        if node.type == "comma_expression":
            self.effect(node.child_by_field_name("left"))
            self.effect(node.child_by_field_name("right"))
            return
        self.acts = False
        if node.type == "assignment_expression":
            target, value = self.assigned(node)
            code = f"{target.code} = {value.code}"
        elif node.type == "update_expression":
            target, value = self.updated(node)
            code = f"{target.code} = {value.code}"
        else:
            code = self.expression(node).code
        if self.acts:
            self.flush_cost()
        self.emit(code, node)

    def _s_declaration(self, node: Any) -> None:
        qualifiers = {text(child) for child in node.children if child.type in _QUALIFIERS}
        constant = bool(qualifiers & {"const", "constexpr"})
        kind_node = node.child_by_field_name("type")
        kind = None if kind_node.type == "placeholder_type_specifier" else self.type_of(kind_node)
        for declarator in node.children_by_field_name("declarator"):
            self._declare_one(node, declarator, kind, constant)

    def _declare_one(self, node: Any, declarator: Any, kind: Type | None, constant: bool) -> None:
        value_node = None
        if declarator.type == "init_declarator":
            value_node = declarator.child_by_field_name("value")
            declarator = declarator.child_by_field_name("declarator")
        if declarator.type == "array_declarator":
            self._declare_array(node, declarator, kind, value_node, constant)
            return
        if declarator.type != "identifier":
            raise self.error(declarator, f"the language has no {declarator.type.replace('_', ' ')}")
        name = text(declarator)
        if isinstance(kind, Object) and kind.kind == "math":
            if value_node is not None:
                raise self.error(value_node, "a math object is declared without a value")
            self.flush_cost()
            found = self.declare(declarator, name, kind)
            self.emit(f"{found.code} = K.begin_math({str(kind.element)!r})", node)
            self.scopes[-1].maths.append(found.code)
            self._note(node, name, "math", "math")
            return
        value = self._initial(value_node) if value_node is not None else None
        if isinstance(kind, Object):
            if value is None or value.type != kind:
                raise self.error(declarator, f"{kind} objects come as arguments of the kernel; {name} has no value")
            found = self.declare(declarator, name, kind, constant=constant)
            self.emit(f"{found.code} = {value.code}", node)
            return
        self._declare_scalar(node, declarator, kind, value, constant)

    def _declare_scalar(
        self, node: Any, declarator: Any, kind: Type | None, value: Value | None, constant: bool
    ) -> None:
        name = text(declarator)
        if kind is None:
            if value is None or not isinstance(value.type, Scalar):
                raise self.error(declarator, f"auto {name} needs a number to take its type from")
            kind = value.type
        assert isinstance(kind, Scalar)
        if kind.kind == "void":
            raise self.error(declarator, f"{name} cannot be void")
        if value is None and constant:
            raise self.error(declarator, f"constant {name} has no value")
        made = self.convert(value, kind, declarator) if value else Value("0", kind)
        self.cost += 1
        if self.acts:
            self.flush_cost()
        cell = (name in self.cells and not constant) or (len(self.scopes) == 1 and not constant)
        known = made.const if constant else None
        found = self.declare(declarator, name, kind, constant=constant, cell=cell, value=known)
        if known is None:
            self.emit(f"{found.code} = [{made.code}]" if cell else f"{found.code} = {made.code}", node)

    def _initial(self, node: Any) -> Value:
        self.acts = False
        if node.type in ("argument_list", "initializer_list"):
            inner = children(node)
            if len(inner) != 1:
                raise self.error(node, f"expected one value, got {len(inner)}")
            node = inner[0]
        return self.expression(node)

    def _declare_array(self, node: Any, declarator: Any, kind: Type | None, values: Any, constant: bool) -> None:
        if not isinstance(kind, Scalar):
            raise self.error(node, f"the language has no arrays of {kind}")
        owner, size = declarator.child_by_field_name("declarator"), declarator.child_by_field_name("size")
        if owner.type != "identifier":
            raise self.error(declarator, "arrays have one dimension")
        if values is not None and values.type != "initializer_list":
            raise self.error(values, "an array takes a list of values in braces")
        given = [self.number(value, kind) for value in (children(values) if values is not None else [])]
        length = self.number(size).const if size is not None else len(given)
        if length is None:
            raise self.error(size, "the length of an array must be a constant")
        if not 0 < length <= 1 << 20 or len(given) > length:
            raise self.error(declarator, f"an array of {length} with {len(given)} values; give it a length that fits")
        codes = [value.code for value in given]
        rest = int(length) - len(codes)
        found = self.declare(owner, text(owner), Array(kind, int(length)), constant=constant)
        self.cost += len(codes)
        self.emit(
            f"{found.code} = [{', '.join(codes)}] + [0] * {rest}" if rest else f"{found.code} = [{', '.join(codes)}]",
            node,
        )

    # Control flow

    def _s_if_statement(self, node: Any) -> None:
        self.acts = False
        condition = self.truth(node.child_by_field_name("condition"))
        self.cost += 1
        self.flush_cost()
        self.emit(f"if {condition}:", node)
        self.body(node.child_by_field_name("consequence"))
        alternative = node.child_by_field_name("alternative")
        if alternative is not None:
            self.emit("else:")
            self.block(
                children(alternative)
                if alternative.named_children[0].type != "compound_statement"
                else children(alternative.named_children[0])
            )

    def _s_for_statement(self, node: Any) -> None:
        self.scopes.append(Scope("block"))
        first = node.child_by_field_name("initializer")
        if first is not None:
            self._s_declaration(first) if first.type == "declaration" else self.effect(first)
        self.flush_cost()
        condition = node.child_by_field_name("condition")
        code, cost = self._counted(condition)
        update = node.child_by_field_name("update")
        lines = self._captured(update) if update is not None else []
        self._loop(node, code, cost, lines, node.child_by_field_name("body"))
        self.scopes.pop()

    def _counted(self, node: Any) -> tuple[str, int]:
        """Code of a condition, and its cost."""
        if node is None:
            return "True", _LOOP_COST
        before, self.cost = self.cost, 0
        code = self.truth(node)
        cost, self.cost = self.cost + _LOOP_COST, before
        return code, cost

    def _captured(self, node: Any) -> list[str]:
        """The lines of an expression for its effect, not added."""
        lines, self.lines, depth, self.depth = self.lines, [], self.depth, 0
        places = dict(self.places)
        self.effect(node)
        self.flush_cost()
        found, self.lines, self.depth, self.places = self.lines, lines, depth, places
        return found

    def _loop(self, node: Any, condition: str, cost: int, update: list[str], body: Any) -> None:
        self.emit(f"while {condition}:", node)
        self.depth += 1
        self.emit(f"K.c += {cost}")
        self.depth -= 1
        self.scopes.append(Scope("loop", update=update))
        self.body(body)
        self.scopes.pop()
        self.depth += 1
        for line in update:
            self.emit(line, node)
        self.depth -= 1

    def _s_while_statement(self, node: Any) -> None:
        self.flush_cost()
        code, cost = self._counted(node.child_by_field_name("condition"))
        self._loop(node, code, cost, [], node.child_by_field_name("body"))

    def _s_do_statement(self, node: Any) -> None:
        self.flush_cost()
        code, cost = self._counted(node.child_by_field_name("condition"))
        self._loop(node, "True", cost, [f"if not {code}: break"], node.child_by_field_name("body"))

    def _s_switch_statement(self, node: Any) -> None:
        self.serial += 1
        subject, fallen, flag = f"s{self.serial}", f"f{self.serial}", f"c{self.serial}"
        condition = node.child_by_field_name("condition")
        value = self.number(children(condition)[0])
        self.flush_cost()
        self.emit(f"{subject}, {fallen}, {flag} = {value.code}, False, False", node)
        cases = [child for child in children(node.child_by_field_name("body")) if child.type == "case_statement"]
        labels = [case.child_by_field_name("value") for case in cases]
        codes = [None if label is None else self.number(label).code for label in labels]
        self.emit("while True:")
        self.scopes.append(Scope("switch", flag=flag))
        self.depth += 1
        for case, label, code in zip(cases, labels, codes, strict=True):
            others = ", ".join(other for other in codes if other is not None)
            matches = (
                f"{subject} == {code}" if code is not None else f"{subject} not in ({others},)" if others else "True"
            )
            self.emit(f"if {fallen} or {matches}:", case)
            self.depth += 1
            self.emit(f"{fallen} = True")
            self.depth -= 1
            self.block([child for child in children(case) if label is None or child.id != label.id])
        self.emit("break")
        self.depth -= 1
        self.scopes.pop()
        if any(scope.kind == "loop" for scope in self.scopes):
            self.emit(f"if {flag}:")
            self.depth += 1
            self._continue(node)
            self.depth -= 1

    def _leave(self, node: Any, kinds: tuple[str, ...], what: str) -> Scope:
        """End the math objects up to the nearest scope of some kinds, which is returned."""
        for scope in reversed(self.scopes):
            if scope.kind in kinds:
                return scope
            self._end_maths(scope)
        raise self.error(node, f"{what} outside of a loop")

    def _s_break_statement(self, node: Any) -> None:
        self.flush_cost()
        self._leave(node, ("loop", "switch"), "break")
        self.emit("break", node)

    def _s_continue_statement(self, node: Any) -> None:
        self.flush_cost()
        self._continue(node)

    def _continue(self, node: Any) -> None:
        scope = self._leave(node, ("loop", "switch"), "continue")
        if scope.kind == "switch":
            self.emit(f"{scope.flag} = True")
            self.emit("break", node)
            return
        for line in scope.update:
            self.emit(line, node)
        self.emit("continue", node)

    def _s_return_statement(self, node: Any) -> None:
        inner, returns = children(node), self.returns or UINT32
        if bool(inner) == (returns.kind == "void"):
            raise self.error(
                node, "a void function returns no value" if inner else f"expected a value of type {returns}"
            )
        self.acts = False
        value = self.number(inner[0], returns).code if inner else ""
        self.flush_cost()
        if any(scope.maths for scope in self.scopes) and value:
            self.emit(f"r = {value}", node)
            value = "r"
        for scope in reversed(self.scopes):
            self._end_maths(scope)
        self.emit(f"return {value}".rstrip(), node)

    def parameters(self, node: Any) -> list[Parameter]:
        """The parameters of a function's declarator."""
        found = list[Parameter]()
        for item in children(node.child_by_field_name("parameters")):
            declarator, kind_node = item.child_by_field_name("declarator"), item.child_by_field_name("type")
            if item.type != "parameter_declaration":
                raise self.error(item, f"the language has no {item.type.replace('_', ' ')}")
            kind, reference = self.type_of(kind_node), False
            if declarator is None and isinstance(kind, Scalar) and kind.kind == "void":
                continue
            if declarator is not None and "reference" in declarator.type:
                constant = any(text(child) == "const" for child in item.children)
                reference = isinstance(kind, Scalar) and not constant
                declarator = next(iter(children(declarator)), None)
            if declarator is not None and declarator.type != "identifier":
                raise self.error(declarator, f"the language has no {declarator.type.replace('_', ' ')} as a parameter")
            row, column = item.start_point
            name = text(declarator) if declarator is not None else f"unnamed{len(found)}"
            found.append(Parameter(name, kind, reference, row + 1, column + 1, "".join(text(kind_node).split())))
        return found


_QUALIFIERS = ("type_qualifier", "storage_class_specifier")
