"""Variants against machines compiled in full: every array, every route, every error."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.machine.intents import Intent, RouteKind
from kernbench.machine.machine import Machine
from kernbench.machine.origins import find_origins
from kernbench.machine.variants import Variants

TOPOLOGIES = ["tiny", "sip_2x4x4"]


def moved(machine, factor=1.37):
    """All fields that may differ, each with a value of its own."""
    names = sorted(find_origins(machine).fields)
    return {name: machine.figures[name] * (factor + i / 9) or 0.4 + i for i, name in enumerate(names)}


def look(machine):
    """Everything about a machine that can be compared."""
    kept = {f.name: getattr(machine, f.name) for f in fields(Machine)}
    for name in ("digest", "costs", "places", "routing", "node_id", "server_id", "_origins", "_csr", "_weights"):
        del kept[name]
    stations = kept.pop("stations")._asdict()
    arrays = {name: value for name, value in kept.items() if isinstance(value, np.ndarray)}
    return {**kept, **{name: value.tolist() for name, value in {**arrays, **stations}.items()}}


def ask_routes(machine):
    """Some routes of every kind, as the loop reads them."""
    places, ep, route = machine.places, machine.places.pcie_ep(0), machine.routing.route
    last = places.pe(0, places.cubes_per_sip - 1, places.pes_per_cube - 1)
    ids = [route(ep, places.io_cpu(0), Intent.ALL, RouteKind.MESSAGE)]
    for node in [node for node in machine.terminals if "hbm_ctrl" in machine.node_name[node]][:3]:
        for kind in (RouteKind.READ, RouteKind.WRITE):
            ids += [route(ep, node, Intent.M_CPU_DMA, kind), route(last.dma, node, Intent.PE_DMA, kind)]
    tables = machine.routing.tables()
    steps = [slice(tables.start[i], tables.start[i + 1]) for i in ids]
    return [[c[s].tolist() for c in tables[1:5]] for s in steps], [[int(c[i]) for c in tables[5:]] for i in ids]


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.slow
def test_a_variant_is_the_machine_compiled_with_its_figures(topology):
    variants = Variants(topology, {})
    ask_routes(variants.base)  # so that the variant has most of them from there
    figures = moved(variants.base)
    variants.machine({name: value * 1.1 for name, value in figures.items()})  # proves the fields; now it is made
    made, compiled = variants.machine(figures), load_machine(topology, figures)
    assert look(made) == look(compiled)
    assert ask_routes(made) == ask_routes(compiled)


@settings(max_examples=15, deadline=None)
@given(st.data())
@pytest.mark.slow
def test_any_figures(data):
    variants = Variants("tiny", {"cube.pes": 1})
    names = data.draw(st.lists(st.sampled_from(sorted(variants.fields)), unique=True, min_size=1, max_size=5))
    figures = {name: data.draw(st.floats(0.01, 5000).filter(bool)) for name in names}
    variants.machine({name: value * 2 for name, value in figures.items()})
    made = variants.machine(figures)
    assert look(made) == look(load_machine("tiny", {"cube.pes": 1, **figures}))


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
    for figures in ({"hbm.channel_gbs": 0}, {"noc.gbs": "wide"}, {"hbm.turn_ns": -1.0}):
        with pytest.raises(InputError) as made:
            variants.machine(figures)
        with pytest.raises(InputError) as compiled:
            load_machine("tiny", figures)
        assert str(made.value) == str(compiled.value)


def test_a_field_that_does_more_than_known_makes_no_variant(monkeypatch):
    """As of a part that somebody has dropped in: here the clock of the PEs' CPUs also slows the routers."""
    from kernbench.machine import variants as module

    def compile_other(path, overrides):
        machine = load_machine(path, overrides)
        if "pe_cpu.clock_ghz" in overrides:
            machine.node_overhead_fs = machine.node_overhead_fs + 1
        return machine

    monkeypatch.setattr(module, "compile_machine", compile_other)
    variants = Variants("tiny", {})
    assert variants.machine({"noc.gbs": 100}) is not None
    assert variants.machine({"noc.gbs": 101, "pe_cpu.clock_ghz": 3}) is None
    assert "pe_cpu.clock_ghz" not in variants.fields
    assert variants.machine({"noc.gbs": 102}) is not None
