"""Compute the numbers of one kernel on one PE, note by note."""

from __future__ import annotations

import numpy as np

from kernbench.dtypes import numpy_dtype
from kernbench.errors import RunError
from kernbench.program.op_semantics import Composite, Dot, Load, Math, Multicast, Note, Operand, Recv, Ref, Send, Store
from kernbench.replay.numerics import compute, resolve
from kernbench.replay.pe_memory import PeMemory
from kernbench.replay.tile_rows import as_reference
from kernbench.replay.tiled_composite import TiledComposite


class Numbers:
    """The values that a kernel has produced, by id, and its view of memory."""

    __slots__ = ("_composites", "memory", "values")

    def __init__(self, memory: PeMemory) -> None:
        self.memory = memory
        self.values: dict[int, np.ndarray] = {}
        self._composites: dict[int, TiledComposite] = {}  # under way, by plan

    def look(self, note: Note, plan: int, /) -> list[np.ndarray]:
        """The operands of a note as it takes them, of a composite when it has ended; empty for a note without operands."""
        if isinstance(note, Composite):
            composite = self._composites[plan]
            self.memory.finish_composite(composite)
            return composite.operands()
        return [self._array(operand) for operand in note["inputs"]] if "inputs" in note else []

    def begin(self, note: Composite, plan: int, /) -> None:
        """Start a composite, of this plan of the program."""
        arrays = [None if as_reference(operand) else self._array(operand) for operand in note.inputs]
        self._composites[plan] = self.memory.begin_composite(note, plan, arrays)

    def perform(self, note: Note, plan: int, /) -> None:
        """Compute a note; `plan` is that which its row starts. Errors: RunError for a note of a kind that computes nothing."""
        with np.errstate(all="ignore"):
            self._perform(note, plan)

    def _perform(self, note: Note, plan: int) -> None:
        match note:
            case Load():
                self.values[note.out] = self._read(Ref(note.va, note.shape, note.dtype))
            case Store():
                data = np.broadcast_to(self._array(note.inputs[0]), note.shape)
                self.memory.write(note.va, data.astype(numpy_dtype(note.dtype)))
            case Dot() | Math():
                value = self.values[note.out] = compute(note, [self._array(operand) for operand in note.inputs])
                self.memory.write_tcm(note.addr, value)
            case Composite():
                result = self.memory.finish_composite(self._composites.pop(plan))
                if note.out is not None:
                    self.values[note.out] = result
            case Send():
                self.memory.send(note, plan, self._array(note.inputs[0]))
            case Multicast():
                self.memory.multicast(note, self._array(note.inputs[0]))
            case Recv():
                self._receive(note)
            case _:
                raise RunError(f"replay met a note of kind {type(note).__name__}, which computes nothing")

    def _receive(self, note: Recv) -> None:
        data = self.values[note.out] = self.memory.receive(note)
        if note.out_tcm is not None:
            self.memory.write_tcm(note.out_tcm, data)
        if note.out_va is not None:
            self.memory.write(note.out_va, data)

    def _array(self, operand: Operand) -> np.ndarray:
        return resolve(operand, self.values, self._read)

    def _read(self, ref: Ref) -> np.ndarray:
        return self.memory.read(ref)
