"""Windows of a network with credits that are served together, level by level, give the times of windows one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest

from kernbench.engine import Session, credit_memory
from kernbench.engine.credit_levels import find_levels, read_bytes, second_cache_bytes
from kernbench.machine import load_machine
from kernbench.machine.machine import Machine
from kernbench.program.program import Program
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.injection_process import InjectionProcess
from kernbench.traffic.lower import Traffic
from kernels_jit.layout import records as r
from kernels_jit.layout.codes import NONE
from kernels_jit.layout.records import BLOCK_ACTORS


@pytest.mark.parametrize(
    ("level", "size", "expected"),
    [
        ("2\n", "1024K\n", 1 << 20),
        ("2", "1280K", 1280 << 10),
        ("3\n", "32768K\n", None),
        ("2\n", "0K\n", None),
        ("2\n", "1M\n", None),
        ("2\n", "\n", None),
        ("2\n", "K\n", None),
        ("2\n", "½K\n", None),
    ],
)
def test_sizes(tmp_path: Path, level: str, size: str, expected: int | None) -> None:
    (tmp_path / "level").write_text(level, encoding="utf-8")
    (tmp_path / "size").write_text(size, encoding="utf-8")
    assert read_bytes(tmp_path) == expected


def test_a_system_that_tells_nothing(tmp_path: Path) -> None:
    assert read_bytes(tmp_path / "none") is None


def test_there_is_always_a_size() -> None:
    assert second_cache_bytes() >= 1 << 10


MESHES = {
    "small": {},
    "mesh": {"w": 24, "h": 12},
    "torus": {"w": 12, "h": 12, "torus": True},
    "column": {"w": 2, "h": 130},
    "one buffer": {"w": 16, "h": 16, "virtual_channels": 1, "buffer_flits": 1, "packet_flits": 3},
    "tail credits": {"w": 16, "h": 16, "reuse": "tail_credit", "allocator": "age", "packet_flits": 5},
    "slow links": {"w": 16, "h": 16, "link_gbs": 100, "credit_ns": 4},
}


def uniform(fields: dict[str, Any], packet_flits: int, seed: int) -> Program:
    """Uniform traffic that meets at some links."""
    machine = load_machine("mesh_8x8_credit", fields)
    packets = InjectionProcess("uniform", packet_flits, seed, window=60).packets(machine, 0.2)
    return Traffic(machine, packets).program


def run(program: Program, windows: int, level: np.ndarray | None = None) -> Session:
    """A run that serves so many windows together; `level`: of each patch of actors, if not the ones found."""
    session = Session(program, "flit")
    memory, _ = session.lay()
    credit = memory.credit
    assert credit is not None
    credit["together"] = windows
    if level is not None:
        starts = np.append(0, np.cumsum(np.bincount(level, minlength=credit["levels"])))
        memory.words[credit["level_starts"] :][: len(starts)] = starts
        memory.words[credit["level_blocks"] :][: len(level)] = np.argsort(level, kind="stable")
    session.run()
    return session


def find_levels_of(machine: Machine) -> tuple[np.ndarray, np.ndarray]:
    """int64[actor] the level of each, and int64[link, 2] the actors at both ends of each link, or NONE."""
    memory, _ = Session(Traffic(machine, parse_flows(["0:1:256B"])).program, "flit").lay()
    assert memory.credit is not None
    rows = memory.rows(memory.credit["links"], r.LINK, machine.edge_count)
    links = np.stack([rows["source"], rows["receiver"]], axis=1).astype(np.int64)
    level = find_levels(memory.credit["actor_blocks"], links, np.stack([machine.edge_src, machine.edge_dst], axis=1))
    return np.repeat(level, BLOCK_ACTORS), links


@pytest.mark.parametrize("fields", MESHES.values(), ids=MESHES)
def test_levels_of_neighbours_differ_by_one_at_most(fields: dict[str, Any]) -> None:
    machine = load_machine("mesh_8x8_credit", fields)
    level, links = find_levels_of(machine)
    assert level.max() > 1
    sender, receiver = links[links[:, 1] != NONE].T
    assert abs(level[sender] - level[receiver]).max() == 1
    ends = links[:, 1] == NONE  # of endpoints, which have no actor but the sources of their links
    for link in np.flatnonzero(ends):
        onward = links[machine.edge_src == machine.edge_dst[link], 0]
        assert abs(level[links[link, 0]] - level[onward]).max() <= 1


@pytest.mark.parametrize("seed", range(20))
def test_levels_are_the_distances_from_the_first_patch_of_each_part(seed: int) -> None:
    rng = np.random.default_rng(seed)
    blocks, links = int(rng.integers(1, 30)), int(rng.integers(0, 60))
    actors = rng.integers(0, blocks * BLOCK_ACTORS, (links, 2))
    actors[rng.random(links) < 0.3, 1] = NONE
    nodes = rng.integers(0, 20, (links, 2))
    near = networkx.Graph()
    near.add_nodes_from(range(blocks))
    for (sender, receiver), (_, dst) in zip(actors.tolist(), nodes.tolist(), strict=True):
        others = [receiver] if receiver != NONE else actors[nodes[:, 0] == dst, 0].tolist()
        near.add_edges_from((sender // BLOCK_ACTORS, other // BLOCK_ACTORS) for other in others)
    found = find_levels(blocks, actors, nodes)
    for part in networkx.connected_components(near):
        expected = networkx.single_source_shortest_path_length(near, min(part))
        assert {patch: int(found[patch]) for patch in part} == expected


def test_parts_of_a_network_that_are_not_joined_have_levels_of_their_own() -> None:
    links = np.array([[0, BLOCK_ACTORS], [BLOCK_ACTORS, 0], [3 * BLOCK_ACTORS, NONE], [4 * BLOCK_ACTORS, NONE]])
    nodes = np.array([[0, 1], [1, 0], [2, 3], [3, 2]])
    assert find_levels(6, links, nodes).tolist() == [0, 1, 0, 0, 1, 0]


@pytest.mark.parametrize("fields", MESHES.values(), ids=MESHES)
@pytest.mark.parametrize("packet_flits", [1, 6])
def test_windows_together_give_the_times_of_windows_one_by_one(fields: dict[str, Any], packet_flits: int) -> None:
    program = uniform(fields, packet_flits, seed=packet_flits)
    one_by_one = run(program, 1)
    for windows in (2, 3, 7, 16):
        together = run(program, windows)
        assert np.array_equal(together.op_end_fs, one_by_one.op_end_fs)
        assert np.array_equal(together.station_busy_fs, one_by_one.station_busy_fs)
        assert (together.now_fs, together.events) == (one_by_one.now_fs, one_by_one.events)


@pytest.mark.parametrize(("cache_kib", "windows"), [(64, 2), (512, 3), (1024, 7), (16384, 8)])
def test_as_many_windows_are_served_together_as_levels_fit_into_the_second_cache(
    monkeypatch: pytest.MonkeyPatch, cache_kib: int, windows: int
) -> None:
    program = uniform({"w": 32, "h": 16}, 4, seed=5)
    one_by_one = run(program, 1)
    monkeypatch.setattr(credit_memory, "second_cache_bytes", lambda: cache_kib << 10)
    session = Session(program, "flit")
    memory, _ = session.lay()
    assert memory.credit is not None
    assert (memory.credit["together"], memory.credit["is_large"]) == (windows, cache_kib < 16384)
    session.run()
    assert np.array_equal(session.op_end_fs, one_by_one.op_end_fs)


@pytest.mark.parametrize(("fields", "windows"), [({}, 8), ({"outstanding_packets": 4}, 1)])
def test_checked_runs_serve_windows_of_small_networks_together_unless_sources_limit_their_packets(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], windows: int
) -> None:
    monkeypatch.setattr(credit_memory, "second_cache_bytes", lambda: 1 << 20)
    machine = load_machine("mesh_8x8_credit", fields)
    memory, _ = Session(Traffic(machine, parse_flows(["0:1:256B"])).program, "flit").lay()
    assert memory.credit is not None
    assert (memory.credit["together"], memory.credit["is_large"]) == (windows, 0)


def test_a_transfer_that_something_follows_from_is_waited_for_window_by_window() -> None:
    """A multicast counts its arrivals; windows are served together before it and after it."""
    machine = load_machine("mesh_8x8_credit", {"w": 24, "h": 12})
    flows = [f"{src}:{287 - src}:1KiB@{src % 40}" for src in range(140)]
    program = Traffic(machine, parse_flows([*flows, "0:5+280+287:1KiB@30"])).program
    one_by_one, together = run(program, 1), run(program, 4)
    assert np.array_equal(together.op_end_fs, one_by_one.op_end_fs)


def test_levels_in_a_wrong_order_are_noticed() -> None:
    program = uniform({"w": 24, "h": 12}, 4, seed=1)
    level, _ = find_levels_of(program.machine)
    wrong = level[::BLOCK_ACTORS] * 3 % (level.max() + 1)
    assert (wrong != level[::BLOCK_ACTORS]).any()
    with pytest.raises(AssertionError, match="an actor is woken for a cycle that is over for it"):
        run(program, 4, level=wrong)
