"""Parameters of operations, from the notes of one thread."""

from __future__ import annotations

from kernbench.oplog.params import ThreadParams
from kernbench.program.op_semantics import (
    Composite,
    Constant,
    Dot,
    Epilogue,
    Load,
    Math,
    Recv,
    Ref,
    Send,
    Store,
    View,
)

X = {"value": 1, "space": "hbm", "address": 64, "shape": [2, 4], "dtype": "f16"}
Y = {"value": 2, "space": "tcm", "address": 512, "shape": [2, 1], "dtype": "f16"}


def loaded() -> ThreadParams:
    params = ThreadParams()
    assert params.describe(Load(1, 64, (2, 4), "f16")) == {"op": "load", **X, "nbytes": 16}
    return params


def test_a_reduction_says_where_its_input_is_and_its_result() -> None:
    found = loaded().describe(Math("sum", (1,), 2, (2, 1), "f16", 1, 512))
    assert found == {"op": "math", "function": "sum", "axis": 1, "inputs": [X], "out": Y}


def test_a_number_and_a_range_are_operands_without_a_place() -> None:
    found = loaded().describe(Math("add", (Constant((), "f16", 0.5), Constant((4,), "i32", 3, 1)), 2, (4,), "f32"))
    assert found["inputs"] == [
        {"constant": 0.5, "shape": [], "dtype": "f16"},
        {"constant": 3, "step": 1, "shape": [4], "dtype": "i32"},
    ]


def test_a_product_with_a_view() -> None:
    found = loaded().describe(Dot((1, View(1)), 5, (2, 2), "f16", "f32", 1024))
    assert found["inputs"] == [X, {**X, "shape": [4, 2], "transposed": True}]
    assert found["out"] == {"value": 5, "space": "tcm", "address": 1024, "shape": [2, 2], "dtype": "f16"}
    twice = loaded().describe(Dot((1, View(View(1))), 5, (2, 2), "f16", "f32"))
    assert twice["inputs"][1] == {**X, "transposed": False}


def test_what_is_sent_by_its_address_is_in_a_space() -> None:
    found = loaded().describe(Send((Ref(72, (4,), "f16", "tcm"),), "E", (4,), "f16"))
    assert found["inputs"] == [{"space": "tcm", "address": 72, "shape": [4], "dtype": "f16"}]
    assert found["nbytes"] == 8


def test_a_store_names_its_source_and_its_target() -> None:
    found = loaded().describe(Store((1,), 256, (2, 4), "f16"))
    assert found["inputs"] == [X]
    assert (found["space"], found["address"], found["nbytes"]) == ("hbm", 256, 16)


def test_a_composite_to_memory_and_to_a_value() -> None:
    steps = (Epilogue("bias", "output_tile", 2), Epilogue("relu", "kernel"))
    inputs = (1, Ref(4096, (4, 2), "f16"), Constant((), "f32", 2.0))
    params = loaded()
    found = params.describe(Composite("gemm", None, inputs, None, 8192, (2, 2), "f16", "f32", steps, (32, 64, 32)))
    assert found["out"] == {"space": "hbm", "address": 8192, "shape": [2, 2], "dtype": "f16"}
    assert found["inputs"][1] == {"space": "hbm", "address": 4096, "shape": [4, 2], "dtype": "f16"}
    assert found["epilogue"][1] == {"op": "relu", "scope": "kernel", "operand": None}
    assert "function" not in found
    params.describe(Composite("math", "exp", (1,), 7, None, (2, 4), "f16", "f32", (), (32, 64, 32), 2048))
    again = params.describe(Store((7,), 0, (2, 4), "f16"))
    assert again["inputs"] == [{"value": 7, "space": "tcm", "address": 2048, "shape": [2, 4], "dtype": "f16"}]


def test_messages() -> None:
    params = loaded()
    sent = params.describe(Send((1,), "E", (2, 4), "f16", "sip0.cube0.pe0:E", 3))
    assert sent == {
        "op": "send",
        "direction": "E",
        "queue": "sip0.cube0.pe0:E",
        "index": 3,
        "inputs": [X],
        "nbytes": 16,
    }
    places = [
        params.describe(Recv(9, "W", (8,), "f16", **where, queue="q", index=0))["out"]
        for where in ({}, {"out_tcm": 128}, {"out_va": 4096})
    ]
    assert [(place["space"], place.get("address")) for place in places] == [("slot", None), ("tcm", 128), ("hbm", 4096)]
