"""Overrides, cache keys and the error sentences of topologies that do not fit."""

from __future__ import annotations

import re

import pytest

from kernbench import library
from kernbench.errors import InputError
from kernbench.machine import load, load_machine
from kernbench.machine.families.registry import FAMILIES


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(load, "_recent", type(load._recent)())


def test_the_same_machine_is_the_same_object():
    assert load_machine("tiny") is load_machine("tiny", {})
    assert load_machine("tiny") is not load_machine("tiny", {"hbm.channel_gbs": 64})


def test_only_the_latest_machines_stay_in_the_process(monkeypatch):
    monkeypatch.setattr(load, "IN_PROCESS", 2)
    first = load_machine("tiny")
    for gbs in (40, 50):
        load_machine("tiny", {"hbm.channel_gbs": gbs})
    assert load_machine("tiny") is not first
    assert load_machine("tiny").digest == first.digest


def test_overrides_change_parameters_and_the_digest():
    plain = load_machine("tiny")
    fast = load_machine("tiny", {"hbm.channel_gbs": "64 GB/s", "pe_gemm.tflops_f16": "16", "pe_tcm.bytes": "1MiB"})
    channel = fast.terminals[fast.places.hbm(0, 0, 0)].first_station
    assert fast.stations.fs_per_flit[channel] * 2 == plain.stations.fs_per_flit[channel] == 8_000_000
    assert fast.figures["pe_gemm.flop_16"] == 62.5
    assert fast.figures["pe_tcm.bytes"] == 2**20
    assert fast.digest != plain.digest


def test_one_meaning_has_one_digest():
    assert (
        load_machine("tiny", {"hbm.channel_gbs": 64}).digest
        == load_machine("tiny", {"hbm.channel_gbs": "64 GB/s"}).digest
    )


def test_the_number_of_everything_can_be_set():
    machine = load_machine(
        "tiny",
        {
            "sips.count": 3,
            "sip.cubes.h": 2,
            "cube.pes": 4,
            "sips.topology": "mesh_2d_no_wrap",
            "sips.w": 1,
            "sips.h": 3,
        },
    )
    places = machine.places
    assert (places.sip_count, places.sip_w, places.sip_h) == (3, 1, 3)
    assert (places.cube_w, places.cube_h, places.cubes_per_sip, places.pes_per_cube) == (2, 2, 4, 4)
    assert places.pe(2, 3, 3).dma == machine.find_node("sip2.cube3.pe3.pe_dma")


def test_how_collectives_see_the_packages():
    def seen(**fields):
        places = load_machine("tiny", {f"sips.{name}": value for name, value in fields.items()}).places
        return places.sip_topology, places.sip_w, places.sip_h

    assert seen(count=6) == ("ring_1d", 6, 1)
    assert seen(count=4, topology="mesh_2d") == ("torus_2d", 2, 2)
    assert seen(count=6, topology="mesh_2d_no_wrap", w=3, h=2) == ("mesh_2d_no_wrap", 3, 2)


def test_an_edit_of_a_topology_or_of_a_sheet_is_seen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = library.find("topology", "tiny").read_text()
    own = tmp_path / "own.yaml"
    own.write_text(text)
    assert load_machine("own.yaml").flit_bytes == 256
    own.write_text(text.replace("flit_bytes: 256 B", "flit_bytes: 512 B"))
    assert load_machine("own.yaml").flit_bytes == 512
    (tmp_path / "models").mkdir()
    sheet = library.find("models", "io_cpu").read_text()
    (tmp_path / "models" / "io_cpu.yaml").write_text(sheet.replace("value: 10", "value: 12"))
    assert load_machine("own.yaml").figures["io_cpu.overhead"] == 12_000_000


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        ({"hbm.chanel_gbs": 64}, "unknown topology field 'hbm.chanel_gbs'; did you mean 'hbm.channel_gbs'? Known: "),
        ({"cubes": 4}, "unknown topology field 'cubes'; did you mean 'sip.cubes.w'? Known: sip.cubes.h, sip.cubes.w"),
        ({"sram.xyzxyz": 4}, "unknown topology field 'sram.xyzxyz'; known: sram.bytes, sram.energy.read_byte_pj"),
        ({"parts.hbn": "hbm"}, "override parts.hbn: unknown field; did you mean 'hbm'?"),
        ({"hbm.channel_gbs": "64 GB"}, "override hbm.channel_gbs: got '64 GB' with the unknown unit "
                                       "'GB', expected a number, alone or in one of: B/s, KB/s, MB/s, GB/s, TB/s, B/ns"),
        ({"hbm.channels": 0}, "override hbm.channels: got 0, expected greater than 0"),
        ({"noc.gbs": 1e9}, "override noc.gbs: got 1000000000.0, expected less than or equal to 1000000"),
        ({"ns_per_mm": 1e30}, "override ns_per_mm: got 1e+30, expected less than or equal to 1000"),
        ({"pe_gemm.tflops_f16": 1e-30}, "override pe_gemm.tflops_f16: got 1e-30, expected greater than or equal to 0.001"),
        ({"command.bytes": "1 GiB"}, "override command.bytes: got '1 GiB', expected less than or equal to 1048576"),
        ({"hbm.slice_bytes": "1 TiB"}, "topology/tiny.yaml:2:1: 2 PEs with hbm.slice_bytes 1099511627776 are more than the "
                                       "549755813888 bytes of a cube's addresses; change one"),
        ({"pe_tcm.bytes": "2 GiB"}, "topology/tiny.yaml:2:1: pe_tcm.bytes is 2147483648, but addresses reach 1073741824 at "
                                    "most; make it smaller"),
        ({"mmu.model": "physical"}, "override mmu.model: got 'physical', expected 'va', 'pa' or 'la'"),
        ({"mmu.va_base": 100}, "topology/tiny.yaml:39:1: mmu: va_base 100 is not a multiple of page_bytes 4096; change one"),
        ({"noc.gbs": "nan"}, "override noc.gbs: got 'nan', expected a number, alone or in one of: "),
        ({"hbm.burst_bytes": 512},
         "topology/tiny.yaml:2:1: flit_bytes 256 is not a multiple of hbm.burst_bytes 512; change one"),
        ({"cube.pes": 5}, "topology/tiny.yaml:16:1: cube: pes is 5 but pe_routers names 4; name more routers"),
        ({"cube.hole": "[r0c0]"}, "topology/tiny.yaml:16:1: cube: pe_routers names 'r0c0', "
                                  "which is outside 2 x 3 or in the hole"),
        ({"cube.hole": "[x]"}, "override cube.hole: cube.hole.0: got 'x', expected a router like 'r0c1'"),
        ({"sip.cubes.w": 17},
         "topology/tiny.yaml:12:3: sip.cubes: got 17 x 1 cubes, expected 16 at most: an address has no more"),
        ({"sips.count": 6, "sips.topology": "torus_2d"},
         "topology/tiny.yaml:7:1: sips: count 6 is not a square; give w and h for topology 'torus_2d'"),
        ({"sips.count": 6, "sips.w": 2, "sips.h": 2},
         "topology/tiny.yaml:7:1: sips: got w 2 x h 2, expected a product of count 6"),
        ({"sips.w": 2}, "topology/tiny.yaml:7:1: sips: got one of w and h, expected both or none"),
        ({"sips.topology": "star"}, "override sips.topology: got 'star', "
                                    "expected 'ring_1d', 'torus_2d', 'mesh_2d' or 'mesh_2d_no_wrap'"),
        ({"sips.wiring": "star"}, "override sips.wiring: got 'star', expected 'switch' or 'direct'"),
        ({"sips.wiring": "direct", "sips.count": 6, "sips.topology": "torus_2d"},
         "topology/tiny.yaml:7:1: sips: count 6 is not a square; give w and h for topology 'torus_2d'"),
        ({"sip.io_chiplets": 3},
         "topology/tiny.yaml:11:1: sip: io_chiplets 3 and io_sides N put 3 IO chiplets on side N, which has 2 cubes; "
         "give fewer, or more sides"),
        ({"sip.io_chiplets": 3, "sip.io_sides": "[W, N]"},
         "topology/tiny.yaml:11:1: sip: io_chiplets 3 and io_sides W, N put 2 IO chiplets on side W, which has 1 cube; "
         "give fewer, or more sides"),
        ({"sip.io_chiplets": 6}, "override sip.io_chiplets: got 6, expected less than or equal to 5"),
        ({"sip.io_sides": "[]"}, "override sip.io_sides: "),
        ({"sip.io_sides": "[X]"}, "override sip.io_sides: sip.io_sides.0: got 'X', expected 'N', 'S', 'W' or 'E'"),
        ({"pcie_ep.store_and_forward": 3}, "override pcie_ep.store_and_forward: got 3, expected boolean"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(monkeypatch, overrides, sentence):
    monkeypatch.chdir(library.shipped())
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}"):
        load_machine("tiny", overrides)


def test_a_loader_gives_what_each_load_gives(tmp_path):
    sheet = tmp_path / "other_hbm.yaml"
    sheet.write_text((library.find("models", "hbm")).read_text(encoding="utf-8"), encoding="utf-8")
    loader = load.TopologyLoader("tiny")
    for overrides in (
        {},
        {"hbm.channel_gbs": 64},
        {"parts.hbm": str(sheet)},
        {"parts.hbm": str(sheet), "noc.gbs": "9 GB/s"},
        {},
    ):
        assert loader.load(overrides).spec == load.load_spec("tiny", overrides)
    for overrides in ({"noc.gbs": -1}, {"parts.hbm": "noc"}):
        with pytest.raises(InputError) as once:
            load.load_spec("tiny", overrides)
        with pytest.raises(InputError, match=re.escape(str(once.value))):
            loader.load(overrides)


def test_two_errors_are_said_together():
    with pytest.raises(InputError) as caught:
        load_machine("tiny", {"hbm.channels": -1, "pe_gemm.tflops_f16": "x"})
    assert len(str(caught.value).split("\n")) == 2


def test_an_unknown_topology_suggests():
    with pytest.raises(InputError, match=r"^unknown topology 'tinny'; did you mean 'tiny'\? Known: "):
        load_machine("tinny")


@pytest.mark.parametrize("topology", ["tiny", "sip_2x4x4"])
def test_addresses_are_virtual_unless_a_topology_says_otherwise(topology):
    assert load_machine(topology).places.shape.address_model == "va"
    assert load_machine(topology, {"mmu.model": "la"}).places.shape.address_model == "la"


def test_the_key_of_the_cache_follows_every_package_that_makes_machines(monkeypatch):
    read = []
    monkeypatch.setattr(load.Path, "read_bytes", lambda path: read.append(path) or b"")
    load._sources.__wrapped__()
    folders = {"families", "network", "sheets", *FAMILIES}
    assert {path.parent.name for path in read} == {"machine", "parts", "schema", "kernbench"} | folders


def test_what_cannot_be_read_beside_the_sheets_does_not_matter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "folder.yaml").mkdir(parents=True)
    (tmp_path / "models" / "lock.yaml").symlink_to("nowhere")
    assert load_machine("tiny").name == "tiny"
