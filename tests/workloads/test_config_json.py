from __future__ import annotations

import json

import pytest

from kernbench.errors import InputError
from kernbench.workloads.architecture import LayerKind
from kernbench.workloads.config_json import load_config, read_config
from kernbench.workloads.descriptions import find_network
from kernbench.workloads.names import is_config, list_networks
from kernbench.workloads.totals import count_parameters
from tests.workloads.configs import CONFIGS, GEMMA_3, TOTALS, decoder

LLAMA = CONFIGS["Llama-3.1-8B"]


def read(config, **others):
    return read_config({**config, **others}, "config.json", "x")


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ([], "config.json holds no object; give a config.json of Hugging Face"),
        ({"hidden_size": 1}, "config.json has no model_type; known: llama, mistral, mixtral"),
        ({**LLAMA, "model_type": "lama"}, "config.json has model_type 'lama'; did you mean 'llama'"),
        ({**LLAMA, "architectures": []}, "config.json names 0 architectures; give one, such as LlamaForCausalLM"),
        (
            {**LLAMA, "architectures": ["A", "B"]},
            "config.json names 2 architectures; give one, such as LlamaForCausalLM",
        ),
        (
            {**LLAMA, "architectures": ["LlamaForSequenceClassification"]},
            "config.json has architecture 'LlamaForSequenceClassification'; ",
        ),
        (
            {**LLAMA, "num_key_value_heads": 5},
            "config.json has 32 attention heads and 5 of keys and values; make those a divisor",
        ),
        ({**LLAMA, "hidden_size": 0}, "config.json has hidden_size: 0; give a whole number of 1 or more"),
        ({**LLAMA, "hidden_size": True}, "config.json has hidden_size: True; give a whole number of 1 or more"),
        ({**LLAMA, "hidden_act": "swish2"}, "config.json has hidden_act: 'swish2'; give one of silu"),
        (
            {**LLAMA, "torch_dtype": "int3"},
            "config.json has torch_dtype: 'int3'; give one of float32, float16, bfloat16",
        ),
        (
            {**LLAMA, "quantization_config": {"quant_method": "awq"}},
            "config.json has quantization_config with quant_method 'awq', which is not modelled; give a config without it",
        ),
        ({k: v for k, v in LLAMA.items() if k != "vocab_size"}, "config.json has no vocab_size; give a whole number"),
        ({"model_type": "gemma3"}, "config.json has no text_config; a gemma3 has one"),
        (
            {**LLAMA, "layer_types": ["full_attention"]},
            "config.json has layer_types: ['full_attention']; give a list of 32 entries",
        ),
        ({**LLAMA, "layer_types": [["x"]] * 32}, "give a list of 32 entries, each full_attention or sliding_attention"),
        ({**LLAMA, "layer_types": ["x"] * 32}, "config.json has layer_types: 'x'; give one of full_attention"),
        ({**LLAMA, "hidden_size": 10**30}, "give a whole number of 1 or more, at most 1,073,741,824"),
        ({**LLAMA, "num_hidden_layers": 10**9}, "config.json has 1,000,000,000 layers; at most 10,000 are taken"),
        ({**LLAMA, "architectures": [5]}, "config.json has architecture '5'; "),
        ({**LLAMA, "quantization_config": 5}, "config.json has quantization_config with quant_method 5, which is not"),
        (
            {**LLAMA, "partial_rotary_factor": "x"},
            "config.json has partial_rotary_factor: 'x'; give a number of 0 to 1",
        ),
        (
            {**CONFIGS["Qwen3-30B-A3B"], "mlp_only_layers": 5},
            "config.json has mlp_only_layers: 5; give a list of whole numbers",
        ),
        (
            {**LLAMA, "head_dim": None, "hidden_size": 4097},
            "hidden_size 4097 and 32 heads, which do not divide it; give",
        ),
        (
            {**CONFIGS["Mixtral-8x7B"], "num_experts_per_tok": 9},
            "config.json has 8 experts and 9 of them a token; give at most 8",
        ),
    ],
)
def test_a_config_that_cannot_be_is_refused_in_a_sentence(config, sentence):
    with pytest.raises(InputError) as error:
        read_config(config, "config.json", "x")
    assert sentence in str(error.value)


def test_a_file_that_is_no_json_is_refused_with_its_place(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("{")
    with pytest.raises(InputError, match=r"config\.json is no JSON: .*; give a config\.json of Hugging Face"):
        load_config(path)
    path.write_text("[" * 100_000)
    with pytest.raises(InputError, match=r"config\.json is no JSON"):
        load_config(path)


def test_a_config_has_the_name_of_its_folder(tmp_path):
    path = tmp_path / "my-llama" / "config.json"
    path.parent.mkdir()
    path.write_text(json.dumps(LLAMA))
    assert load_config(path).name == "my-llama"
    assert is_config(path)
    (tmp_path / "other.json").write_text("{}")
    assert not is_config(tmp_path / "other.json")


def test_multimodal_models_nest_their_text_model_and_say_what_is_left_out():
    inner = {key: value for key, value in GEMMA_3.items() if key != "torch_dtype"}
    network = read({"model_type": "gemma3", "torch_dtype": "bfloat16", "text_config": inner})
    assert count_parameters(network) == 999_885_952
    assert network.dtype == "bf16"
    assert network.not_modelled == ("the part of the network that reads images",)


def test_fields_that_are_not_known_are_named():
    assert read(LLAMA, hyper_connections=4).not_modelled == (
        "fields of the config that are not known: hyper_connections",
    )


def test_the_windows_of_families():
    full, local = LayerKind(False, None), LayerKind(False, 4096)
    assert read(CONFIGS["Gemma-2-2B"]).layer_kinds[:3] == (local, full, local)
    assert read(decoder("qwen2", "896/24/14/2/64/4864/151936"), sliding_window=4096).count_kinds() == {full: 24}
    assert read(CONFIGS["Mistral-7B-v0.1"], sliding_window=4096).count_kinds() == {local: 32}
    said = read(LLAMA, sliding_window=4096, layer_types=["sliding_attention"] * 8 + ["full_attention"] * 24)
    assert said.count_kinds() == {local: 8, full: 24}


def test_the_first_layers_of_deepseek_are_dense():
    kinds = read(CONFIGS["DeepSeek-V3"]).layer_kinds
    assert [kind.sparse for kind in kinds] == [False] * 3 + [True] * 58


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("llama-3.1-8b", "Llama-3.1-8B"),
        ("llama-3.1-70b", "Llama-3.1-70B"),
        ("llama-3.2-1b", "Llama-3.2-1B"),
        ("llama-3.2-3b", "Llama-3.2-3B"),
        ("mistral-7b", "Mistral-7B-v0.3"),
        ("falcon-7b", "Falcon-7B"),
        ("mixtral-8x7b", "Mixtral-8x7B"),
        ("qwen3-30b-a3b", "Qwen3-30B-A3B"),
        ("gpt-3", "GPT-3"),
        ("bert-large", "BERT-large"),
        ("vit-base", "ViT-B/16"),
    ],
)
def test_shipped_descriptions_have_the_parameters_of_their_models(name, model):
    found = find_network(name)
    assert count_parameters(found.architecture) == {row[0]: row[2] for row in TOTALS}[model]
    assert found.source
    assert found.architecture.not_modelled == ()
    assert name in list_networks()


def test_a_description_that_is_none_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "benches" / "workloads"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("config: {}\n")
    with pytest.raises(
        InputError, match=r"is no description of a network; give a mapping of description, source, config"
    ):
        find_network("mine")
