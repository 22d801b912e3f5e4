"""The table of ops, from which records, checks, causes and bounds follow."""

from __future__ import annotations

from kernbench.program.ops import OPERANDS, Op
from kernels_jit.layout import codes, records
from tests.naive import engine


def test_each_opcode_has_one_name() -> None:
    assert {op.name: int(op) for op in Op} == {name: getattr(codes, name) for name in Op.__members__}
    assert [int(op) for op in Op] == list(codes.OPERANDS) == list(range(len(codes.OPERANDS)))
    assert set(Op.__members__) - {"MARK"} <= set(dir(engine))  # the plain interpreter knows all that do something


def test_each_operand_is_a_column_of_its_record() -> None:
    for code, operands in codes.OPERANDS.items():
        record = records.OPS[code]
        assert record.names == ("code", *operands)
        assert record.itemsize == 8 * codes.ROW_WIDTH
        assert tuple(operands.values()) == OPERANDS[Op(code)]


def test_rows_add_to_the_counters_that_their_operands_name() -> None:
    assert sorted(codes.ADDENDS) == sorted(
        [(Op.EXEC, 3), (Op.MOVE, 4), (Op.MOVE, 6), (Op.PIPE, 2), (Op.ADD, 1), (Op.ARRIVE, 1)]
    )
