"""Energies on machines of the other families, against cases that are computed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import kernbench
from kernbench.energy.bill import find_bill
from kernbench.energy.run_energy import RunEnergy
from kernbench.engine import Session
from kernbench.machine import load_machine
from kernbench.machine.dies import Job
from kernbench.machine.families.registry import FAMILIES
from kernbench.machine.intents import Intent, RouteKind
from kernbench.machine.machine import Machine
from kernbench.program.ops import NONE
from kernbench.program.program import Program
from kernbench.sweep.run import run_sweep
from tests.energy.round_sheet import PJ

ROUND_MESH = {"technology.node_nm": 7, "technology.wire_pj_mm": 0.6, "mesh_router.energy.byte_pj": 1}


def send(machine: Machine, source: str, *destinations: str, nbytes: int = 64) -> RunEnergy:
    program = Program(machine)
    nodes, thread, done = machine.node_id, program.thread(source), program.counter("sent")
    to = [nodes[name] for name in destinations]
    if len(to) == 1:
        route = machine.routing.route(nodes[source], to[0], Intent.ALL, RouteKind.MESSAGE)
        thread.move(route, nbytes, done=done)
    else:
        route = machine.routing.multicast(nodes[source], to, Intent.ALL, RouteKind.MESSAGE)
        thread.multicast(route, nbytes, arrive=[NONE] * len(to), done=done)
    thread.wait(done, 1)
    session = Session(program)
    session.run()
    return RunEnergy(program, session.now_fs)


def test_64_bytes_over_five_hops_of_a_mesh() -> None:
    """Six routers of 1 pJ and five mm of 0.6 pJ a byte."""
    machine = load_machine("mesh_8x8", ROUND_MESH)
    assert send(machine, "node[0][0]", "node[2][3]").dynamic_aj == 576 * PJ


def test_a_multicast_pays_its_tree_once() -> None:
    """To (0, 2), (0, 3) and (1, 3) from (0, 0): five routers and four links; three unicasts take 12 and 9."""
    machine = load_machine("mesh_8x8", ROUND_MESH)
    to = ("node[0][2]", "node[0][3]", "node[1][3]")
    assert send(machine, "node[0][0]", *to).dynamic_aj == 64 * (5 * PJ + 4 * 600_000)
    each = sum(send(machine, "node[0][0]", one).dynamic_aj for one in to)
    assert each == 64 * (12 * PJ + 9 * 600_000)


def test_longer_hops_cost_more_wire_and_take_as_long() -> None:
    short, long = (load_machine("mesh_8x8", {**ROUND_MESH, "hop_mm": mm}) for mm in (1, 2))
    one, other = (send(machine, "node[0][0]", "node[2][3]") for machine in (short, long))
    assert other.dynamic_aj - one.dynamic_aj == 64 * 5 * 600_000
    assert other.makespan_fs == one.makespan_fs


@pytest.mark.parametrize(
    ("phases", "energy"), [(1, 6_553_600_000), (2, 13_107_200_000), (3, 19_660_800_000), (4, 26_214_400_000)]
)
def test_a_product_of_tiles_pays_each_of_its_phases(phases: int, energy: int) -> None:
    """65,536 flop of 0.1 pJ in each phase: LoFi 6,553.6 pJ, HiFi4 26,214.4 pJ."""
    machine = load_machine("tensix_tiny", {"tensix_core.energy.pass_flop_pj": 0.1})
    cycles = phases * machine.figures["tensix_core.matmul_cycles"]
    rule = FAMILIES["tensix"].actions()
    assert rule is not None
    ((part, action, flop),) = rule(Job("matrix", "matmul", (("tensix_core.cycle", cycles),), machine.figures))
    assert (part, action, flop) == ("tensix_core", "pass_flop", phases * 65_536)
    assert flop * (machine.prices.find(part, action) or 0) == energy


def test_a_product_of_a_chip_counts_all_its_flop() -> None:
    """512 x 512 x 512 of bfloat16 in HiFi4 has four times its flop."""
    result = kernbench.run("tanto-matmul", parameters={"math_fidelity": "hifi4"})
    flop = next(one for one in result.energy().by_action() if one.action == "pass_flop")
    assert flop.amount == 4 * 2 * 512**3
    assert result.no_figures is None


def test_tasks_of_an_npu_have_an_energy() -> None:
    result = kernbench.run("blocked_gemm")
    energy = result.energy()
    assert result.no_figures is None
    actions = {(one.part, one.action): one.amount for one in energy.by_action()}
    assert actions["aic", "flop_16"] == 2 * 512**3
    products = (512 // 128) ** 3  # of tiles of 128 x 128 f16
    assert actions["aic", "operand_byte"] == pytest.approx(products * 2 * 128 * 128 * 2, rel=1e-12)
    assert actions["aic", "product_byte"] == products * 128 * 128 * 4
    assert (
        actions["gm_hbm", "read_byte"] + actions["l2", "read_byte"]
        == actions["aic", "write_byte"] + actions["aiv", "write_byte"]
    )
    assert sum(one.energy_aj or 0 for one in energy.by_action()) == result.dynamic_aj


def test_a_chip_of_published_size_is_as_large() -> None:
    assert find_bill(load_machine("ascend_910b2")).area_mm2 == 665.6
    assert find_bill(load_machine("wormhole_n150")).area_mm2 == 670


def test_a_chip_without_a_size_is_as_large_as_its_parts() -> None:
    (die,) = find_bill(load_machine("mesh_8x8")).dies
    assert die.mm2 == pytest.approx(die.parts_mm2)
    assert die.mm2 == pytest.approx(64 * 0.15 * 5 / 7, rel=1e-4)


def test_a_price_of_a_memory_that_is_missing_is_named() -> None:
    bill = find_bill(load_machine("wormhole_n150"))
    assert bill.cost_usd is None
    assert "no price: tensix_dram.silicon.usd_gb" in bill.missing


def test_flows_have_an_energy() -> None:
    """64 bytes over five hops, by the round prices of a mesh: 576 pJ; and the static energy of the makespan."""
    found = kernbench.probe("mesh_8x8", flows=["node[0][0]:node[2][3]:64"], overrides=ROUND_MESH)
    told = found.to_dict()
    assert told["dynamic_aj"] == 576 * PJ
    assert told["energy_j"] == pytest.approx(1e-18 * (told["dynamic_aj"] + told["static_aj"]))


def test_patterns_of_traffic_have_columns_of_energy(tmp_path: Path) -> None:
    grid = {
        "pattern": "uniform",
        "topology": "mesh_8x8",
        "parameters": {"load": [0.1, 0.2], "window": [200], "topology.k": [4]},
        "objectives": ["min energy_j"],
    }
    table = run_sweep(grid, tmp_path, workers=1).table
    assert table["energy_j"].null_count() == 0
    assert table["energy_j"].is_sorted()
    assert (table["area_mm2"] > 0).all()
