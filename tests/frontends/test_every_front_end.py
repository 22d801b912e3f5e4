"""Every front-end of the registry through every service of the command line and the viewer.

A front-end that a service does not apply to refuses it in the sentence that is here.
"""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import polars
import pytest
from click.shell_completion import ShellComplete

from kernbench.cli.main import COMPLETION, kernbench, main
from kernbench.errors import InputError
from kernbench.frontends.benches import CODE
from kernbench.frontends.registry import FRONT_ENDS, find, find_front_end
from kernbench.frontends.request import plan_repetition
from kernbench.frontends.run import run_bench
from kernbench.runs.explained_files import check_same
from kernbench.web.server import make_server
from kernbench.web.sources import Sources
from tests.pto.graphs import random_graph
from tests.tanto.support import COPY_IN, COPY_OUT, buffer, kernel, pipe
from tests.trace.decoded import decode
from tests.workloads.configs import decoder

Capture = pytest.CaptureFixture[str]

SMALL = {"description": "a small Llama", "source": "made up", "config": decoder("llama", "64/2/4/2/16/128/256")}
NO_PROGRAM = (
    "'uniform' is a pattern of traffic, without a program to run; kernbench probe --pattern uniform sends it, "
    "and kernbench sweep uniform varies it"
)
TRITON = """
import numpy as np
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)

def go():
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    add[(2,)](x, y, 64, BLOCK=32)

def again():
    go()
    go()
"""


@dataclass(frozen=True)
class Case:
    """A program of a front-end on a small machine, and what the services refuse of it."""

    program: str
    machine: str
    sets: tuple[str, ...]  # of a run
    varied: str  # two values of one thing, for a sweep
    typed: str = ""  # what is completed to the program; a file completes as any file
    kind: str = ""  # what `kernbench list` takes
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        """What is set, as arguments."""
        return ["-t", self.machine, *(part for one in self.sets for part in ("--set", one))]


CASES = {
    "bench": Case("gemm-single-pe", "tiny", ("M=32", "K=32"), "M=16,32", "gemm-s", "bench"),
    "tanto-bench": Case(
        "tanto-unary", "tensix_tiny", ("cores=1", "tiles=1", "frame=1"), "tiles=1,2", "tanto-un", "bench"
    ),
    "tanto-program": Case(
        "p.json", "tensix_tiny", ("kernels=kernels",), "program=p.json,q.json", kind="tanto-program",
        refused={"listed": "a Tanto program is a file (.json) without a name to list; kernbench show FILE shows one"},
    ),
    "task-graph": Case("vector_example", "ascend_tiny", ("case=Small", "rows=4"), "rows=4,8", "vector_e", "pto"),
    "measured-graph": Case(
        "g.json", "ascend_tiny", (), "topology.pto_runtime.aicpu_threads=2,3", kind="measured-graph",
        refused={"listed": "a measured graph is a file (.json) without a name to list; kernbench show FILE shows one"},
    ),
    "triton-file": Case(
        "k.py", "tiny", ("call=go",), "call=go,again", kind="triton-file",
        refused={"listed": "a Triton file is a file (.py) without a name to list; kernbench show FILE shows one"},
    ),
    "triton-kernel": Case(
        "k.py:add", "tiny", ("grid=cdiv(n, BLOCK)", "x_ptr=f16[n]", "y_ptr=f16[n]:zeros", "n=64", "BLOCK=32"), "BLOCK=16,32",
        typed="k.py:", kind="triton-kernel",
        refused={"listed": "a Triton kernel is a file (.py) without a name to list; kernbench show FILE shows one"},
    ),
    "network": Case("small", "tiny", ("batch=2", "context=9"), "batch=1,2", "smal", "network"),
    "traffic": Case(
        "uniform", "mesh_8x8", ("window=100",), "load=0.1,0.2", "unif", "pattern",
        refused=dict.fromkeys(("run", "explained", "what_if", "traced", "repeated", "pickled"), NO_PROGRAM),
    ),
}  # fmt: skip


def test_no_front_end_is_left_out() -> None:
    assert set(CASES) == set(FRONT_ENDS)
    assert all(find_front_end(case.program).name == name for name, case in CASES.items() if case.typed)


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the files of those programs that are files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels").mkdir()
    for name, text in (("in.cpp", COPY_IN), ("out.cpp", COPY_OUT)):
        (tmp_path / "kernels" / name).write_text(text)
    for name, tiles in (("p", 1), ("q", 2)):
        program = {
            "globals": [buffer(0, 2048), buffer(1, 2048)],
            "pipes": [pipe(2, 0)],
            "kernels": [
                kernel(0, "in.cpp", [{"g": 0}, {"p": 2}, tiles]),
                kernel(1, "out.cpp", [{"g": 1}, {"p": 2}, tiles]),
            ],
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(program))
    (tmp_path / "k.py").write_text(TRITON)
    (tmp_path / "benches" / "workloads").mkdir(parents=True)
    (tmp_path / "benches" / "workloads" / "small.yaml").write_text(json.dumps(SMALL))
    (tmp_path / "g.json").write_text(json.dumps(random_graph(1, 4)))
    return tmp_path


def call(*arguments: str) -> None:
    """Run a command. Errors: as it says them."""
    assert main(arguments) == 0


def listed(case: Case, capsys: Capture) -> None:
    call("list", "--kind", case.kind)
    assert case.program in capsys.readouterr().out


def shown(case: Case, capsys: Capture) -> None:
    call("show", case.program)
    out = capsys.readouterr().out
    assert find_front_end(case.program).title in out or case.kind in out
    call("show", case.program, "--json")
    assert json.loads(capsys.readouterr().out)["kind"] == case.kind


def completed(case: Case, capsys: Capture) -> None:
    found = ShellComplete(kernbench, {}, "kernbench", COMPLETION)
    command = "run" if find_front_end(case.program).runs else "sweep"
    offered = [item.value for item in found.get_completions([command], case.typed)]
    assert case.program in offered or not case.typed
    first = case.varied.partition("=")[0]
    settings = found.get_completions([command, case.program, "-t", case.machine, "--set"], first[:-1])
    assert not case.typed or f"{first}=" in [item.value for item in settings]


def run(case: Case, capsys: Capture) -> None:
    call("run", case.program, *case.words, "--json")
    assert json.loads(capsys.readouterr().out)["latency_ns"] > 0


def explained(case: Case, capsys: Capture) -> None:
    call("run", case.program, *case.words, "--explain", "--json")
    told = json.loads(capsys.readouterr().out)
    assert sum(told["explain"]["critical_path"].values()) == pytest.approx(told["latency_ns"])


def what_if(case: Case, capsys: Capture) -> None:
    call("run", case.program, *case.words, "--what-if", "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["what_if"]


def traced(case: Case, capsys: Capture) -> None:
    call("run", case.program, *case.words, "--trace", "t.pftrace")
    assert decode(Path("t.pftrace")).slices


def swept(case: Case, capsys: Capture) -> None:
    settings = [one for one in case.sets if one.partition("=")[0] != case.varied.partition("=")[0]]
    given = [part for one in (*settings, case.varied) for part in ("--set", one)]
    call("sweep", case.program, "-t", case.machine, *given, "--workers", "1", "--out", "swept")
    table = polars.read_parquet("swept/table.parquet")
    assert table["status"].to_list() == ["ok", "ok"]


def repeated(case: Case, capsys: Capture) -> None:
    call("run", case.program, *case.words, "--out", "kept")
    plan = plan_repetition(json.loads(Path("kept/result.json").read_text()))
    call(*plan.arguments, "--out", "again")
    check_same(Path("kept"), Path("again"))


def pickled(case: Case, capsys: Capture) -> None:
    if not find_front_end(case.program).runs:
        run(case, capsys)
    given = dict(one.split("=", 1) for one in case.sets)
    result = run_bench(case.program, topology=case.machine, parameters=given)
    found = pickle.loads(pickle.dumps(result))
    assert (type(found), found.to_dict()) == (type(result), result.to_dict())
    with pytest.raises(InputError, match="this result was pickled, which keeps its figures alone"):
        found.explain()


def opened(case: Case, capsys: Capture) -> None:
    if find_front_end(case.program).runs:
        call("run", case.program, *case.words, "--out", "seen")
        path, figure = "run/seen/about", "latency_ns"
    else:
        swept(case, capsys)
        path, figure = "sweep/seen/state", "rows"
        Path("swept").rename("seen")
    for address in serve(Path("seen")):
        with urlopen(f"{address}api/{quote(path)}") as answer:
            assert json.load(answer)[figure]


def serve(folder: Path) -> Iterator[str]:
    with make_server(Sources([str(folder)])) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


SERVICES: dict[str, Callable[[Case, Capture], None]] = {
    one.__name__: one
    for one in (listed, shown, completed, run, explained, what_if, traced, swept, repeated, pickled, opened)
}


@pytest.mark.slow
@pytest.mark.parametrize(("front_end", "service"), list(product(FRONT_ENDS, SERVICES)))
def test_every_front_end_goes_through_every_service(front_end: str, service: str, capsys: Capture) -> None:
    case = CASES[front_end]
    said = case.refused.get(service)
    if said is None:
        SERVICES[service](case, capsys)
        return
    with pytest.raises(AssertionError):
        SERVICES[service](case, capsys)
    captured = capsys.readouterr()
    assert (captured.out, captured.err.splitlines()[-1]) == ("", f"error: {said}")
    assert not [path for path in Path().iterdir() if path.name in ("kept", "t.pftrace")]


OPTIONS = {"live": ["--live"], "device": ["--device", "sip:0"], "op_limit": ["--op-limit", "100000"]}


@pytest.mark.parametrize(("front_end", "option"), list(product(FRONT_ENDS, OPTIONS)))
def test_options_that_mean_nothing_are_refused(front_end: str, option: str, capsys: Capture) -> None:
    case, record = CASES[front_end], FRONT_ENDS[front_end]
    if option in record.options:
        call("run", case.program, *case.words, *OPTIONS[option])
        return
    assert main(["run", case.program, *case.words, *OPTIONS[option]]) == 2
    name = OPTIONS[option][0]
    said = f"error: {name} is for benches whose kernels run on PEs; a {record.title} takes none"
    assert capsys.readouterr().err.splitlines()[-1] == said


def test_python_files_are_code_to_the_viewer() -> None:
    for case in (CASES[name] for name in FRONT_ENDS if ".py" in CASES[name].program):
        files = find_front_end(case.program).files_of(case.program, {})
        assert files == [(CODE, Path(case.program.partition(":")[0]))], (
            "else a viewer would run what it was sent as it reads data"
        )


@pytest.mark.slow
def test_a_bench_on_pes_is_one_whatever_its_name(desk: Path, capsys: Capture) -> None:
    shipped = find("gemm-single-pe").files[0].read_text(encoding="utf-8")
    (desk / "benches" / "like.py").write_text(shipped.replace("gemm-single-pe", "tanto-like"))
    assert find("tanto-like").front_end == "bench"
    call("run", "tanto-like", "-t", "tiny", "--json")
    assert json.loads(capsys.readouterr().out)["latency_ns"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "now"),
    [
        (
            "pto run vector_example --case Small --set rows=4 -t ascend_tiny",
            "run vector_example --set rows=4 -t ascend_tiny --set case=Small",
        ),
        (
            "pto replay g.json --set pto_runtime.aicpu_threads=3",
            "run g.json --set topology.pto_runtime.aicpu_threads=3",
        ),
        (
            "pto sweep vector_example -t ascend_tiny --set case=Small --set rows=4 --dry-run",
            "sweep vector_example -t ascend_tiny --set case=Small --set rows=4 --dry-run",
        ),
        (
            "tanto run p.json --kernels kernels -t tensix_tiny --no-data",
            "run p.json -t tensix_tiny --no-data --set kernels=kernels",
        ),
        ("tanto check kernels/in.cpp -D T=float32", "check kernels/in.cpp -D T=float32"),
    ],
)
def test_an_earlier_command_runs_with_a_hint(words: str, now: str, capsys: Capture) -> None:
    call(*words.split())
    was = " ".join(words.split()[:2])
    captured = capsys.readouterr()
    assert f"hint: kernbench {was} is kernbench {now} now" in captured.err.splitlines()
    assert captured.out
