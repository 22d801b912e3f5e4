"""Only the families and the part index make names of parts."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import kernbench
from kernbench.errors import InputError, UnreachableError
from kernbench.machine import Intent, RouteKind, load_machine
from kernbench.machine.families.sip.places import cube_path, pe_path, sip_path

PACKAGE = Path(kernbench.__file__).parent
MAKERS = ("sip/places", "sip/expand", "sip/cube", "sip/io_chiplet", "mesh/places", "mesh/expand")  # of names
PART = re.compile(
    r"\bsip\{|\.cube\{|\.pe\{|hbm_ctrl\.|\bio0\b|\.pe_\w|\.(m_cpu|sram|io_cpu|io_noc|pcie_ep)\b|ucie_|\.conn|node\[\{"
)
SOURCES = [p for p in sorted(PACKAGE.rglob("*.py")) if not str(p.with_suffix("")).endswith(MAKERS)]


def made_names(tree: ast.AST) -> list[str]:
    """Texts put together from pieces, with `{}` for each piece, that look like the path of a part."""
    found = []
    for node in ast.walk(tree):
        text = None
        if isinstance(node, ast.JoinedStr):
            pieces = [piece.value if isinstance(piece, ast.Constant) else "{}" for piece in node.values]
            text = "".join(map(str, pieces))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            text = node.func.value.value if isinstance(node.func.value, ast.Constant) else None
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
            constants = [side.value for side in (node.left, node.right) if isinstance(side, ast.Constant)]
            text = " ".join(text for text in constants if isinstance(text, str))
        if text and PART.search(text):
            found.append(text)
    return found


def test_no_other_module_makes_names():
    made = {str(source.relative_to(PACKAGE)): made_names(ast.parse(source.read_text())) for source in SOURCES}
    assert len(made) > 100
    assert {source: names for source, names in made.items() if names} == {}


def test_made_names_are_seen():
    text = (
        'f"sip{a}.x"; "sip{}.cube{}".format(1, 2); f"{x}.hbm_ctrl.pe{y}"; path + ".pe_dma"; "io0.%s" % name; f"{a} ns"'
    )
    assert len(made_names(ast.parse(text))) == 5
    assert all(
        made_names(ast.parse((PACKAGE / "machine" / "families" / f"{name}.py").read_text()))
        for name in ("sip/places", "sip/cube")
    )


@pytest.fixture(scope="module")
def machine():
    return load_machine("sip_2x4x4")


def test_every_place_can_be_asked_for(machine):
    places = machine.places
    for node, name in [
        (places.switch(), "switch"),
        (places.pcie_ep(1), "sip1.io0.pcie_ep"),
        (places.io_cpu(1), "sip1.io0.io_cpu"),
        (places.io_noc(1), "sip1.io0.io_noc"),
        (places.io_ucie(1, 3), "sip1.io0.io_ucie3"),
        (places.m_cpu(0, 15), "sip0.cube15.m_cpu"),
        (places.sram(0, 15), "sip0.cube15.sram"),
        (places.ucie(0, 15, "W"), "sip0.cube15.ucie_W"),
        (places.router(0, 15, "r5c0"), "sip0.cube15.r5c0"),
        (places.hbm(0, 15, 7), "sip0.cube15.hbm_ctrl.pe7"),
        (places.tcm(0, 15, 7), "sip0.cube15.pe7.pe_tcm"),
        (places.pe(1, 2, 3).mmu, "sip1.cube2.pe3.pe_mmu"),
    ]:
        assert machine.node_name[node] == name
    assert (sip_path(1), cube_path(1, 2), pe_path(1, 2, 3)) == ("sip1", "sip1.cube2", "sip1.cube2.pe3")
    assert places.find_pe(pe_path(1, 2, 3)) == (1, 2, 3)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda places: places.pcie_ep(2), "sip2.io0.pcie_ep"),
        (lambda places: places.io_noc(-1), "sip-1.io0.io_noc"),
        (lambda places: places.io_ucie(0, 4), "sip0.io0.io_ucie4"),
        (lambda places: places.ucie(0, 0, "X"), "sip0.cube0.ucie_X"),
        (lambda places: places.router(0, 0, "r2c2"), "sip0.cube0.r2c2"),
        (lambda places: places.m_cpu(0, 16), "sip0.cube16.m_cpu"),
    ],
)
def test_a_place_that_is_not_there(machine, ask, said):
    extent = "it has sip0 to sip1, each with cube0 to cube15, each with pe0 to pe7"
    with pytest.raises(InputError, match=f"^the machine has no {re.escape(said)}; {extent}$"):
        ask(machine.places)


def test_what_cannot_be_reached_raises(machine):
    places = machine.places
    with pytest.raises(
        UnreachableError,
        match=r"^no route leads from sip0.cube0.pe0.pe_dma to sip0.io0.io_cpu for pe_dma traffic; check the links of topology",
    ):
        machine.routing.route(places.pe(0, 0, 0).dma, places.io_cpu(0), Intent.PE_DMA, RouteKind.MESSAGE)
    with pytest.raises(UnreachableError, match=r"for cube_local traffic"):
        machine.routing.path(places.pe(0, 0, 0).dma, places.hbm(0, 1, 0), Intent.CUBE_LOCAL)


def test_places_of_several_io_chiplets_and_direct_links():
    machine = load_machine("tiny", {"sips.count": 2, "sips.wiring": "direct", "sip.io_chiplets": 2})
    places = machine.places
    names = {
        places.pcie_ep(1, 1): "sip1.io1.pcie_ep",
        places.io_cpu(0, 1): "sip0.io1.io_cpu",
        places.io_noc(0, 1): "sip0.io1.io_noc",
        places.io_ucie(0, 1, 1): "sip0.io1.io_ucie1",
        places.sip_link(0, "W"): "sip0.io0.sip_link_W",
        places.sip_link(1, "E"): "sip1.io1.sip_link_E",
    }
    assert {node: machine.node_name[node] for node in names} == names
    assert places.pcie_eps(1) == [places.pcie_ep(1, 0), places.pcie_ep(1, 1)]
    extent = "it has sip0 to sip1, each with cube0 to cube1, each with pe0 to pe1"
    for ask, name in (
        (places.switch, "switch"),
        (lambda: places.pcie_ep(0, 2), "sip0.io2.pcie_ep"),
        (lambda: places.sip_link(0, "N"), "sip0.io0.sip_link_N"),
    ):
        with pytest.raises(InputError, match=f"^the machine has no {re.escape(name)}; {extent}$"):
            ask()


def test_traffic_between_sips_goes_through_the_switch(machine):
    places = machine.places
    for topology in ("ring_1d", "torus_2d", "mesh_2d", "mesh_2d_no_wrap"):
        tray = load_machine("tiny", {"sips.count": 4, "sips.topology": topology})
        path = tray.routing.path(tray.places.pe(0, 0, 0).dma, tray.places.hbm(3, 1, 1), Intent.PE_DMA)
        assert {tray.places.switch(), tray.places.pcie_ep(0), tray.places.pcie_ep(3)} <= set(path)
    assert places.switch() in machine.routing.path(places.pe(0, 0, 0).dma, places.hbm(1, 0, 0), Intent.PE_DMA)
