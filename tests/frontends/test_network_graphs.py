"""Graphs as workloads: the commands, the answer, and equal launches once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kernbench
from kernbench.cli.main import main
from kernbench.errors import InputError
from kernbench.frontends.registry import find, find_front_end
from kernbench.workloads.graph.sources import find_graph

SMALL = """\
description: a small residual network
source: a test
graph:
  family: resnet
  image: 24
  width: 8
  stages: [2, 2]
  classes: 10
  dtype: f16
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A description in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = Path("benches/workloads/small.yaml")
    path.parent.mkdir(parents=True)
    path.write_text(SMALL)
    return "small"


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    out, err = capsys.readouterr()
    return code, out, err


def test_a_graph_gives_images_a_second_and_its_time_by_kind(small, capsys):
    code, out, _ = call(capsys, "run", small, "-t", "tiny", "--set", "batch=2", "--json")
    told = json.loads(out)["network"]
    assert code == 0
    total = sum(row["times"] * row["ns"] for row in told["operators"])
    assert told["step_ns"] == pytest.approx(total)
    assert told["sequences_s"] == pytest.approx(2e9 / total)
    assert sum(one["ns"] for one in told["kinds"]) == pytest.approx(total)
    assert {one["kind"]: one["count"] for one in told["kinds"]} == {"convolution": 15, "pool": 2, "product": 1}
    assert all(0 < row["share_of_peak"] < 1 for row in told["operators"])


def test_the_summary_fits_a_terminal(small, capsys):
    code, out, _ = call(capsys, "run", small, "-t", "tiny")
    assert code == 0
    for word in ("throughput", "time of a pass", "stage1.0.conv2", "convolution", "not modelled"):
        assert word in out
    assert max(map(len, out.splitlines())) <= 120


def test_launches_that_are_alike_take_the_time_of_one_to_the_femtosecond(small):
    distinct, every = (kernbench.run(small, "tiny", parameters={"nodes": how}) for how in ("distinct", "all"))
    assert distinct.network["step_fs"] == every.network["step_fs"]
    assert len(distinct.launches) < len(every.launches)
    assert len(every.network["operators"]) == 18
    times = {row["operator"]: row["end_fs"] - row["start_fs"] for row in every.network["operators"]}
    for row in distinct.network["operators"]:
        assert times[row["operator"]] == row["end_fs"] - row["start_fs"]


def test_without_fusing_each_node_is_a_launch(small):
    fused, apart = (kernbench.run(small, "tiny", parameters={"fuse": how}) for how in ("yes", "no"))
    assert (
        sum(row["times"] for row in apart.network["operators"])
        == len(find_graph(small).read({"batch": 1}).operators)
        == 47
    )
    assert len(fused.network["operators"]) < 18
    assert apart.network["step_fs"] > fused.network["step_fs"]


@pytest.mark.parametrize(
    ("name", "parameters", "gflop"), [("resnet-50", 25_530_472, 8.178), ("mobilenet-v2", 3_487_816, 0.6)]
)
def test_shipped_networks_have_the_sizes_of_their_sources(name, parameters, gflop):
    graph = find_graph(name).read({"batch": 1})
    products = [one for one in graph.operators if one.kind in ("convolution", "product")]
    assert graph.parameters == parameters
    assert sum(one.flops for one in products) / 1e9 == pytest.approx(gflop, rel=0.01)
    assert find_front_end(name).name == "network"
    assert find(name).parameters["batch"] == 1


def test_show_tells_sizes_and_their_source(capsys):
    code, out, _ = call(capsys, "show", "resnet-50")
    assert code == 0
    assert "25,530,472" in out
    assert "arXiv 1512.03385" in out
    assert "f16[1, 3, 224, 224]" in out


@pytest.mark.slow
def test_a_sweep_has_images_a_second(small):
    widths = {"topology.hbm.channel_gbs": [4, 32]}
    found = kernbench.sweep(small, topology="tiny", workers=1, parameters={"batch": [1, 4], **widths})
    assert found.table["status"].to_list() == ["ok"] * 4
    for row in found.table.to_dicts():
        given = {name: row[name] for name in ("batch", *widths)}
        assert row["sequences_s"] == kernbench.run(small, "tiny", parameters=given).sequences_s


@pytest.mark.parametrize(
    ("sets", "machine", "sentence"),
    [
        (["batch=0"], "tiny", "small got batch=0; give 1 or more"),
        (["activations=int3"], "tiny", "unknown dtype 'int3'"),
        (["fuse=maybe"], "tiny", "fuse"),
        (
            ["weights=i8"],
            "tiny",
            "multiplies f16 and i8; the matrix engine takes one type: give weights and activations",
        ),
        (["batch=10000000"], "tiny", "are missing; give a smaller batch or types of fewer bits"),
        (
            [],
            "wormhole_n150",
            "networks as graphs run on family 'sip', and topology 'wormhole_n150' is of family 'tensix'",
        ),
    ],
)
def test_what_cannot_run_is_refused_in_a_sentence_with_code_2(small, capsys, sets, machine, sentence):
    given = [part for one in sets for part in ("--set", one)]
    code, out, err = call(capsys, "run", small, "-t", machine, *given)
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


def test_numbers_need_weights(small):
    with pytest.raises(InputError, match="has no weights, so no numbers of a run can be checked"):
        kernbench.run(small, "tiny", verify=True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (SMALL.replace("resnet", "resnext"), "small has graph family 'resnext'"),
        (SMALL.replace("  width: 8\n", ""), "small has graph sizes family, image, stages, classes, dtype; give "),
        (SMALL.replace("source: a test\n", ""), "is no description of a graph; give a mapping of "),
    ],
)
def test_a_description_that_is_none_is_refused(small, capsys, text, sentence):
    Path("benches/workloads/small.yaml").write_text(text)
    code, _, err = call(capsys, "run", small, "-t", "tiny")
    assert code == 2
    assert sentence in err
