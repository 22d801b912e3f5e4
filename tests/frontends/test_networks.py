from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

import kernbench
from kernbench.cli.main import main
from kernbench.errors import InputError
from kernbench.frontends import network_points
from kernbench.frontends.registry import find, find_front_end
from kernbench.sweep.results.objectives import default_objectives
from kernbench.sweep.run import run_sweep
from kernbench.workloads.config_json import read_config
from kernbench.workloads.totals import count_parameters
from tests.workloads.configs import CONFIGS, VIT, bert, decoder

SMALL = decoder("llama", "64/4/4/2/16/128/256")
SETS = ["batch=2", "context=9"]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A config.json in a folder of the working directory."""
    monkeypatch.chdir(tmp_path)
    path = Path("small") / "config.json"
    path.parent.mkdir()
    path.write_text(json.dumps(SMALL))
    return str(path)


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    out, err = capsys.readouterr()
    return code, out, err


def run(capsys: pytest.CaptureFixture[str], program: str, *sets: str, machine: str = "tiny") -> tuple[int, str, str]:
    given = [part for one in sets for part in ("--set", one)]
    return call(capsys, "run", program, "-t", machine, *given)


def test_a_config_by_its_path_gives_tokens_a_second(config, capsys):
    given = [part for one in SETS for part in ("--set", one)]
    code, out, _ = call(capsys, "run", config, "-t", "tiny", *given, "--json")
    told = json.loads(out)["network"]
    assert code == 0
    assert told["name"] == "small"
    assert told["parameters"] == count_parameters(read_config(SMALL, "c", "small"))
    total = sum(row["times"] * row["ns"] for row in told["operators"])
    assert told["step_ns"] == pytest.approx(total)
    assert told["tokens_s"] == pytest.approx(2e9 / told["step_ns"])
    assert told["user_tokens_s"] == pytest.approx(1e9 / told["step_ns"])
    assert {row["times"] for row in told["operators"]} == {1, 4}
    assert all(0 < row["share_of_peak"] < 1 for row in told["operators"] if row["bound"])
    assert told["not_modelled"]


def test_the_summary_has_a_line_for_each_operator_and_for_what_is_not_modelled(config, capsys):
    code, out, _ = run(capsys, config, *SETS)
    assert code == 0
    for word in ("time per token", "tokens/s", "q, k, v", "attention", "gate, up", "lm_head", "not modelled"):
        assert word in out
    assert max(map(len, out.splitlines())) <= 132


def test_prefill_gives_the_time_to_the_first_token_and_prompt_tokens_a_second(config, capsys):
    code, out, _ = run(capsys, config, "phase=prefill", "prompt=33", "batch=2")
    assert code == 0
    assert "first token" in out
    assert "prompt tokens/s" in out
    told = kernbench.run(config, "tiny", parameters={"phase": "prefill", "prompt": 33, "batch": 2}).network
    assert told is not None
    assert told["tokens"] == 66
    assert told["tokens_s"] == pytest.approx(66e9 / told["step_ns"])
    assert told["user_tokens_s"] == pytest.approx(33e9 / told["step_ns"])
    assert all(0 < row["share_of_peak"] < 1 for row in told["operators"] if row["bound"])


@pytest.mark.parametrize(
    ("name", "model", "unit"),
    [
        ("small", {**bert(64, 2, 4), "vocab_size": 200, "max_position_embeddings": 64}, "sentences/s"),
        ("small", {**VIT, "image_size": 16, "patch_size": 4, "num_labels": 10, "num_hidden_layers": 2}, "images/s"),
    ],
)
def test_an_encoder_runs_as_it_is_and_says_what_it_takes_in_a_second(name, model, unit, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("small").mkdir()
    (Path("small") / "config.json").write_text(json.dumps(model))
    code, out, _ = run(capsys, "small/config.json", "batch=2")
    assert code == 0
    assert unit in out
    code, out, _ = call(capsys, "show", "small/config.json")
    assert "prefill" in out
    told = kernbench.run("small/config.json", "tiny", parameters={"batch": 2}).network
    assert told is not None
    assert told["sequences_s"] == pytest.approx(2e9 / told["step_ns"])
    code, _, err = run(capsys, "small/config.json", "phase=decode")
    assert code == 2
    assert "small is an encoder, which has no decode; give phase=prefill" in err


def test_the_prompt_does_not_count_in_decode(config):
    one, other = (kernbench.run(config, "tiny", parameters={"context": 9, "prompt": prompt}) for prompt in (1, 500))
    assert one.network["step_fs"] == other.network["step_fs"]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"prompt": 64}, "prompt=64: phase=decode does not read it"),
        ({"routing": "balanced"}, "routing=balanced: the network has no experts"),
        ({"phase": "prefill", "prompt": 4, "context": 64}, "context=64: phase=prefill does not read it"),
    ],
)
def test_a_parameter_that_a_step_does_not_read_is_named(config, given, line):
    told = kernbench.run(config, "tiny", parameters=given).network
    assert told is not None
    assert told["not_modelled"][-1] == line


def test_a_chunk_and_the_sequences_beside_it_are_told_apart(config, capsys):
    code, out, _ = run(capsys, config, "phase=chunked", "prompt=16", "chunk=8", "batch=3", "context=9")
    assert code == 0
    assert "one of 3 sequences beside the chunk" in out
    assert "8 of the prompt and 3 new ones a step" in out


def test_all_layers_take_the_time_of_one_of_each_kind(config):
    given = {"batch": 2, "context": 9}
    one, every = (kernbench.run(config, "tiny", parameters={**given, "layers": how}) for how in ("kinds", "all"))
    assert one.network["step_fs"] == every.network["step_fs"]
    assert every.latency_ns > one.latency_ns


def test_show_tells_sizes_and_their_source(capsys):
    code, out, _ = call(capsys, "show", "llama-3.1-8b")
    assert code == 0
    assert "8,030,261,248" in out
    assert "arXiv 2407.21783" in out
    assert "context" in out


def test_a_name_of_a_description_is_a_network():
    assert find_front_end("llama-3.1-8b").name == "network"
    assert find("gpt-3").parameters["phase"] == "decode"


@pytest.mark.parametrize(
    ("sets", "machine", "sentence"),
    [
        (["phase=chunked", "chunk=2000"], "tiny", "small got chunk=2000 of prompt=1024; give 1 to 1024"),
        (["phase=chunked", "chunk=0"], "tiny", "small got chunk=0 of prompt=1024; give 1 to 1024"),
        (["phase=later"], "tiny", "phase"),
        (["batch=0"], "tiny", "small got batch=0; give 1 or more"),
        (
            ["tp=2"],
            "tiny",
            "small got tp=2 and dp=1, which take 2 SIPs, and tiny has 1; give fewer, or --set topology.sips.count=2",
        ),
        (["context=200000"], "tiny", "small attends to at most 131,072 tokens, got 200,000; give fewer"),
        (
            ["batch=100000", "context=9"],
            "tiny",
            "small got 100,000 sequences; the PEs have 1,048,576 bytes of scratch, for at most 8,192; give fewer, or raise",
        ),
        (["weights=int3"], "tiny", "unknown dtype 'int3'"),
        (["cache=i8"], "tiny", "small got cache of i8; give a floating-point type such as f16 or fp8"),
        (["activations=i32"], "tiny", "small got activations of i32; give a floating-point type such as f16 or fp8"),
        (["batch=10000000"], "tiny", "are missing; "),
        (
            [],
            "ascend_tiny",
            "networks have no kernels yet for family 'ascend', which topology 'ascend_tiny' is of; give sip_2x4x4",
        ),
        (["topology.mmu.model=pa"], "tiny", "tiny has mmu.model 'pa'; set topology.mmu.model to va or la"),
        (["weights=bfp8"], "tiny", "bfp8 is a format of chips of family 'tensix', and tiny is of family 'sip'"),
        (["math_fidelity=lofi"], "tiny", "math_fidelity is of chips of family 'tensix', and tiny is of family 'sip'"),
    ],
)
def test_what_cannot_run_is_refused_in_a_sentence_with_code_2(config, capsys, sets, machine, sentence):
    code, out, err = run(capsys, config, *sets, machine=machine)
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


def test_a_config_without_a_type_is_refused_as_a_config(config, capsys):
    path = Path("untyped.json")
    path.write_text(
        json.dumps({name: value for name, value in SMALL.items() if name != "model_type"} | {"architectures": ["A"]})
    )
    code, _, err = run(capsys, str(path))
    assert code == 2
    assert "untyped.json has no model_type; known: " in err


def test_numbers_and_bounds_are_refused(config):
    with pytest.raises(InputError, match="has no weights, so no numbers of a run can be checked"):
        kernbench.run(config, "tiny", verify=True)
    with pytest.raises(
        InputError, match="mode analytic bounds benches of family 'sip'; give hybrid or flit for networks"
    ):
        kernbench.run(config, "tiny", mode="analytic")


def test_networks_without_kernels_are_refused_and_still_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(json.dumps(CONFIGS["DeepSeek-V3"]))
    code, out, _ = call(capsys, "show", "config.json")
    assert code == 0
    assert "671,026,419,200" in out
    code, _, err = run(capsys, "config.json", "weights=fp8", "phase=prefill", machine="sip_2x4x4")
    assert code == 2
    assert "needs phase=prefill of experts, for which there are no kernels yet" in err


@pytest.mark.slow
def test_a_sweep_has_tokens_a_second(config):
    found = kernbench.sweep(config, topology="tiny", workers=1, parameters={"batch": [1, 2, 4], "context": [9]})
    table = found.table.sort("batch")
    assert table["status"].to_list() == ["ok"] * 3
    machine, user = table["tokens_s"].to_list(), table["user_tokens_s"].to_list()
    assert machine == pytest.approx([batch * one for batch, one in zip([1, 2, 4], user, strict=True)])
    assert machine == sorted(machine)
    names = [one.column for one in default_objectives(found.table, of_traffic=False)]
    assert names == ["user_tokens_s", "tokens_s"]


def test_a_sweep_of_machines_is_reported_by_the_step(config):
    clocks = {"topology.hbm.channel_gbs": [16, 32]}
    found = kernbench.sweep(config, topology="tiny", workers=1, parameters={**clocks, "context": [9]})
    assert default_objectives(found.table, of_traffic=False)[0].column == "step_ns"


def test_the_energy_of_a_token_counts_each_layer_and_the_static_power_of_the_step(config):
    given = {"batch": 2, "context": 9}
    one, every = (kernbench.run(config, "tiny", parameters={**given, "layers": how}) for how in ("kinds", "all"))
    assert one.network["step_dynamic_j"] == pytest.approx(every.network["step_dynamic_j"], rel=1e-3)
    assert 0 < one.network["step_dynamic_j"] < every.dynamic_j
    told = one.network
    total = told["step_dynamic_j"] + told["step_static_j"]
    assert told["joules_per_token"] == pytest.approx(total / 2)
    assert one.tokens_per_joule == pytest.approx(2 / total)
    assert told["step_static_j"] == pytest.approx(one.static_j * told["step_ns"] / one.makespan_ns)


def test_tables_of_energy_say_that_they_are_of_the_simulated_launches(config, capsys):
    """Not of the step, whose energy the summary has; their launches are KernBench's own, not of the command line's library."""
    code, out, _ = call(capsys, "run", config, "-t", "tiny", "--energy")
    assert code == 0
    assert "\nenergy of the simulated launches: " in out
    assert "KernBench itself" in out
    assert "click" not in out


def test_a_sweep_has_tokens_a_joule(config, tmp_path):
    grid = {
        "bench": config,
        "topology": "tiny",
        "parameters": {"batch": [1, 2], "context": [9]},
        "objectives": ["max tokens_per_joule", "min area_mm2"],
    }
    table = run_sweep(grid, tmp_path / "out", workers=1).table
    assert table["tokens_per_joule"].null_count() == 0
    assert table["tokens_per_joule"].is_sorted()  # static power and weights are shared


def test_show_says_what_runs_a_config(config, capsys):
    code, out, _ = call(capsys, "show", config)
    assert code == 0
    assert f"kernbench run {config} --set" in out


def test_two_runs_are_compared_by_their_steps_and_operators(config, capsys):
    for name, batch in (("a", 2), ("b", 4)):
        given = ["--set", f"batch={batch}", "--set", "context=9", "--out", name]
        assert call(capsys, "run", config, "-t", "tiny", *given)[0] == 0
    code, out, _ = call(capsys, "compare", "a", "b", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["columns"][:3] == ["step_ns", "user_tokens_s", "tokens_s"]
    a, b = (json.loads((Path(name) / "result.json").read_text())["network"] for name in "ab")
    more = sum(row["b_ns"] - row["a_ns"] for row in told["operators"])
    assert more == pytest.approx(b["step_ns"] - a["step_ns"])
    code, out, _ = call(capsys, "compare", "a", "b", "--threshold", "tokens_s=1%", "--worse")
    assert code == 0
    assert "operators in a step of all layers" in out
    code, _, err = call(capsys, "compare", "b", "a", "--threshold", "tokens_s=1%", "--worse")
    assert code == 1
    assert "tokens_s" in err


def test_a_network_and_a_bench_are_compared_by_their_latency(config, capsys):
    assert call(capsys, "run", config, "-t", "tiny", "--set", "context=9", "--out", "a")[0] == 0
    assert call(capsys, "run", "vector-add", "-t", "tiny", "--out", "b")[0] == 0
    code, out, _ = call(capsys, "compare", "a", "b", "--json")
    assert code == 0
    assert json.loads(out)["columns"][0] == "latency_ns"
    assert json.loads(out)["operators"] == []


def test_an_explanation_says_what_each_operator_is_spent_on(config, capsys):
    given = [part for one in SETS for part in ("--set", one)]
    code, out, _ = call(capsys, "run", config, "-t", "tiny", *given, "--explain", "--json")
    told = json.loads(out)
    assert code == 0
    rows, spent = told["network"]["operators"], told["explain"]["operators"]
    assert [(one["section"], one["operator"]) for one in spent] == [(row["section"], row["operator"]) for row in rows]
    for one, row in zip(spent, rows, strict=True):
        assert one["path_ns"] == pytest.approx(row["ns"], abs=1e-6)
        assert sum(one["spent_ns"].values()) == pytest.approx(one["path_ns"])
    code, out, _ = call(capsys, "run", config, "-t", "tiny", *given, "--explain")
    assert "operators, and what the path through each is spent on" in out


def test_points_that_share_a_recording_equal_runs_of_each(config, tmp_path, monkeypatch):
    recorded: list[int] = []
    was = network_points.record
    monkeypatch.setattr(network_points, "record", lambda *given: recorded.append(1) or was(*given))
    channels, scratch = [16.0, 32.0, 50.0], ["1 MiB", "2 MiB"]
    grid = {
        "bench": config,
        "topology": "tiny",
        "parameters": {
            "batch": [2],
            "context": [9],
            "topology.hbm.channel_gbs": channels,
            "topology.pe.scratch_bytes": scratch,
        },
    }
    rows = run_sweep(grid, tmp_path / "out", workers=1).table.to_dicts()
    assert len(recorded) == 2  # kernels look at the bytes of scratch
    for row, (gbs, held) in zip(rows, product(channels, scratch), strict=True):
        alone = kernbench.run(
            config,
            "tiny",
            parameters={"batch": 2, "context": 9},
            overrides={"hbm.channel_gbs": gbs, "pe.scratch_bytes": held},
        )
        for column in (
            "step_ns",
            "tokens_s",
            "latency_ns",
            "tokens_per_joule",
            "dynamic_j",
            "program_digest",
            "gbs_of_peak",
        ):
            assert row[column] == getattr(alone, column), (gbs, held, column)
