"""Rows know the line of the kernel that issued them."""

from __future__ import annotations

import inspect

import pytest

from kernbench.program.ops import Op
from tests.tl.rig import BASE, Rig

A, B, C = BASE, BASE + 65536, BASE + 131072


def load_twice(tl):
    return tl.load(A, 64), tl.load(B, 64)  # a helper


def kernel(*, tl):
    x, y = load_twice(tl)
    total = x + y
    tl.store(C, tl.exp(total) * 2)
    tl.wait(tl.composite(op="gemm", a=tl.ref(A, (32, 32)), b=tl.ref(B, (32, 32)), out_ptr=C))


def line_of(text: str) -> int:
    lines, first = inspect.getsourcelines(inspect.getmodule(kernel))
    return first + 1 - bool(first) + next(at for at, line in enumerate(lines) if text in line)


@pytest.mark.parametrize("live", [False, True])
def test_the_line_of_each_row(live: bool) -> None:
    rig = Rig()
    (rig.live if live else rig.record)(kernel)
    program = rig.program
    found: dict[str, set[int]] = {}
    for row in range(program.row_count):
        file, line = program.source_of(row)
        assert file in ("", __file__)
        name, _ = program.tags[program.op_tag[row]]
        if program.op_thread[row] >= 0 and name:
            found.setdefault(name, set()).add(line)
    assert found["dma_read"] == {line_of("# a helper")}
    assert found["add"] == {line_of("total = x + y")}
    assert found["exp"] == found["mul"] == found["dma_write"] == {line_of("tl.store(C, ")}
    assert found["composite"] == {line_of("tl.wait(tl.composite")}


def test_rows_before_and_after_a_kernel_have_no_line() -> None:
    rig = Rig()
    rig.thread.delay(0)
    rig.record(lambda *, tl: tl.cycles(3))
    last = rig.thread.delay(0)
    rig.program.flush()
    rows = [rig.thread.find_row(at) for at in range(last + 1)]
    assert [bool(rig.program.source_of(row)[1]) for row in rows] == [False, *[True] * (last - 1), False]


def test_stages_of_a_plan_have_the_line_of_none() -> None:
    rig = Rig()
    rig.record(kernel)
    stage = int((rig.program.op_thread < 0).argmax())
    assert rig.program.op[stage, 0] in (Op.EXEC, Op.MOVE)
    assert rig.program.source_of(stage) == ("", 0)
