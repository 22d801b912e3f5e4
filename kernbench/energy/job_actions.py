"""The actions of jobs: what a duration of a program means in amounts that have prices.

A duration is a sum of amounts of figures (`pe_gemm.flop_16`). A figure is an action of the same name; an overhead is a job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.machine.costs import FLOP
from kernbench.machine.dies import Job
from kernbench.machine.families.registry import FAMILIES
from kernbench.program.ops import NONE, Op

if TYPE_CHECKING:
    from kernbench.machine.costs import Terms
    from kernbench.machine.price_list import PriceList
    from kernbench.program.program import Program

_JOB = "overhead"  # the figure of the time that each job of a part takes
_OF_ENGINE = {FLOP: "pe_gemm.flop"}
_COUNTED = (
    "pe_gemm",
    "pe_math",
    "pe_tcm",
)  # parts whose drop-ins count in figures of their own, which must have a price


class Action(NamedTuple):
    """An amount of an action of a part; `price` in aJ, None without a figure."""

    part: str
    name: str
    amount: float
    price: int | None

    @property
    def energy_aj(self) -> int:
        """The energy, 0 without a figure."""
        return 0 if self.price is None else round(self.price * self.amount)


class Works(NamedTuple):
    """The kinds of work of jobs: `actions` of each duration, by its number, then of each other kind."""

    actions: Sequence[Sequence[Action]]
    of_job: np.ndarray  # int64[job]


def find_works(program: Program, jobs: np.ndarray) -> Works:
    """The works of jobs and delays, int64[job] distinct rows of a program."""
    prices, op = program.machine.prices, program.op.values[jobs]
    duration = np.where(op[:, 0] == Op.EXEC, op[:, 2], op[:, 1])
    actions = [list_actions(prices, terms) for terms in program.durations]
    rule = FAMILIES[program.machine.family].actions()
    if rule is None:
        return Works(actions, duration)
    server = np.where(op[:, 0] == Op.EXEC, op[:, 1], NONE)
    numbers = {kind: number for number, kind in enumerate(("", *dict.fromkeys(program.machine.server_kind)))}
    kind = np.array([*(numbers[kind] for kind in program.machine.server_kind), 0], np.int64)[server]
    kinds = unique_rows(np.column_stack([duration, kind, program.op_tag.values[jobs].astype(np.int64)]))
    of_kind, figures = list(numbers), program.machine.figures
    for number, place, tag in kinds.rows.tolist():
        job = Job(of_kind[place], program.tags[tag][0], program.durations[number], figures)
        done = (Action(part, name, _whole(amount), prices.find(part, name)) for part, name, amount in rule(job))
        actions.append([*actions[number], *done])
    return Works(actions, len(program.durations) + kinds.which)


def list_actions(prices: PriceList, terms: Terms) -> Sequence[Action]:
    """The actions of a duration; none of what takes time alone, such as a wait."""
    found: list[Action] = []
    for figure, amount in terms:
        part, _, name = _OF_ENGINE.get(figure, figure).partition(".")
        name = "job" if name == _JOB else name
        known = prices.parts.get(part)
        if known is not None and name in known.energy:
            found.append(Action(part, name, _whole(amount), known.energy[name]))
        elif part in _COUNTED and known is not None and figure == terms[-1][0] and not found:
            found.append(Action(part, name, _whole(amount), None))
    return found


def _whole(amount: float) -> float:
    """A number that is whole as int, so that its product with a price is exact."""
    return int(amount) if amount == int(amount) else amount
