"""What of a run a trace holds."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.trace.filters import ENDLESS, KINDS, TraceFilter, read_filters


def test_filters_of_one_key_add_up() -> None:
    found = read_filters(["part=sip0.cube0,switch", "part=sip1.*", "kind=gemm", "kind=path", "time=1.5us..2500"])
    assert found == TraceFilter(("sip0.cube0", "switch", "sip1.*"), ("gemm", "path"), 1_500_000_000, 2_500_000_000)
    assert read_filters([]) == TraceFilter((), KINDS, 0, ENDLESS)
    assert read_filters(["time=..2us"]) == TraceFilter(end_fs=2_000_000_000)


def test_a_part_is_itself_and_all_below_it() -> None:
    chosen = TraceFilter(("sip0.cube1", "node[0][*]", "sip*.io0.io_cpu"))
    names = ["sip0.cube1.pe0.pe_dma.read", "sip0.cube1.r0c0 -> sip0.cube2.r0c0", "sip0.cube10.m_cpu", "node[0][3]",
             "node[1][0]", "sip1.io0.io_cpu"]  # fmt: skip
    assert chosen.matches(names).tolist() == [True, True, False, True, False, True]


def test_times_overlap() -> None:
    chosen = TraceFilter(start_fs=10, end_fs=20)
    start, end = np.array([(0, 10), (0, 11), (10, 10), (19, 30), (20, 30), (20, 20)]).T
    assert chosen.overlaps(start, end).tolist() == [False, True, True, True, False, False]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("gemm", "--trace-filter 'gemm': expected part=PATH, kind=KIND or time=START..END"),
        ("kind=", "--trace-filter 'kind=': expected part=PATH, kind=KIND or time=START..END"),
        ("kind=gem", "--trace-filter: unknown kind 'gem'; did you mean 'gemm'? "
         "Known: composite, control, counters, gemm, math, memory, path"),
        ("time=5us", "--trace-filter 'time=5us': expected time=START..END, such as time=1us..2us"),
        ("time=2..1", "--trace-filter 'time=2..1': the end must be after the start"),
        ("time=1parsec..", "--trace-filter 'time=1parsec..': got '1parsec' with the unknown unit 'parsec', "
         "expected a number, alone or in one of: fs, ps, ns, us, µs, ms, s"),
    ],
)  # fmt: skip
def test_what_a_filter_cannot_be(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        read_filters([text])
    assert str(caught.value) == sentence


def test_a_trace_has_one_time() -> None:
    with pytest.raises(InputError, match=r"a trace has one time; give time=START\.\.END once"):
        read_filters(["time=1..2", "time=3..4"])
