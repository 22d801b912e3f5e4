"""Points that share a structure: machine compiled once, bench recorded once, then only figures change.

A structure is what points have in common that differ in figures of the topology alone. What it answers is bit for bit what
each point gives by itself, or nothing: then the point has to be run by itself (a bench that reads what it computed, a part
whose figures do more than usual). One structure is kept at a time, since points come in groups.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np

from kernbench.host.bench import find_bench, typed_parameters
from kernbench.host.bounding import BenchSheet
from kernbench.host.recording import record
from kernbench.host.run import choose_sips
from kernbench.machine.origins import may_vary
from kernbench.machine.variants import Variants
from kernbench.program.digest import digest
from kernbench.sweep.point import Point

_latest = threading.local()  # workers of a cluster may be threads


class Structure:
    """The machine and the recorded bench of some points. Errors: KernBenchError if there is no such machine or bench."""

    def __init__(self, point: Point) -> None:
        bench = find_bench(point.bench)
        parameters = typed_parameters(bench, point.parameters)
        fixed = {path: value for path, value in point.overrides.items() if not may_vary(path)}
        self.identity = identify(point)
        self.variants = Variants(point.topology, bench.shape(parameters, fixed))
        base = self.variants.base
        self.recording = record(bench, base, parameters, choose_sips(base, "all"))
        self.digest = digest(self.recording.program) if self.recording else ""
        self._sheet: BenchSheet | None = None

    @staticmethod
    def figures(point: Point) -> dict[str, object]:
        """What a point sets of the figures that may differ, by field."""
        return {path: value for path, value in point.overrides.items() if may_vary(path)}

    def run(self, point: Point) -> object | None:
        """What has the figures of a RunResult; None if the point has to be run by itself. Errors: KernBenchError."""
        started = time.perf_counter()
        machine = self.variants.machine(self.figures(point)) if self.recording else None
        if self.recording is None or machine is None:
            return None
        base = self.variants.base.figures
        if any(machine.figures[field] != base[field] for field in self.recording.looked_at):
            return None
        found = self.recording.list_figures(machine, point.mode)
        return SimpleNamespace(**found, program_digest=self.digest, wall_s=time.perf_counter() - started)

    def bound(self, columns: Mapping[str, np.ndarray], count: int) -> dict[str, np.ndarray] | None:
        """The bounds of many points, float64[point] of each time; None if they have to be bounded by themselves.

        `columns`: float64[point] of each field that may differ, in its own unit. Errors: KernBenchError.
        """
        if self.recording is None or not self.recording.launches or not self._follows(columns):
            return None
        if self._sheet is None:
            self._sheet = BenchSheet(self.recording.program, self.recording.launches)
        return self._sheet.evaluate(columns, count)

    def _follows(self, columns: Mapping[str, np.ndarray]) -> bool:
        """Whether all that differs is known to be no more than figures of times, each held against a compiled machine."""
        assert self.recording is not None
        base = self.variants.base.figures
        for field, values in columns.items():
            if field not in self.variants.fields:
                return False
            other = np.flatnonzero(values != base[field])
            if len(other) and field in self.recording.looked_at:
                return False
            if len(other) and field not in self.variants.proved:
                at = int(other[0])
                if self.variants.machine({name: float(column[at]) for name, column in columns.items()}) is None:
                    return False
        return True


def find_structure(point: Point) -> Structure:
    """The structure of a point: that of the point before it, if it is the same. Errors: as `Structure`."""
    kept: Structure | None = getattr(_latest, "structure", None)
    if kept is None or kept.identity != identify(point):
        kept = _latest.structure = None  # before the next is made: it may need the memory
        kept = _latest.structure = Structure(point)
    return kept


def identify(point: Point) -> tuple[str, ...]:
    """What points of one structure have in common."""
    fixed = sorted((path, repr(value)) for path, value in point.overrides.items() if not may_vary(path))
    return point.bench, point.topology, repr(sorted(point.parameters.items())), repr(fixed)
