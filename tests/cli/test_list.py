"""`kernbench list` with files of the user."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernbench.cli.main import main

BENCH = '''
from kernbench.runs.bench import bench

print("being loaded")


@bench("add-one", "Adds [one] to a vector")
def run(torch, *, n=512, dtype="f16"):
    """Never run here."""
'''


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a bench, and nothing shipped."""
    (tmp_path / "benches").mkdir()
    (tmp_path / "benches" / "own.py").write_text(BENCH)
    (tmp_path / "topology").mkdir()
    (tmp_path / "topology" / "mine.yaml").write_text("family: sip\ndescription: My machine\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kernbench.library.shipped", lambda: tmp_path / "nothing")
    return tmp_path


def test_the_table_has_index_name_purpose_and_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "   bench    what it does            parameters with their defaults",
        "0  add-one  Adds [one] to a vector  n=512 dtype=f16",
        "",
        "machine  what it is",
        "mine     My machine, family sip",
    ]


def test_json_is_one_object(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "benches": [
            {
                "name": "add-one",
                "description": "Adds [one] to a vector",
                "parameters": {"n": 512, "dtype": "f16"},
                "choices": {},
                "file": str(own / "benches" / "own.py"),
                "live": False,
            }
        ],
        "tanto": [],
        "networks": [],
        "topologies": [
            {"name": "mine", "description": "My machine, family sip", "file": str(own / "topology" / "mine.yaml")}
        ],
        "sweeps": [],
        "pto": [],
    }


def test_a_bench_file_that_does_not_load_is_skipped_with_a_warning(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("warnings.filters", [])
    (own / "benches" / "broken.py").write_text("import nowhere(\n")
    assert main(["list"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[1] == "0  add-one  Adds [one] to a vector  n=512 dtype=f16"
    assert captured.err.splitlines()[-1] == (
        "warning: skipped: benches/broken.py:1: SyntaxError: invalid syntax; the bench file does not load"
    )


def test_what_stands_in_for_something_shipped_says_so(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = own / "nothing"
    for kind in ("benches", "topology", "sweeps"):
        (shipped / kind).mkdir(parents=True)
    (shipped / "benches" / "other.py").write_text(BENCH.replace("add-one", "add-two"))
    (shipped / "benches" / "own.py").write_text(BENCH + "# as it was\n")
    (shipped / "topology" / "mine.yaml").write_text("family: sip\n")
    (shipped / "topology" / "theirs.yaml").write_text("family: sip\n")
    assert main(["list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "   bench    what it does                                                          parameters with their defaults",
        "0  add-one  Adds [one] to a vector (benches/own.py, in place of the shipped one)  n=512 dtype=f16",
        "1  add-two  Adds [one] to a vector                                                n=512 dtype=f16",
        "",
        "machine  what it is",
        "mine     My machine, family sip (topology/mine.yaml, in place of the shipped one)",
        "theirs   family sip",
    ]


def test_benches_of_tanto_programs_have_a_table(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = own / "benches" / "tanto"
    folder.mkdir()
    (folder / "mine.py").write_text(
        BENCH.replace('"add-one", "Adds [one] to a vector"', '"tanto-mine", "Adds [one] to a vector", system="tanto"')
    )
    assert main(["list"]) == 0
    assert capsys.readouterr().out.splitlines()[3:5] == [
        "Tanto bench  what it does            parameters with their defaults",
        "tanto-mine   Adds [one] to a vector  n=512 dtype=f16",
    ]
    assert main(["list", "--json"]) == 0
    assert [bench["name"] for bench in json.loads(capsys.readouterr().out)["tanto"]] == ["tanto-mine"]


def test_a_broken_file_of_any_kind_is_named_and_the_rest_is_listed(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("warnings.filters", [])
    (own / "topology" / "broken.yaml").write_text("family: [\n")
    (own / "sweeps").mkdir()
    (own / "sweeps" / "broken.yaml").write_text("- 1\n")
    (own / "sweeps" / "good.yaml").write_text("bench: add-one\ndescription: Ones\n")
    assert main(["list"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1] == "good   Ones"
    assert [line.partition(": not YAML")[0] for line in captured.err.splitlines() if line.startswith("warning")] == [
        "warning: skipped: topology/broken.yaml:2:1",
        "warning: skipped: sweeps/broken.yaml:1:1: expected a mapping",
    ]


def test_words_and_kinds_filter(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own / "models").mkdir()
    (own / "models" / "fast.yaml").write_text("kind: hbm\ndescription: A fast vector memory\n")
    assert main(["list", "Vector"]) == 0
    assert capsys.readouterr().out.splitlines()[3:] == ["model sheet  what it is", "fast         A fast vector memory"]
    assert main(["list", "--kind", "machine"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["mine     My machine, family sip"]
    assert main(["list", "vector", "nowhere"]) == 0
    assert capsys.readouterr().err == "nothing has 'vector' and 'nowhere' in its name, kind or description\n"
