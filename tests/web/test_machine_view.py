from __future__ import annotations

import io
from pathlib import Path

import polars
import pytest

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.web.machine_view import MachineView
from kernbench.web.sources import MachineSource, Sources


def test_nodes_and_links_are_those_of_the_machine() -> None:
    view, machine = MachineView("tiny"), load_machine("tiny")
    nodes, links = (polars.read_ipc(io.BytesIO(arrow)) for arrow in (view.nodes, view.links))
    assert nodes["name"].to_list() == list(machine.node_name)
    assert nodes["x"].to_numpy() == pytest.approx(machine.node_x_mm)
    assert len(links) == machine.edge_count // 2
    ends = {frozenset(pair) for pair in links.select("source", "target").rows()}
    assert ends == {frozenset(pair) for pair in zip(machine.edge_src.tolist(), machine.edge_dst.tolist(), strict=True)}


def test_a_part_has_the_figures_that_its_times_follow_from() -> None:
    view = MachineView("tiny")
    nodes = polars.read_ipc(io.BytesIO(view.nodes))
    parts = dict(nodes.select("kind", "part").unique().rows())
    assert parts["router"] == "noc"
    assert parts["hbm_ctrl"] == "hbm"  # by its channels: the controller adds no time
    assert parts["conn"] == "ucie"  # by its port
    links = polars.read_ipc(io.BytesIO(view.links))
    assert set(links.filter(polars.col("port") == "pe_tcm.read_gbs")["kind"]) == {5}


def test_figures_name_their_source_or_say_that_the_topology_sets_them(tmp_path: Path) -> None:
    topology = tmp_path / "mine.yaml"
    tiny = Path(__file__).parents[2] / "topology" / "tiny.yaml"
    topology.write_text(tiny.read_text(encoding="utf-8") + "\nnoc: {gbs: 99 GB/s}\n", encoding="utf-8")
    fields = {field["name"]: field for field in MachineView(str(topology)).about["parts"]["noc"]["fields"]}
    assert fields["gbs"]["value"] == "99 GB/s"
    assert fields["gbs"]["source"] == "set by the topology"
    assert "mine.yaml:" in fields["gbs"]["place"]
    assert fields["overhead_ns"]["source"].startswith("KernBench architecture")
    assert "noc.yaml:" in fields["overhead_ns"]["place"]


def test_a_machine_is_a_source_by_its_name() -> None:
    found = Sources(["tiny", "tiny"]).list()
    assert list(found) == ["tiny", "tiny (2)"]
    assert isinstance(found["tiny"], MachineSource)


def test_a_topology_with_mistakes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("family: sipp\n")
    with pytest.raises(InputError, match=r"mine\.yaml:1:9: family: unknown family 'sipp'; did you mean 'sip'"):
        Sources([str(tmp_path / "mine.yaml")])
