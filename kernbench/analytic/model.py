"""All that bounds are made of: a program's rows, their order, and what they take as forms over one basis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.analytic.critical_path import Costs, list_costs
from kernbench.analytic.linear_forms import Durations
from kernbench.analytic.precedence_graph import Order, find_order
from kernbench.analytic.rows import Rows, list_rows
from kernbench.analytic.symbolic_times import Basis
from kernbench.analytic.transfers import Moves, list_moves
from kernbench.machine.field_provenance import Origins

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.program.program import Program


@dataclass(frozen=True, slots=True)
class Frame:
    """One program on one machine."""

    machine: Machine
    rows: Rows
    basis: Basis
    durations: Durations
    moves: Moves
    order: Order
    costs: Costs


def build_frame(program: Program, origins: Origins) -> Frame:
    """The frame of a program, which is flushed. Errors: ProgramError; InputError for live kernels; DeadlockError."""
    machine, rows = program.machine, list_rows(program)
    basis = Basis(machine, origins)
    fixed = program.duration_fs().tolist()
    terms = [basis.duration(terms, fs) for terms, fs in zip(program.durations, fixed, strict=True)]
    durations = Durations(*np.array(terms, np.int64).T)
    moves = list_moves(machine, rows, basis)
    order = find_order(program, rows)
    return Frame(machine, rows, basis, durations, moves, order, list_costs(rows, moves, order))
