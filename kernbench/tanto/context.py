"""The context that a bench of Tanto programs is written against: a device, its queue, and what its buffers should hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.errors import InputError, RunError
from kernbench.tanto.api import Global, Local, Program
from kernbench.tanto.device import Device
from kernbench.tanto.loading import KernelFiles
from kernbench.tanto.run import TantoResult, run_program

if TYPE_CHECKING:
    from pathlib import Path

    from kernbench.limits.run_options import OnProgress
    from kernbench.machine.machine import Machine

LEAST_CORRELATION = 0.9999


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a buffer should hold after the run; `exact` bit for bit, else by a correlation of `least`."""

    name: str
    buffer: Global | Local
    reference: Callable[[], np.ndarray]
    exact: bool
    least: float


class TantoContext:
    """A device on which a bench makes objects, writes buffers and runs one program."""

    def __init__(self, machine: Machine, kernels: Path, *, seed: int = 0) -> None:
        self.device = Device(machine)
        self.kernels = kernels
        self.random = np.random.default_rng(seed)
        self.expectations: list[Expectation] = []
        self.submitted: list[Program] = []
        self.preparations: list[Callable[[], object]] = []

    def prepare(self, function: Callable[[], object]) -> None:
        """Call a function before the program if its numbers are computed: for contents that take long to make."""
        self.preparations.append(function)

    def fill(self) -> None:
        """Call what was given to `prepare`, each once."""
        waiting, self.preparations = self.preparations, []
        for prepare in waiting:
            prepare()

    def write(self, buffer: Global | Local, values: np.ndarray) -> np.ndarray:
        """Write a buffer, or a local of the device; returns what it holds then, as float32 for bfloat16."""
        self.device.write(buffer.id, values, buffer.letter)
        return self.device.read(buffer.id, buffer.letter)

    def launch(self, program: Program) -> None:
        """Run a program after the bench function has ended. Errors: InputError for a second one."""
        if self.submitted:
            raise InputError("a bench runs one program; put its kernels into one, or write a second bench")
        self.submitted.append(program)

    def expect(
        self,
        name: str,
        buffer: Global | Local,
        reference: Callable[[], np.ndarray],
        *,
        exact: bool = False,
        least: float = LEAST_CORRELATION,
    ) -> None:
        """Say what a buffer should hold after the program, computed only if it is asked for."""
        self.expectations.append(Expectation(name, buffer, reference, exact, least))

    def run(self, *, numbers: bool, mode: str, on_progress: OnProgress | None = None) -> TantoResult:
        """Run the program. Errors: those of `run_program`; RunError if there is none, or for a deadlock."""
        if not self.submitted:
            raise RunError("the bench submitted nothing; let it call launch(program)")
        program = self.submitted[0]
        if numbers:
            self.fill()
        found = run_program(
            self.device,
            program.spec(),
            KernelFiles(self.kernels, functions=program.functions),
            name=program.name,
            numbers=numbers,
            mode=mode,
            on_progress=on_progress,
        )
        if found.error:
            raise RunError("\n".join((found.error, *found.told)))
        return found

    def mismatches(self) -> tuple[str, ...]:
        """A sentence for each expectation that does not hold. Errors: RunError if there is none."""
        if not self.expectations:
            raise RunError("the bench states nothing to verify; let it call expect(name, buffer, reference)")
        return tuple(text for one in self.expectations if (text := self._mismatch(one)))

    def _mismatch(self, one: Expectation) -> str:
        got, expected = (
            self.device.read(one.buffer.id, one.buffer.letter),
            np.asarray(one.reference(), np.float32).reshape(-1),
        )
        if got.size != expected.size:
            return f"{one.name}: has {got.size:,} elements, the reference {expected.size:,}"
        if one.exact:
            wrong = np.flatnonzero(got != expected)
            if not len(wrong):
                return ""
            at = int(wrong[0])
            return (
                f"{one.name}[{at}]: expected {expected[at]!r}, got {got[at]!r}; {len(wrong):,} of {got.size:,} differ"
            )
        found = correlation(got, expected)
        return "" if found >= one.least else f"{one.name}: correlates by {found:.6f}, expected {one.least}"


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's correlation of two arrays; 1 for equal ones, 0 where one is constant or not finite."""
    if np.array_equal(a, b):
        return 1.0
    a, b = a.astype(np.float64), b.astype(np.float64)
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a * a).sum() * (b * b).sum()))
    found = float((a * b).sum()) / scale if scale else 0.0
    return found if np.isfinite(found) else 0.0
