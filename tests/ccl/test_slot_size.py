"""Sizes of slots that are not given: latency times bandwidth, as far as the memory goes."""

from __future__ import annotations

import pytest

from kernbench.ccl.alpha_beta import Link
from kernbench.ccl.slot_size import find_most_bytes, find_slot_bytes
from kernbench.machine import load_machine

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ([Link(16.0, 1 / 128)], 32768),  # 16 * 16 * 128 is one itself
        ([Link(16.1, 1 / 128)], 65536),
        ([Link(16.0, 1 / 128), Link(150.0, 1 / 50)], 131072),
        ([Link(1000.0, 1 / 128)], 2097152),
        ([Link(0.1, 1 / 128)], 256),
        ([], 256),
    ],
)
def test_sixteen_times_latency_and_bandwidth_and_a_power_of_two(links: list[Link], expected: int) -> None:
    assert find_slot_bytes(links, 1 << 30) == expected


def test_latency_takes_at_most_a_seventeenth_of_the_time_of_a_slot() -> None:
    link = Link(37.0, 1 / 90)
    slot = find_slot_bytes([link], 1 << 30)
    assert link.alpha_ns / (link.alpha_ns + slot * link.beta_ns) <= 1 / 17


def test_memory_limits_it() -> None:
    assert find_slot_bytes([Link(1000.0, 1 / 128)], 5000) == 4096


def test_all_slots_take_a_fourth_of_a_memory() -> None:
    places = load_machine("sip_2x4x4").places
    assert find_most_bytes(places, "tcm", 48) == 16 * MIB // 4 // 48
    assert find_most_bytes(places, "sram", 48) == 32 * MIB // 8 // 4 // 48  # eight PEs share it
    assert find_most_bytes(places, "hbm", 48) == 6 * GIB // 4 // 48
