"""The family `ascend`: what is wired to what, and how long a transfer takes by hand."""

from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.machine import Intent, RouteKind, load_machine
from tests.machine.alone import transfer_fs


def test_the_910b2_has_24_clusters_of_three_cores():
    machine = load_machine("ascend_910b2")
    kinds = [machine.server_kind.count(kind) for kind in ("aic", "aiv", "aicpu", "npu_host")]
    assert kinds == [24, 48, 4, 1]


def test_reads_come_by_the_link_for_reads_and_writes_go_by_the_other():
    machine = load_machine("ascend_tiny")
    core, routing = machine.places.core(1, 0), machine.routing
    read = routing.route(core.node, machine.places.l2, Intent.ALL, RouteKind.READ)
    write = routing.route(core.node, machine.places.gm_hbm, Intent.ALL, RouteKind.WRITE)
    assert [machine.station_name[edge] for edge in routing.edges(read)] == ["l2 -> noc", "noc -> cluster1.aic"]
    assert [machine.station_name[edge] for edge in routing.edges(write)] == ["cluster1.aic -> noc", "noc -> hbm"]


def test_a_read_takes_the_overhead_of_l2_and_its_flits_at_the_slowest_link():
    machine = load_machine("ascend_tiny")
    core = machine.places.core(0, 1)
    nbytes, fs = 64 * machine.flit_bytes, machine.stations.fs_per_flit
    route = machine.routing.route(core.node, machine.places.l2, Intent.ALL, RouteKind.READ)
    edges, channel = machine.routing.edges(route), machine.terminals[machine.places.l2].first_station
    assert transfer_fs(machine, route, nbytes) == (
        machine.terminals[machine.places.l2].overhead_fs + fs[channel] + fs[edges[0]] + 64 * fs[edges[1]]
    )


def test_a_core_that_the_machine_lacks_is_an_error():
    with pytest.raises(InputError) as error:
        load_machine("ascend_tiny").places.core(2, 0)
    assert str(error.value) == (
        "the machine has no cluster2.aic; it has clusters 0 to 1, each with one AIC and AIVs 0 to 1"
    )


def test_alignments_are_powers_of_two():
    with pytest.raises(InputError, match="align_bytes is 48, expected a power of two"):
        load_machine("ascend_tiny", {"pto_runtime.align_bytes": 48})
