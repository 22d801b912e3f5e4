"""The operands of operations of a run."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench import DPPolicy, InputError, RunResult, bench, run

ONE = DPPolicy(num_cubes=1, num_pes=1)
SHAPE = (32, 32)


def overwrite(x, w, y, tl) -> None:
    before = tl.load(x, SHAPE)
    tl.store(x, before + 1)
    after = tl.load(x, SHAPE)
    tl.store(y, tl.exp(tl.dot(before, tl.trans(after)) * 0))
    done = tl.composite("gemm", before, tl.ref(w, SHAPE), y, epilogue=[{"op": "scale", "factor": 2}])
    tl.wait(done)
    tl.store(w, after)


@bench("overwriting", "Places that change while they are used")
def overwriting(torch):
    x, w, y = torch.ones(SHAPE, dp=ONE, name="x"), torch.full(SHAPE, 3, dp=ONE), torch.empty(SHAPE, dp=ONE, name="y")
    torch.launch("overwrite", overwrite, x, w, y)
    torch.expect(y, np.full(SHAPE, 192))


@pytest.fixture(scope="module", params=[False, True], ids=["recorded", "live"])
def result(request: pytest.FixtureRequest) -> RunResult:
    return run(overwriting, "tiny", live=request.param)


def rows_of(result: RunResult, op: str, name: str) -> list[int]:
    """Places in the log of operations of a name, by what they were asked as."""
    return [i for i, r in enumerate(result.records()) if r.op_name == name and r.params.get("op") == op]


def values(result: RunResult, row: int) -> list[float]:
    """The one value that each operand has everywhere."""
    found = [set(np.unique(array).tolist()) for array in result.snapshots(row)]
    assert all(len(one) == 1 for one in found)
    return [one.pop() for one in found]


def test_operands_are_as_they_were_taken(result: RunResult) -> None:
    (gemm,) = rows_of(result, "dot", "gemm")
    assert values(result, gemm) == [1, 2]
    (exp,) = rows_of(result, "math", "exp")
    assert values(result, exp) == [0]
    stores = rows_of(result, "store", "dma_write")
    assert [values(result, row) for row in stores] == [[2], [1], [2]]


def test_of_a_composite_and_of_its_stages(result: RunResult) -> None:
    (pipe,) = rows_of(result, "composite", "composite")
    stages = rows_of(result, "composite", "gemm")
    assert [values(result, row) for row in (pipe, *stages)] == [[1, 3, 2]] * 2  # w had changed only afterwards


def test_they_are_in_the_shape_and_order_of_the_inputs(result: RunResult) -> None:
    records = result.records()
    for name, op in (("gemm", "dot"), ("add", "math"), ("dma_write", "store")):
        row = rows_of(result, op, name)[0]
        assert [list(array.shape) for array in result.snapshots(row)] == [
            x["shape"] for x in records[row].params["inputs"]
        ]


def test_looking_changes_nothing() -> None:
    result = run(overwriting, "tiny", verify=True)
    first = result.snapshots(rows_of(result, "dot", "gemm")[0])
    first[0][:] = 99
    assert values(result, rows_of(result, "dot", "gemm")[0]) == [1, 2]
    assert result.verified


def test_rows_without_operands(result: RunResult) -> None:
    launch = next(i for i, r in enumerate(result.records()) if r.op_name == "launch")
    with pytest.raises(InputError) as error:
        result.snapshots(launch)
    assert str(error.value) == (
        f"row {launch} of the op log, a 'launch', takes no operands; rows whose params have 'inputs', and their stages, do"
    )
    rows = len(result.records())
    for row in (-1, rows):
        with pytest.raises(InputError) as error:
            result.snapshots(row)
        assert str(error.value) == f"the op log has no row {row}; it has rows 0 to {rows - 1}"


def test_bounds_have_no_numbers() -> None:
    with pytest.raises(InputError) as error:
        run(overwriting, "tiny", mode="analytic").snapshots(0)
    assert str(error.value) == "analytic mode computes no numbers; use mode hybrid"
