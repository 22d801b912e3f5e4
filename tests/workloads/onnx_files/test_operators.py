"""Each operator as a graph of one node gives the numbers of the reference implementation of ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import kernbench
from kernbench.workloads.onnx_files.operators import CONSTANTS, list_operators

RNG = np.random.default_rng(3)


class Case(NamedTuple):
    op: str
    inputs: tuple[Any, ...]  # a shape: an input of the graph; an array: a constant; None: left out
    attributes: Mapping[str, Any] = MappingProxyType({})
    outputs: int = 1
    opset: int = 20
    positive: bool = False


def const(*values: Any, dtype: Any = np.int64) -> np.ndarray:
    return np.array(values, dtype)


def weights(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) * 0.5).astype(np.float32)


X4 = (2, 3, 6, 5)
UNARY = ("Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Abs", "Neg", "Floor", "Ceil", "Sin", "Cos", "Softplus", "Softsign", "Mish",
         "HardSwish", "LeakyRelu", "Elu", "HardSigmoid", "Selu", "Identity", "Dropout")  # fmt: skip
CASES = [
    *(Case(op, ((3, 40),), opset=22) for op in UNARY),
    *(Case(op, ((3, 40),), positive=True) for op in ("Sqrt", "Log", "Reciprocal")),
    *(Case(op, ((2, 3, 8), (3, 1))) for op in ("Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean")),
    Case("Div", ((2, 3, 8), weights(8) + 3)),
    Case("Pow", ((4, 9), np.array(2.0, np.float32))),
    Case("Pow", ((4, 9), (4, 1)), positive=True),
    Case("Gelu", ((3, 40),)),
    Case("Gelu", ((3, 40),), {"approximate": "tanh"}),
    Case("Swish", ((3, 40),), {"alpha": 1.5}, opset=24),
    Case("Clip", ((3, 40), np.array(-0.5, np.float32), np.array(0.7, np.float32))),
    Case("Clip", ((3, 40),), {"min": -0.5, "max": 0.25}, opset=7),
    Case("PRelu", ((2, 3, 4), weights(3, 1))),
    Case("Where", (np.array([[True], [False], [True]]), (3, 8), (3, 8))),
    Case("Conv", (X4, weights(4, 3, 3, 3), weights(4)), {"pads": [1, 1, 1, 1]}),
    Case("Conv", (X4, weights(4, 3, 3, 2)), {"strides": [2, 1], "pads": [0, 1, 1, 0], "dilations": [1, 2]}),
    Case("Conv", ((1, 4, 6, 6), weights(6, 2, 3, 3)), {"group": 2, "auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    Case("Conv", ((1, 8, 9, 9), weights(8, 1, 3, 3), weights(8)), {"group": 8, "pads": [1, 1, 1, 1]}),
    Case("Conv", ((2, 3, 16), weights(5, 3, 4)), {"strides": [2], "pads": [1, 1]}),
    Case("Gemm", ((5, 7), weights(7, 9), weights(9))),
    Case("Gemm", ((7, 5), weights(9, 7), weights(5, 9)), {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}),
    Case("MatMul", ((2, 5, 7), weights(7, 9))),
    Case("MatMul", ((2, 3, 5, 7), (2, 3, 7, 4))),
    Case("MatMul", ((2, 1, 5, 7), (3, 7, 4))),
    Case("MatMul", ((7,), weights(7, 4))),
    Case("Einsum", ((2, 5, 3, 4), (2, 6, 3, 4)), {"equation": "bshe,bthe->bhst"}),
    Case("BatchNormalization", (X4, weights(3), weights(3), weights(3), np.abs(weights(3)) + 0.5)),
    Case("LayerNormalization", ((4, 6, 24), weights(24), weights(24))),
    Case("LayerNormalization", ((4, 6, 5), weights(6, 5)), {"axis": 1}),
    Case("RMSNormalization", ((4, 24), weights(24)), opset=23),
    Case("InstanceNormalization", (X4, weights(3), weights(3))),
    Case("GroupNormalization", ((2, 6, 4, 4), weights(6), weights(6)), {"num_groups": 3}, opset=21),
    Case("LRN", ((7, 7, 3, 4),), {"size": 3, "alpha": 0.1, "beta": 0.75}),
    Case("Softmax", ((3, 4, 10),)),
    Case("Softmax", ((3, 4, 10),), {"axis": 1}),
    Case("Softmax", ((3, 10),), opset=11),
    Case("LogSoftmax", ((3, 10),)),
    Case("MaxPool", (X4,), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    Case("MaxPool", (X4,), {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
    Case("AveragePool", (X4,), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    Case("AveragePool", (X4,), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    Case("GlobalAveragePool", (X4,)),
    Case("GlobalMaxPool", (X4,)),
    Case("ReduceMean", ((3, 4, 10), const(1)), {"keepdims": 0}),
    Case("ReduceMean", ((3, 4, 10),), {"axes": [0, 2]}, opset=13),
    *(Case(op, ((3, 4, 10), const(-1))) for op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL2")),
    Case("Reshape", ((2, 3, 8), const(4, -1))),
    Case("Flatten", (X4,)),
    Case("Squeeze", ((3, 1, 5), const(1))),
    Case("Unsqueeze", ((3, 5), const(0, 2))),
    Case("Transpose", ((2, 3, 5),), {"perm": [2, 0, 1]}),
    Case("Expand", ((3, 1), const(2, 3, 4))),
    Case("Tile", ((3, 4), const(2, 3))),
    Case("Slice", ((4, 9), const(1, -1), const(4, -9), const(0, 1), const(1, -2))),
    Case("Split", ((4, 9), const(2, 7)), {"axis": 1}, outputs=2),
    Case("Gather", ((9, 6), const([3, 1, 1], [0, 8, 2]))),
    Case("Gather", ((4, 6), const(1, 3, 5)), {"axis": 1}),
    Case("Gather", ((4, 6), np.array(-1)), {"axis": 1}),
    Case("Concat", ((2, 3), (2, 5), (2, 1)), {"axis": 1}),
    Case("Pad", ((3, 4), const(1, 0, 0, 2), np.array(1.5, np.float32))),
    Case("Resize", ((1, 2, 3, 4), None, np.array([1, 1, 2, 3], np.float32)),
         {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
    Case("Upsample", ((1, 2, 3, 4), np.array([1, 1, 2, 2], np.float32)), {"mode": "nearest"}, opset=9),
    Case("DepthToSpace", ((1, 8, 2, 3),), {"blocksize": 2}),
    Case("DepthToSpace", ((1, 8, 2, 3),), {"blocksize": 2, "mode": "CRD"}),
    Case("SpaceToDepth", ((1, 2, 4, 6),), {"blocksize": 2}),
    Case("DequantizeLinear",
         (RNG.integers(-100, 100, (4, 6)).astype(np.int8), np.array(0.02, np.float32), np.array(3, np.int8))),
    Case("Cast", ((3, 5),), {"to": TensorProto.FLOAT16}),
    Case("Attention", ((2, 2, 5, 8), (2, 2, 7, 8), (2, 2, 7, 4)), opset=23),
    Case("Attention", ((1, 6, 32), (1, 6, 16), (1, 6, 16)), {"q_num_heads": 4, "kv_num_heads": 2, "is_causal": 1}, opset=23),
    Case("RotaryEmbedding", ((1, 2, 4, 8), weights(1, 4, 4), weights(1, 4, 4)), opset=23),
    Case("RotaryEmbedding", ((1, 2, 4, 8), weights(6, 4), weights(6, 4), const([1, 2, 3, 4])), {"interleaved": 1}, opset=23),
]  # fmt: skip
MASKS = ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Not", "CastLike", "QuantizeLinear")


def make(case: Case, path: Path, domain: str = "") -> Path:
    names, inputs, held = [], [], []
    for at, one in enumerate(case.inputs):
        names.append("" if one is None else f"x{at}")
        if isinstance(one, tuple):
            inputs.append(helper.make_tensor_value_info(f"x{at}", TensorProto.FLOAT, one))
        elif one is not None:
            held.append(numpy_helper.from_array(np.asarray(one), f"x{at}"))
    if not inputs:  # a node of constants alone is computed before the run: give it an input
        inputs.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, (1,)))
    outputs = [f"y{at}" for at in range(case.outputs)]
    nodes = [helper.make_node(case.op, names, outputs, "node", domain=domain, **case.attributes)]
    if case.positive:
        nodes.insert(0, helper.make_node("Abs", ["x0"], ["positive"], "abs"))
        nodes[1].input[0] = "positive"
    shown = [helper.make_tensor_value_info(f"{name}.out", 0, None) for name in outputs]
    kind = TensorProto.FLOAT16 if case.op == "Cast" else TensorProto.FLOAT
    add = "z" if not any(isinstance(one, tuple) for one in case.inputs) else ""
    for name, one in zip(outputs, shown, strict=True):
        one.type.tensor_type.elem_type = kind
        nodes.append(
            helper.make_node("Add" if add else "Neg", [name, add] if add else [name], [one.name], f"end {name}")
        )
    graph = helper.make_graph(nodes, "one", inputs, shown, held)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", case.opset), helper.make_opsetid("com.microsoft", 1)]
    )
    onnx.save(model, str(path))
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.op}-{case.opset}")
def test_an_operator_gives_the_numbers_of_the_reference(case, tmp_path):
    path = make(case, tmp_path / "one.onnx")
    batch = next((one[0] for one in case.inputs if isinstance(one, tuple)), 1)
    result = kernbench.run(str(path), "tiny", parameters={"batch": batch}, verify=True)
    assert result.mismatches == ()


def test_each_operator_that_is_known_has_a_case():
    tested = {case.op for case in CASES} | set(MASKS) | set(CONSTANTS)
    assert set(list_operators()[""]) <= tested | {"SimplifiedLayerNormalization"}
