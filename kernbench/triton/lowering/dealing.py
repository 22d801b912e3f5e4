"""Dealing the programs of a grid to PEs: in which order, and by which rule.

The order names the axes of a grid from the fastest on: "xyz", as a GPU numbers its blocks, unless a launch says otherwise. The
rules:

* `cyclic`: program i goes to PE i modulo their number, so PEs work on neighbouring programs at one time;
* `blocked`: each PE gets consecutive programs, so a PE works on neighbours one after the other.

Both deal before the launch begins, since a PE has no queue of programs that it could share with others.
"""

from __future__ import annotations

from math import prod

import numpy as np

from kernbench.errors import InputError, suggest

RULES = ("cyclic", "blocked")
AXES = "xyz"


class Dealing:
    """An order of the programs of a grid, and a rule to deal them. Errors: InputError for others than there are."""

    __slots__ = ("order", "rule")

    def __init__(self, rule: str = "cyclic", order: str = AXES) -> None:
        if rule not in RULES:
            raise InputError(f"programs cannot be dealt by the rule {rule!r}{suggest(str(rule), RULES)}")
        if sorted(str(order)) != sorted(AXES):
            raise InputError(
                f"programs cannot be dealt in the order {order!r}; give the axes x, y and z, the fastest first"
            )
        self.rule, self.order = rule, order

    def deal(self, grid: tuple[int, int, int], pes: int) -> list[np.ndarray]:
        """int64[program] for each PE: the programs it runs, in turn, by their number with x fastest, then y."""
        numbers = np.arange(prod(grid)).reshape(grid[::-1])  # by z, y, x
        axes = [AXES[::-1].index(axis) for axis in reversed(self.order)]  # the slowest first
        ordered = numbers.transpose(axes).reshape(-1)
        if self.rule == "cyclic":
            return [ordered[pe::pes] for pe in range(pes)]
        each = -(-len(ordered) // pes)
        return [ordered[pe * each : (pe + 1) * each] for pe in range(pes)]


def program_ids(numbers: np.ndarray, grid: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """int64[program] the identity of each along x, y and z."""
    x, y, _ = grid
    return numbers % x, numbers // x % y, numbers // (x * y)
