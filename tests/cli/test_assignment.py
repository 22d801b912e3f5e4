"""Parsing of `--set`."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.cli.assignment import check_parameters, split_assignments
from kernbench.errors import InputError
from kernbench.runs.bench import Bench

GEMM = Bench("gemm", "A GEMM", {"M": 512, "N": 512}, Path("gemm.py"), lambda torch: None)


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


def test_known_parameters_pass_without_reading_the_topology() -> None:
    check_parameters(["M", "N"], GEMM, "no-such-topology")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("hbm.channel_gbs", " did you mean 'topology.hbm.channel_gbs'?"),
        ("zzz", ""),
    ],
)
def test_an_unknown_name_is_answered_with_both_kinds(name: str, near: str) -> None:
    with pytest.raises(InputError) as caught:
        check_parameters(["M", name], GEMM, "tiny")
    sentence = str(caught.value)
    assert sentence.startswith(
        f"bench 'gemm' has no parameter {name!r};{near} --set takes its parameters (M, N) or fields of topology 'tiny' "
        "(topology."
    )
    assert sentence.endswith(" more)")
