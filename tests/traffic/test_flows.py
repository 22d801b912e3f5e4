"""Flows from texts."""

from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.traffic.flows import FORM, parse_flows


def test_columns_in_the_order_given() -> None:
    flows = parse_flows(["a:b:16KiB", "b:c:1:read@100", "a:c: 2 KB :write@0.5us"])
    assert flows.names == ("a", "b", "c")
    assert (flows.src.tolist(), flows.dst.tolist()) == ([0, 1, 0], [1, 2, 2])
    assert flows.nbytes.tolist() == [16384, 1, 2000]
    assert flows.start_fs.tolist() == [0, 100_000_000, 500_000_000]
    assert flows.read.tolist() == [False, True, False]
    assert (len(flows), flows.where(1)) == (3, "--flow 'b:c:1:read@100'")


@pytest.mark.parametrize("text", ["", "a", "a:b", "a:b:1:read:x", ":b:1", "a::1", "a:b:", "a:b:1@", "a:b:1@2@3"])
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(InputError) as error:
        parse_flows([text])
    assert str(error.value) == f"--flow {text!r} is not of the form {FORM}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a:b:0", "bytes: got '0', expected more than 0 B"),
        ("a:b:-4KiB", "bytes: got '-4KiB', expected more than 0 B"),
        ("a:b:99999999TiB", "bytes: got '99999999TiB', expected 1048576 TiB at most"),
        ("a:b:1.5", "bytes: got '1.5', expected a whole number of B"),
        (
            "a:b:4kib",
            "bytes: got '4kib' with the unknown unit 'kib', expected a number, "
            "alone or in one of: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB",
        ),
        ("a:b:1:raed", "unknown kind 'raed'; did you mean 'read'? Known: read, write"),
        ("a:b:1@-1", "start_ns: got '-1', expected 0 ns to 1 s"),
        ("a:b:1@2s", "start_ns: got '2s', expected 0 ns to 1 s"),
        ("a:b:1@soon", "start_ns: got 'soon', expected a number, alone or in one of: fs, ps, ns, us, µs, ms, s"),
    ],
)
def test_figures_that_do_not_fit(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        parse_flows([text])
    assert str(error.value) == f"--flow {text!r}: {sentence}"
