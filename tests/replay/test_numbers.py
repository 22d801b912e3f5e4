"""What notes compute."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.errors import RunError
from kernbench.program.notes import Composite, Constant, Dot, Epilogue, Load, Math, Ref, Store, View
from kernbench.replay.numbers import FUNCTIONS, Numbers, apply


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


def test_a_constant_is_a_range_or_one_value() -> None:
    n = numbers()
    assert n.value(Constant((4,), "i32", 2, 3)).tolist() == [2, 5, 8, 11]
    assert n.value(Constant((2, 1), "f16", 1.5)).tolist() == [[1.5], [1.5]]


def test_a_composite_with_epilogue_goes_to_memory() -> None:
    n = numbers()
    steps = (Epilogue("bias", "output_tile", 2), Epilogue("scale", "kernel", 3), Epilogue("relu", "output_tile"))
    inputs = (Ref(0, (2, 2), "f16"), Ref(100, (2, 2), "f16"), Constant((2,), "f32", -30), Constant((), "f32", 2))
    n.perform(Composite("gemm", None, inputs, None, 300, (2, 2), "f16", "f32", steps, (32, 64, 32)))
    assert n.memory.read(300, (2, 2), "f16").tolist() == [[0, 0], [26, 40]]


def test_a_step_of_each_k_tile_is_done_to_each_part() -> None:
    n = numbers()
    steps = (Epilogue("relu", "k_tile"),)
    inputs = (Constant((1, 2), "f32", -1, 0), Ref(100, (2, 2), "f16"))
    n.perform(Composite("gemm", None, inputs, 9, None, (1, 2), "f32", "f32", steps, (32, 1, 32)))
    assert n.values[9].tolist() == [[0, 0]]


def test_a_math_composite_takes_only_its_own_inputs() -> None:
    n = numbers()
    inputs = (Ref(0, (2, 2), "f16"), Ref(100, (2, 2), "f16"), Constant((), "f32", 2))
    steps = (Epilogue("scale", "output_tile", 2),)
    n.perform(Composite("math", "add", inputs, 9, None, (2, 2), "f16", "f32", steps, (32, 64, 32)))
    assert n.values[9].tolist() == (2 * (A + B)).tolist()


def test_reductions_keep_the_axis() -> None:
    n = numbers()
    n.perform(Load(1, 0, (2, 2), "f16"))
    n.perform(Math("sum", (1,), 2, (2, 1), "f16", -1))
    assert n.values[2].tolist() == [[3], [7]]


def test_integers_stay_integers_and_floats_go_through_f32() -> None:
    assert apply("add", [np.array([200], np.uint8), np.array([100], np.uint8)], None).dtype == np.uint8
    assert apply("exp", [np.array([1], np.float16)], None).dtype == np.float32
    assert apply("softmax", [np.array([[1e4, 1e4]], np.float16)], -1).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_gives_the_shape_of_its_inputs(function: str) -> None:
    inputs = {"fma": 3, "clamp": 3, "where": 3} | dict.fromkeys(("add", "sub", "mul", "div", "maximum", "minimum"), 2)
    result = apply(function, [A] * inputs.get(function, 1), 1)
    assert result.shape == ((2, 1) if function in ("sum", "max", "min") else (2, 2))


def test_a_function_nobody_computes() -> None:
    with pytest.raises(RunError, match=r"^replay cannot compute 'gelu'; it knows abs, add, clamp"):
        apply("gelu", [A], None)
