from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from kernbench import library
from kernbench.errors import InputError
from kernbench.frontends.request import noted_digests, plan_repetition, repeat_point
from kernbench.frontends.run import run_bench
from kernbench.runs.declared_benches import file_of_bench

BENCH = """
from kernbench.runs.bench import bench
import numpy as np

@bench("mine", "my own")
def mine(torch, *, n=64):
    torch.from_numpy(np.zeros(n, np.float16))
"""


def test_a_run_notes_what_it_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(BENCH, encoding="utf-8")
    result = run_bench(
        "mine.py", "tiny", parameters={"n": 128}, overrides={"noc.gbs": "512 GB/s"}, device="sip:0"
    ).to_dict()
    assert result["request"] == {
        "front_end": "bench",
        "name": f"{tmp_path}/mine.py:mine",
        "machine": "tiny",
        "settings": {"n": 128, "topology.noc.gbs": "512 GB/s"},
        "set": ["n"],
        "options": {"mode": "hybrid", "live": False, "device": "sip:0"},
        "code": {f"{tmp_path}/mine.py": hashlib.sha256(BENCH.encode()).hexdigest()},
    }
    assert file_of_bench(result["request"]["name"]) == tmp_path / "mine.py"
    arguments = plan_repetition(result).arguments
    assert arguments[:6] == ["run", f"{tmp_path}/mine.py:mine", "--topology", "tiny", "--mode", "hybrid"]
    assert arguments[6:] == ["--set", "n=128", "--set", "topology.noc.gbs=512 GB/s", "--device", "sip:0"]


def test_a_run_notes_all_code_of_the_user_and_none_that_is_shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("benches/ccl/mine.py", "models/array.yaml", "models/array.py"):
        shipped = {".yaml": "models/systolic.yaml", ".py": "models/systolic.py"}[Path(name).suffix]
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text((library.shipped() / shipped).read_text(encoding="utf-8"), encoding="utf-8")
    own = Path("benches/mine.py")
    own.write_text(f"# distributed\n{BENCH}", encoding="utf-8")
    noted = run_bench("mine", "tiny", overrides={"parts.pe_gemm": "array"}).to_dict()["request"]
    assert list(noted["code"]) == [str(tmp_path / one) for one in ("benches/ccl/mine.py", own, "models/array.py")]
    assert noted_digests(noted) == list(noted["code"].values())
    assert "code" not in run_bench("vector-add", "tiny").to_dict()["request"]


def test_an_earlier_run_is_repeated_by_its_names() -> None:
    kept = {"bench": "gemm", "topology": "tiny", "mode": "flit", "parameters": {"M": 8, "K": None}, "overrides": {}}
    assert plan_repetition(kept).arguments == ["run", "gemm", "--topology", "tiny", "--mode", "flit", "--set", "M=8"]
    assert (
        plan_repetition({**kept, "request": {"bench": "gemm", "topology": "tiny", "live": True}}).arguments[-1]
        == "--live"
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"--out": 1}, "it sets --out to 1"),
        ({"M": [1]}, r"it sets M to \[1\]"),
    ],
)
def test_settings_that_no_command_line_can_say(settings: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        repeat_point("gemm", "tiny", "hybrid", settings)


def kept(request: dict[str, object], **told: object) -> dict[str, object]:
    return {
        "bench": "b",
        "topology": "tiny",
        "mode": "hybrid",
        "parameters": {},
        "overrides": {},
        **told,
        "request": request,
    }


PROGRAM = {"front_end": "tanto-program", "name": "/a/p.json", "machine": "tensix_tiny", "settings": {}, "options": {}}
GRAPH = {**PROGRAM, "front_end": "measured-graph", "name": "/a/g.json"}


@pytest.mark.parametrize(
    ("request_", "parameters", "arguments"),
    [
        (
            {"command": "pto run", "bench": "vector_example", "topology": "ascend_tiny"},
            {"case": "Small", "runtime": "host_build_graph", "rows": 4, "seed": ""},
            "run vector_example --topology ascend_tiny --mode hybrid --set case=Small --set runtime=host_build_graph "
            "--set rows=4 --no-data",
        ),
        (
            {"command": "pto replay", "graph": "/a/g.json", "topology": "ascend_tiny"},
            {},
            "run /a/g.json --topology ascend_tiny --mode hybrid --no-data",
        ),
        (
            {
                "command": "tanto run", "programs": ["/a/p.json"], "kernels": "/k", "kernel_map": None, "rounding": "nearest",
                "topology": "tensix_tiny", "inputs": ["0=/a/x.npy"], "defines": ["T=int8", "N=2"], "numbers": True,
            },
            {},
            "run /a/p.json --topology tensix_tiny --mode hybrid --set kernels=/k --set rounding=nearest "
            "--set inputs=0=/a/x.npy --set defines=T=int8,N=2 --no-data",
        ),
    ],
)  # fmt: skip
def test_requests_of_earlier_commands_are_repeated(
    request_: dict[str, object], parameters: dict[str, object], arguments: str
) -> None:
    assert " ".join(plan_repetition(kept(request_, parameters=parameters)).arguments) == arguments


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({**GRAPH, "name": "g.json"}, "its graph is 'g.json', which is no whole path"),
        ({**PROGRAM, "name": "p.json"}, "its program is 'p.json', which is no whole path"),
        ({**PROGRAM, "settings": {"kernels": "k"}}, "its kernels is 'k', which is no whole path"),
        ({**PROGRAM, "settings": {"kernel_map": "-m"}}, "its kernel map is '-m', which is no whole path"),
        ({**PROGRAM, "settings": {"inputs": "0=/x,1=y.bin"}}, "its buffer is 'y.bin', which is no whole path"),
        ({**PROGRAM, "settings": {"rounding": "--out"}}, "its rounding is '--out', which is no name"),
        ({**PROGRAM, "settings": {"inputs": '0=a\n1="b'}}, "is no list of texts with commas between them"),
        ({**PROGRAM, "settings": {"M --out x": 1}}, "it sets M --out x to 1"),
        ({**PROGRAM, "machine": "-t"}, "its topology is '-t', which is no name"),
        ({**PROGRAM, "options": {"device": "--live"}}, "its device is '--live', which is no name"),
        ({**PROGRAM, "front_end": ["bench"]}, r"its front-end is \['bench'\], which is none here"),
        ({**PROGRAM, "settings": None}, "its request has no settings or no options"),
        ({"command": ["run"]}, r"it was made by \['run'\], which is no command here"),
        ({"command": "pto replay", "graph": "g.json"}, "its graph is 'g.json', which is no whole path"),
        ({"command": "tanto run", "programs": []}, r"its programs are \[\], which are no texts"),
        ({"command": "tanto run", "programs": ["p.json"]}, "its program is 'p.json', which is no whole path"),
        ({"command": "tanto run", "programs": ["/p.json"], "kernels": [1]}, r"it sets kernels to \[1\]"),
    ],
)
def test_hostile_requests_are_refused_in_one_sentence(request_: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        plan_repetition(kept(request_))
    assert len(str(refused.value).splitlines()) == 1


def test_files_are_those_of_the_front_end_that_runs_and_of_the_one_that_was_noted() -> None:
    lying = {**PROGRAM, "front_end": "bench", "settings": {"inputs": "0=/etc/passwd"}}
    assert ("buffer", Path("/etc/passwd")) in plan_repetition(kept(lying)).files
    assert ("graph", Path("/a/p.json")) in plan_repetition(kept({**PROGRAM, "front_end": "measured-graph"})).files


def test_numbers_below_zero_are_no_options() -> None:
    assert repeat_point("gemm", "tiny", "hybrid", {"seed": "-1", "n": -2}).arguments[-3:] == [
        "seed=-1",
        "--set",
        "n=-2",
    ]
