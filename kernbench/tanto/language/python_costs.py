"""What the code of a Python kernel costs on the processor of a core: as much as the same code in C++.

Calls that count operations are put before its statements; nothing else of it changes.
"""

from __future__ import annotations

import ast

from kernbench.tanto.language.methods import FUNCTIONS
from kernbench.tanto.language.operation_costs import product_cost, quotient_cost

SPEND = "__spend__"
_LOOP, _CALL, _ENTRY, _METHOD, _INDEX, _CHOICE = 2, 4, 2, 2, 2, 2


class CostCounter(ast.NodeTransformer):
    """Puts the cost of its code into a function; `functions` are the names of those that are kernel code too."""

    def __init__(self, functions: set[str]) -> None:
        self.functions = functions
        self._updates: list[int] = []  # of the loops around: what the end of a turn costs

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function: its entry, then its statements."""
        outer, self._updates = self._updates, []
        node.body = [_spend(_ENTRY, node), *self._block(node.body)]
        self._updates = outer
        return node

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [made for statement in body for made in self._statement(statement)]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.If):
            node.body, node.orelse = self._block(node.body), self._block(node.orelse)
            return _after(1 + self.cost(node.test), node)
        if isinstance(node, ast.While):
            return self._while(node)
        if isinstance(node, ast.For):
            return self._for(node)
        if isinstance(node, ast.With):
            node.body = self._block(node.body)
            return _after(sum(self.cost(item.context_expr) for item in node.items), node)
        if isinstance(node, ast.Continue):
            return _after(self._updates[-1] if self._updates else 0, node)
        if isinstance(node, ast.FunctionDef):
            self.functions.add(node.name)
            self.visit_FunctionDef(node)
            return [node]
        return _after(self._plain(node), node)

    def _plain(self, node: ast.stmt) -> int:
        """The cost of a statement without a block."""
        found = sum(self.cost(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
        if isinstance(node, ast.Assign):
            return found + sum(len(one.elts) if isinstance(one, ast.Tuple) else 1 for one in node.targets)
        if isinstance(node, ast.AugAssign):
            return found + 1 + _operation(node.op, None, _constant(node.value))
        return found + isinstance(node, ast.AnnAssign)

    def _while(self, node: ast.While) -> list[ast.stmt]:
        self._updates.append(0)
        node.body = [_spend(_LOOP + self.cost(node.test), node), *self._block(node.body)]
        self._updates.pop()
        return [node]

    def _for(self, node: ast.For) -> list[ast.stmt]:
        """A loop over a range costs as `for (uint32 i = a; i < b; i++)`: a start, and a comparison and a step each turn."""
        counts = isinstance(node.iter, ast.Call) and _name(node.iter.func) == "range"
        bounds = sum(self.cost(one) for one in node.iter.args) if isinstance(node.iter, ast.Call) and counts else 0
        step = 1 if counts else 0
        self._updates.append(step)
        turn = _spend(_LOOP + bounds + step, node)
        node.body = [turn, *self._block(node.body), *([_spend(step, node)] if step else [])]
        self._updates.pop()
        return _after(1 if counts else self.cost(node.iter), node)

    def cost(self, node: ast.AST) -> int:
        """The cost of an expression with all that is in it."""
        return self._own(node) + sum(self.cost(child) for child in ast.iter_child_nodes(node))

    def _own(self, node: ast.AST) -> int:
        if isinstance(node, ast.BinOp):
            return 1 + _operation(node.op, _constant(node.left), _constant(node.right))
        if isinstance(node, ast.BoolOp):
            return len(node.values) - 1
        if isinstance(node, ast.Compare):
            return len(node.ops)
        if isinstance(node, ast.UnaryOp):
            return 0 if isinstance(node.operand, ast.Constant) else 1
        if isinstance(node, ast.IfExp):
            return _CHOICE
        if isinstance(node, ast.Subscript):
            return _INDEX
        if isinstance(node, ast.NamedExpr):
            return 1
        return self._call(node) if isinstance(node, ast.Call) else 0

    def _call(self, node: ast.Call) -> int:
        name = _name(node.func)
        if isinstance(node.func, ast.Attribute) or name in FUNCTIONS:
            return _METHOD
        return _CALL if name in self.functions else 0


def _operation(operator: ast.operator, left: int | float | None, right: int | float | None) -> int:
    """What an operation takes more than a sum."""
    if isinstance(operator, ast.Mult):
        return product_cost(left, right)
    if isinstance(operator, ast.Div | ast.FloorDiv | ast.Mod):
        return quotient_cost(right, remainder=isinstance(operator, ast.Mod))
    return 0


def _constant(node: ast.expr) -> int | float | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else None


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _spend(operations: int, at: ast.stmt) -> ast.stmt:
    call = ast.Call(ast.Name(SPEND, ast.Load()), [ast.Constant(operations), ast.Constant(at.lineno)], [])
    return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), at))


def _after(operations: int, node: ast.stmt) -> list[ast.stmt]:
    return [_spend(operations, node), node] if operations else [node]
