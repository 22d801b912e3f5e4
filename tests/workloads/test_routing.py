"""Which experts tokens take: by a rule, alike in each process, and as many distinct ones as are expected."""

from __future__ import annotations

from collections import Counter

import pytest

from kernbench.errors import InputError
from kernbench.workloads.architecture import Experts
from kernbench.workloads.config_json import read_config
from kernbench.workloads.routing import draw_routing
from kernbench.workloads.totals import expect_experts
from tests.workloads.configs import CONFIGS, decoder


@pytest.mark.parametrize(("count", "chosen"), [(8, 2), (128, 8), (64, 6)])
@pytest.mark.parametrize("tokens", [1, 2, 8, 32, 64])
def test_uniform_routing_has_the_distinct_experts_that_are_expected(count, chosen, tokens):
    found = draw_routing(Experts(count, chosen, 16), tokens, "uniform")
    assert all(len(set(each)) == chosen and max(each) < count for each in found.chosen)
    assert abs(found.distinct - expect_experts(count, chosen, tokens)) <= 1
    assert sum(len(loads) for _, loads in found.list_loads()) == tokens * chosen


def test_the_draw_is_the_same_in_each_process():
    assert draw_routing(Experts(8, 2, 16), 3, "uniform").chosen == ((6, 7), (6, 1), (3, 2))


def test_no_expert_is_preferred():
    counts = Counter(one for each in draw_routing(Experts(16, 4, 16), 4000, "uniform").chosen for one in each)
    assert all(count == pytest.approx(1000, rel=0.1) for count in counts.values())


def test_a_token_keeps_to_groups():
    experts = Experts(256, 8, 16, groups=8, groups_chosen=4)
    for each in draw_routing(experts, 50, "uniform").chosen:
        assert len({one // 32 for one in each}) <= 4


def test_balanced_routing_has_equal_loads():
    found = draw_routing(Experts(8, 2, 16), 6, "balanced")
    assert {len(tokens) for _, tokens in found.list_loads()} == {1, 2}
    assert found.distinct == 8
    assert draw_routing(Experts(8, 2, 16), 3, "balanced").distinct == 6


@pytest.mark.parametrize(
    ("name", "sigmoid", "normalised", "factor"),
    [
        ("Mixtral-8x7B", False, True, 1.0),
        ("DeepSeek-V2-Lite", False, False, 1.0),
        ("DeepSeek-V3", True, True, 1.0),
    ],
)
def test_how_a_router_weighs_is_read_by_family(name, sigmoid, normalised, factor):
    experts = read_config(CONFIGS[name], "config.json", name).experts
    assert experts is not None
    assert (experts.sigmoid, experts.normalised, experts.factor) == (sigmoid, normalised, factor)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"n_group": 3, "topk_group": 1},
            "config.json has 8 experts in 3 groups, of which a token takes 2 from 1; give groups that divide them and hold as "
            "many",
        ),
        ({"scoring_func": "tanh"}, "config.json has scoring_func: 'tanh'; give one of softmax, sigmoid"),
        ({"routed_scaling_factor": "big"}, "config.json has routed_scaling_factor: 'big'; give a number"),
    ],
)
def test_routers_that_are_not_known_are_refused(fields, sentence):
    config = decoder("mixtral", "64/2/4/2/16/128/256", num_local_experts=8, num_experts_per_tok=2, **fields)
    with pytest.raises(InputError) as error:
        read_config(config, "config.json", "small")
    assert str(error.value) == sentence
