"""Graphs as exporters write them: their nodes, what they become, and the numbers of small ones."""

from __future__ import annotations

from collections import Counter

import pytest

import kernbench
from kernbench.cli.main import main
from kernbench.workloads.graph.form import Graph
from kernbench.workloads.graph.fusing import fuse
from kernbench.workloads.graph.sources import find_graph
from tests.workloads.onnx_files.exported import bert, gpt2, mobilenet, resnet, save, vit


def read(model, tmp_path, **axes: int) -> Graph:
    found = find_graph(save(model, tmp_path / "net.onnx"))
    return found.read({name: axes.get(name, size) for name, size in found.axes.items()})


def kinds(graph: Graph) -> dict[str, int]:
    """The operators after fusing, by kind."""
    fuse(graph)
    return dict(Counter(one.kind for one in graph.operators))


@pytest.mark.parametrize(
    ("model", "nodes", "becomes", "gflop"),
    [
        (
            lambda: resnet((2, 2, 2, 2), bottleneck=False),
            {"Conv": 20, "Relu": 17, "Add": 8, "MaxPool": 1, "GlobalAveragePool": 1, "Flatten": 1, "Gemm": 1},
            {"convolution": 20, "pool": 2, "product": 1},
            3.628,
        ),
        (
            resnet,
            {"Conv": 53, "Relu": 49, "Add": 16, "MaxPool": 1, "GlobalAveragePool": 1, "Flatten": 1, "Gemm": 1},
            {"convolution": 53, "pool": 2, "product": 1},
            8.178,
        ),
        (
            mobilenet,
            {"Conv": 52, "Clip": 35, "Constant": 70, "Add": 10, "GlobalAveragePool": 1, "Flatten": 1, "Gemm": 1},
            {"convolution": 52, "pool": 1, "product": 1},
            0.6017,
        ),
    ],
    ids=["resnet-18", "resnet-50", "mobilenet-v2"],
)
def test_convolutional_networks_become_a_launch_for_each_product(model, nodes, becomes, gflop, tmp_path):
    graph = read(model(), tmp_path)
    assert graph.nodes == nodes
    products = sum(one.flops for one in graph.operators if one.kind in ("convolution", "product"))
    assert products / 1e9 == pytest.approx(gflop, rel=0.002)
    assert kinds(graph) == becomes


def test_batch_norms_become_steps_of_convolutions(tmp_path):
    graph = read(resnet((2, 2, 2, 2), bottleneck=False, norm=True), tmp_path)
    assert graph.nodes["BatchNormalization"] == 20
    assert kinds(graph) == {"convolution": 20, "pool": 2, "product": 1}


@pytest.mark.parametrize("decomposed", [True, False])
def test_bert_has_eight_products_two_norms_and_a_softmax_a_layer(decomposed, tmp_path):
    graph = read(bert(decomposed=decomposed), tmp_path, sequence=128)
    assert graph.nodes["MatMul"] == 8 * 12
    assert graph.nodes["Softmax"] == 12
    assert graph.nodes["LayerNorm" if decomposed else "LayerNormalization"] == 25 * (
        7 if decomposed else 1
    )  # scale and shift apart
    assert kinds(graph) == {
        "product": 96,
        "norm": 25,
        "softmax": 12,
        "gather": 2,
        "elementwise": kinds(graph)["elementwise"],
    }
    assert kinds(graph)["elementwise"] <= 3
    assert graph.parameters == pytest.approx(108.9e6, rel=0.01)


@pytest.mark.parametrize("decomposed", [True, False])
def test_vit_moves_only_its_class_token_and_its_patches(decomposed, tmp_path):
    graph = read(vit(decomposed=decomposed), tmp_path)
    found = kinds(graph)
    assert {name: found.get(name, 0) for name in ("convolution", "product", "norm", "softmax")} == {
        "convolution": 1, "product": 97, "norm": 25, "softmax": 12,
    }  # fmt: skip
    assert found.get("move", 0) + found.get("elementwise", 0) <= 3
    assert graph.parameters == pytest.approx(86.57e6, rel=0.01)


def test_gpt2_puts_keys_and_values_behind_its_cache(tmp_path):
    graph = read(gpt2(), tmp_path, past=64)
    found = kinds(graph)
    assert {name: found[name] for name in ("product", "norm", "softmax", "gather")} == {
        "product": 73, "norm": 25, "softmax": 12, "gather": 1,
    }  # fmt: skip
    assert graph.parameters == pytest.approx(163e6, rel=0.01)


SMALL = {
    "resnet": lambda dtype: resnet((1, 1), image=20, width=8, classes=12, numbers=True, norm=True, dtype=dtype),
    "resnet-basic": lambda dtype: resnet(
        (1, 2), bottleneck=False, image=20, width=8, classes=12, numbers=True, dtype=dtype
    ),
    "mobilenet": lambda dtype: mobilenet(image=16, numbers=True, blocks=((1, 8, 1, 1), (2, 12, 2, 2)), dtype=dtype),
    "vit": lambda dtype: vit(2, 24, 2, 48, image=16, patch=4, classes=10, numbers=True, dtype=dtype),
    "vit-fused": lambda dtype: vit(
        2, 24, 2, 48, image=16, patch=4, classes=10, decomposed=False, numbers=True, dtype=dtype
    ),
    "bert": lambda dtype: bert(2, 24, 2, 48, 50, numbers=True, dtype=dtype),
    "gpt2": lambda dtype: gpt2(2, 24, 2, 50, tokens=6, numbers=True, dtype=dtype),
}


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("name", SMALL)
def test_the_numbers_of_a_small_network_equal_those_of_the_reference(name, dtype, tmp_path):
    path = save(SMALL[name](dtype), tmp_path / "net.onnx")
    axes = {"bert": {"sequence": 9}, "gpt2": {"past": 5}}.get(name, {})
    result = kernbench.run(path, "tiny", parameters={"batch": 2, **axes}, verify=True)
    assert result.mismatches == ()


def test_the_summary_says_whether_numbers_were_checked(tmp_path, capsys):
    path = save(vit(1, 24, 2, 48, image=8, patch=4, classes=10, numbers=True), tmp_path / "net.onnx")
    for words, verdict in ((["--verify-data"], "right"), ([], "not checked")):
        assert main(["run", path, "-t", "tiny", *words]) == 0
        (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("numbers"))
        assert verdict in line


def test_launches_of_a_file_that_are_alike_take_the_time_of_one_to_the_femtosecond(tmp_path):
    path = save(vit(3, 24, 2, 48, image=16, patch=4, classes=10), tmp_path / "net.onnx")
    distinct, every = (kernbench.run(path, "tiny", parameters={"nodes": how}) for how in ("distinct", "all"))
    assert distinct.network["step_fs"] == every.network["step_fs"]
    assert len(distinct.launches) < len(every.launches)
