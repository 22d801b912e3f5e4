"""The parameters of operations, from the notes of a program.

A note names its operands by the values that earlier notes of its thread produced. Here each operand becomes a place: its
space ("hbm" or "tcm"), address, shape and dtype, with the number of the value, which identifies its snapshot: a value never
changes, even if the place is overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatchmethod
from math import prod
from typing import Any

from kernbench.dtypes import itemsize
from kernbench.program.op_semantics import (
    Composite,
    Constant,
    Dot,
    Load,
    Math,
    Multicast,
    Operand,
    Recv,
    Ref,
    Send,
    Store,
    View,
    plain,
)

Params = dict[str, Any]


def place(space: str, address: int, shape: tuple[int, ...], dtype: str) -> Params:
    """The parameters of a place: its space, address, shape and dtype."""
    return {"space": space, "address": address, "shape": list(shape), "dtype": dtype}


class ThreadParams:
    """The parameters of one thread's operations. Notes must be described in the order of their rows."""

    def __init__(self) -> None:
        self._values: dict[int, Params] = {}  # the place of each value

    @singledispatchmethod
    def describe(self, note: Mapping[str, Any]) -> Params:
        """The parameters of the operation of a note."""
        return plain(note)

    @describe.register
    def _(self, note: Load) -> Params:
        here = self._keep(note.out, place("hbm", note.va, note.shape, note.dtype))
        return {"op": note.op, **here, "nbytes": _nbytes(here)}

    @describe.register
    def _(self, note: Store) -> Params:
        there = place("hbm", note.va, note.shape, note.dtype)
        return {"op": note.op, **there, "nbytes": _nbytes(there), "inputs": self._inputs(note.inputs)}

    @describe.register
    def _(self, note: Dot) -> Params:
        inputs = self._inputs(note.inputs)
        return {"op": note.op, "inputs": inputs, "out": self._result(note), "acc_dtype": note.acc_dtype}

    @describe.register
    def _(self, note: Math) -> Params:
        axis = {} if note.axis is None else {"axis": note.axis}
        inputs = self._inputs(note.inputs)
        return {"op": note.op, "function": note.function, **axis, "inputs": inputs, "out": self._result(note)}

    @describe.register
    def _(self, note: Composite) -> Params:
        inputs = self._inputs(note.inputs)
        out = self._result(note) if note.out_va is None else place("hbm", note.out_va, note.shape, note.dtype)
        function = {} if note.function is None else {"function": note.function}
        epilogue = [plain(step)["epilogue"] for step in note.epilogue]
        rest = {"acc_dtype": note.acc_dtype, "epilogue": epilogue, "tile": list(note.tile)}
        return {"op": note.op, "kind": note.kind, **function, "inputs": inputs, "out": out, **rest}

    @describe.register
    def _(self, note: Send) -> Params:
        message = {"direction": note.direction, "queue": note.queue, "index": note.index}
        inputs = self._inputs(note.inputs)
        return {"op": note.op, **message, "inputs": inputs, "nbytes": prod(note.shape) * itemsize(note.dtype)}

    @describe.register
    def _(self, note: Multicast) -> Params:
        to = [
            {"direction": direction, "queue": delivery.queue, "index": delivery.index}
            for direction, delivery in zip(note.directions, note.deliveries, strict=True)
        ]
        inputs = self._inputs(note.inputs)
        return {"op": note.op, "to": to, "inputs": inputs, "nbytes": prod(note.shape) * itemsize(note.dtype)}

    @describe.register
    def _(self, note: Recv) -> Params:
        message = {"direction": note.direction, "queue": note.queue, "index": note.index, "consume": note.consume}
        if note.out_va is not None:
            here = place(note.out_space, note.out_va, note.shape, note.dtype)
        elif note.out_tcm is not None:
            here = place("tcm", note.out_tcm, note.shape, note.dtype)
        else:
            here = {"space": "slot", "shape": list(note.shape), "dtype": note.dtype}
        return {"op": note.op, **message, "out": self._keep(note.out, here), "nbytes": _nbytes(here)}

    def _result(self, note: Dot | Math | Composite) -> Params:
        assert note.out is not None
        return self._keep(note.out, place("tcm", note.addr, note.shape, note.dtype))

    def _keep(self, value: int, where: Params) -> Params:
        found = self._values[value] = {"value": value, **where}
        return found

    def _inputs(self, operands: tuple[Operand, ...]) -> list[Params]:
        return [self._operand(operand) for operand in operands]

    def _operand(self, operand: Operand) -> Params:
        if isinstance(operand, Constant):
            step = {"step": operand.step} if operand.step else {}
            return {"constant": operand.value, **step, "shape": list(operand.shape), "dtype": operand.dtype}
        if isinstance(operand, Ref):
            return place(operand.space, operand.va, operand.shape, operand.dtype)
        if isinstance(operand, View):
            return _swap(self._operand(operand.of))
        return self._values[operand]


def _swap(of: Params) -> Params:
    """The same elements with the last two dimensions swapped; the address is that of the original rows."""
    *outer, rows, columns = of["shape"]
    return {**of, "shape": [*outer, columns, rows], "transposed": not of.get("transposed", False)}


def _nbytes(where: Params) -> int:
    return prod(where["shape"]) * itemsize(where["dtype"])
