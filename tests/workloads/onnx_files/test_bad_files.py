"""Files that cannot be read: one sentence each, with code 2 and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import kernbench
from kernbench.cli.main import main
from tests.workloads.onnx_files.exported import Exporter, resnet, save, vit

F32 = TensorProto.FLOAT


def info(name: str, shape: Any, dtype: int = F32) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def net(
    *nodes: onnx.NodeProto, inputs: Any = None, outputs: Any = None, held: Any = (), opset: int = 17, imports: Any = ()
) -> onnx.ModelProto:
    given = [info("x", (2, 4))] if inputs is None else inputs
    made = [info("y", None)] if outputs is None else outputs
    graph = helper.make_graph(nodes, "net", given, made, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *imports])


def node(op: str, inputs: str, outputs: str = "y", name: str = "", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs.split(), outputs.split(), name, **attributes)


def missing(name: str, dims: tuple[int, ...], dtype: int = TensorProto.INT64) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name=name, data_type=dtype, dims=dims, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="weights.bin")
    return tensor


def held(name: str, *values: float, dtype: Any = np.int64) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(values, dtype), name)


BAD = {
    "cycle": (
        net(node("Relu", "b", "a", "first"), node("Relu", "a", "b", "second"), node("Add", "a x", name="sum")),
        "net has a cycle of the nodes ",
    ),
    "no nodes": (net(outputs=[info("x", (2, 4))]), "has a graph without nodes; give a graph that computes something"),
    "no outputs": (
        net(node("Relu", "x"), outputs=[]),
        "has a graph without outputs; give a graph that computes something",
    ),
    "only views": (
        net(node("Identity", "x")),
        "net has no operator that takes time; give a graph that computes something",
    ),
    "nothing makes an input": (
        net(node("Add", "x z", name="sum")),
        "node 'sum' (Add) reads 'z', which nothing makes; give an input, an initializer or a node of this name",
    ),
    "nothing makes an output": (net(node("Relu", "x", "z")), "net has an output 'y', which no node makes"),
    "unknown operator": (
        net(node("Det", "x", name="area")),
        "node 'area' is of operator 'Det', which is not modelled",
    ),
    "operator with a graph": (
        net(node("Loop", "x", name="again")),
        "node 'again' is of operator 'Loop', which is not modelled",
    ),
    "unknown domain": (
        net(node("Thing", "x", name="odd", domain="ai.acme"), imports=[helper.make_opsetid("ai.acme", 1)]),
        "node 'odd' is of operator 'Thing' of domain 'ai.acme'; known domains: the standard one and com.microsoft;",
    ),
    "unknown attribute value": (
        net(node("Gelu", "x", name="gelu", approximate="fast"), opset=20),
        "node 'gelu' (Gelu) has approximate='fast'; known: 'none', 'tanh'",
    ),
    "mode that is not modelled": (
        net(
            node("Resize", "x r s", name="up", mode="cubic"),
            held=[held("s", 2, 2, dtype=np.float32), held("r", dtype=np.float32)],
        ),
        "node 'up' (Resize) has mode='cubic'; known: 'nearest'",
    ),
    "no values of a shape": (
        net(node("Reshape", "x s", name="view"), held=[missing("s", (2,))]),
        "node 'view' (Reshape) needs the numbers of 's', which are external data that is not read; store small ",
    ),
    "shape from a run": (
        net(node("Reshape", "x s", name="view"), inputs=[info("x", (2, 4)), info("s", (1,), TensorProto.INT64)]),
        "node 'view' (Reshape) needs the numbers of 's', which only a run would tell; make it a constant",
    ),
    "opset too new": (net(node("Relu", "x"), opset=999), "is of opset 999; opsets 7 to "),
    "opset too old": (net(node("Relu", "x"), opset=6), "is of opset 6; opsets 7 to "),
    "two makers": (
        net(node("Relu", "x", "y", "one"), node("Abs", "x", "y", "two")),
        "node 'two' makes 'y', which is made by node 'one' already; give it another name",
    ),
    "made and given": (
        net(node("Relu", "x", "x", "one")),
        "node 'one' makes 'x', which is an input already; give it another name",
    ),
    "shapes of a product": (
        net(node("MatMul", "x w", name="mul"), held=[held("w", *[[1.0] * 3] * 5, dtype=np.float32)]),
        "node 'mul' (MatMul) ",
    ),
    "shapes that do not broadcast": (
        net(node("Add", "x w", name="sum"), held=[held("w", 1, 2, 3, dtype=np.float32)]),
        "node 'sum' (Add) ",
    ),
    "declared shape": (
        net(node("Relu", "x", name="relu"), outputs=[info("y", (2, 5))]),
        "node 'relu' (Relu) makes 'y' of shape [2, 4], and the file declares [2, 5]",
    ),
    "channels": (
        net(
            node("Conv", "x w", name="conv"),
            inputs=[info("x", (1, 3, 8, 8))],
            held=[held("w", *np.ones((4, 2, 1, 1)), dtype=np.float32)],
        ),
        "node 'conv' (Conv) ",
    ),
    "three axes": (
        net(
            node("Conv", "x w", name="conv"),
            inputs=[info("x", (1, 2, 4, 4, 4))],
            held=[held("w", *np.ones((4, 2, 1, 1, 1)), dtype=np.float32)],
        ),
        "node 'conv' (Conv) works on 3 axes; lines and planes are modelled",
    ),
    "strings": (
        net(node("Identity", "x"), inputs=[info("x", (2,), TensorProto.STRING)]),
        "tensor 'x' is of type STRING; known: f32,",
    ),
    "no shape": (net(node("Relu", "x"), inputs=[info("x", None)]), "input 'x' has no shape; export the graph with one"),
    "fixed batch": (
        net(node("Relu", "x")),
        "net got batch=7, and the file fixes the first axis of 'x' to 2; export it with a dynamic axis",
    ),
    "rows from a run": (
        net(
            node("Abs", "i", "j"),
            node("Gather", "x j", name="look"),
            inputs=[info("x", (2, 4)), info("i", (3,), TensorProto.INT64)],
        ),
        "node 'look' (Gather) gathers rows 'j' that only a run would tell; rows that are an input or a constant are modelled",
    ),
}


def run(capsys: pytest.CaptureFixture[str], path: str, *sets: str) -> str:
    code = main(["run", path, "-t", "tiny", *(word for one in sets for word in ("--set", one))])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    assert "bug" not in err
    return err


@pytest.mark.parametrize("name", BAD)
def test_a_graph_that_cannot_be_read_is_told_in_a_sentence(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model, sentence = BAD[name]
    batch = {"fixed batch": 7, "channels": 1, "three axes": 1, "no shape": 1}.get(name, 2)
    assert sentence in run(capsys, save(model, Path("net.onnx")), f"batch={batch}")


@pytest.mark.parametrize("text", [b"", b"hello, this is text\n" * 9, b"\xff" * 50, b'{"graph": 1}'])
def test_a_file_that_is_no_model_is_refused(text, tmp_path, capsys):
    path = tmp_path / "net.onnx"
    path.write_bytes(text)
    assert "net.onnx" in run(capsys, str(path))


def test_a_part_of_a_file_is_refused(tmp_path, capsys):
    path = Path(save(resnet((1, 1), image=20, width=8, classes=12, numbers=True), tmp_path / "net.onnx"))
    path.write_bytes(path.read_bytes()[:5000])
    assert "is no ONNX file, or a part of one" in run(capsys, str(path))


def test_a_path_without_a_file_is_refused(capsys):
    assert "there is no ONNX file nowhere.onnx; give the path of one" in run(capsys, "nowhere.onnx")


def test_more_than_a_protobuf_holds_is_refused_before_it_is_read(tmp_path, capsys):
    path = tmp_path / "net.onnx"
    with path.open("wb") as file:
        file.truncate(1 << 31)
    assert "has 2,147,483,648 bytes, and a protobuf ends at 2 GB; export it with its weights as external data" in run(
        capsys, str(path)
    )


def test_an_axis_that_nobody_set_is_named(tmp_path, capsys):
    e = Exporter(17, numbers=False)
    y = e("MatMul", e.input("x", ("n", "seq len", 8)), e.weight(8, 4))
    path = save(e.model(y, ("n", "seq len", 4)), tmp_path / "net.onnx")
    assert "net has a dynamic axis 'seq_len', which nobody set; give --set seq_len=SIZE" in run(capsys, path)
    assert "net got seq_len=-1; give 1 or more" in run(capsys, path, "seq_len=-1")
    assert kernbench.run(path, "tiny", parameters={"batch": 2, "seq_len": 5}).network["sequences_s"] > 0


@pytest.mark.parametrize("shape", [(2, 0), (2, -1)])
def test_an_axis_of_no_size_is_dynamic(shape, tmp_path, capsys):
    path = save(net(node("Relu", "x"), inputs=[info("x", shape)]), tmp_path / "net.onnx")
    assert "net has a dynamic axis 'x_1', which nobody set; give --set x_1=SIZE" in run(capsys, path, "batch=2")


def test_a_long_name_is_cut_in_sentences(tmp_path, capsys):
    path = save(net(node("Det", "x", name="n" * 5000)), tmp_path / "net.onnx")
    assert len(run(capsys, path, "batch=2")) < 600


def test_a_softmax_longer_than_kernels_hold_is_refused(tmp_path, capsys):
    path = save(net(node("Softmax", "x", name="last"), inputs=[info("x", (2, 70000))]), tmp_path / "net.onnx")
    sentence = (
        "node 'last' of net takes softmax along 70,000 elements; kernels hold at most 32,768; make the axis shorter"
    )
    assert sentence in run(capsys, path, "batch=2")


@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 2, 3, 2, 3)])
def test_tensors_of_any_number_of_axes_run(shape, tmp_path):
    path = save(net(node("Exp", "x"), inputs=[info("x", shape)]), tmp_path / "net.onnx")
    result = kernbench.run(path, "tiny", parameters={"batch": shape[0] if shape else 1}, verify=True)
    assert result.mismatches == ()


def test_external_data_that_is_missing_is_fine(tmp_path):
    path = save(vit(1, 24, 2, 48, image=16, patch=4, classes=10), tmp_path / "net.onnx")
    assert kernbench.run(path, "tiny").network["sequences_s"] > 0
    with pytest.raises(kernbench.InputError, match="net has no weights, so no numbers of a run can be checked"):
        kernbench.run(path, "tiny", verify=True)


def test_without_the_library_a_sentence_says_what_to_install(tmp_path, monkeypatch, capsys):
    path = tmp_path / "net.onnx"
    path.write_bytes(b"")
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "ONNX files need the package onnx; install it with pip install 'kernbench[onnx]'" in run(capsys, str(path))


@pytest.mark.parametrize("symbol", ["batch", "weights", "activations", "fuse", "nodes"])
def test_an_axis_with_the_name_of_a_parameter_is_one_of_its_own(symbol, tmp_path, capsys):
    model = net(node("Relu", "x"), inputs=[info("x", ("rows", symbol))])
    path = save(model, tmp_path / "net.onnx")
    assert f"net has a dynamic axis 'axis_{symbol}', which nobody set" in run(capsys, path)
    told = kernbench.run(path, "tiny", parameters={"batch": 2, f"axis_{symbol}": 3}).network
    assert told["least_flops"] == 2 * 3


@pytest.mark.parametrize("types", [{}, {"activations": "f16"}, {"weights": "f16"}])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_rows_that_are_looked_up_are_read_even_if_they_are_few(count, types, tmp_path):
    table = held("w", *np.linspace(-1, 1, 16 * 8).reshape(16, 8), dtype=np.float32)
    nodes = [node("Gather", "w ids", "g", "look"), node("Softmax", "g")]
    model = net(*nodes, inputs=[info("ids", (count,), TensorProto.INT64)], held=[table])
    path = save(model, tmp_path / "net.onnx")
    result = kernbench.run(path, "tiny", parameters={"batch": count, **types}, verify=True)
    assert result.mismatches == ()
    assert {"gather", "softmax"} <= {one["kind"] for one in result.network["kinds"]}
