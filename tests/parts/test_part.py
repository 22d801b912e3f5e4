"""The shipped sheets fit their parts, and parts have the figures that they promise."""

from __future__ import annotations

import re

import pytest

from kernbench import library
from kernbench.errors import InputError
from kernbench.machine.families.registry import FAMILIES
from kernbench.parts import dropin, ports
from kernbench.parts.memory import Hbm
from kernbench.schema.model import check
from kernbench.schema.sheet import load_sheet
from kernbench.schema.yaml import load, parse

PARTS = FAMILIES["sip"].parts()
TENSIX = FAMILIES["tensix"].parts()
ALL = PARTS | FAMILIES["ascend"].parts() | FAMILIES["mesh"].parts() | TENSIX


@pytest.mark.parametrize(
    "part",
    [
        *sorted(ALL),
        *(f"{part}_blackhole" for part in sorted(TENSIX) if part != "technology"),
        *(f"technology_{nm}nm" for nm in (3, 6, 7, 12)),
    ],
)
def test_a_shipped_sheet_gives_every_parameter_of_its_part(part):
    model = ALL["technology" if part.startswith("technology") else part.removesuffix("_blackhole")]
    _, parameters = load_sheet(part, model.kind)
    assert set(parameters.value) == set(model.model_fields)
    check(model, parameters)


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name in set(library.list_names("models")) - set(ALL)
        if not name.endswith("_blackhole") and not name.startswith("technology_")
    ),
)
def test_every_other_sheet_that_is_shipped_is_of_a_part_with_a_class_beside_it(name):
    kind = load(library.find("models", name)).value["kind"].plain()
    path, parameters = load_sheet(name, kind)
    standard = PARTS[kind]
    file = dropin.find_file(path)
    assert file is not None
    model = dropin.load_class(file, standard)
    assert set(parameters.value) == set(model.model_fields)
    ports.check(check(model, parameters), standard)


def test_a_figure_of_a_delaying_part_is_its_overhead_in_fs():
    hbm = Hbm(channel_gbs=1, channels=1, burst_bytes=1, slice_bytes=1, turn_ns=0, overhead_ns=0.5)
    assert hbm.figures()["overhead"] == 500_000
    assert hbm.figures()["channels"] == 1


def test_slices_hold_whole_bursts():
    tree = parse("{channel_gbs: 1, channels: 1, burst_bytes: 256, slice_bytes: 300, turn_ns: 0, overhead_ns: 0}", "f")
    with pytest.raises(InputError, match=r"^f:1:1: slice_bytes 300 is not a multiple of burst_bytes 256$"):
        check(Hbm, tree)


def test_the_page_names_every_port_of_every_kind():
    page = (library.shipped() / "docs" / "machine.md").read_text()
    table = page.partition("| kind | ports |")[2].partition("\n\n")[0]
    named = {}
    for row in table.splitlines()[2:]:
        kinds, ports = (re.findall(r"`(\w+)", cell) for cell in row.strip("|").split(" | "))
        named |= dict.fromkeys(kinds, ports)
    assert named.keys() == PARTS.keys()
    for kind, part in PARTS.items():
        assert named[kind] == [*part.ports, *(["PeIpcq"] if kind == "pe_ipcq" else [])]
