from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.errors import InputError
from kernbench.runs.request import file_of_bench, plan_repetition, repeat_bench
from kernbench.runs.run import run_bench

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
        "bench": f"{tmp_path}/mine.py:mine",
        "topology": "tiny",
        "device": "sip:0",
        "live": False,
        "set": ["n"],
    }
    assert file_of_bench(result["request"]["bench"]) == tmp_path / "mine.py"
    arguments = plan_repetition(result).arguments
    assert arguments[:6] == ["run", f"{tmp_path}/mine.py:mine", "--topology", "tiny", "--mode", "hybrid"]
    assert arguments[6:] == ["--set", "n=128", "--set", "topology.noc.gbs=512 GB/s", "--device", "sip:0"]


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
        ([("--out", 1)], "it sets --out to 1"),
        ([("M", [1])], r"it sets M to \[1\]"),
    ],
)
def test_settings_that_no_command_line_can_say(settings: list[tuple[str, object]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        repeat_bench("gemm", "tiny", "hybrid", settings)
