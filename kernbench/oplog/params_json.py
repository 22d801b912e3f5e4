"""JSON of the parameters of all rows: the distinct texts, and which of them each row has.

A large GEMM has millions of stages and few distinct texts. Plans of one form differ in the addresses of their operands alone,
and the address of a transfer is that of its operand and an offset. So the stages of a form are described once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.machine.costs import plan_tiles
from kernbench.oplog.params import Params, ThreadParams
from kernbench.oplog.tiles import Stage, describe_stages
from kernbench.program.op_semantics import plain
from kernbench.program.ops import Op

if TYPE_CHECKING:
    from kernbench.program.program import Program

RESULT = -1  # among operands
_NOWHERE = -2  # the operand of a stage without an address
_ADDRESS = '"address":'

_encode = json.JSONEncoder(separators=(",", ":")).encode


class RowParams(NamedTuple):
    """The parameters of rows."""

    texts: list[str]  # the first is "", of rows without parameters
    code: np.ndarray  # int32[row] into the texts


def encode_params(program: Program) -> RowParams:
    """JSON of the parameters of each op-table row that has any."""
    texts, code = [""], np.zeros(program.row_count, np.int32)
    forms: dict[tuple[str, bytes, bytes, bytes], _Form] = {}
    for thread in program.threads:
        known = ThreadParams()
        for at, note in sorted(thread.notes.items()):
            row = thread.find_row(at)
            params = known.describe(note)
            code[row] = len(texts)
            texts.append(_encode(params))
            if program.op[row, 0] == Op.PIPE:
                plan = _Plan.of(program, int(program.op[row, 1]))
                if params["op"] == "composite":
                    code[plan.rows] = _encode_stages(program, plan, params, forms, texts)
                else:
                    code[plan.rows] = code[row]
    _encode_commands(program, texts, code)
    return RowParams(texts, code)


def _encode_commands(program: Program, texts: list[str], code: np.ndarray) -> None:
    """Give the starts of plans that have no note of their own, and the stages of these, the note of the plan."""
    known: dict[int, int] = {}  # by the identity of a note, which many plans share
    starts = np.flatnonzero((program.op[:, 0] == Op.PIPE) & (code == 0))
    numbers: list[int] = program.op[starts, 1].tolist()
    for row, number in zip(starts.tolist(), numbers, strict=True):
        note = program.plan_notes[number]
        if id(note) not in known:
            known[id(note)] = len(texts)
            texts.append(_encode(plain(note)))
        code[row] = code[_Plan.of(program, number).rows] = known[id(note)]


class _Plan(NamedTuple):
    """The stages of a plan."""

    rows: slice  # of the op table
    tags: np.ndarray  # int32[stage]
    nbytes: np.ndarray  # int64[stage], of transfers
    start: np.ndarray  # int64[token + 1] into the stages

    @classmethod
    def of(cls, program: Program, number: int) -> _Plan:
        tokens = slice(program.plan_start[number], program.plan_start[number + 1])
        starts, ends = program.token_start[tokens], program.token_end[tokens]
        rows = slice(int(starts[0]), int(ends[-1]))
        start = np.append(starts, ends[-1]) - rows.start
        return cls(rows, program.op_tag[rows], np.ascontiguousarray(program.op[rows, 2]), start)

    def list_tokens(self, program: Program) -> list[list[Stage]]:
        """The stages of each token."""
        tags: list[tuple[str, str]] = [program.tags[tag] for tag in self.tags.tolist()]
        stages = [Stage(name, kind, size) for (name, kind), size in zip(tags, self.nbytes.tolist(), strict=True)]
        return [stages[first:end] for first, end in pairwise(self.start.tolist())]


def _encode_stages(
    program: Program,
    plan: _Plan,
    params: Params,
    forms: dict[tuple[str, bytes, bytes, bytes], _Form],
    texts: list[str],
) -> np.ndarray:
    """int32[stage] the text of each stage of a composite; new ones are appended to the texts."""
    bare, addresses = _without_addresses(params)
    key = _encode(bare), plan.tags.tobytes(), plan.nbytes.tobytes(), plan.start.tobytes()
    if key not in forms:
        order = program.machine.costs.plan if params["kind"] == "gemm" else plan_tiles
        forms[key] = _Form([_encode(one) for one in describe_stages(bare, plan.list_tokens(program), order)])
    return forms[key].encode(addresses, texts)


def _without_addresses(params: Params) -> tuple[Params, dict[int, int]]:
    """A composite whose operands are at address 0, as values without a number; and the address of each that has one."""
    given: list[Params] = params["inputs"]
    operands: dict[int, Params] = {RESULT: params["out"], **dict(enumerate(given))}
    addresses = {number: operand["address"] for number, operand in operands.items() if "address" in operand}
    bare = {number: _bare(operand) for number, operand in operands.items()}
    out, *inputs = bare.values()
    return {**params, "out": out, "inputs": inputs}, addresses


def _bare(operand: Params) -> Params:
    return {name: 0 if name in ("address", "value") else value for name, value in operand.items()}


class _Form:
    """The texts of the stages of plans that differ in addresses alone. `texts`: of each stage, with operands at address 0."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._before: list[str] = []
        self._after: list[str] = []
        self._offset: list[int] = []
        operand: list[int] = []
        for text in texts:
            before, address, rest = text.partition(_ADDRESS)
            digits = rest.partition(",")[0] if address else "0"
            self._before.append(before + address)
            self._after.append(rest[len(digits) :] if address else "")
            self._offset.append(int(digits))
            operand.append(json.loads(text).get("operand", RESULT) if address else _NOWHERE)
        self._stages = {number: np.flatnonzero(np.array(operand) == number) for number in sorted(set(operand))}
        self._count = len(texts)
        self._codes: dict[tuple[int, int], np.ndarray] = {}  # of the stages of an operand at an address

    def encode(self, addresses: Mapping[int, int], texts: list[str]) -> np.ndarray:
        """int32[stage] the text of each stage of a plan with these addresses; new ones are appended to the texts."""
        code = np.empty(self._count, np.int32)
        for number, stages in self._stages.items():
            at = number, addresses.get(number, 0)
            if at not in self._codes:
                self._codes[at] = len(texts) + np.arange(len(stages), dtype=np.int32)
                texts.extend(self._write(stages, at[1], has_address=number != _NOWHERE))
            code[stages] = self._codes[at]
        return code

    def _write(self, stages: np.ndarray, address: int, *, has_address: bool) -> list[str]:
        if not has_address:
            return [self._before[stage] for stage in stages.tolist()]
        return [f"{self._before[i]}{address + self._offset[i]}{self._after[i]}" for i in stages.tolist()]
