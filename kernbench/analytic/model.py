"""Model of a program on a machine: its rows, their precedence graph, and their times as forms over one basis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.analytic.critical_path import RowCosts, list_costs
from kernbench.analytic.linear_forms import Durations
from kernbench.analytic.precedence_graph import PrecedenceGraph, build_precedence_graph
from kernbench.analytic.rows import Rows, list_rows
from kernbench.analytic.symbolic_times import Basis
from kernbench.analytic.transfers import Moves, list_moves
from kernbench.machine.sheets.field_provenance import Origins

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program


@dataclass(frozen=True, slots=True)
class ProgramModel:
    """One program on one machine."""

    machine: Machine
    rows: Rows
    basis: Basis
    durations: Durations
    moves: Moves
    order: PrecedenceGraph
    costs: RowCosts


def build_model(program: Program, origins: Origins) -> ProgramModel:
    """The model of a program, flushed before. Errors: ProgramError; InputError for live kernels; DeadlockError."""
    machine, rows = program.machine, list_rows(program)
    basis = Basis(machine, origins)
    fixed = program.duration_fs().tolist()
    terms = [basis.duration(terms, fs) for terms, fs in zip(program.durations, fixed, strict=True)]
    durations = Durations(*np.array(terms, np.int64).T)
    moves = list_moves(machine, rows, basis)
    order = build_precedence_graph(program, rows)
    return ProgramModel(machine, rows, basis, durations, moves, order, list_costs(rows, moves, order))
