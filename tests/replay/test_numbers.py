"""Numbers of notes."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.errors import RunError
from kernbench.program.op_semantics import Composite, Constant, Dot, Epilogue, Load, Math, Note, Ref, Store, View
from kernbench.replay.numbers import Numbers


class Flat:
    """Memory that is one dict of arrays by address."""

    def __init__(self, **arrays: np.ndarray) -> None:
        self.arrays = {int(key[1:]): array for key, array in arrays.items()}

    def read(self, va: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        return self.arrays[va].reshape(shape).copy()

    def write(self, va: int, data: np.ndarray) -> None:
        self.arrays[va] = data


A = np.array([[1, 2], [3, 4]], np.float16)
B = np.array([[5, 6], [7, 8]], np.float16)


def numbers() -> Numbers:
    return Numbers(Flat(_0=A, _100=B))


def test_load_dot_store() -> None:
    n = numbers()
    n.perform(Load(1, 0, (2, 2), "f16"))
    n.perform(Load(2, 100, (2, 2), "f16"))
    n.perform(Dot((1, View(2)), 3, (2, 2), "f16", "f32"))
    n.perform(Store((3,), 200, (2, 2), "f16"))
    assert n.values[3].dtype == np.float16
    assert n.memory.read(200, (2, 2), "f16").tolist() == (A @ B.T).tolist()


def test_a_composite_goes_to_memory_or_becomes_a_value() -> None:
    n = numbers()
    inputs = (Ref(0, (2, 2), "f16"), Ref(100, (2, 2), "f16"), Constant((2,), "f32", -30))
    steps = (Epilogue("bias", "output_tile", 2), Epilogue("relu", "output_tile"))
    n.perform(Composite("gemm", None, inputs, None, 300, (2, 2), "f16", "f32", steps, (32, 64, 32)))
    assert n.memory.read(300, (2, 2), "f16").tolist() == [[0, 0], [13, 20]]
    n.perform(Composite("gemm", None, inputs, 9, None, (2, 2), "f16", "f32", steps, (32, 64, 32)))
    assert n.values[9].tolist() == [[0, 0], [13, 20]]


def test_math_takes_values_put_out_before() -> None:
    n = numbers()
    n.perform(Load(1, 0, (2, 2), "f16"))
    n.perform(Math("sum", (1,), 2, (2, 1), "f16", -1))
    assert n.values[2].tolist() == [[3], [7]]


def test_a_store_of_one_value_fills_its_shape() -> None:
    n = numbers()
    n.perform(Store((Constant((), "f16", 4),), 200, (2, 2), "f16"))
    assert n.memory.read(200, (2, 2), "f16").tolist() == [[4, 4], [4, 4]]


class Unknown(Note):
    pass


def test_a_note_that_computes_nothing() -> None:
    with pytest.raises(RunError) as error:
        numbers().perform(Unknown())
    assert str(error.value) == "replay met a note of kind Unknown, which computes nothing"
