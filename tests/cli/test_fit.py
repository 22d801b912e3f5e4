"""`kernbench fit`."""

from __future__ import annotations

import json

import pytest

from kernbench.cli.main import main
from kernbench.machine import load_machine

DATA = "src,dst,bytes,time_ns\n" + "".join(
    f"sip0.cube0.pe0,sip0.cube1.pe0,{size},{ns}\n" for size, ns in ((64, 46), (4096, 86), (65536, 576), (131072, 1100))
)
FIELDS = ["--field", "ucie.overhead_ns", "--field", "hbm.channel_gbs"]


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(DATA)
    return tmp_path


@pytest.mark.slow
def test_the_command_says_what_it_found_and_writes_the_machine(data, capsys):
    assert main(["fit", "tiny", "data.csv", *FIELDS, "--out", "fitted.yaml"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("tiny fitted to 4 points of data.csv, ")
    for text in ("figure ", "hbm.channel_gbs ", "held out", "the 5 rows that are furthest off", "wrote fitted.yaml"):
        assert text in shown
    assert load_machine("fitted.yaml").figures["ucie.overhead_ns"] != 8


@pytest.mark.slow
def test_json_has_figures_errors_and_rows(data, capsys):
    assert main(["fit", "tiny", "data.csv", *FIELDS, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["field"] for one in found["figures"]] == ["ucie.overhead_ns"]
    assert [one["field"] for one in found["undetermined"]] == ["hbm.channel_gbs"]
    assert found["error"]["mean"] < found["error_before"]["mean"]
    assert [row["line"] for row in found["rows"]] == [2, 3, 4, 5]
    assert found["files"] == {}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.csv"], "error: none.csv cannot be read: No such file or directory"),
        (
            ["data.csv", "--out", "a.csv"],
            "error: a machine is a YAML file, and a.csv is none by its name; give one that ends",
        ),
        (["data.csv", "--out", "data.csv/a.yaml"], "error: --out takes a file in a directory, and "),
        (["data.csv", "--field", "noc.gb"], "error: unknown topology field 'noc.gb'; did you mean 'noc.gbs'?"),
        (["data.csv", "--workers", "0"], "error: workers are 1 or more, not 0"),
        (["data.csv", "--time-limit", "soon"], "error: time limit: got 'soon', expected more than 0 seconds"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_writes_nothing(data, capsys, arguments, sentence):
    assert main(["fit", "tiny", *arguments]) == 2
    told = capsys.readouterr()
    assert told.err.startswith(sentence)
    assert told.out == ""
    assert [path.name for path in data.iterdir()] == ["data.csv"]
