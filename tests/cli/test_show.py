"""`kernbench show`: machines, sheets, benches, sweeps, differences, and names of nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernbench.cli.main import main

Capture = pytest.CaptureFixture[str]


def show(capsys: Capture, *words: str) -> str:
    assert main(["show", *words]) == 0
    return capsys.readouterr().out


def data(capsys: Capture, *words: str) -> dict[str, Any]:
    return json.loads(show(capsys, *words, "--json"))


def test_every_field_of_the_default_machine_has_value_meaning_and_source(capsys: Capture) -> None:
    found = data(capsys, "sip_2x4x4")
    assert (found["kind"], found["family"], len(found["fields"])) == ("machine", "sip", 336)
    assert all(field["meaning"] and field["source"] and field["written"] for field in found["fields"])
    fields = {field["field"]: field for field in found["fields"]}
    channel = fields["hbm.channel_gbs"]
    assert (channel["value"], channel["unit"], channel["written"]) == (32.0, "GB/s", "32 GB/s")
    assert channel["source"].startswith("KernBench architecture")
    assert channel["place"].endswith("models/hbm.yaml:5:12")
    assert fields["mmu.model"]["choices"] == ["va", "pa", "la"]
    assert fields["sips.count"]["source"] == "set by the topology"
    assert fields["speculative"]["source"] == "default"


def test_a_machine_is_shown_part_by_part(capsys: Capture) -> None:
    text = show(capsys, "tiny")
    assert "hbm: HBM slice of one PE with its controller (" in text
    assert text.index("sips.count") < text.index("noc.gbs") < text.index("hbm.channel_gbs")


@pytest.mark.parametrize("prefix", ["hbm", "topology.hbm", "hbm."])
def test_a_prefix_keeps_what_is_below_it(prefix: str, capsys: Capture) -> None:
    fields = [field["field"] for field in data(capsys, "tiny", prefix)["fields"]]
    assert len(fields) == 15
    assert all(field.startswith("hbm.") for field in fields)


@pytest.mark.parametrize("words", [["sip_2x4x4", "gbs"], ["--diff", "sip_2x4x4", "tiny", "gbs"], ["hbm", "gbs"]])
def test_what_begins_no_path_keeps_the_paths_that_hold_it(words: list[str], capsys: Capture) -> None:
    fields = [field["field"] for field in data(capsys, *words)["fields"]]
    assert all("gbs" in field for field in fields)
    if words[0] == "sip_2x4x4":
        every = [field["field"] for field in data(capsys, "sip_2x4x4")["fields"]]
        assert fields == [field for field in every if "gbs" in field]
        assert len(fields) == 14


def test_an_override_is_shown_as_one(capsys: Capture) -> None:
    (field,) = data(capsys, "tiny", "hbm.channel_gbs", "--set", "topology.hbm.channel_gbs=64")["fields"]
    assert (field["value"], field["source"]) == (64.0, "overridden")


@pytest.mark.parametrize("name", ["sip_2x4x4", "mesh_8x8", "torus_8x8"])
def test_machines_with_credits_differ_in_that_field_alone(name: str, capsys: Capture) -> None:
    found = data(capsys, "--diff", name, f"{name}_credit")
    assert [(one["field"], one["a"], one["b"]) for one in found["fields"]] == [("flow_control", "unbounded", "credit")]


def test_the_fields_in_which_machines_differ(capsys: Capture) -> None:
    found = data(capsys, "--diff", "mesh_8x8", "torus_8x8_credit")
    assert [(one["field"], one["a"], one["b"]) for one in found["fields"]] == [
        ("flow_control", "unbounded", "credit"),
        ("torus", "false", "true"),
    ]


def test_sheets_differ_in_fields_that_one_of_them_lacks(capsys: Capture) -> None:
    fields = {one["field"]: (one["a"], one["b"]) for one in data(capsys, "--diff", "hbm", "hbm_refresh")["fields"]}
    assert fields["pin_gbs"] == ("–", "32 GB/s")
    assert "channels" not in fields


def test_a_sheet_names_its_class_and_its_place(capsys: Capture) -> None:
    text = show(capsys, "hbm_refresh")
    assert "hbm_refresh.py" in text
    assert "--set topology.parts.hbm=hbm_refresh chooses it on machines of family sip" in text


def test_a_bench_has_defaults_allowed_values_and_meanings(capsys: Capture) -> None:
    found = data(capsys, "matmul-composite")
    variant = next(field for field in found["fields"] if field["field"] == "variant")
    assert (variant["default"], variant["allowed"]) == ("ref_ref", "ref_ref, load_ref, load_load")
    assert "streams tiles" in variant["meaning"]


def test_a_name_of_two_kinds_is_shown_as_the_first_and_says_so(capsys: Capture) -> None:
    assert main(["show", "attention-decode", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "attention-decode is also a sweep; --kind sweep shows it\n"
    found = json.loads(captured.out)
    assert (found["kind"], found["also"]) == ("bench", ["sweep"])
    assert data(capsys, "attention-decode", "--kind", "sweep")["kind"] == "sweep"


def test_parameters_of_a_sweep_have_the_meanings_of_their_fields(capsys: Capture) -> None:
    found = data(capsys, "quickstart")
    fields = {field["field"]: field for field in found["fields"]}
    assert found["points"] == 33
    assert fields["topology.hbm.channel_gbs"]["meaning"] == "bandwidth of one pseudo-channel"
    assert fields["variant"]["values"] == ["ref_ref", "load_ref", "load_load"]


def test_task_graphs_and_collectives_are_shown(capsys: Capture) -> None:
    found = data(capsys, "vector_example")
    assert (found["kind"], found["cases"]["Small"]) == ("pto", {"rows": 16, "cols": 16})
    assert data(capsys, "ring_allreduce")["entries"] == {"ring": {"module": "ring_allreduce", "n_elem": 2048}}
    assert data(capsys, "window")["points"] == 72


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["quickstrat"], "error: nothing is called 'quickstrat'; did you mean 'quickstart'?"),
        (["tiny", "hbn"], "error: tiny has no field 'hbn'; did you mean 'hbm'?"),
        (["./no.yaml"], "error: no such file: no.yaml;"),
        (["tiny", "a", "b"], "error: show takes a name and a field, and got 3 words"),
        (["--diff", "tiny"], "error: --diff takes two names, and a field if you like; got 1"),
        (["--diff", "tiny", "quickstart"], "error: --diff compares two machines or two model sheets, and tiny"),
        (["quickstart", "--set", "M=3"], "error: --set changes fields of a machine, and quickstart is a sweep"),
        (["tiny", "--set", "hbm.channel_gb=3"], "error: unknown topology field 'hbm.channel_gb'; did you mean"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(words: list[str], sentence: str, capsys: Capture) -> None:
    assert main(["show", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(sentence)
    assert captured.err.count("\n") == 1


def test_files_are_shown_by_their_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(
        "from kernbench import bench\n\n\n@bench('own', 'Mine', choices={'way': ('a', 'b')})\n"
        "def run(torch, *, way='a'):\n    '''It.\n\n    Parameters:\n        way: how\n    '''\n"
    )
    (tmp_path / "own.yaml").write_text("bench: own.py\ntopology: tiny\nparameters: {way: [a, b]}\n")
    assert data(capsys, "own.py")["fields"] == [{"field": "way", "default": "a", "allowed": "a, b", "meaning": "how"}]
    assert data(capsys, "./own.yaml")["kind"] == "sweep"
    assert main(["run", "own.py", "--help"]) == 0
    assert "way=a  how (a, b)" in capsys.readouterr().out


def test_the_help_of_run_says_what_is_wrong_with_a_bench(capsys: Capture) -> None:
    assert main(["run", "matmul-composit", "--help"]) == 0
    assert "did you mean" in capsys.readouterr().out


def test_a_tanto_program_file_is_shown(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "copy.json"
    file.write_text(
        json.dumps(
            {
                "globals": [{"id": 1, "fmt": "float32", "size": 2048}],
                "pipes": [{"id": 2, "kind": 0, "fmt": "float32", "tiles": 4, "ranges": [[0, 0, 1, 1]]}],
                "kernels": [{"kind": 0, "path": "read.cpp", "ranges": [[0, 0, 1, 1]]}],
            }
        )
    )
    found = data(capsys, str(file))
    assert (found["kind"], found["description"]) == ("tanto-program", "1 kernel, 1 pipe, 1 buffer, 0 semaphores")
    assert found["fields"][0] == {"field": "read.cpp", "kind": "reader", "cores": "(0, 0) to (1, 1)"}


def test_a_directory_or_another_kind_of_file_is_one_sentence(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "kernel.cpp").write_text("void f() {}")
    assert main(["show", f"{tmp_path}/kernel.cpp"]) == 2
    assert "is no YAML, Python or program file (.yaml, .py, .json, .onnx); give one" in capsys.readouterr().err
    assert main(["show", f"{tmp_path}/."]) == 2
    assert "is a directory, and no bench of task graphs; give a file" in capsys.readouterr().err
