"""A real scheduler and real workers, one of which dies."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars
import pytest

from kernbench.errors import InputError, RunError
from kernbench.sweep.execution import dask_cluster
from kernbench.sweep.execution.executor import ExecutorConfig
from kernbench.sweep.run import run_sweep
from tests.sweep import fakes

ROOT = Path(__file__).parents[3]
GRID = {
    "name": "tiny",
    "bench": "vector-add",
    "topology": "tiny",
    "parameters": {"n": [4096, 8192], "topology.hbm.channel_gbs": {"linspace": [8.0, 64.0, 12]}},
}


@contextmanager
def scheduler(directory: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler and workers, each a process of its own."""
    told = directory / "scheduler.json"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__ADMIN__LOG_LENGTH": "0"}

    def start(*command: str) -> subprocess.Popen[bytes]:
        alone = ("--no-dashboard", "--dashboard-address", ":0")  # beside other schedulers of this machine
        arguments = [sys.executable, "-m", "distributed.cli." + command[0], *command[1:], *alone]
        with (directory / f"{len(started)}.log").open("wb") as log:
            return subprocess.Popen(arguments, env=environment, stdout=log, stderr=log, cwd=directory)

    started: list[subprocess.Popen[bytes]] = []
    try:
        started.append(start("dask_scheduler", "--port", "0", "--host", "127.0.0.1", "--scheduler-file", str(told)))
        work = ("dask_worker", "--scheduler-file", str(told), "--nthreads", "1", "--no-nanny")
        started.extend(start(*work) for _ in range(workers))
        from distributed import Client

        with Client(scheduler_file=str(told), timeout=60, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)
            assert client.scheduler is not None
            address = str(client.scheduler.address)
        yield address, started
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def table(path: Path) -> polars.DataFrame:
    return polars.read_parquet(path / "table.parquet").drop("wall_s")


@pytest.mark.slow
def test_the_table_of_a_cluster_that_loses_a_worker_is_the_local_one(tmp_path: Path) -> None:
    local = run_sweep(GRID, tmp_path / "local", 1)
    heard: list[str] = []
    with scheduler(tmp_path, 2) as (address, processes):

        def hear(point: object, row: object) -> None:
            heard.append(point.key)  # type: ignore[attr-defined]
            if len(heard) == 5:
                processes[1].kill()

        result = run_sweep(GRID, tmp_path / "cluster", 2, hear, scheduler=address)
    assert processes[1].poll() == -signal.SIGKILL
    assert (len(heard), len(set(heard)), result.failed) == (24, 24, 0)
    parts = polars.concat([polars.read_parquet(path) for path in (tmp_path / "cluster" / "parts").glob("*.parquet")])
    assert sorted(parts["key"]) == sorted(local.table["key"])  # nothing lost, nothing doubled
    assert table(tmp_path / "cluster").equals(table(tmp_path / "local"))


@pytest.fixture
def dashboard_port_taken() -> Iterator[None]:
    """Somebody else's scheduler, or anything else, listens where Dask shows its dashboard."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):
            other.bind(("", 8787))
            other.listen()
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("dashboard_port_taken")
def test_processes_of_this_computer(tmp_path: Path) -> None:
    grid = fakes.toy_grid(tmp_path, M=[1, 2, 13, 4, 5], N=[1, 2])
    local = run_sweep(grid, tmp_path / "local", 1, run=fakes.run_fake)
    run_sweep(grid, tmp_path / "dask", 2, run=fakes.run_fake, scheduler="processes")
    assert table(tmp_path / "dask").equals(local.table.drop("wall_s"))
    assert table(tmp_path / "dask")["status"].to_list().count("error") == 2


@pytest.mark.slow
def test_a_point_that_kills_every_worker_is_given_up(tmp_path: Path) -> None:
    grid = fakes.toy_grid(tmp_path, M=[1, 13, 2])
    result = run_sweep(grid, tmp_path / "out", 2, run=fakes.run_deadly, scheduler="processes")
    assert result.table["status"].to_list() == ["ok", "lost", "ok"]
    assert result.table["error"][1] == (
        "the worker process died 2 times at this point (KilledWorker on the cluster); with fewer workers each has more memory"
    )


@pytest.mark.slow
def test_a_scheduler_that_goes_away_ends_the_sweep_with_what_there_is(tmp_path: Path) -> None:
    grid = fakes.toy_grid(tmp_path, M=list(range(40, 80)))
    with scheduler(tmp_path, 1) as (address, processes):

        def hear(point: object, row: object) -> None:
            heard.append(row)
            if len(heard) == 1:
                processes[0].kill()

        heard: list[object] = []
        with pytest.raises(RunError) as caught:
            run_sweep(grid, tmp_path / "out", 1, hear, run=fakes.run_slowly, scheduler=address)
    assert str(caught.value) == (
        f"the Dask scheduler {address} went away; finished points are kept: run the same command again"
    )
    assert len(polars.read_parquet(tmp_path / "out" / "table.parquet")) >= 1


def test_no_scheduler_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_S", 0.2)
    with pytest.raises(InputError) as caught:
        run_sweep(fakes.toy_grid(tmp_path, M=1), tmp_path / "out", run=fakes.run_fake, scheduler="tcp://127.0.0.1:9")
    assert str(caught.value) == (
        "there is no Dask scheduler at 'tcp://127.0.0.1:9' (Connection refused); give local, processes or an address "
        "such as tcp://localhost:8786"
    )


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError) as caught:
        run_sweep(fakes.toy_grid(tmp_path, M=1), tmp_path / "out", run=fakes.run_fake, scheduler="processes")
    assert str(caught.value) == "a Dask scheduler needs the package distributed; install kernbench[cluster]"


def test_addresses() -> None:
    assert dask_cluster.split_address("tcp://localhost:8786") == ("localhost", 8786)
    assert dask_cluster.split_address("tls://[::1]:1") == ("::1", 1)


@pytest.mark.parametrize(
    "address",
    [
        *("tcp://127.0.0.1", "tcp://", "tcp://:1", "tcp://x:abc", "tcp://x:99999", "tcp://x:0", "tcp://[::1:1"),
        *("nope://x:1", "http://x:80", "inproc://x:1", "x:1", "tcp://x:1/path", "tcp://x:1 ", ""),
    ],
)
def test_what_is_no_address_is_refused_before_anything_runs(address: str) -> None:
    with pytest.raises(
        InputError, match=f"^{re.escape(f'scheduler {address!r} is none; give local, processes or an ')}"
    ):
        ExecutorConfig(scheduler=address)


@pytest.mark.parametrize("host", ["nowhere.invalid", "a" * 64, "a..b"])
def test_a_host_that_no_name_service_knows(host: str) -> None:
    with pytest.raises(InputError, match=f"^there is no Dask scheduler at 'tcp://{host}:1' "[:60]):
        dask_cluster._reach(f"tcp://{host}:1")


def test_a_port_where_nobody_accepts(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(address: tuple[str, int], timeout: float) -> None:
        assert (address, timeout) == (("192.0.2.1", 8786), dask_cluster.CONNECT_S)
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket, "create_connection", never)
    said = r"^there is no Dask scheduler at 'tcp://192.0.2.1:8786' \(timed out\); give local, processes or an address such as "
    with pytest.raises(InputError, match=said):
        dask_cluster._reach("tcp://192.0.2.1:8786")


def test_a_server_that_says_nothing_is_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(InputError, match=rf"^there is no Dask scheduler at '{address}' \(timed out\); give "):
            dask_cluster._reach(address)
