"""Stages of a pipeline: their layers, the time of a step, what is idle, and the memory of each."""

from __future__ import annotations

import json

import pytest

import kernbench
from kernbench.errors import InputError
from kernbench.workloads.config_json import read_config
from kernbench.workloads.memory import find_memory
from kernbench.workloads.pipeline import Timed, tell_pipeline
from kernbench.workloads.step import Types, list_stages, make_step
from tests.workloads.configs import CONFIGS, decoder

TYPES = Types("f16", "f16", "f16")


def step(name: str, **given):
    network = read_config(CONFIGS[name], "config.json", name)
    sizes = {"phase": "decode", "batch": 8, "prompt": 64, "context": 64, "chunk": 8, **given}
    return network, make_step(network, types=TYPES, **sizes)


def test_the_layers_of_stages_differ_by_one_at_most():
    assert list_stages(61, 4) == [range(15), range(15, 30), range(30, 45), range(45, 61)]
    assert list_stages(4, 4) == [range(1), range(1, 2), range(2, 3), range(3, 4)]


@pytest.mark.parametrize(("stages", "micro"), [(2, 1), (2, 2), (4, 3), (4, 8)])
def test_a_step_alone_has_the_bubble_of_filling_and_draining(stages, micro):
    found = tell_pipeline(Timed([10] * 8, 0, 0, 0), stages, micro, again=False)
    assert found["step_fs"] == (micro + stages - 1) * 80 // stages
    assert found["idle"] == pytest.approx((stages - 1) / (micro + stages - 1))


def test_steps_that_follow_each_other_fill_the_stages_once_there_are_as_many_micro_batches():
    timed = Timed([10] * 8, 0, 0, 0)
    assert tell_pipeline(timed, 4, 1, again=True)["idle"] == pytest.approx(3 / 4)
    assert tell_pipeline(timed, 4, 4, again=True)["idle"] == pytest.approx(0)
    assert tell_pipeline(timed, 4, 8, again=True)["step_fs"] == 8 * 20


def test_ends_and_sends_count_where_they_are():
    found = tell_pipeline(Timed([10] * 4, 3, 7, 2), 2, 2, again=True)
    assert (found["latency_ns"], found["slowest_stage_ns"]) == (52e-6, 27e-6)  # 3 + 20 + 2, 20 + 7
    assert found["step_fs"] == 54
    assert found["idle"] == pytest.approx(1 - 2 * 50 / (2 * 54))


def test_stages_share_the_memory_of_layers():
    network, whole = step("Llama-3.1-8B")
    _, staged = step("Llama-3.1-8B", stages=4)
    ends = 2 * (128256 * 4096 + 4096)  # the output matrix and its norm, on the last
    table = 2 * 128256 * 4096
    layers = find_memory(network, whole).weights - ends - table
    assert find_memory(network, staged).weights == layers // 4 + ends
    assert find_memory(network, staged).cache == find_memory(network, whole).cache // 4


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"stages": 33}, "Llama-3.1-8B has 32 layers, too few for pp=33 stages; give at most 32"),
        (
            {"stages": 2, "micro_batches": 3},
            "Llama-3.1-8B got micro=3, which does not divide 8 sequences of a rank; give a divisor",
        ),
        (
            {"micro_batches": 2},
            "Llama-3.1-8B got micro=2; micro-batches are of decode and prefill on the stages of a pipeline, such as pp=2",
        ),
        ({"stages": 0}, "Llama-3.1-8B got pp=0; give 1 or more"),
    ],
)
def test_pipelines_that_cannot_be_are_refused(given, sentence):
    with pytest.raises(InputError) as error:
        step("Llama-3.1-8B", **given)
    assert str(error.value) == sentence


def test_there_are_as_many_micro_batches_as_stages_where_they_divide_the_batch():
    assert step("Llama-3.1-8B", stages=4)[1].micro_batches == 4
    assert step("Llama-3.1-8B", stages=3)[1].micro_batches == 2
    assert step("Llama-3.1-8B", stages=3)[1].sequences == 4
    assert step("Llama-3.1-8B", stages=3, batch=1)[1].micro_batches == 1
    assert step("Llama-3.1-8B", stages=3)[1].sips == 3


def test_an_answer_of_stages_follows_from_one_micro_batch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(decoder("llama", "64/4/4/2/16/128/256")))
    given = {"context": 9, "choices": "x=1"}
    fields = {"sips.count": 2}

    def run(**more):
        found = kernbench.run("config.json", "tiny", parameters={**given, **more}, overrides=fields).network
        assert found
        return found

    one, two = run(batch=2), run(batch=4, pp=2)
    told = two["pipeline"]
    assert (told["stages"], two["micro_batches"], two["sequences"], two["sips"]) == (2, 2, 4, 2)
    assert told["send_ns"] > 0
    assert told["latency_ns"] == pytest.approx(one["step_ns"] + told["send_ns"])
    assert two["step_ns"] == pytest.approx(max(told["latency_ns"], 2 * told["slowest_stage_ns"]))
    assert two["tokens_s"] == pytest.approx(4e9 / two["step_ns"])
    assert one["pipeline"] is None
