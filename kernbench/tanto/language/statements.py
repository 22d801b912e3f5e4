"""Translation of statements to Python, one line for each, so that a line of the module tells the place in the kernel file.

A block ends the math objects that it declared, also where `break`, `continue` or `return` leaves it. What the processor itself
does is counted in `K.c`, as operations of straight code.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from kernbench.tanto.language.declarations import Declarations
from kernbench.tanto.language.scope import Scope
from kernbench.tanto.language.syntax import children, field, text
from kernbench.tanto.language.types import INT, UINT32, VOID, Array, wrap

_NAME = re.compile(r"\bv\d+_\w+")  # of a variable of the module
_LOOP_COST = 2  # a comparison and a branch


class Statements(Declarations):
    """The statements of the functions of one file."""

    # Statements

    def statement(self, node: Node) -> None:
        """Any statement. Errors: KernelSourceError for one that the language lacks."""
        handler: Callable[[Node], None] | None = getattr(self, f"s_{node.type}", None)
        if handler is None:
            if node.type == "ERROR" or node.is_missing:
                raise self.error(node, "this is no statement")
            raise self.error(node, f"the language has no {node.type.replace('_', ' ')}")
        handler(node)

    def block(self, nodes: list[Node], kind: str = "block") -> None:
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

    def body(self, node: Node, kind: str = "block") -> None:
        """A statement as the body of another."""
        self.block(children(node) if node.type == "compound_statement" else [node], kind)

    def _end_maths(self, scope: Scope) -> None:
        for code in reversed(scope.maths):
            self.emit(f"K.end_math({code})")

    def s_static_assert_declaration(self, node: Node) -> None:
        """Check a condition that is known now."""
        condition, message = field(node, "condition"), node.child_by_field_name("message")
        found = self.expression(condition)
        if found.const is not None and not found.const:
            words = f": {text(message)}" if message else ""
            raise self.error(node, f"static_assert fails{words}")

    def s_compound_statement(self, node: Node) -> None:
        self.emit("if True:")
        self.block(children(node))

    def s_expression_statement(self, node: Node) -> None:
        for inner in children(node):
            self.effect(inner)

    def effect(self, node: Node) -> None:
        """An expression for its effect."""
        while node.type == "parenthesized_expression":
            node = children(node)[0]
        if node.type == "comma_expression":
            self.effect(field(node, "left"))
            self.effect(field(node, "right"))
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
            self.flush_cost(node)
        self.emit(code, node)

    # Control flow

    def s_if_statement(self, node: Node) -> None:
        self.acts = False
        *before, last = children(field(node, "condition"))
        self.scopes.append(Scope("block"))
        for first in before:
            self.statement(first)
        if last.type == "declaration":
            self.statement(last)
            last = field(last, "declarator")
        condition = self.truth(last)
        self.cost += 1
        if self.acts:
            self.flush_cost()
        cost = self.cost  # is counted with the first statements of each branch
        self.emit(f"if {condition}:", node)
        self.body(field(node, "consequence"))
        alternative = node.child_by_field_name("alternative")
        if alternative is not None or cost:
            self.emit("else:")
            self.cost = cost
            nodes = [] if alternative is None else children(alternative)
            self.block(children(nodes[0]) if nodes and nodes[0].type == "compound_statement" else nodes)
        self.scopes.pop()

    def s_init_statement(self, node: Node) -> None:
        """What comes before the condition of an if."""
        for inner in children(node):
            self.statement(inner)

    def s_for_statement(self, node: Node) -> None:
        self.scopes.append(Scope("block"))
        first = node.child_by_field_name("initializer")
        if first is not None:
            self.s_declaration(first) if first.type == "declaration" else self.effect(first)
        self.acts = False
        code, cost = self._counted(node.child_by_field_name("condition"))
        calls, update = self.acts, node.child_by_field_name("update")
        lines, step = self._captured(update) if update is not None else ([], 0)
        if calls and step:  # what the condition calls sees all operations before it
            lines, step = [*lines, f"K.c += {step}"], 0
        self._loop(node, code, cost, lines, field(node, "body"), step)
        self.scopes.pop()

    def s_for_range_loop(self, node: Node) -> None:
        array, declarator = self.expression(field(node, "right")), field(node, "declarator")
        if not isinstance(array.type, Array) or declarator.type != "identifier":
            raise self.error(node, f"a loop over {array.type}; it goes over the values of an array")
        kind = self.named_type(node) or array.type.element
        if kind != array.type.element:
            raise self.error(node, f"{text(declarator)} is {kind}, the array has {array.type.element}")
        self.flush_cost()
        self.scopes.append(Scope("block"))
        found = self.declare(declarator, text(declarator), kind, cell=text(declarator) in self.cells)
        self.emit(f"for {found.code} in {array.code}:", node)
        self.depth += 1
        if found.cell:
            self.emit(f"{found.code} = [{found.code}]")
        self.depth -= 1
        self.cost = _LOOP_COST
        self.scopes.append(Scope("loop"))
        self.body(field(node, "body"))
        self.scopes.pop()
        self.scopes.pop()

    def _counted(self, node: Node | None) -> tuple[str, int]:
        """Code of a condition, and its cost."""
        if node is None:
            return "True", _LOOP_COST
        before, self.cost = self.cost, 0
        code = self.truth(node)
        cost, self.cost = self.cost + _LOOP_COST, before
        return code, cost

    def _captured(self, node: Node) -> tuple[list[str], int]:
        """The lines of an expression for its effect, not added, and its operations that they do not count."""
        lines, self.lines, depth, self.depth = self.lines, [], self.depth, 0
        places, before, self.cost = dict(self.places), self.cost, 0
        self.effect(node)
        found, self.lines, self.depth, self.places = self.lines, lines, depth, places
        step, self.cost = self.cost, before
        return found, step

    def _loop(self, node: Node, condition: str, cost: int, update: list[str], body: Node, step: int = 0) -> None:
        """A loop. Each turn counts the update at its start, with the condition; the first has none: it is taken off before."""
        self.cost -= step
        self.flush_cost()
        head = len(self.lines)
        self.emit(f"while {condition}:", node)
        self.cost = cost + step  # is counted with the first statements of the body
        self.scopes.append(Scope("loop", update=update, step=step))
        self.body(body)
        self.scopes.pop()
        if counted := self._range(condition, update, head):
            self.lines[head] = "    " * self.depth + counted
        else:
            self.depth += 1
            for line in update:
                self.emit(line, node)
            self.depth -= 1
        self.cost = step

    def _range(self, condition: str, update: list[str], head: int) -> str:
        """The head of a loop over a range in the place of `while`, where that does the same, or nothing.

        The loop declares its counter, counts by 1 to a bound that is computed without calls, and its body assigns neither
        the counter nor what the bound is of.
        """
        counter = update[0].partition(" = ")[0] if update else ""
        if not any(update == [f"{counter} = {wrap(f'{counter} + 1', kind)}"] for kind in (UINT32, INT)):
            return ""
        own = any(one.code == counter for one in self.scopes[-1].names.values())
        found = re.fullmatch(rf"\({counter} < ([\w +\-*/%&|^()]+)\)", condition)
        if not own or found is None:
            return ""
        changed = re.compile(rf"\b(?:{'|'.join([counter, *_NAME.findall(found[1])])}) (?:=(?!=)|:=|in\b)")
        if any(map(changed.search, self.lines[head + 1 :])):
            return ""
        return f"for {counter} in range({counter}, {found[1]}):"

    def s_while_statement(self, node: Node) -> None:
        code, cost = self._counted(field(node, "condition"))
        self._loop(node, code, cost, [], field(node, "body"))

    def s_do_statement(self, node: Node) -> None:
        code, cost = self._counted(field(node, "condition"))
        self._loop(node, "True", cost, [f"if not {code}: break"], field(node, "body"))

    def s_switch_statement(self, node: Node) -> None:
        self.serial += 1
        subject, fallen, flag = f"s{self.serial}", f"f{self.serial}", f"c{self.serial}"
        condition = field(node, "condition")
        value = self.number(children(condition)[0])
        self.flush_cost()
        self.emit(f"{subject}, {fallen}, {flag} = {value.code}, False, False", node)
        cases = [child for child in children(field(node, "body")) if child.type == "case_statement"]
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

    def _leave(self, node: Node, kinds: tuple[str, ...], what: str) -> Scope:
        """End the math objects up to the nearest scope of some kinds, which is returned."""
        for scope in reversed(self.scopes):
            if scope.kind in kinds:
                return scope
            self._end_maths(scope)
        raise self.error(node, f"{what} outside of a loop")

    def s_break_statement(self, node: Node) -> None:
        scope = next((one for one in reversed(self.scopes) if one.kind in ("loop", "switch")), None)
        self.cost -= scope.step if scope is not None else 0  # what comes after the loop counts it
        self.flush_cost()
        self._leave(node, ("loop", "switch"), "break")
        self.emit("break", node)

    def s_continue_statement(self, node: Node) -> None:
        self.flush_cost()
        self._continue(node)

    def _continue(self, node: Node) -> None:
        scope = self._leave(node, ("loop", "switch"), "continue")
        if scope.kind == "switch":
            self.emit(f"{scope.flag} = True")
            self.emit("break", node)
            return
        for line in scope.update:
            self.emit(line, node)
        self.emit("continue", node)

    def s_return_statement(self, node: Node) -> None:
        inner, returns = children(node), self.returns or UINT32
        if inner and returns.kind == "void" and inner[0].type == "call_expression":
            value = self.expression(inner[0])
            if value.type == VOID:
                self.flush_cost()
                self.emit(value.code, node)
                inner = []
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
