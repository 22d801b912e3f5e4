"""Invariants of a probe on any machine.

A check covers every size that was probed. Its sentence names the tightest case if it holds, else the first case that breaks
it. A check without cases to compare (a machine of one cube has no other cube) says so and does not fail.

Reads and writes between the same parts are compared only if nothing can speed up the read: flits are whole, no link has
credits, and no slow memory or mesh comes before the ports of the dies on the return route. After a slow station the overhead
of a port, which only the first flit pays, passes while the other flits are still arriving; in the other direction all of
them wait for it. With credits times are rounded up to cycles at other places in either direction, and short buffers may
throttle one of them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING

from kernbench.traffic.probe_cases import (
    AIC,
    AIV,
    CORE_READS,
    CORE_WRITES,
    CUBE,
    DMA,
    FAR,
    HBM,
    L2,
    MESSAGES,
    NEAR,
    OWN,
    OWN_L1,
    READS,
    TITLES,
    WRITES,
)
from kernbench.units import format_bytes

if TYPE_CHECKING:
    from kernbench.traffic.probe_suite import Measured


@dataclass(frozen=True, slots=True)
class Check:
    """An invariant and its outcome. `passed` is None if nothing could be compared."""

    name: str
    passed: bool | None
    detail: str


# Two measured cases of which the first must not take longer than the second.
_Pair = tuple["Measured", "Measured"]


def check_all(measured: Sequence[Measured]) -> tuple[Check, ...]:
    """All checks of the families that were measured."""
    families = {one.case.family for one in measured}
    checks = [_rising(measured, family) for family in (WRITES, READS, MESSAGES) if family in families]
    if DMA in families:
        checks += _of_sips(measured)
    if CORE_WRITES in families:
        checks += [
            _compare(
                f"a core's own L1 is the fastest memory: {TITLES[family]}",
                _pairs(measured, family, OWN_L1),
                _rises,
                "there is one memory",
            )
            for family in (CORE_WRITES, CORE_READS)
        ]
    if AIC in families:
        pairs = [
            pair
            for family in (AIC, AIV)
            for kind in ("write", "read")
            for pair in _pairs(measured, family, f"{L2}, {kind}", f"{HBM}, {kind}")
        ]
        checks.append(_compare("L2 is faster than HBM", pairs, _rises, "there is one memory"))
    return (*checks, _utilisation(measured))


def _of_sips(measured: Sequence[Measured]) -> list[Check]:
    return [
        _compare(
            "device to host takes at least as long as host to device",
            _same_way(measured),
            lambda write, read: write.actual_fs <= read.actual_fs,
            "a slow memory or mesh hides the overheads of reads, flits are not whole, or links have credits",
        ),
        _compare(
            "PE DMA to the nearest other cube is faster than to the farthest",
            _pairs(measured, DMA, f"{CUBE}, {NEAR}", f"{CUBE}, {FAR}"),
            _rises,
            "there are no two slices in other cubes",
        ),
        _compare(
            "PE DMA is fastest to the PE's own slice",
            _pairs(measured, DMA, OWN),
            _rises,
            "there is one slice of HBM",
        ),
    ]


def _rises(near: Measured, far: Measured) -> bool:
    return near.actual_fs < far.actual_fs


def _rising(measured: Sequence[Measured], family: str) -> Check:
    pairs: list[_Pair] = []
    for same_size in _by_size(measured, family):
        ordered = sorted(same_size, key=lambda one: one.hops)
        pairs += [(near, far) for near, far in pairwise(ordered) if near.hops < far.hops]
    return _compare(
        f"latency rises with hops: {TITLES[family]}", pairs, _rises, "all are the same number of links away"
    )


def _same_way(measured: Sequence[Measured]) -> list[_Pair]:
    """Writes and reads of the same bytes between the same parts, if the read does not catch up."""
    reads = {
        (one.case.dst, one.nbytes): one
        for one in measured
        if one.case.family == READS and one.whole_flits and not one.has_credits and not one.breakdown.catches_up
    }
    writes = [one for one in measured if one.case.family == WRITES]
    return [(one, reads[one.case.dst, one.nbytes]) for one in writes if (one.case.dst, one.nbytes) in reads]


def _pairs(measured: Sequence[Measured], family: str, near: str, far: str = "") -> list[_Pair]:
    """The measurements of a case beside those of another of its family, or of all others, by size."""
    pairs: list[_Pair] = []
    for same_size in _by_size(measured, family):
        first = [one for one in same_size if one.case.name == near]
        others = [one for one in same_size if (one.case.name == far if far else one.case.name != near)]
        pairs += product(first, others)
    return pairs


def _utilisation(measured: Sequence[Measured]) -> Check:
    most = max(measured, key=lambda one: one.utilisation)
    return Check(
        "no utilisation over 100 %",
        most.utilisation <= 1,
        f"the most is {most.utilisation:.1%}: {_measurement_text(most)} against {most.breakdown.bottleneck_gbs:,.1f} GB/s",
    )


def _by_size(measured: Sequence[Measured], family: str) -> Iterable[list[Measured]]:
    of_family = [one for one in measured if one.case.family == family]
    for nbytes in sorted({one.nbytes for one in of_family}):
        yield [one for one in of_family if one.nbytes == nbytes]


def _compare(name: str, pairs: Sequence[_Pair], holds: Callable[[Measured, Measured], bool], nothing: str) -> Check:
    if not pairs:
        return Check(name, None, f"nothing to compare: {nothing}")
    broken = next((pair for pair in pairs if not holds(*pair)), None)
    if broken is not None:
        return Check(name, False, f"{_measurement_text(broken[0])}, but {_measurement_text(broken[1])}")
    near, far = min(pairs, key=lambda pair: pair[1].actual_fs - pair[0].actual_fs)
    return Check(name, True, f"closest: {_measurement_text(near)}, {_measurement_text(far)}")


def _measurement_text(one: Measured) -> str:
    case, size = one.case, format_bytes(one.nbytes)
    return f"{case.src} to {case.dst} ({case.kind}, {one.hops} links, {size}) takes {one.actual_ns:,.3f} ns"
