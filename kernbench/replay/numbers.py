"""Compute the numbers of one kernel on one PE, note by note."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from kernbench.dtypes import numpy_dtype
from kernbench.errors import RunError
from kernbench.program.op_semantics import Composite, Dot, Load, Math, Note, Operand, Recv, Ref, Send, Store
from kernbench.replay.mailbox import Mailbox
from kernbench.replay.numerics import compute, resolve


class Memory(Protocol):
    """Memory as one PE sees it."""

    def read(self, va: int, shape: tuple[int, ...], dtype: str, /) -> np.ndarray:
        """The elements at a virtual address, row-major; a copy."""
        ...

    def write(self, va: int, data: np.ndarray, /) -> None:
        """Write elements at a virtual address, row-major."""
        ...


class Numbers:
    """The values that a kernel has produced, by id, its view of memory, and the messages between all kernels."""

    __slots__ = ("mailbox", "memory", "values")

    def __init__(self, memory: Memory, mailbox: Mailbox | None = None) -> None:
        self.memory = memory
        self.mailbox = Mailbox() if mailbox is None else mailbox
        self.values: dict[int, np.ndarray] = {}

    def look(self, note: Note, /) -> list[np.ndarray]:
        """The present operands of a note; an empty list for a note without operands."""
        return [self._array(operand) for operand in note["inputs"]] if "inputs" in note else []

    def perform(self, note: Note, /) -> None:
        """Compute a note. Errors: RunError for a note of a kind that computes nothing."""
        match note:
            case Load():
                self.values[note.out] = self.memory.read(note.va, note.shape, note.dtype)
            case Store():
                data = np.broadcast_to(self._array(note.inputs[0]), note.shape)
                self.memory.write(note.va, data.astype(numpy_dtype(note.dtype)))
            case Dot() | Math():
                self.values[note.out] = self._compute(note)
            case Composite():
                self._composite(note)
            case Send():
                self.mailbox.put(note.queue, note.index, self._array(note.inputs[0]))
            case Recv():
                self._receive(note)
            case _:
                raise RunError(f"replay met a note of kind {type(note).__name__}, which computes nothing")

    def _receive(self, note: Recv) -> None:
        data = self.values[note.out] = self.mailbox.take(note.queue, note.index, note.shape, note.dtype)
        if note.out_va is not None:
            self.memory.write(note.out_va, data)

    def _composite(self, note: Composite) -> None:
        result = self._compute(note)
        if note.out is not None:
            self.values[note.out] = result
        if note.out_va is not None:
            self.memory.write(note.out_va, result)

    def _compute(self, note: Dot | Math | Composite) -> np.ndarray:
        return compute(note, [self._array(operand) for operand in note.inputs])

    def _array(self, operand: Operand) -> np.ndarray:
        return resolve(operand, self.values, self._read)

    def _read(self, ref: Ref) -> np.ndarray:
        return self.memory.read(ref.va, ref.shape, ref.dtype)
