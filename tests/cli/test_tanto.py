"""`kernbench run` of Tanto programs, `kernbench check`: JSON lines, buffers, sentences and exit codes."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from kernbench.cli.main import main
from kernbench.errors import InputError
from kernbench.frontends.request import plan_repetition
from kernbench.runs.explained_files import add_explanation, check_same
from kernbench.web.run_view import RunView
from kernbench.web.sources import RunSource, Sources
from kernels_jit.compile import progress
from tests.tanto.support import COPY_IN, COPY_OUT, buffer, kernel, pipe
from tests.trace.decoded import decode

KEYS = ["program", "latency_ns", "cycles", "cores", "status", "races", "out_of_range", "l1_peak_bytes"]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "in.cpp").write_text(COPY_IN)
    (tmp_path / "kernels" / "out.cpp").write_text(COPY_OUT)
    program = copy_program(0, 1)
    (tmp_path / "p.json").write_text(json.dumps(program))
    (tmp_path / "q.json").write_text(json.dumps(copy_program(1, 5)))
    np.save(tmp_path / "x.npy", np.arange(2048, dtype=np.float32) / 64)


def copy_program(source: int, target: int) -> dict[str, Any]:
    return {
        "globals": [buffer(source, 2048), buffer(target, 2048)],
        "pipes": [pipe(2, 0)],
        "kernels": [
            kernel(0, "in.cpp", [{"g": source}, {"p": 2}, 2]),
            kernel(1, "out.cpp", [{"g": target}, {"p": 2}, 2]),
        ],
    }


def tanto(*arguments: str) -> int:
    return main(["run", "--set", "kernels=kernels", "-t", "tensix_tiny", *arguments])


def test_a_first_run_says_what_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_listener", None)
    assert tanto("p.json") == 0
    assert progress._listener is not None


def test_programs_run_in_turn_on_one_device(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert tanto("p.json", "q.json", "--set", "inputs=0=x.npy", "--out", "o", "--json") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(line.keys() >= set(KEYS) for line in lines)
    assert [line["program"] for line in lines] == ["p.json", "q.json"]
    assert lines[0]["status"] == "ok"
    assert lines[0]["cores"] == 1
    assert lines[0]["l1_peak_bytes"] == 2 * 2048
    assert lines[0]["latency_ns"] == pytest.approx(lines[0]["cycles"])
    expected = np.load("x.npy").view(np.uint32) & 0xFFFF0000
    for name in ("p/g1.npy", "q/g5.npy", "g0.npy", "g1.npy", "g5.npy"):
        assert np.array_equal(np.load(tmp_path / "o" / name).view(np.uint32), expected)


def test_a_program_leaves_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        tanto(
            "p.json", "--set", "inputs=0=x.npy", "--trace", "p.pftrace", "--trace-filter", "part=worker[1][1]", "--json"
        )
        == 0
    )
    capsys.readouterr()
    found = decode(Path("p.pftrace"))
    assert {names[0] for names in found.tracks.values()} >= {"run", "worker[1][1]"}
    assert [one for one in found.slices if one.category == "memory"]
    assert tanto("p.json", "q.json", "--trace", "p.pftrace") == 2
    assert capsys.readouterr().err == "error: --trace takes one program, and 2 were given; run them one by one\n"


def test_bytes_and_kernel_maps(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.bin").write_bytes(np.arange(2048, dtype=np.uint16).tobytes())
    Path("other.cpp").write_text("param<uint32> scale;\n" + COPY_IN.replace("i * 1024,", "i * scale,"))
    Path("kernels/other.cpp").write_text(Path("other.cpp").read_text())
    Path("map.json").write_text('{"in.cpp": {"src": "other.cpp", "params": [1024]}}')
    assert tanto("p.json", "--set", "kernel_map=map.json", "--set", "inputs=0=x.bin", "--out", "o") == 0
    title, *lines = capsys.readouterr().out.splitlines()
    assert title.startswith("p.json on tensix_tiny, hybrid mode  kernels=kernels")
    assert [line.split("  ")[0] for line in lines][:4] == ["latency", "", "cores", "L1"]
    assert lines[0].split()[-1] == "run"
    assert np.load("o/g1.npy").view(np.uint32)[5] == 5 << 16


def test_a_program_leaves_a_run_beside_its_buffers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert (
        tanto(
            "p.json",
            "--set",
            "inputs=0=x.npy",
            "--out",
            "o",
            "--set",
            "topology.tensix_noc.hop_ns=9",
            "--set",
            "defines=A=1",
            "--json",
        )
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    view = RunView(RunSource("o", tmp_path / "o"))
    about = view.about()
    assert about["missing"] == {}
    assert (about["bench"], about["latency_ns"], about["program"]) == ("p.json", told["latency_ns"], "p.json")
    assert "worker[1][1].reader" in polars.read_ipc(io.BytesIO(view.arrow("tracks")))["name"].to_list()
    repeated = plan_repetition(about)
    assert repeated.arguments[:2] == ["run", str(tmp_path / "p.json")]
    assert f"kernels={tmp_path}/kernels" in repeated.arguments
    assert [file.name for _, file in repeated.files] == ["p.json", "kernels", "x.npy"]
    assert main([*repeated.arguments, "--explain", "--out", "again"]) == 0
    check_same(Path("o"), Path("again"))
    add_explanation(Path("o"), Path("again"))
    assert view.about()["explain"]["what_if"]["alternatives"]


def test_each_of_several_programs_leaves_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert tanto("p.json", "q.json", "--what-if", "--no-data", "--out", "o") == 0
    assert capsys.readouterr().out.count("what if a field of the topology were twice as fast") == 2
    runs = Sources(["o"]).list()
    assert list(runs) == ["p", "q"]
    for name, run in runs.items():
        assert isinstance(run, RunSource)
        about = RunView(run).about()
        assert (about["bench"], about["missing"]) == (f"{name}.json", {})
        assert about["what_if"]["alternatives"][0]["change"] < 0
        with pytest.raises(InputError, match="it is one of several programs that ran in turn on one chip"):
            plan_repetition(about)


def test_programs_of_one_name_leave_their_own_runs(tmp_path: Path) -> None:
    Path("deeper").mkdir()
    for folder, name in ((".", "p-2"), ("deeper", "p")):
        Path(folder, f"{name}.json").write_text(json.dumps(copy_program(0, 5)))
    given = ("p.json", "p-2.json", "deeper/p.json", "p.json")
    assert tanto(*given, "--set", "inputs=0=x.npy", "--out", "o") == 0
    programs = [RunView(RunSource(name, tmp_path / "o" / name)).about()["bench"] for name in ("p", "p-2", "p-3", "p-4")]
    assert programs == ["p.json", "p-2.json", "deeper/p.json", "p.json"]


def test_a_buffer_that_no_program_has_is_refused_before_any_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert tanto("p.json", "q.json", "--set", "inputs=7=x.npy", "--out", "o") == 2
    assert capsys.readouterr().err == "error: inputs 7=x.npy: no program has global 7; they have [0, 1, 5]\n"
    assert not Path("o").exists()
    assert tanto("p.json", "gone.json", "--set", "inputs=0=x.npy", "--out", "o") == 2
    assert "gone.json" in capsys.readouterr().err
    assert Path("o/p/g1.npy").is_file()


def test_explain_and_the_op_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert tanto("p.json", "--explain", "--out", "o") == 0
    out = capsys.readouterr().out
    assert "critical path" in out
    assert "roofline" not in out
    assert Path("o/oplog.parquet").is_file()


BENCH = """
from kernbench import bench
from kernbench.tanto.api import *

@bench("careless", "Forgets to wait", system="tanto")
def careless(tanto, tiles=2):
    program, grid = Program(tanto.device), Grid((0, 0, 0, 0))
    source, target = (Global(tanto.device, "bfloat16", 2048) for _ in range(2))
    pipe = Pipe(program, grid, INPUT, "bfloat16", 2, 1)
    for role, name, buffer in ((READER, "in.cpp", source), (WRITER, "out.cpp", target)):
        Kernel(program, grid, role, name).set_args(grid, [buffer, pipe, tiles])
    tanto.launch(program)
"""


@pytest.mark.parametrize("tiles", [2, 3])
def test_a_bench_tells_of_its_program_what_the_program_file_tells(
    capsys: pytest.CaptureFixture[str], tiles: int
) -> None:
    """Races and warnings are told by both commands in the same words; of a deadlock (tiles that nobody pushes), too."""
    Path("kernels/in.cpp").write_text(COPY_IN.replace("read_barrier();", "").replace("tiles;", "2;"))
    Path("kernels/out.cpp").write_text(COPY_OUT.replace("from.wait_front();", "if (i > 0) from.wait_front();"))
    Path("careless.py").write_text(BENCH)
    program = copy_program(0, 1)
    program["kernels"][1]["args"]["0,0"][2] = tiles
    Path("p.json").write_text(json.dumps(program))

    def told(*arguments: str) -> list[str]:
        main([*arguments, "-t", "tensix_tiny"])
        out, err = capsys.readouterr()
        lines = (out + err).replace("error: ", "").splitlines()
        return sorted(re.sub(r"\S*/kernels/", "", line) for line in lines if ".cpp:" in line)

    found = told("run", "p.json", "--set", "kernels=kernels")
    assert found
    assert all("race on core 0,0" in line or "warning: " in line or tiles == 3 for line in found)
    assert told("run", "careless.py", "--set", f"tiles={tiles}") == found


def test_a_deadlock_is_told_and_the_next_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    stuck = copy_program(0, 1)
    stuck["kernels"][1]["args"]["0,0"][2] = 3
    Path("stuck.json").write_text(json.dumps(stuck))
    assert tanto("stuck.json", "p.json", "--json", "--out", "o") == 2
    out, err = capsys.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["status"] for line in lines] == ["deadlock", "ok"]
    assert lines[0]["latency_ns"] is None
    assert "out.cpp:4:9: writer kernel on core 0,0 waits for 1 tiles of pipe 2 (0 are there)" in err
    assert not Path("o/stuck").exists()


def edited(**changes: Any) -> dict[str, Any]:
    return copy_program(0, 1) | changes


@pytest.mark.parametrize(
    ("program", "arguments", "message"),
    [
        (edited(pipez=[]), [], "bad.json: pipez: unknown field; did you mean 'pipes'?"),
        ({"globals": []}, [], "bad.json: kernels: missing; add it"),
        (edited(pipes=[{"id": 2, "kind": 0, "fmt": "bfloat16", "ranges": []}]), [], "pipes.0.tiles: missing; add it"),
        (edited(pipes=[{**pipe(2, 0), "kind": 7}]), [], "pipes.0.kind: got 7"),
        ([1], [], "a program file is an object with kernels, pipes and so on"),
        (edited(), ["--set", "inputs=7=x.npy"], "inputs 7=x.npy: the program has no global 7; it has [0, 1]"),
        (edited(), ["--set", "inputs=x.npy"], "inputs x.npy: expected ID=FILE with the number of a global buffer"),
        (edited(), ["--set", "inputs=0=x.npy,0=x.npy"], "inputs 0=x.npy: global 0 is given twice"),
        (
            edited(),
            ["--set", "kernel_map=map.json"],
            "no kernel file 'gone.cpp' in kernels, which the kernel map gives for 'in.cpp'",
        ),
        (edited(), ["--set", "inputs=0=none.npy"], "none.npy: cannot be read"),
        (edited(), ["--set", "inputs=0=p.json"], "p.json: is no .npy file of numbers"),
        (edited(), ["--set", "inputs=0=short.npy"], "global 0 has 2,048 elements; got 3"),
        (edited(), ["-t", "mesh_8x8"], "machine mesh_8x8 is of family 'mesh'; Tanto programs run on family 'tensix'"),
        (edited(), ["--set", "defines=3=4"], "defines 3=4: expected NAME=TEXT"),
        (edited(), ["--set", "kernel_map=none.json"], "none.json: a kernel map cannot be read"),
        (edited(), ["--set", "topology.tensix_core.speed=2"], "unknown topology field 'tensix_core.speed'"),
    ],
)
def test_bad_input_is_one_sentence(
    capsys: pytest.CaptureFixture[str], program: Any, arguments: list[str], message: str
) -> None:
    np.save("short.npy", np.zeros(3))
    Path("map.json").write_text('{"in.cpp": "gone.cpp"}')
    Path("bad.json").write_text(json.dumps(program))
    assert tanto("bad.json", "--out", "o", *arguments) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert err.startswith("error: ")
    assert out == ""
    assert not Path("o").exists()


def test_files_that_are_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.json").write_text("{")
    assert tanto("bad.json") == 2
    assert "bad.json: a program file is no JSON" in capsys.readouterr().err


def test_check_says_what_kernels_use_and_may_race_on(capsys: pytest.CaptureFixture[str]) -> None:
    Path("kernels/early.cpp").write_text(COPY_IN.replace("read_barrier();", ""))
    assert main(["check", "kernels", "--json"]) == 0
    found = {Path(one["file"]).name: one for one in json.loads(capsys.readouterr().out)["kernels"]}
    assert found["in.cpp"]["uses"] == ["pipe.push_back", "pipe.read", "pipe.reserve_back", "read_barrier"]
    assert found["in.cpp"]["l1"] == ["into: pipe<bfloat16>"]
    assert found["in.cpp"]["may_race"] == []
    assert found["early.cpp"]["may_race"] == [
        "kernels/early.cpp:7:14: into is pushed, and the file has no read_barrier"
    ]
    Path("kernels/early.cpp").write_text(COPY_IN.replace("into.reserve_back();", "").replace("read_barrier();", ""))
    Path("kernels/late.cpp").write_text(COPY_OUT.replace("from.wait_front();", ""))
    assert main(["check", "kernels/early.cpp", "kernels/late.cpp", "p.json"]) == 0
    out = capsys.readouterr().out
    assert "kernels/early.cpp:7:14: into is pushed, and the file has no reserve_back of it" in out
    assert "kernels/early.cpp:5:14: into is read into, and the file has no reserve_back of it" in out
    assert "kernels/late.cpp:7:14: from is popped, and the file has no wait_front of it" in out
    assert "kernels/late.cpp:5:14: from is written from, and the file has no wait_front of it" in out
    assert "p.json: 4,096 B of L1 at most, of one core" in out
    assert "L1: pipe 2 4,096 B" in out
    Path("kernels/late.cpp").unlink()
    Path("kernels/bad.cpp").write_text("void kernel() { x; }")
    assert main(["check", "kernels"]) == 2
    out, err = capsys.readouterr()
    assert "good: 3 kernel files; not good: 1 file" in out
    assert "kernels/bad.cpp:1:17: unknown name 'x'" in err
    Path("kernels/k.py").write_text("def kernel(): pass")
    assert main(["check", "kernels/k.py"]) == 2
    assert "kernels/k.py: is a kernel in Python, which shows its mistakes when it runs" in capsys.readouterr().err
    assert main(["check", "nowhere"]) == 2
