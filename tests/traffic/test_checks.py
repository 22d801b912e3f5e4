"""The invariants of a probe: each holds, fails, and has nothing to compare."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kernbench.traffic.checks import Check, check_all
from kernbench.traffic.latency_breakdown import LatencyBreakdown
from kernbench.traffic.probe_cases import TITLES, Case
from kernbench.traffic.probe_suite import Measured

RISES = "latency rises with hops: host to device, writes"
BOTH_WAYS = "device to host takes at least as long as host to device"
NEAR_FAR = "PE DMA to the nearest other cube is faster than to the farthest"
OWN = "PE DMA is fastest to the PE's own slice"
WHOLE = "no utilisation over 100 %"


def measured(
    family: str,
    name: str,
    hops: int,
    ns: float,
    nbytes: int = 4096,
    *,
    catches_up: bool = False,
    has_credits: bool = False,
    gbs: float = 256,
) -> Measured:
    kind = "read" if family == "d2h" else "write"
    breakdown = LatencyBreakdown(0, 0, 0, 0, 0, "link", gbs, catches_up)
    case = Case(family, name, "host", f"end {name}", kind)
    return Measured(case, nbytes, hops, (), int(ns * 1e6), breakdown, whole_flits=True, has_credits=has_credits)


def find(found: Sequence[Check], name: str) -> Check:
    return next(check for check in found if check.name == name)


SOUND = (
    measured("h2d", "a", 2, 40),
    measured("h2d", "b", 5, 50),
    measured("d2h", "a", 2, 40),
    measured("d2h", "b", 5, 51),
    measured("pe_dma", "own slice", 1, 20),
    measured("pe_dma", "other slice", 2, 21),
    measured("pe_dma", "other cube, near", 5, 30),
    measured("pe_dma", "other cube, far", 4, 31),
)


def test_all_hold() -> None:
    found = check_all(SOUND)
    assert [(check.name, check.passed) for check in found] == [
        (RISES, True),
        ("latency rises with hops: device to host, reads", True),
        (BOTH_WAYS, True),
        (NEAR_FAR, True),
        (OWN, True),
        (WHOLE, True),
    ]
    assert find(found, BOTH_WAYS).detail == (
        "closest: host to end a (write, 2 links, 4 KiB) takes 40.000 ns, host to end a (read, 2 links, 4 KiB) takes 40.000 ns"
    )
    assert find(found, WHOLE).detail == (
        "the most is 80.0%: host to end own slice (write, 1 links, 4 KiB) takes 20.000 ns against 256.0 GB/s"
    )


@pytest.mark.parametrize(
    ("wrong", "name", "detail"),
    [
        (
            measured("h2d", "c", 9, 50),
            RISES,
            "host to end b (write, 5 links, 4 KiB) takes 50.000 ns, but host to end c (write, 9 links, 4 KiB) takes 50.000 ns",
        ),
        (
            measured("h2d", "a", 2, 40.001, 8192),
            BOTH_WAYS,
            "host to end a (write, 2 links, 8 KiB) takes 40.001 ns, but host to end a (read, 2 links, 8 KiB) takes 40.000 ns",
        ),
        (
            measured("pe_dma", "other SIP", 3, 20),
            OWN,
            "host to end own slice (write, 1 links, 4 KiB) takes 20.000 ns, "
            "but host to end other SIP (write, 3 links, 4 KiB) takes 20.000 ns",
        ),
        (
            measured("pe_dma", "other SIP", 3, 25, gbs=128),
            WHOLE,
            "the most is 128.0%: host to end other SIP (write, 3 links, 4 KiB) takes 25.000 ns against 128.0 GB/s",
        ),
    ],
)
def test_one_breaks(wrong: Measured, name: str, detail: str) -> None:
    found = check_all([*SOUND, wrong, measured("d2h", "a", 2, 40, 8192)])
    assert [check.name for check in found if check.passed is False] == [name]
    assert find(found, name).detail == detail


def test_chips() -> None:
    """A slow L1 fails in the direction in which it is slow, and a slow L2 as well; one memory is compared with nothing."""
    cores = [measured("core_writes", "own L1", 1, 20), measured("core_writes", "DRAM", 4, 30)]
    cores += [measured("core_reads", "own L1", 1, 31), measured("core_reads", "DRAM", 4, 31)]
    writes, reads = (
        f"a core's own L1 is the fastest memory: {TITLES[family]}" for family in ("core_writes", "core_reads")
    )
    assert [(check.name, check.passed) for check in check_all(cores)] == [(writes, True), (reads, False), (WHOLE, True)]
    assert find(check_all([cores[0], cores[2]]), writes).passed is None
    copies = [measured("aic", "L2, write", 2, 30), measured("aic", "HBM, write", 2, 40)]
    copies += [measured("aiv", "L2, read", 2, 30), measured("aiv", "HBM, read", 2, 29)]
    assert find(check_all(copies[:2]), "L2 is faster than HBM").passed
    assert find(check_all(copies), "L2 is faster than HBM").passed is False


def test_near_and_far_the_wrong_way_round() -> None:
    found = check_all([one for one in SOUND if one.hops != 4] + [measured("pe_dma", "other cube, far", 9, 30)])
    assert find(found, NEAR_FAR).passed is False


def test_what_is_equally_far_need_not_rise() -> None:
    found = check_all([*SOUND, measured("h2d", "c", 5, 45)])
    assert find(found, RISES).passed


@pytest.mark.parametrize("why", ["catches_up", "has_credits"])
def test_reads_that_may_be_faster_are_not_compared(why: str) -> None:
    found = check_all([*SOUND[:2], measured("d2h", "a", 2, 30, **{why: True}), *SOUND[4:]])
    assert find(found, BOTH_WAYS) == Check(
        BOTH_WAYS,
        None,
        "nothing to compare: a slow memory or mesh hides the overheads of reads, flits are not whole, or links have credits",
    )


def test_nothing_to_compare() -> None:
    found = check_all([SOUND[0], SOUND[2], SOUND[4]])
    told = {check.name: check.detail for check in found if check.passed is None}
    assert told == {
        RISES: "nothing to compare: all are the same number of links away",
        "latency rises with hops: device to host, reads": "nothing to compare: all are the same number of links away",
        NEAR_FAR: "nothing to compare: there are no two slices in other cubes",
        OWN: "nothing to compare: there is one slice of HBM",
    }
