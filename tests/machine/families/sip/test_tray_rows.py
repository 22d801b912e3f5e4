"""The rows of a drawn tray, which change no place of the machine."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.machine import Machine, load_machine
from kernbench.machine.families.sip.tray_rows import columns_of, drawn_places, is_in_rows


def tray(count: int, **more: object) -> Machine:
    return load_machine("tiny", {"sips.count": count, **{f"sips.{name}": value for name, value in more.items()}})


@pytest.mark.parametrize(
    ("count", "columns"), [(1, 1), (2, 2), (3, 3), (4, 2), (5, 5), (6, 3), (7, 3), (8, 4), (16, 4), (32, 8)]
)
def test_the_rows_are_about_as_many_as_the_columns(count: int, columns: int) -> None:
    assert columns_of(tray(count)) == columns


def test_a_tray_in_rows_is_drawn_elsewhere_than_it_is_measured() -> None:
    machine = tray(8)
    measured = machine.node_x_mm.copy(), machine.node_y_mm.copy(), machine.edge_um.copy()
    x_mm, y_mm = drawn_places(machine)
    assert np.ptp(x_mm) < np.ptp(measured[0])
    assert np.ptp(y_mm) > np.ptp(measured[1])
    now = machine.node_x_mm, machine.node_y_mm, machine.edge_um
    assert all(np.array_equal(one, other) for one, other in zip(now, measured, strict=True))
    cubes = [machine.node_id[f"sip{sip}.cube0.m_cpu"] for sip in range(8)]
    assert len(set(np.round(x_mm[cubes], 6).tolist())) == 4
    assert len(set(np.round(y_mm[cubes], 6).tolist())) == 2
    assert x_mm[machine.places.switch()] == pytest.approx((x_mm[cubes].min() + x_mm[cubes].max()) / 2, abs=20)


@pytest.mark.parametrize("machine", [tray(2), tray(9, topology="torus_2d", wiring="direct"), load_machine("mesh_8x8")])
def test_a_grid_of_its_own_stays(machine: Machine) -> None:
    assert not is_in_rows(machine)
    assert np.array_equal(drawn_places(machine), (machine.node_x_mm, machine.node_y_mm))
