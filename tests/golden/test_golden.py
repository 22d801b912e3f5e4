"""Op logs against their digests."""

from __future__ import annotations

import polars as pl
import pytest

from kernbench.runs.bench import list_benches

from . import SIZES, TOPOLOGIES, describe, digest, load

RENEW = "the op log changed; if it should, run `make golden` and say in the commit why"


def test_every_shipped_bench_has_a_digest() -> None:
    assert set(SIZES) == {b.name for b in list_benches()}
    assert set(load()) == {f"{bench} on {topology}" for bench in SIZES for topology in TOPOLOGIES}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["hybrid", "flit"])
@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("bench", SIZES)
def test_op_log(bench: str, topology: str, mode: str) -> None:
    assert describe(bench, topology, mode) == load()[f"{bench} on {topology}"], RENEW


def test_one_femtosecond_changes_a_digest() -> None:
    assert digest(pl.DataFrame({"start_fs": [1]})) != digest(pl.DataFrame({"start_fs": [2]}))
