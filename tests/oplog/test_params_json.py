"""The texts of stages equal those of each plan described by itself."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from kernbench.frontends.run import run_bench
from kernbench.machine.costs import plan_tiles
from kernbench.oplog.params import ThreadParams
from kernbench.oplog.params_json import encode_params
from kernbench.oplog.tiles import Stage, describe_stages
from kernbench.program.ops import Op
from kernbench.program.program import Program


def describe_plans(program: Program) -> dict[int, object]:
    """The parameters of each stage row of a composite, one after the other."""
    found: dict[int, object] = {}
    for thread in program.threads:
        known = ThreadParams()
        for at, note in sorted(thread.notes.items()):
            params, row = known.describe(note), thread.find_row(at)
            if program.op[row, 0] != Op.PIPE or params["op"] != "composite":
                continue
            plan = program.op[row, 1]
            tokens = range(program.plan_start[plan], program.plan_start[plan + 1])
            starts = [*program.token_start[tokens].tolist(), int(program.token_end[tokens[-1]])]
            stages = [
                [Stage(*program.tags[program.op_tag[at]], int(program.op[at, 2])) for at in range(*ends)]
                for ends in pairwise(starts)
            ]
            order = program.machine.costs.plan if params["kind"] == "gemm" else plan_tiles
            found |= dict(zip(range(starts[0], starts[-1]), describe_stages(params, stages, order), strict=True))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bench", "parameters"),
    [
        ("matmul-composite", {"M": 96, "K": 160, "N": 72}),
        ("matmul-composite", {"M": 96, "K": 160, "N": 72, "variant": "load_ref"}),
        ("qkv-gemm", {}),
    ],
)
def test_each_stage_has_the_parameters_of_its_own_plan(bench: str, parameters: dict[str, object]) -> None:
    program = run_bench(bench, "tiny", parameters=parameters).device.program
    expected = describe_plans(program)
    found = encode_params(program)
    assert expected
    assert {row: json.loads(found.texts[found.code[row]]) for row in expected} == expected
    assert len(set(found.texts)) < len(expected)
    assert found.texts[0] == ""
