"""Machines predicted from the provenance of their times against compiled machines, field by field."""

from __future__ import annotations

from dataclasses import fields
from functools import reduce
from types import SimpleNamespace

import numpy as np
import pytest

from kernbench import library
from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.machine.builder import Builder
from kernbench.machine.families.registry import may_vary
from kernbench.machine.intents import EdgeKind
from kernbench.machine.load import compile_machine, field_names, load_spec
from kernbench.machine.machine import Machine
from kernbench.machine.sheets import quantities
from kernbench.machine.sheets.field_provenance import Source
from kernbench.machine.variants import Variants
from kernbench.parts.derived import Origin

SHIPPED = [
    "tiny",
    "sip_2x4x4",
    "mesh_8x8",
    "torus_8x8",
    "mesh_8x8_credit",
    "torus_8x8_credit",
    "ascend_tiny",
    "tensix_tiny",
]
DERIVED = {
    "digest",
    "provenance",
    "costs",
    "places",
    "routing",
    "node_id",
    "server_id",
    "_origins",
    "_csr",
    "_weights",
    "memo",  # what was looked up
}
FEWER = {"sip_2x4x4": {"sip.cubes.w": 2, "sip.cubes.h": 2}}  # cubes: with all of them it takes long and shows no more
TIMES = ("_ns", "gbs", "_ghz", "tflops_", "elements_")  # in the names of fields that are times or rates
COUNTED = {  # times that machines are compiled for
    *("ns_per_mm", "link_gbs", "hop_ns", "injection_ns", "ejection_ns", "issue_ns"),
    *("interface_ns", "memory_ns"),
    *("reservation_ns", "read_gap_ns", "write_gap_ns"),  # of traffic alone
    "shoreline_gbs_mm",  # a limit
    *("credit_ns", "routing_ns", "vc_allocation_ns", "switch_allocation_ns", "traversal_ns"),
}


def look(machine):
    """Everything about a machine that can be compared."""
    kept = {f.name: getattr(machine, f.name) for f in fields(Machine) if f.name not in DERIVED}
    stations = kept.pop("stations")._asdict()
    arrays = {name: value for name, value in kept.items() if isinstance(value, np.ndarray)}
    return {**kept, **{name: value.tolist() for name, value in {**arrays, **stations}.items()}}


def numbers(topology):
    """The value of each numeric field of a topology, by its path."""
    spec = load_spec(topology)
    values = {path: reduce(getattr, path.split("."), spec) for path in field_names(topology)}
    return {path: v for path, v in values.items() if isinstance(v, int | float) and not isinstance(v, bool)}


@pytest.mark.parametrize("topology", SHIPPED)
@pytest.mark.slow
def test_each_number_alone_is_predicted_or_compiled(topology):
    """A field of times gives the machine that is compiled with it; any other gives none."""
    fewer, random = FEWER.get(topology, {}), np.random.default_rng()
    variants = Variants(topology, fewer)
    path, predicted = library.find("topology", topology), set()
    for field, value in numbers(topology).items():
        changed = {field: float(value * random.uniform(0.2, 5) or random.uniform(0.1, 100))}
        try:
            made = variants.machine(changed)
        except InputError:
            assert field not in variants.fields  # a count is whole
            continue
        if made is None:
            assert field not in variants.fields
            continue
        assert look(made) == look(compile_machine(path, {**fewer, **changed})), changed
        predicted.add(field)
    assert predicted == variants.fields
    timed = {field for field in numbers(topology) if any(unit in field for unit in TIMES)}
    assert predicted == {field for field in timed if field.rpartition(".")[2] not in COUNTED}


def test_the_fields_that_the_shipped_machines_follow():
    assert [len(load_machine(topology).origins().fields) for topology in SHIPPED] == [39, 39, 0, 0, 0, 0, 46, 11]


def test_what_may_vary_is_known_without_a_machine():
    assert load_machine("sip_2x4x4").origins().fields == {
        field for field in field_names("sip_2x4x4") if may_vary(field)
    }
    for field in ("hbm.channels", "ns_per_mm", "sips.count", "pe.tile_m", "pe_cpu.dispatch_cycles", "parts.hbm"):
        assert not may_vary(field)


def test_links_side_by_side_and_a_time_of_a_field():
    machine = load_machine("sip_2x4x4")
    kinds, ends = machine.node_kind, zip(machine.edge_src, machine.edge_dst, strict=True)
    joined = [edge for edge, (src, dst) in enumerate(ends) if kinds[src] == kinds[dst] == "ucie"]
    sources = {machine.provenance.sources[at] for at in machine.provenance.service[joined]}
    assert {source.origin for source in sources} == {Origin("ucie.gbs", 4)}
    assert {source.cost for source in sources} == {("ucie.byte", 0.25)}


def test_a_time_of_a_drop_in_has_no_origin():
    machine = load_machine("tiny", {"parts.noc": "pipelined_router"})
    assert not {field for field in machine.origins().fields if field.startswith("noc.")}
    assert "noc.gbs" in {source.port for source in machine.provenance.sources}


def test_a_number_without_its_source_is_an_error():
    builder = Builder()
    a, b = (builder.node(name, "router", (0, 0)) for name in "ab")
    builder.link(a, b, EdgeKind.NOC, 256.0)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="gbs"):
        builder.finish(
            name="",
            family="mesh",
            digest="",
            flit_bytes=1,
            ns_per_mm=0,
            figures={},
            origins={},
            shape=SimpleNamespace(),
        )
    with pytest.raises(AttributeError, match="speed"):
        quantities.rate(load_spec("tiny"), "noc.speed")


def test_a_time_of_two_fields_has_no_origin():
    """A port written as a plain property is a constant."""
    spec = load_spec("tiny", {"parts.noc": "pipelined_router"})
    found = quantities.time(spec, "noc.overhead_fs")
    assert found.fs > 0
    assert found.source == Source("noc.overhead_fs", None)
