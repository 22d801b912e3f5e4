from __future__ import annotations

import io
from pathlib import Path

import polars
import pytest

from kernbench.errors import InputError
from kernbench.web.sources import Sources, SweepSource
from kernbench.web.sweep_view import describe, load_table
from tests.report.sample_tables import table
from tests.web.sweeps import small_table, write_sweep


def source(directory: Path) -> SweepSource:
    return next(iter(Sources([str(directory)]).list().values()))


def test_the_page_gets_the_table_with_its_front(tmp_path: Path) -> None:
    objectives = [{"column": "latency_ns", "least": True}, {"column": "topology.noc.gbs", "least": True}]
    swept = source(write_sweep(tmp_path / "swept", objectives=objectives, description="a\nsweep"))
    loaded = load_table(swept)
    told = describe(swept, loaded)
    assert (told["rows"], told["points"], told["running"]) == (12, 12, False)
    assert told["parameters"] == ["M", "topology.noc.gbs", "variant", "dtype"]
    assert told["objectives"] == objectives
    got = polars.read_ipc(io.BytesIO(loaded.arrow))
    assert got["M"].dtype == polars.Float64
    assert got["latency_ns"].is_nan().sum() == 2  # failed
    assert got.filter("_front").select("M", "topology.noc.gbs", "variant").rows() == [
        (1, 128, "plain"),
        (2, 64, "plain"),
    ]
    assert not {"key", "kernbench", "lower_ns_bound"} & set(got.columns)


def test_of_a_running_sweep_the_rows_so_far_are_shown(tmp_path: Path) -> None:
    directory = write_sweep(tmp_path / "swept")
    write_sweep(directory, small_table()[:5], "progress.parquet", points=5, most_points=40)
    swept = source(directory)
    first = load_table(swept)
    told = describe(swept, first)
    assert (told["rows"], told["points"], told["running"]) == (5, 40, True)
    (directory / "progress.parquet").unlink()
    assert load_table(swept).version != first.version
    assert load_table(swept).rows == 12


def test_a_sweep_that_has_just_begun_has_no_rows(tmp_path: Path) -> None:
    directory = write_sweep(tmp_path / "swept", small_table()[:0], points=7)
    swept = source(directory)
    loaded = load_table(swept)
    assert loaded.arrow == b""
    assert describe(swept, loaded)["points"] == 7


@pytest.mark.parametrize("broken", [b"", b"PAR1 no table"])
def test_a_file_that_is_no_table_is_named(broken: bytes, tmp_path: Path) -> None:
    directory = write_sweep(tmp_path / "swept")
    (directory / "table.parquet").write_bytes(broken)
    with pytest.raises(InputError, match=r"table\.parquet is not the table of a sweep \(.*\); make it again"):
        load_table(source(directory))


@pytest.mark.parametrize("told", ["[]", "{", '{"points": "many", "objectives": [3, {"column": "none", "least": 1}]}'])
def test_a_manifest_that_says_nothing_is_no_error(told: str, tmp_path: Path) -> None:
    directory = write_sweep(tmp_path / "swept", table(lambda m, _machine: 10.0 * m, M=[1, 2], machine=["a", "b"]))
    (directory / "sweep.json").write_text(told)
    swept = source(directory)
    shown = describe(swept, load_table(swept))
    assert (shown["points"], shown["bench"]) == (4, None)
    assert shown["objectives"] == [{"column": "achieved_tflops", "least": False}]  # the work differs
