import json

import pytest

from kernbench.program.op_semantics import Composite, Constant, Epilogue, Load, Math, Ref, View, plain

PIPELINE = Composite(
    kind="gemm",
    function=None,
    inputs=(3, View(Ref(4096, (8, 4), "f16")), Constant((), "f32", 0.5)),
    out=None,
    out_va=8192,
    shape=(2, 8),
    dtype="f16",
    acc_dtype="f32",
    epilogue=(Epilogue("relu", "k_tile"), Epilogue("scale", "kernel", 2)),
    tile=(32, 64, 32),
)


def test_a_note_is_a_mapping_of_its_fields():
    note = Load(1, 4096, (2, 3), "f16")
    assert dict(note) == {"op": "load", "out": 1, "va": 4096, "shape": (2, 3), "dtype": "f16"}
    assert len(note) == 5
    with pytest.raises(KeyError):
        note["items"]


def test_a_field_may_have_a_default():
    assert Math("exp", (1,), 2, (4,), "f16")["axis"] is None


def test_tensors_are_the_inputs_without_the_epilogue_s():
    assert PIPELINE.tensors == PIPELINE.inputs[:2]


def test_plain_is_ready_for_json():
    assert json.loads(json.dumps(plain(PIPELINE))) == {
        "op": "composite",
        "kind": "gemm",
        "function": None,
        "inputs": [
            3,
            {"view": {"of": {"ref": {"va": 4096, "shape": [8, 4], "dtype": "f16", "space": "hbm"}}}},
            {"constant": {"shape": [], "dtype": "f32", "value": 0.5, "step": 0}},
        ],
        "out": None,
        "out_va": 8192,
        "shape": [2, 8],
        "dtype": "f16",
        "acc_dtype": "f32",
        "epilogue": [
            {"epilogue": {"op": "relu", "scope": "k_tile", "operand": None}},
            {"epilogue": {"op": "scale", "scope": "kernel", "operand": 2}},
        ],
        "tile": [32, 64, 32],
        "addr": 0,
    }
