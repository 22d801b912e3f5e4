"""Numbers of notes."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.errors import RunError
from kernbench.program.op_semantics import Constant, Dot, Load, Math, Note, Recv, Ref, Send, Store, View
from kernbench.program.ops import NONE
from kernbench.replay.numbers import Numbers
from tests.replay.flat import flat_memory

A = np.array([[1, 2], [3, 4]], np.float16)
B = np.array([[5, 6], [7, 8]], np.float16)


def numbers() -> Numbers:
    n = Numbers(flat_memory())
    n.memory.write(0, A)
    n.memory.write(100, B)
    return n


def read(n: Numbers, address: int, space: str = "hbm") -> list[list[float]]:
    return n.memory.read(Ref(address, (2, 2), "f16", space)).tolist()


def test_load_dot_store() -> None:
    n = numbers()
    n.perform(Load(1, 0, (2, 2), "f16"), NONE)
    n.perform(Load(2, 100, (2, 2), "f16"), NONE)
    n.perform(Dot((1, View(2)), 3, (2, 2), "f16", "f32", 64), NONE)
    n.perform(Store((3,), 200, (2, 2), "f16"), NONE)
    assert n.values[3].dtype == np.float16
    assert read(n, 200) == (A @ B.T).tolist()
    assert read(n, 64, "tcm") == (A @ B.T).tolist()


def test_math_takes_values_put_out_before() -> None:
    n = numbers()
    n.perform(Load(1, 0, (2, 2), "f16"), NONE)
    n.perform(Math("sum", (1,), 2, (2, 1), "f16", -1), NONE)
    assert n.values[2].tolist() == [[3], [7]]


def test_a_store_of_one_value_fills_its_shape() -> None:
    n = numbers()
    n.perform(Store((Constant((), "f16", 4),), 200, (2, 2), "f16"), NONE)
    assert read(n, 200) == [[4, 4], [4, 4]]


def test_what_is_copied_from_a_slot_is_in_tcm_or_in_memory() -> None:
    n = numbers()
    n.perform(Recv(1, "W", (2, 2), "f16", out_tcm=32, slot=(0, 100)), NONE)
    n.perform(Recv(2, "W", (2, 2), "f16", out_va=300, slot=(0, 100)), NONE)
    assert n.values[1].tolist() == read(n, 32, "tcm") == read(n, 300) == B.tolist()


def test_a_send_takes_what_is_at_an_address_in_tcm_then() -> None:
    n = numbers()
    n.memory.write_tcm(32, A)
    assert [array.tolist() for array in n.look(Send((Ref(32, (2, 2), "f16", "tcm"),), "E", (2, 2), "f16"), NONE)] == [
        A.tolist()
    ]


class Unknown(Note):
    pass


def test_a_note_that_computes_nothing() -> None:
    with pytest.raises(RunError) as error:
        numbers().perform(Unknown(), NONE)
    assert str(error.value) == "replay met a note of kind Unknown, which computes nothing"
