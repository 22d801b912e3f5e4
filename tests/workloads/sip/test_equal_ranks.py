"""Ranks that do the same between collectives, and layers of one kind, take one time to the femtosecond."""

from __future__ import annotations

import json

import numpy as np
import pytest

import kernbench
from kernbench.workloads.config_json import read_config
from tests.engine.fresh import draw_seeds
from tests.workloads.configs import decoder, gpt2
from tests.workloads.sip.steps import Timed, draw_choices, draw_step, step_of, time_step


def hold_equal_layers(whole: Timed, parts: Timed) -> None:
    sections = dict.fromkeys(section for section, *_ in whole.times)
    for section in sections:
        stands = "layer 0" if section.startswith("layer") else section
        assert whole.of(section) == parts.of(stands), section


def test_equal_ranks_and_layers_take_the_time_of_all_in_random_steps() -> None:
    for seed in draw_seeds(0.2):
        rng = np.random.default_rng(seed)
        (network, step, fields), choices = draw_step(rng), draw_choices(rng)
        every = time_step(network, step, "tiny", fields, choices=choices, every_rank=True)
        equal = time_step(network, step, "tiny", fields, choices=choices)
        assert every.times == equal.times, seed
        assert every.quiet, seed
        hold_equal_layers(every, time_step(network, step, "tiny", fields, choices=choices, every_layer=False))


def test_of_equal_ranks_only_the_first_launches_between_collectives() -> None:
    network = read_config(decoder("llama", "64/2/4/2/16/128/250"), "config.json", "llama")
    fields = {"sips.count": 4}
    step = step_of(network, 3, 9, "f16", 4)
    every = time_step(network, step, "tiny", fields, every_rank=True).launches
    equal = time_step(network, step, "tiny", fields).launches
    assert len(set(every.values())) == 1
    assert equal == {0: every[0], 1: 4, 2: 4, 3: 4}  # two collectives a layer


def test_a_rank_that_does_more_is_simulated_beside_the_others() -> None:
    """The first adds the biases after o and down."""
    network = read_config({**gpt2(64, 2, 4, 64), "vocab_size": 256}, "config.json", "gpt2")
    step = step_of(network, 3, 9, "f16", 4)
    found = time_step(network, step, "tiny", {"sips.count": 4})
    assert found.launches[1] > found.launches[2] == found.launches[3] == 4
    assert found.times == time_step(network, step, "tiny", {"sips.count": 4}, every_rank=True).times


def test_messages_with_bytes_that_arrive_in_the_next_launch_are_found() -> None:
    """Where wires are so long that credits are still under way."""
    network = read_config(decoder("llama", "64/2/4/2/16/128/250"), "config.json", "llama")
    step, near = step_of(network, 3, 9, "f16", 4), {"sips.count": 4}
    assert time_step(network, step, "tiny", near).quiet
    assert not time_step(network, step, "tiny", {**near, "ns_per_mm": 10.0, "sips.gap_mm": 5000.0}).quiet


@pytest.mark.parametrize("machine", ["tiny", pytest.param("sip_2x4x4", marks=pytest.mark.slow)])
def test_the_answer_is_the_same_whether_all_ranks_are_simulated(machine, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(decoder("llama", "64/4/4/4/16/128/256")))
    given = {"batch": 2, "context": 9, "tp": 4}
    equal, every = (
        kernbench.run("config.json", machine, parameters={**given, "ranks": ranks}, overrides={"sips.count": 4}).network
        for ranks in ("equal", "all")
    )
    assert equal
    assert every
    for name, value in equal.items():
        joules = name in ("step_dynamic_j", "joules_per_token", "tokens_per_joule")
        assert value == (pytest.approx(every[name], rel=1e-9) if joules else every[name])


def test_machines_with_credits_are_told_to_be_inexact_by_cycles(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(decoder("llama", "64/4/4/4/16/128/256")))
    fields = {"flow_control": "credit", "packet_flits": 4}
    found = kernbench.run("config.json", "tiny", parameters={"context": 9}, overrides=fields)
    assert found.network
    assert "what arbiters of routers remember from one launch to the next, some cycles" in found.network["not_modelled"]
