"""The work of a command on a PE's engines, as a plan of tokens that all PEs of a program share.

A block operation is one token: its blocks out of the TCM, the vector engine, the result into the TCM. A product has a token
for each tile of the matrix engine, in the order of the machine's tiling: the tiles of its operands out of the TCM, with those
of the accumulator at the first k tile, the engine, and after the last k tile the result into the TCM. So tiles overlap, as in
a composite of `tl`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernbench.program.ops import NONE, Op
from kernbench.program.plan_template import PlanTemplate, Stripes, placeholder
from kernbench.tl.lowering.plan_outline import SERVERS, Stages
from kernbench.tl.lowering.tiling import grid_elements, grid_index, plan_gemm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kernbench.machine.costs import Costs, Terms
    from kernbench.program.program import Program


class BlockWork(NamedTuple):
    """A function of blocks on the vector engine: `elements` of `bits` bits, and the bytes of its blocks in the TCM."""

    function: str
    elements: int
    bits: int
    read_bytes: int
    write_bytes: int


class DotWork(NamedTuple):
    """A product of (m, k) and (k, n) on the matrix engine, `batch` times; sizes are those of an element in bytes."""

    m: int
    k: int
    n: int
    bits: int
    operand_size: int
    result_size: int
    accumulates: bool
    batch: int = 1


Work = BlockWork | DotWork


class Plans(NamedTuple):
    """The plans of a script's commands."""

    works: Sequence[Work]  # kept, so that its identity stays its own
    templates: list[PlanTemplate]
    notes: list[Mapping[str, Any]]


class Works:
    """The plan templates of a program's commands, each made once."""

    def __init__(self, program: Program) -> None:
        figures = program.machine.figures
        self._program = program
        self._costs: Costs = program.machine.costs
        self._tile = (int(figures["pe.tile_m"]), int(figures["pe.tile_k"]), int(figures["pe.tile_n"]))
        self._burst_bytes = int(figures["hbm.burst_bytes"])
        self._templates: dict[Work, PlanTemplate] = {}
        self._notes: dict[Work, Mapping[str, Any]] = {}
        self._plans: dict[int, Plans] = {}  # by the identity of a script's works
        self.tags: dict[Work, int] = {}  # of the row that starts a plan

    def template(self, work: Work) -> PlanTemplate:
        """The plan of a command."""
        found = self._templates.get(work)
        if found is None:
            stages = self._block(work) if isinstance(work, BlockWork) else self._dot(work)
            name, kind = (work.function, "math") if isinstance(work, BlockWork) else ("dot", "gemm")
            self.tags[work] = self._program.tag(name, kind)
            rows, token_start, tags, _ = stages.lay_out()
            places = Stripes(np.zeros((0, 3), np.int64), self._burst_bytes)
            found = self._templates[work] = PlanTemplate.of(rows, token_start, tags, places)
        return found

    def plans(self, works: Sequence[Work]) -> Plans:
        """The plans of the commands of a script, in its order; a script has the same ones for all its programs."""
        found = self._plans.get(id(works))
        if found is None:
            templates = [self.template(work) for work in works]
            found = self._plans[id(works)] = Plans(works, templates, [self.note(work) for work in works])
        return found

    def forget_plans(self) -> None:
        """Drop the plans of scripts that have been written."""
        self._plans.clear()

    def note(self, work: Work) -> Mapping[str, Any]:
        """What the op log shows of a command."""
        found = self._notes.get(work)
        if found is None:
            name = "block" if isinstance(work, BlockWork) else "dot"
            found = self._notes[work] = {"op": name, **work._asdict()}
        return found

    def _block(self, work: BlockWork) -> Stages:
        stages, one = Stages(1), np.zeros(1, np.int64)
        self._add(stages, one, "tcm_read", "fetch", "memory", self._costs.fetch(work.read_bytes))
        cost = self._costs.elements(work.function, work.elements, work.bits)
        self._add(stages, one, "math_server", work.function, "math", cost)
        self._add(stages, one, "tcm_write", "store", "memory", self._costs.store(work.write_bytes))
        return stages

    def _dot(self, work: DotWork) -> Stages:
        """Products of a batch follow each other; each is cut as a composite would be."""
        tile_m, tile_k, tile_n = self._tile
        cut = plan_gemm(work.m, work.k, work.n, tile_m, tile_k, tile_n, self._costs.plan)
        count = len(cut.last)
        m, k, n = cut.m.size[cut.m.of], cut.k.size[cut.k.of], cut.n.size[cut.n.of]
        output = grid_index(cut.m, cut.n)
        first = np.zeros(count, bool)
        first[np.unique(output, return_index=True)[1]] = True
        read = (m * k + k * n) * work.operand_size
        if work.accumulates:
            read = read + np.where(first, grid_elements(cut.m, cut.n)[output] * work.result_size, 0)
        written = grid_elements(cut.m, cut.n)[output] * work.result_size
        stages = Stages(count * work.batch)
        tokens = np.arange(count * work.batch)
        every = np.tile(np.arange(count), work.batch)
        last = cut.last[every]
        self._add_many(stages, tokens, "tcm_read", ("fetch", "memory"), self._costs.fetch, read[every])
        sizes = (m[every], k[every], n[every])
        self._add_many(
            stages,
            tokens,
            "gemm_server",
            ("gemm", "gemm"),
            lambda m, k, n: self._costs.product(m, k, n, work.bits),
            *sizes,
        )
        self._add_many(stages, tokens[last], "tcm_write", ("store", "memory"), self._costs.store, written[every][last])
        return stages

    def _add(self, stages: Stages, tokens: np.ndarray, server: str, name: str, kind: str, cost: Terms) -> None:
        tag = self._program.tag(name, kind)
        stages.add(tokens, tag, Op.EXEC, placeholder(SERVERS.index(server)), self._program.duration(*cost), NONE)

    def _add_many(
        self,
        stages: Stages,
        tokens: np.ndarray,
        server: str,
        tag: tuple[str, str],
        cost: Callable[..., Terms],
        *columns: np.ndarray,
    ) -> None:
        """A stage of each of some tokens, by the cost of each row of the columns."""
        asked = list(zip(*(column.tolist() for column in columns), strict=True))
        known = {one: self._program.duration(*cost(*one)) for one in dict.fromkeys(asked)}
        durations = np.array([known[one] for one in asked], np.int64)
        stages.add(tokens, self._program.tag(*tag), Op.EXEC, placeholder(SERVERS.index(server)), durations, NONE)
