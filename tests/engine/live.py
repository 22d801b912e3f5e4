"""Programs that grow while they run: what an ask brings follows from what has happened, so each run has its own program."""

from __future__ import annotations

from collections.abc import Callable

from kernbench.machine.machine import Machine
from kernbench.program.program import Program
from tests.engine.random_traffic import forget_routes

OnAsk = Callable[[int, int], None]  # is given the thread and the time (fs)


class LiveProgram(Program):
    """A program that `grow` begins; `on_ask`, which it returns, goes on at each ask. It draws the same for each program."""

    def __init__(self, machine: Machine, grow: Callable[[Program], OnAsk]) -> None:
        super().__init__(machine)
        self._grow = grow
        self.on_ask: OnAsk = grow(self)

    def again(self) -> LiveProgram:
        """The program as it was before it ran, on a machine that no route was asked of."""
        return LiveProgram(forget_routes(self.machine), self._grow)


def begin_again(program: Program) -> Program:
    """The program for one more run: one that does not grow is the same for all."""
    return program.again() if isinstance(program, LiveProgram) else program
