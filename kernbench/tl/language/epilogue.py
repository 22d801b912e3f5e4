"""Epilogues of composites: the element-wise steps after the product of each tile, checked at the call.

A step has a name of its own, or is one of the element-wise functions of one or two operands; of two, the field `operand` is the
second.
"""

# pyright: reportUnnecessaryIsInstance=false
# What users write is not checked for types before it runs.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from kernbench.dtypes import is_float
from kernbench.errors import suggest
from kernbench.program.op_semantics import Epilogue
from kernbench.tl.language.errors import CompositeError, fail
from kernbench.tl.language.math import BINARY, FLOATS_ONLY, UNARY

SCOPES = ("k_tile", "output_tile", "kernel")
FIELDS: dict[str, str | None] = {
    "dequant": "scale",
    "bias": "bias",
    "relu": None,
    "scale": "factor",
    **dict.fromkeys(UNARY),
    **dict.fromkeys(BINARY, "operand"),
}


def read_epilogue(
    steps: Sequence[Mapping[str, Any]] | None, composite: str, first_operand: int
) -> tuple[tuple[Epilogue, ...], list[Any]]:
    """The steps of an epilogue and their operands as given, numbered from `first_operand` among the composite's inputs.

    Errors: CompositeError (a ValueError) for an unknown op, scope or field, or a missing one.
    """
    read: list[Epilogue] = []
    operands: list[Any] = []
    for step in steps or ():
        if not isinstance(step, Mapping) or "op" not in step:
            _refuse(f"the epilogue step {step!r}", "give dicts such as {'op': 'relu'}")
        op, scope = step["op"], step.get("scope", "output_tile")
        if op not in FIELDS:
            _refuse(f"the epilogue op {op!r}", suggest(str(op), FIELDS, most=len(FIELDS))[2:])
        if scope not in SCOPES:
            _refuse(f"the epilogue scope {scope!r}", suggest(str(scope), SCOPES)[2:])
        if scope == "k_tile" and composite != "gemm":
            _refuse(f"the epilogue scope {scope!r} for {composite!r}", "only 'gemm' has k tiles")
        field = FIELDS[op]
        _check_fields(op, field, step)
        read.append(Epilogue(op, scope, None if field is None else first_operand + len(operands)))
        if field is not None:
            operands.append(step[field])
    return tuple(read), operands


def check_types(steps: Sequence[Epilogue], acc_dtype: str) -> None:
    """Check that steps have a meaning in the type in which they are computed. Errors: CompositeError."""
    for step in steps:
        if step.op in FLOATS_ONLY and not is_float(acc_dtype):
            _refuse(f"the epilogue op {step.op!r} in {acc_dtype}", "it needs floats")
        if step.op == "relu" and acc_dtype[0] == "u":
            remedy = "leave it out, or give acc_dtype a type with a sign"
            _refuse(f"the epilogue op 'relu' in {acc_dtype}, which has no negative numbers", remedy)


def _check_fields(op: str, field: str | None, step: Mapping[str, Any]) -> None:
    fields = ("op", "scope") if field is None else ("op", field, "scope")
    if field is not None and field not in step:
        _refuse(f"the epilogue op {op!r} without its field {field!r}", f"its fields are {', '.join(fields)}")
    for name in step:
        if name not in fields:
            _refuse(f"the epilogue op {op!r} with the field {name!r}", f"its fields are {', '.join(fields)}")


def _refuse(got: str, remedy: str) -> NoReturn:
    fail(f"tl.composite got {got}", remedy, CompositeError)
