"""Parsing of `--set`."""

from __future__ import annotations

import pytest

from kernbench.cli.names.assignment import read_fields, split_assignments
from kernbench.errors import InputError


def test_parameters_are_told_from_topology_fields() -> None:
    assert split_assignments(["M=256", "topology.hbm.channel_gbs = 64", "variant=a=b", "M=128"]) == (
        {"M": "128", "variant": "a=b"},
        {"hbm.channel_gbs": "64"},
    )


@pytest.mark.parametrize("text", ["M", "=3", "M=", "", " = "])
def test_what_is_no_assignment(text: str) -> None:
    with pytest.raises(InputError) as caught:
        split_assignments([text])
    assert str(caught.value) == (
        f"--set takes path=value, such as M=256 or topology.hbm.channel_gbs=64, and got {text!r}"
    )


def test_fields_alone_need_no_prefix() -> None:
    assert read_fields(["hbm.channels=2", "topology.noc.gbs=64", "noc.flit=3"]) == {
        "hbm.channels": "2", "noc.gbs": "64", "noc.flit": "3"
    }  # fmt: skip
