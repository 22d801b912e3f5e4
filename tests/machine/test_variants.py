"""Variants against machines compiled in full: every array, every route, every error."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.machine.intents import Intent, RouteKind
from kernbench.machine.variants import Variants
from tests.machine.sheets.test_field_provenance import look

TOPOLOGIES = ["tiny", "sip_2x4x4"]


def moved(machine, factor=1.37):
    """All fields that may differ, each with a value of its own."""
    names = sorted(machine.origins().fields)
    return {name: machine.figures[name] * (factor + i / 9) or 0.4 + i for i, name in enumerate(names)}


def ask_routes(machine):
    """Some routes of every kind, as the loop reads them."""
    places, ep, route = machine.places, machine.places.pcie_ep(0), machine.routing.route
    last = places.pe(0, places.cubes_per_sip - 1, places.pes_per_cube - 1)
    ids = [route(ep, places.io_cpu(sip), Intent.ALL, RouteKind.MESSAGE) for sip in range(places.sip_count)]
    for node in [node for node in machine.terminals if "hbm_ctrl" in machine.node_name[node]][:3]:
        for kind in (RouteKind.READ, RouteKind.WRITE):
            ids += [route(ep, node, Intent.M_CPU_DMA, kind), route(last.dma, node, Intent.PE_DMA, kind)]
    tables = machine.routing.tables()
    steps = [slice(tables.start[i], tables.start[i + 1]) for i in ids]
    of_steps = tables.station, tables.stripes, tables.overhead_fs, tables.store_and_forward, tables.channels
    of_routes = tables.lead_fs, tables.tail_fs, tables.propagation_fs, tables.direction
    return [[c[s].tolist() for c in of_steps] for s in steps], [[int(c[i]) for c in of_routes] for i in ids]


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.slow
def test_a_variant_is_the_machine_compiled_with_its_values(topology):
    variants = Variants(topology, {})
    ask_routes(variants.base)  # so that the variant has most of them from there
    values = moved(variants.base)
    made, compiled = variants.machine(values), load_machine(topology, values)
    assert look(made) == look(compiled)
    assert ask_routes(made) == ask_routes(compiled)


@pytest.mark.parametrize(
    "structure",
    [
        {"sips.count": 4, "sips.topology": "torus_2d", "sips.wiring": "direct", "sip.io_chiplets": 2},
        {"sips.count": 2, "sip.io_chiplets": 2, "pcie_ep.store_and_forward": True},
        {"sips.count": 2, "flow_control": "credit", "noc_port.routing_ns": 3},
    ],
)
def test_a_variant_of_a_tray(structure):
    variants = Variants("tiny", structure)
    assert {"sip_link.gbs", "sip_link.overhead_ns", "pcie_ep.gbs", "switch.overhead_ns"} <= variants.fields
    ask_routes(variants.base)
    values = moved(variants.base)
    made, compiled = variants.machine(values), load_machine("tiny", {**structure, **values})
    assert look(made) == look(compiled)
    assert ask_routes(made) == ask_routes(compiled)
    assert made.cycle_fs == compiled.cycle_fs != variants.base.cycle_fs


@pytest.mark.parametrize(
    ("field", "value"),
    [("sips.wiring", "direct"), ("sip.io_chiplets", 2), ("sip.io_sides", ["S"]), ("pcie_ep.store_and_forward", True)],
)
def test_wiring_is_structure(field, value):
    assert Variants("tiny", {}).machine({field: value}) is None


@settings(max_examples=15, deadline=None)
@given(st.data())
@pytest.mark.slow
def test_any_values(data):
    variants = Variants("tiny", {"cube.pes": 1})
    names = data.draw(st.lists(st.sampled_from(sorted(variants.fields)), unique=True, min_size=1, max_size=5))
    values = {name: data.draw(st.floats(0.01, 5000).filter(bool)) for name in names}
    made = variants.machine(values)
    assert look(made) == look(load_machine("tiny", {"cube.pes": 1, **values}))


def test_texts_with_units_are_read():
    variants = Variants("tiny", {})
    made = variants.machine({"hbm.channel_gbs": "0.064 TB/s", "ucie.overhead_ns": "4 ns"})
    assert made.figures["hbm.channel_gbs"] == 64
    assert made.figures["ucie.overhead"] == 4_000_000


def test_nothing_changed_is_the_base():
    variants = Variants("tiny", {})
    made = variants.machine({"hbm.channel_gbs": variants.base.figures["hbm.channel_gbs"]})
    assert look(made) == look(variants.base)


def test_what_is_counted_makes_no_variant():
    assert Variants("tiny", {}).machine({"hbm.channels": 4}) is None
    assert Variants("mesh_8x8", {}).fields == frozenset()


def test_a_value_that_cannot_be_is_refused_as_when_compiled():
    variants = Variants("tiny", {})
    for values in ({"hbm.channel_gbs": 0}, {"noc.gbs": "wide"}, {"hbm.turn_ns": -1.0}):
        with pytest.raises(InputError) as made:
            variants.machine(values)
        with pytest.raises(InputError) as compiled:
            load_machine("tiny", values)
        assert str(made.value) == str(compiled.value)
