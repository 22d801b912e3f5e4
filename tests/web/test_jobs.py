"""Jobs over the server: what starts, how it is told, cancelled and ended, and who may ask for it."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars
import pytest

from kernbench import library
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
    assert job["command"] == "kernbench run gemm-single-pe --topology tiny --mode hybrid --set M=32 --explain"
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
            "kernbench run vector_example --topology tiny --mode hybrid --set rows=8 --set case=Small "
            "--set topology.aic.clock_ghz=2.0 --no-data --explain",
        ),
        (
            "a.json",
            {"program": ["b.json"], "kernels": [""], "inputs": ["0=x.npy, 1=y.bin"], "defines": ["T=int8"]},
            "kernbench run HERE/a.json --topology tiny --mode hybrid --set program=HERE/b.json "
            "--set inputs=0=HERE/x.npy,1=HERE/y.bin --set defines=T=int8 --no-data --explain",
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
        ({"request": {}, "parameters": {"M --out x": 1}}, "the run cannot be repeated: it sets M --out x to 1"),
        ({"request": {"bench": "--help", "topology": "tiny"}}, "its program is '--help', which is no name"),
        ({"request": {"command": "sweep"}}, "it was made by 'sweep', which is no command here"),
        ({"request": TANTO | {"kernels": "/etc"}}, "its kernels is /etc, and the viewer reads no file outside"),
        ({"request": TANTO | {"kernels": "-D"}}, "its kernels is '-D', which is no whole path"),
        ({"request": TANTO | {"inputs": ["0=/etc/passwd"]}}, "its buffer is /etc/passwd, and the viewer reads no file"),
        ({"request": TANTO | {"programs": ["/a", "/b"]}}, "it is one of several programs that ran in turn on one chip"),
        ({"request": TANTO | {"defines": "T=int8"}}, "its defines are 'T=int8', which are no texts"),
        ({"request": TANTO | {"rounding": "--out"}}, "its rounding is '--out', which is no name"),
        (
            {"request": {"command": "pto run", "bench": "/etc/evil.py"}},
            "its bench is /etc/evil.py, and the viewer runs code of ",
        ),
        ({"request": {"command": "pto replay", "graph": "g.json"}}, "its graph is 'g.json', which is no whole path"),
        (
            {"request": {"bench": "/etc/evil.py", "topology": "tiny"}},
            "/benches and models alone; if you trust it, start the viewer with --code /etc",
        ),
        (
            {"request": {"bench": "gemm-single-pe", "topology": "../../x.yaml"}},
            "its machine is ../../x.yaml, and the viewer",
        ),
        (
            {"request": {"bench": "results/sent/b.py", "topology": "tiny"}},
            "its bench is results/sent/b.py, and the viewer",
        ),
        (
            {"request": {"bench": "benches/../b.py:x", "topology": "tiny"}},
            "its bench is benches/../b.py, and the viewer",
        ),
        (
            {"request": {"command": "pto run", "bench": "topology"}},
            "its bench is topology, and the viewer runs code of",
        ),
        (
            {"request": {}, "overrides": {"parts.pe_gemm": "/etc/x.yaml"}},
            "its sheet of pe_gemm is /etc/x.yaml, and the viewer",
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


MARKS = "from pathlib import Path\nPath(r'{}').touch()\n"  # a text that leaves a mark when it is run


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a bench, `mine`, a model sheet with a class, and results that somebody sent."""
    write_run(tmp_path / "simulated")  # before there is a bench here
    monkeypatch.chdir(tmp_path)
    for name in ("benches", "models", "results/sent"):
        (tmp_path / name).mkdir(parents=True)
    shipped = library.shipped() / "benches" / "gemm_single_pe.py"
    own = shipped.read_text(encoding="utf-8").replace("gemm-single-pe", "mine")
    (tmp_path / "benches" / "mine.py").write_text(MARKS.format(tmp_path / "own") + own.partition("annotations\n")[2])
    for kind in ("results/sent", "models"):
        for suffix in (".yaml", ".py"):
            text = (library.shipped() / "models" / f"systolic{suffix}").read_text(encoding="utf-8")
            mark = MARKS.format(tmp_path / "ran") if suffix == ".py" and kind != "models" else ""
            (tmp_path / kind / f"array{suffix}").write_text(
                text.replace("from __future__ import annotations\n", "") + mark
            )
    (tmp_path / "results" / "sent" / "evil.py").write_text(MARKS.format(tmp_path / "ran"))
    return tmp_path


@contextmanager
def serve_sent(desk: Path, told: dict[str, object], code: Sequence[Path] = ()) -> Generator[Client]:
    """A viewer of results/ with a run there that says so, whose jobs are those of this installation."""
    write_run(desk / "results" / "run", told)
    sources = Sources()
    with make_server(sources, 0, RunJobs(sources, code=code)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Client(server.server_port, desk)
        finally:
            server.shutdown()
            thread.join()


def code_of(*files: Path) -> dict[str, str]:
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.mark.parametrize(
    "told",
    [
        {"overrides": {"parts.pe_gemm": "results/sent/array.yaml"}},
        {"overrides": {"parts.pe_gemm": "models/../results/sent/array.yaml"}},
        {"overrides": {"parts.pe_gemm": "models/linked.yaml"}},
        {"request": {"bench": "results/sent/evil.py", "topology": "tiny"}},
        {"request": {"bench": "benches/linked.py", "topology": "tiny"}},
        {"request": {"bench": "linked", "topology": "tiny"}},
        {"request": {"bench": "gemm-single-pe", "topology": "machine.yaml"}},
        {"request": {"command": "pto run", "bench": "results/sent/evil.py"}},
        {
            "request": TANTO
            | {"programs": ["HERE/program.json"], "kernels": "HERE/results/sent", "topology": "tensix_tiny"}
        },
        {"request": TANTO | {"programs": ["HERE/program.json"], "kernels": "HERE", "topology": "tensix_tiny"}},
    ],
    ids=["sheet", "dots", "sheet-link", "bench", "bench-link", "name", "machine", "graph", "kernels", "kernel-path"],
)
@pytest.mark.slow
def test_a_sent_directory_runs_no_code(told: dict[str, Any], desk: Path) -> None:
    sent = desk / "results" / "sent"
    (desk / "benches" / "linked.py").symlink_to(sent / "evil.py")
    (desk / "models" / "linked.yaml").symlink_to(sent / "array.yaml")
    machine = (library.shipped() / "topology" / "tiny.yaml").read_text(encoding="utf-8")
    (desk / "machine.yaml").write_text(machine + "parts:\n  pe_gemm: results/sent/array.yaml\n")
    kernel = {"kind": 0, "path": "results/sent/evil.py:f", "ranges": [[0, 0, 0, 0]]}
    (desk / "program.json").write_text(json.dumps({"kernels": [kernel]}))
    told = json.loads(json.dumps(told).replace("HERE", str(desk)))
    told.setdefault("request", {"bench": "gemm-single-pe", "topology": "tiny"})
    told["request"]["code"] = code_of(*sent.glob("*.py"))  # whoever sends it can note what they like
    with serve_sent(desk, told) as client:
        status, _ = client.ask("/api/jobs/start", {"kind": "explain", "source": "run"})
        if status == 200:
            assert client.ended()["state"] == "failed"
        assert not (desk / "ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["kept", "changed", "shown", "code"])
def test_a_bench_of_the_viewers_directory_runs_as_the_run_noted_it(
    way: str, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = desk / "benches" / "mine.py"
    if way == "code":
        (desk / "mine").mkdir()
        bench = bench.rename(desk / "mine" / "mine.py")
    code = code_of(bench, desk / "models" / "array.py")
    request = {"bench": f"{bench}:mine", "topology": "tiny", "code": code}
    if way == "changed":
        bench.write_text(bench.read_text() + "\n")
    if way == "shown":  # what was sent is the viewer's own directory
        (desk / "results").rename(desk / "kept")
        (desk / "results").symlink_to(desk)
    told = {"request": request, "overrides": {"parts.pe_gemm": "array"}, "latency_ns": 1.0}
    with serve_sent(desk, told, [desk / "mine"] if way == "code" else []) as client:
        status, answer = client.ask("/api/jobs/start", {"kind": "explain", "source": "run"})
        if way == "shown":
            assert status == 422
            assert "and the viewer runs code of " in answer["error"]
        else:
            error = client.ended()["error"]
            same = "bench file benches/mine.py is not the file that the run noted; run it again with --out"
            assert error == same if way == "changed" else error.startswith("the run has another latency_ns now, ")
        assert (desk / "own").exists() == (way in ("kept", "code"))


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
