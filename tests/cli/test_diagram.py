"""`kernbench diagram`: files, views, sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernbench.cli.main import main


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def diagram(*arguments: object) -> int:
    return main(["diagram", *map(str, arguments)])


def test_one_file_a_view(capsys: pytest.CaptureFixture[str]) -> None:
    assert diagram("-t", "tiny") == 0
    paths = [Path("results", "tiny-diagram", f"{name}.svg") for name in ("system", "sip", "cube", "pe")]
    assert capsys.readouterr().out.splitlines() == [f"wrote {path}" for path in paths]
    assert all(path.read_text(encoding="utf-8").startswith("<svg ") for path in paths)


def test_views_by_name_and_overrides(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    given = ("-t", "tiny", "--view", "pe", "--view", "cube", "--view", "pe", "--set", "topology.noc.gbs=96", "--json")
    assert diagram(*given, "--bandwidths", "--output", out) == 0
    assert json.loads(capsys.readouterr().out) == {
        "topology": "tiny",
        "overrides": {"noc.gbs": "96"},
        "files": {"pe": str(out / "pe.svg"), "cube": str(out / "cube.svg")},
    }
    assert ">96</text>" in (out / "cube.svg").read_text(encoding="utf-8")


def test_a_network_has_one_view(capsys: pytest.CaptureFixture[str]) -> None:
    assert diagram("-t", "torus_8x8", "--out", "x") == 0
    assert capsys.readouterr().out == f"wrote {Path('x', 'system.svg')}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-t", "mesh_8x8", "--view", "cube"],
         "machine mesh_8x8 is of family 'mesh', which has no view 'cube'; it has system"),
        (["-t", "tiny", "--view", "cub"],
         "unknown view 'cub'; did you mean 'cube'? Known: all, cluster, cube, pe, sip, system"),
        (
            ["-t", "tin"],
            "unknown topology 'tin'; did you mean 'tiny'? "
            "Known: ascend_910b2, ascend_tiny, blackhole_p150, mesh_8x8, mesh_8x8_credit, sip_2x4x4, sip_2x4x4_credit, "
            "tensix_tiny, tiny, torus_8x8, torus_8x8_credit, tpu_v6e and 1 more",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_leaves_no_files(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert diagram(*arguments) == 2
    assert capsys.readouterr().err == f"error: {sentence}\n"
    assert list(Path().iterdir()) == []
