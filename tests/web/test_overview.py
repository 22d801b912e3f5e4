"""What the start page is told of sources, also of those that cannot be shown."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kernbench.web.overview import Overview
from kernbench.web.sources import MachineSource, Sources
from tests.web.runs import NOC_GBS, write_run
from tests.web.sweeps import write_sweep


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "ran")


def test_a_run_a_sweep_and_a_machine_are_told(ran: Path, tmp_path: Path) -> None:
    swept = write_sweep(tmp_path / "swept")
    overview = Overview()
    run, sweep, machine = (overview.tell(source) for source in Sources([str(ran), str(swept), "tiny"]).list().values())
    latency_ns = json.loads((ran / "result.json").read_text())["latency_ns"]
    assert run == {
        "text": f"gemm-single-pe on tiny · M=32 · K=64 · N=32 · noc.gbs={NOC_GBS} GB/s",
        "figure": f"{latency_ns:,.1f} ns",
        "wrong": False,
        "changed": (ran / "result.json").stat().st_mtime_ns // 1_000_000,
    }
    assert (sweep["text"], sweep["figure"], sweep["wrong"]) == ("gemm on tiny", "12", False)
    assert machine["text"].startswith("One package of 2 x 1 cubes")
    assert machine["changed"] is None


def test_what_cannot_be_read_is_told_by_the_reason_until_it_can(ran: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(ran, tmp_path / "ran")
    (source,) = Sources([str(directory)]).list().values()
    overview, result = Overview(), directory / "result.json"
    for text, reason in [
        ("{", "result.json cannot be read: Expecting property name"),
        ("[]", "result.json cannot be read: it is no object"),
        ("[" * 100_000, "result.json cannot be read: maximum recursion depth"),
        ('{"sha256": "0"}', "result.json"),
    ]:
        result.write_text(text)
        told = overview.tell(source)
        assert told["wrong"], text[:20]
        assert told["text"].startswith(reason)
    result.write_text('{"bench": "<b>", "latency_ns": 1e300, "parameters": [], "overrides": 3, "request": "all"}')
    assert {name: overview.tell(source)[name] for name in ("text", "figure", "wrong")} == {
        "text": "<b>",
        "figure": "",
        "wrong": False,
    }
    result.unlink()
    assert "No such file" in overview.tell(source)["text"]


def test_the_one_source_that_was_given_is_opened(ran: Path, tmp_path: Path) -> None:
    assert isinstance(Sources(["tiny"]).only, MachineSource)
    write_sweep(tmp_path / "a")
    write_sweep(tmp_path / "b")
    assert Sources([str(tmp_path)]).only is None
    assert Sources([str(ran), "tiny"]).only is None
