"""Jobs over the server: what starts, how it is told, cancelled and ended, and who may ask for it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars
import pytest

from kernbench.errors import RunError
from kernbench.web.run_jobs import RunJobs
from kernbench.web.server import make_server
from kernbench.web.sources import Sources
from tests.web.job_runs import write_command, write_run
from tests.web.sweeps import small_table, write_sweep

PATIENCE_S = 20
HERE = Path.cwd()
TANTO = {
    "command": "tanto run",
    "programs": [str(HERE / "p.json")],
    "kernels": str(HERE),
    "kernel_map": None,
    "topology": "tensix_tiny",
    "inputs": [],
    "defines": [],
    "rounding": "truncate",
    "numbers": True,
}


class Client:
    """A page that asks a server of its own."""

    def __init__(self, port: int, home: Path) -> None:
        self.port, self.home = port, home

    def ask(self, path: str, asked: object = None, **headers: str | None) -> tuple[int, dict[str, Any]]:
        """The status and the answer of a GET, or of a POST with JSON; headers of None are left out."""
        own = {"Origin": f"http://127.0.0.1:{self.port}", "Content_Type": "application/json", **headers}
        sent = {name.replace("_", "-"): value for name, value in own.items() if value is not None}
        body = None if asked is None else asked if isinstance(asked, bytes) else json.dumps(asked)
        with closing(http.client.HTTPConnection("127.0.0.1", self.port)) as connection:
            connection.request("GET" if body is None else "POST", path, body, sent)
            with connection.getresponse() as response:
                return response.status, json.loads(response.read())

    def start(self, kind: str, source: str, part: str = "") -> dict[str, Any]:
        return self.ask("/api/jobs/start", {"kind": kind, "source": source, "part": part})[1]

    def wait(self, test: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The latest job, when it is as wanted."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            job = self.ask("/api/jobs")[1]["jobs"][-1]
            if test(job):
                return job
            time.sleep(0.01)
        raise AssertionError(f"it did not come to that: {job}")

    def ended(self) -> dict[str, Any]:
        return self.wait(lambda job: job["state"] != "running")


def serve(home: Path, *given: Path, fails: bool = False) -> Iterator[Client]:
    sources = Sources([str(path) for path in given])
    jobs = RunJobs(sources, write_command(home / "command", fails=fails))
    with make_server(sources, 0, jobs) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Client(server.server_port, home)
        server.shutdown()
        thread.join()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    yield from serve(tmp_path, write_run(tmp_path / "plain"), write_sweep(tmp_path / "swept", bench="gemm-single-pe"))


def test_an_explanation_is_made_and_stays_with_the_run(client: Client) -> None:
    before = client.ask("/api/run/plain/about")[1]
    assert "explain" not in before
    job = client.start("explain", "plain")
    assert job["command"] == (
        "kernbench run gemm-single-pe --topology tiny --mode hybrid "
        "--set M=32 --set K=128 --set N=128 --set dtype=f16 --explain"
    )
    assert client.ask("/api/run/plain/commands")[1]["commands"]["explain"] == job["command"]
    assert (client.ended()["state"], client.ended()["result"]) == ("done", "plain")
    after = client.ask("/api/run/plain/about")[1]
    assert sum(after["explain"]["critical_path"].values()) == pytest.approx(before["latency_ns"])
    assert (client.home / "plain" / "utilisation.parquet").is_file()
    assert {name: after[name] for name in before if name not in ("files", "sha256")} == {
        name: value for name, value in before.items() if name not in ("files", "sha256")
    }


def test_where_nothing_can_be_kept_the_run_is_shown_with_its_explanation(client: Client, monkeypatch: Any) -> None:
    def refuse(*_: object) -> None:
        raise RunError("it cannot be written")

    monkeypatch.setattr("kernbench.web.run_jobs.add_explanation", refuse)
    client.start("explain", "plain")
    assert client.ended()["state"] == "done"
    assert client.ask("/api/run/plain/about")[1]["explain"]["critical_path_ns"] > 0
    assert not (client.home / "plain" / "utilisation.parquet").exists()


def test_progress_is_told_and_a_job_is_not_started_twice(client: Client) -> None:
    first = client.start("what_if", "plain")
    told = client.wait(lambda job: job["share"] is not None)
    assert (told["stage"], told["share"]) == ("what if: 3.0 of 12 runs done", 0.25)
    assert client.start("what_if", "plain")["id"] == first["id"]
    (client.home / "command" / "go").touch()
    assert client.ended()["state"] == "done"


def test_a_job_that_is_cancelled_is_gone_and_leaves_nothing(client: Client) -> None:
    job = client.start("what_if", "plain")
    client.wait(lambda job: job["share"] is not None)
    files = sorted((client.home / "plain").iterdir())
    assert client.ask("/api/jobs/cancel", {"id": job["id"]})[1]["state"] == "cancelled"
    (client.home / "command" / "go").touch()
    assert client.ended()["state"] == "cancelled"
    assert sorted((client.home / "plain").iterdir()) == files
    assert client.ask("/api/jobs/cancel", {"id": "77"}) == (422, {"error": "there is no such job any more"})


def test_there_are_few_jobs_at_a_time(client: Client) -> None:
    client.start("what_if", "plain")
    key = small_table()["key"][5]
    client.start("point", "swept", key[:16])
    (client.home / "command" / "fails").touch()
    client.wait(lambda job: job["kind"] == "point" and job["state"] != "running")
    assert client.start("what_if", "plain")["state"] == "running"


def test_a_point_is_run_where_its_sweep_is_and_opens(client: Client) -> None:
    key = small_table()["key"][5]
    job = client.start("point", "swept", key[:16])
    assert job["command"] == (
        "kernbench run gemm-single-pe --topology tiny --mode hybrid --set M=2 --set topology.noc.gbs=64 "
        "--set 'variant=<script>alert(1)</script>' --set dtype=f16 --explain"
    )
    name = client.ended()["result"]
    assert name == f"swept · {key[:8]}"
    assert client.ask(f"/api/run/{quote(name)}/about")[1]["bench"] == "gemm-single-pe"
    assert client.ask("/api/sweep/swept/runs")[1] == {"runs": {key[:16]: name}}
    assert name in Sources([str(client.home / "swept")]).list()  # of the next viewer too
    given = json.loads((client.home / "command" / "arguments.json").read_text())
    assert given[-2:] == ["--out", str(client.home / "swept" / "runs" / key[:16])]


@pytest.mark.parametrize(
    ("bench", "settings", "command"),
    [
        (
            "vector_example",
            {"rows": [8], "case": ["Small"], "runtime": [""], "topology.aic.clock_ghz": [2.0]},
            "kernbench pto run vector_example --no-data --case Small --topology tiny --mode hybrid --set rows=8 "
            "--set topology.aic.clock_ghz=2.0",
        ),
        (
            "a.json",
            {"program": ["b.json"], "kernels": [""], "inputs": ["0=x.npy, 1=y.bin"], "defines": ["T=int8"]},
            "kernbench tanto run HERE/b.json --kernels HERE --in 0=HERE/x.npy --in 1=HERE/y.bin -D T=int8 --rounding truncate "
            "--topology tiny --mode hybrid --no-data --explain",
        ),
    ],
)
def test_points_of_all_systems_are_run(
    bench: str, settings: dict[str, list[object]], command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = polars.DataFrame({**settings, "latency_ns": [1.0], "status": ["ok"], "key": ["0123456789abcdef0"]})
    for client in serve(tmp_path, write_sweep(tmp_path / "swept", rows, bench=bench)):
        job = client.start("point", "swept", "0123456789abcdef0")
        assert job["command"] == command.replace("HERE", str(tmp_path))
        assert client.ended()["state"] == "done"


def test_an_error_is_worded_as_on_a_terminal(tmp_path: Path) -> None:
    for client in serve(tmp_path, write_run(tmp_path / "plain"), fails=True):
        client.start("explain", "plain")
        ended = client.ended()
        assert (ended["state"], ended["error"]) == ("failed", "the bench is gone")


def test_another_run_is_not_taken_for_the_kept_one(tmp_path: Path) -> None:
    for client in serve(tmp_path, write_run(tmp_path / "old", {"latency_ns": 7.0})):
        client.start("explain", "old")
        assert client.ended()["error"].startswith("the run has another latency_ns now, ")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"mode": "analytic"}, "the run is of mode analytic, which has no events"),
        ({"request": None}, "the run cannot be repeated: it was not made by `kernbench run`"),
        ({"parameters": {"M --out x": 1}}, "the run cannot be repeated: it sets M --out x to 1"),
        ({"request": {"bench": "--help", "topology": "tiny"}}, "its bench is '--help', which is no name"),
        ({"request": {"command": "sweep"}}, "it was made by 'sweep', which is no command here"),
        ({"request": TANTO | {"kernels": "/etc"}}, "its kernels is /etc, and the viewer runs no file outside"),
        ({"request": TANTO | {"kernels": "-D"}}, "its kernels is '-D', which is no whole path"),
        ({"request": TANTO | {"inputs": ["0=/etc/passwd"]}}, "its buffer is /etc/passwd, and the viewer runs no file"),
        ({"request": TANTO | {"programs": ["/a", "/b"]}}, "it is one of several programs that ran in turn on one chip"),
        ({"request": TANTO | {"defines": "T=int8"}}, "its defines are 'T=int8', which are no texts"),
        ({"request": TANTO | {"rounding": "--out"}}, "its rounding is '--out', which is no name"),
        (
            {"request": {"command": "pto run", "bench": "/etc/evil.py"}},
            "its bench is /etc/evil.py, and the viewer runs no",
        ),
        ({"request": {"command": "pto replay", "graph": "g.json"}}, "its graph is 'g.json', which is no whole path"),
        ({"request": {"bench": "/etc/evil.py", "topology": "tiny"}}, "the viewer runs no file outside the directory"),
        (
            {"request": {"bench": "gemm-single-pe", "topology": "../../x.yaml"}},
            "its machine is ../../x.yaml, and the viewer",
        ),
    ],
)
def test_what_cannot_be_repeated_is_refused(told: dict[str, object], said: str, tmp_path: Path) -> None:
    for client in serve(tmp_path, write_run(tmp_path / "kept", told)):
        status, answer = client.ask("/api/jobs/start", {"kind": "explain", "source": "kept"})
        assert status == 422
        assert said in answer["error"]
        assert said in client.ask("/api/run/kept/commands")[1]["refused"]
        assert client.ask("/api/jobs")[1] == {"jobs": []}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"kind": "explain", "source": "none"}, "there is nothing 'none' here that a job 'explain' could be for"),
        ({"kind": "shell", "source": "plain"}, "there is nothing 'plain' here that a job 'shell' could be for"),
        ({"kind": "point", "source": "plain"}, "there is nothing 'plain' here"),
        ({"kind": "point", "source": "swept", "part": ""}, "swept has no point '' any more"),
        ({"kind": "point", "source": "swept", "part": "../.."}, "swept has no point '../..' any more"),
        ({}, "there is nothing '' here"),
        (b"[1]", "a request needs a JSON object"),
        (b"{", "a request needs a JSON object"),
        (b"x" * 5000, "a request needs a Content-Length of 4096 bytes at most"),
    ],
)
def test_what_is_no_job_is_refused(asked: object, said: str, client: Client) -> None:
    status, answer = client.ask("/api/jobs/start", asked)
    assert status == 422
    assert said in answer["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": None},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Content_Type": "text/plain"},  # what a form of another site can send without asking
        {"Content_Type": None},
    ],
)
def test_only_the_page_itself_starts_jobs(headers: dict[str, str | None], client: Client) -> None:
    status, answer = client.ask("/api/jobs/start", {"kind": "explain", "source": "plain"}, **headers)
    assert status == 403
    assert answer["error"].startswith("this viewer ")
    assert client.ask("/api/jobs")[1] == {"jobs": []}


def test_post_changes_nothing_else(client: Client) -> None:
    assert client.ask("/api/sources", {})[0] == 404
    assert client.ask("/api/jobs/start")[0] == 404


def test_jobs_end_with_the_server(tmp_path: Path) -> None:
    sources = Sources([str(write_run(tmp_path / "plain"))])
    jobs = RunJobs(sources, write_command(tmp_path / "command"))
    jobs.start({"kind": "what_if", "source": "plain"})
    until = time.monotonic() + PATIENCE_S
    while jobs.list()[0]["share"] is None and time.monotonic() < until:
        time.sleep(0.01)
    before = time.monotonic()
    jobs.close()
    assert jobs.list()[0]["state"] == "cancelled"
    assert time.monotonic() - before < 2.5  # it was asked to end, not killed


def test_a_job_ends_itself_when_nobody_holds_its_input() -> None:
    code = "import time; from kernbench.cli.starter import end_with_starter as end; end({'KERNBENCH_JOB': '1'}); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, env=os.environ)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(PATIENCE_S) != 0
