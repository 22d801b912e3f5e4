from __future__ import annotations

import io
import shutil
from pathlib import Path

import numpy as np
import polars
import pytest

from kernbench.atomic_output import write_parquet
from kernbench.errors import InputError
from kernbench.frontends.run import run_bench
from kernbench.machine import load_machine
from kernbench.oplog.utilisation import list_parts
from kernbench.runs.result import RunResult
from kernbench.sealing import read_sealed_parquet
from kernbench.web import run_view
from kernbench.web.run_view import RunView, find_run_version
from kernbench.web.sources import RunSource
from tests.web.runs import NOC_GBS, run_small, write_run


@pytest.fixture(scope="module")
def ran() -> RunResult:
    return run_small()


@pytest.fixture(scope="module")
def directory(ran: RunResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "ran", ran)


@pytest.fixture(scope="module")
def view(directory: Path) -> RunView:
    return RunView(RunSource("ran", directory))


def read(view: RunView, name: str) -> polars.DataFrame:
    return polars.read_ipc(io.BytesIO(view.arrow(name)))


def test_the_machine_is_the_one_that_the_run_had(view: RunView) -> None:
    about = view.about()
    assert sum(one["dynamic_aj"] for one in about["energy"]["parts"]) == about["dynamic_aj"] > 0
    assert (about["bench"], about["name"], about["missing"]) == ("gemm-single-pe", "ran", {})
    assert about["span_fs"] == [0, round(about["makespan_ns"] * 1e6)]
    figures = {field["name"]: field for field in about["machine"]["parts"]["noc"]["fields"]}
    assert (figures["gbs"]["value"], figures["gbs"]["source"]) == (f"{NOC_GBS} GB/s", "overridden")
    assert figures["overhead_ns"]["source"].startswith("KernBench architecture")
    links, usual = read(view, "links"), load_machine("tiny")
    assert NOC_GBS in links["gbs"].to_list()
    assert NOC_GBS not in usual.edge_gbs.tolist()
    assert read(view, "nodes")["name"].to_list() == list(usual.node_name)


def test_slices_are_the_op_log_on_tracks_in_the_order_of_the_machine(view: RunView, ran: RunResult) -> None:
    log, slices, tracks = ran.op_log(), read(view, "slices"), read(view, "tracks")
    assert tracks["name"].gather(slices["track"]).equals(log["component"].alias("name"))
    assert slices["start_fs"].to_list() == log["start_fs"].to_list()
    assert slices["name"].cast(polars.String).to_list() == log["op_name"].to_list()
    nodes = {name: at for at, name in enumerate(ran.device.session.machine.node_name)}
    of_nodes = [nodes[name] for name in tracks["name"].to_list() if name in nodes]
    assert of_nodes == sorted(of_nodes)
    assert ("sip0.cube0", "pe0.pe_gemm") in tracks.select("process", "part").rows()


def test_composites_in_flight_have_a_track_beside_their_part(tmp_path: Path) -> None:
    tiled = run_bench("matmul-composite", "tiny", parameters={"M": 64, "K": 64, "N": 64})
    view, log = RunView(RunSource("tiled", write_run(tmp_path / "tiled", tiled))), tiled.op_log()
    of_rows = read(view, "tracks")["name"].gather(read(view, "slices")["track"])
    in_flight = log["op_name"] == "composite"
    assert of_rows.filter(in_flight).to_list() == [f"{part}.composites" for part in log["component"].filter(in_flight)]
    assert of_rows.filter(~in_flight).to_list() == log["component"].filter(~in_flight).to_list()


def test_parts_have_the_class_that_they_are_of(view: RunView, ran: RunResult) -> None:
    parts, known = read(view, "parts"), list_parts(ran.device.session.machine)
    assert (parts["name"].to_list(), parts["kind"].to_list()) == (list(known.name), list(known.kind))


def test_transfers_are_within_their_rows_and_go_to_other_parts(view: RunView, ran: RunResult) -> None:
    log, transfers = ran.op_log().with_row_index("row"), read(view, "transfers")
    both = transfers.join(log.with_columns(polars.col("row").cast(polars.Int32)), on="row")
    assert len(both) == len(transfers) == len(log.filter(polars.col("bytes") > 0)) + len(both.filter(bytes=0))
    assert (both["leave_fs"] >= both["start_fs"]).all()
    assert (both["arrive_fs"] <= both["end_fs"]).all()
    names = read(view, "nodes")["name"]
    reads = both.filter(op_name="dma_read")
    assert reads["inward"].all()
    assert names.gather(reads["far"]).str.contains("hbm_ctrl").all()


@pytest.mark.parametrize(
    ("bench", "topology", "parameters"),
    [
        ("gemm-single-pe", "tiny", {"M": 32, "K": 64, "N": 32}),
        ("ccl-allreduce", "tiny", {}),
        ("tanto-unary", "tensix_tiny", {"cores": 2, "tiles": 8}),
    ],
)
def test_use_over_time_sums_to_the_busy_times_of_the_run(
    bench: str, topology: str, parameters: dict[str, object], tmp_path: Path
) -> None:
    result = run_bench(bench, topology, parameters=parameters)
    session, parts = result.device.session, list_parts(result.device.session.machine)
    view = RunView(RunSource("ran", write_run(tmp_path / "ran", result)))
    busy, window_fs = read(view, "busy"), view.about()["window_fs"]
    assert busy["utilisation"].max() <= 1
    length_fs = np.minimum(window_fs, session.now_fs - busy["window"].to_numpy().astype(np.int64) * window_fs)
    took_fs = np.zeros(len(parts.name))
    part = busy["part"].to_numpy()
    np.add.at(took_fs, part, busy["utilisation"].to_numpy() * length_fs * parts.slots[part])
    expected = np.append(session.server_busy_fs, session.station_busy_fs)
    assert took_fs == pytest.approx(expected, rel=1e-3, abs=window_fs * 1e-4)
    assert (took_fs > 0).sum() > 10
    if topology == "tensix_tiny":  # whose processors hold no part in the view
        assert 0 < float(busy["energy"].sum()) <= (result.dynamic_aj or 0)
    else:
        assert busy["energy"].sum() == pytest.approx(result.dynamic_aj, rel=1e-4)


def test_a_run_of_an_earlier_version_has_no_power(tmp_path: Path, ran: RunResult) -> None:
    directory = write_run(tmp_path / "ran", ran)
    for name in ("held_parts.parquet", "transfer_services.parquet"):
        write_parquet(read_sealed_parquet(directory / name).drop("energy_aj"), directory / name)
    busy = read(RunView(RunSource("ran", directory)), "busy")
    assert busy["energy"].sum() == 0
    assert busy["utilisation"].sum() > 0


def test_bytes_of_use_are_those_of_the_transfers(view: RunView, ran: RunResult) -> None:
    parts, busy = read(view, "parts").with_row_index("part"), read(view, "busy")
    sums = busy.group_by("part").agg(polars.col("bytes").sum()).cast({"part": polars.UInt32}).join(parts, on="part")
    channel = sums.filter(name="sip0.cube0.pe0.pe_dma.read")["bytes"].item()
    log = ran.op_log().filter(component="sip0.cube0.pe0.pe_dma.read")
    assert channel == pytest.approx(log["bytes"].sum(), rel=1e-3)


def test_the_critical_path_is_the_latency_and_names_what_it_passed(view: RunView, ran: RunResult) -> None:
    path, passed = read(view, "path"), read(view, "path_parts")
    assert path["spent_fs"].sum() == pytest.approx(ran.latency_ns * 1e6)
    assert set(passed["row"]) <= set(path["row"])
    names = read(view, "parts")["name"].gather(passed["part"]).to_list()
    assert any(" -> " in name for name in names)
    assert any("hbm_ctrl" in name for name in names)


def test_a_row_is_told_whole(view: RunView, ran: RunResult) -> None:
    log = ran.op_log().with_row_index("row")
    number = log.filter(op_name="dma_read")["row"][0]
    told = view.row(number)
    assert (told["op_name"], told["bytes"]) == ("dma_read", log["bytes"][number])
    assert told["params"]["space"] == "hbm"
    assert all(number in view.row(other)["dependencies"] for other in told["dependents"])
    assert told["dependents"]
    assert [one["inward"] for one in told["transfers"]] == [True]
    with pytest.raises(InputError, match=f"the op log has no row {len(log)}"):
        view.row(len(log))


def test_a_run_of_an_earlier_version_shows_what_it_has(directory: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    for name in ("result.json", "oplog.parquet"):
        shutil.copy(directory / name, old)
    view = RunView(RunSource("old", old))
    about = view.about()
    assert about["machine"] is None
    assert about["missing"]["nodes"] == (
        f"machine.json and machine_nodes.parquet are not in {old}, so it has no nodes; "
        "run it again with this KernBench and --out"
    )
    assert len(read(view, "slices")) == len(read(RunView(RunSource("ran", directory)), "slices"))
    with pytest.raises(InputError, match=r"transfers\.parquet is not in .*, so it has no transfers; run it again"):
        view.arrow("transfers")


@pytest.mark.parametrize(
    ("file", "asked"),
    [("oplog.parquet", "slices"), ("transfers.parquet", "busy"), ("machine_parts.parquet", "busy")],
)
def test_files_of_something_else_are_named(file: str, asked: str, directory: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    shutil.copytree(directory, foreign)
    polars.DataFrame({"a": [1]}).write_parquet(foreign / file)
    with pytest.raises(InputError, match=rf"the files of {asked} in .*foreign are not those of a run \(.*\); run it"):
        RunView(RunSource("foreign", foreign)).arrow(asked)


def test_rows_of_something_else_are_named(directory: Path, tmp_path: Path) -> None:
    foreign = shutil.copytree(directory, tmp_path / "foreign")
    polars.DataFrame({"dependencies": [[0]]}).write_parquet(foreign / "oplog.parquet")
    with pytest.raises(
        InputError, match=r"the files of oplog\.parquet in .*foreign are not those of a run \(.*\); run it"
    ):
        RunView(RunSource("foreign", foreign)).row(0)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"makespan_ns": "long"}'])
def test_a_result_that_is_none_is_a_sentence(text: str, directory: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    shutil.copytree(directory, foreign)
    (foreign / "result.json").write_text(text)
    with pytest.raises(InputError, match=r"result\.json .*run it again with this KernBench and --out"):
        RunView(RunSource("foreign", foreign)).about()


def test_a_log_that_is_too_long_names_what_would_do(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_view, "MOST_ROWS", 5)
    fresh = RunView(RunSource("ran", directory))
    with pytest.raises(InputError, match=r"operations, and the viewer shows up to 5; .*--trace and --trace-filter"):
        fresh.arrow("slices")


def test_a_run_that_is_made_again_has_another_version(directory: Path, ran: RunResult, tmp_path: Path) -> None:
    source = RunSource("ran", shutil.copytree(directory, tmp_path / "ran"))
    first = find_run_version(source)
    write_run(source.directory, ran)
    assert find_run_version(source) != first


@pytest.mark.parametrize(
    "told",
    ['{"a": 1}', "[]", '{"name": "m", "family": "sip", "file": "", "description": "", "parts": {"x": 1}, "links": []}'],
)
def test_a_machine_of_another_form_is_missing(told: str, directory: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(directory, tmp_path / "damaged")
    (damaged / "machine.json").write_text(told)
    about = RunView(RunSource("damaged", damaged)).about()
    assert about["machine"] is None
    assert str(damaged / "machine.json") in about["missing"]["nodes"]
