from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from kernbench import library
from kernbench.errors import InputError
from kernbench.frontends.request import noted_digests, plan_repetition, repeat
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
        repeat("gemm", "tiny", "hybrid", settings)
