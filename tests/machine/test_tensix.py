"""The family `tensix`: places, the map of coordinates, routes, mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.machine.tensix_places import TensixPlaces
from kernbench.machine.views import find_view
from kernbench.tanto.timing.lowering import Lowering


def places(topology: str = "wormhole_n150", **overrides: Any) -> TensixPlaces:
    found = load_machine(topology, overrides).places
    assert isinstance(found, TensixPlaces)
    return found


def test_logical_cores_are_at_physical_places() -> None:
    chip = places()
    assert (chip.w, chip.h) == (8, 8)
    assert [chip.physical(core) for core in ((0, 0), (4, 0), (7, 5), (7, 7))] == [(1, 1), (6, 1), (9, 7), (9, 9)]
    assert all(chip.logical(chip.physical((x, y))) == (x, y) for x in range(8) for y in range(8))
    assert chip.logical((5, 1)) is None
    assert chip.inside((4, 5), (6, 7)) == [(3, 4), (4, 4), (3, 5), (4, 5)]
    with pytest.raises(InputError, match="the chip has no core 8,0; it has cores 0,0 to 7,7"):
        chip.physical((8, 0))


def test_harvested_rows_are_no_cores() -> None:
    chip = places(harvested_rows=[1, 2])
    assert chip.physical((0, 0)) == (1, 3)
    assert places("blackhole_p150").w == 13


def test_pages_take_the_banks_in_turn() -> None:
    machine = load_machine("wormhole_n150")
    lowering = Lowering(machine)
    names = [machine.node_name[lowering.bank_of(page)] for page in range(14)]
    assert names == [f"dram{bank}" for bank in (*range(12), 0, 1)]


def test_hops_follow_the_direction_of_the_network() -> None:
    chip = places()
    assert [chip.hops(network, (0, 0), (1, 1)) for network in (0, 1)] == [2, 20]
    assert [chip.hops(network, (1, 1), (0, 0)) for network in (0, 1)] == [20, 2]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"worker_rows": [12]}, "place (1, 12) is outside of a grid of 10 x 12"),
        ({"ethernet": [[1, 1]]}, "place (1, 1) is a worker's and a DRAM's or Ethernet's"),
        ({"harvested_columns": [1, 2, 3, 4, 6, 7, 8, 9]}, "all columns or all rows of workers are harvested"),
        ({"bank_ports": [0]}, "bank_ports has 1 entries, expected one for each of 2 banks"),
        ({"bank_ports": [0, 3]}, "bank_ports names a port that a controller does not have"),
    ],
)
def test_mistakes(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        load_machine("wormhole_n150", overrides)
    assert message in str(raised.value)


def test_the_chip_as_a_picture() -> None:
    view = find_view(load_machine("tensix_tiny"), "system")
    assert [box.label for box in view.boxes] == [
        "dram",
        "eth",
        "eth",
        "",
        "dram",
        "0,0",
        "1,0",
        "",
        "dram",
        "0,1",
        "1,1",
        "",
    ]
