"""The families of `model_type`: what an architecture has that its config.json does not say.

Sources: the class defaults and modelling code of Hugging Face transformers, and the config.json files of the models that
tests/workloads names; each rule holds against the parameter count of a published model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Family:
    """What the code of a family fixes. Texts ending in `_field` name fields of the config, with the default after it."""

    classes: tuple[str, ...]  # values of `architectures`
    norm: str = "rms"
    norms: int = 2  # of a layer
    gated: bool = True
    activations: tuple[str, ...] = ("silu",)
    tied: bool = False  # if the config does not say
    qkv_bias: bool | None = None  # None: `attention_bias`
    out_bias: bool | None = None
    mlp_bias: bool | None = None  # None: `mlp_bias`
    normalised: bool = False
    parallel: bool = False
    windows: str = "none"  # none, all, used (if use_sliding_window), even, pattern
    experts: str = ""  # the field of their number
    scoring: str = "softmax"  # of a router, if the config does not say
    normalised_experts: bool = False  # weights of a token's experts sum to 1, if the config does not say
    latent: bool = False
    positions: bool = False  # learned
    causal: bool = True
    soft_caps: tuple[float, float] = (0.0, 0.0)  # of scores, of logits, if the config does not say
    scales_embedding: bool = False  # by the root of the hidden size
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])


_GELU = ("gelu_pytorch_tanh", "gelu", "gelu_new", "gelu_fast")
_LAYER = {"norm": "layer", "gated": False, "activations": (*_GELU, "relu")}
_BIASED: dict[str, Any] = {**_LAYER, "qkv_bias": True, "out_bias": True, "mlp_bias": True}
_PLAIN: dict[str, Any] = {"qkv_bias": False, "out_bias": False, "mlp_bias": False}
_GEMMA_3 = {  # Gemma3TextConfig
    "vocab_size": 262208,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "sliding_window": 4096,
    "sliding_window_pattern": 6,
    "max_position_embeddings": 131072,
}

FAMILIES: dict[str, Family] = {
    "llama": Family(("LlamaForCausalLM",)),
    "mistral": Family(("MistralForCausalLM",), windows="all", **_PLAIN),
    "mixtral": Family(
        ("MixtralForCausalLM",),
        windows="all",
        **_PLAIN,
        experts="num_local_experts",
        normalised_experts=True,
    ),
    "qwen2": Family(("Qwen2ForCausalLM",), windows="used", qkv_bias=True, out_bias=False, mlp_bias=False),
    "qwen2_moe": Family(
        ("Qwen2MoeForCausalLM",),
        windows="used",
        qkv_bias=True,
        out_bias=False,
        mlp_bias=False,
        experts="num_experts",
    ),
    "qwen3": Family(("Qwen3ForCausalLM",), windows="used", mlp_bias=False, normalised=True),
    "qwen3_moe": Family(
        ("Qwen3MoeForCausalLM",), windows="used", mlp_bias=False, normalised=True, experts="num_experts"
    ),
    "gemma": Family(
        ("GemmaForCausalLM",),
        activations=_GELU,
        tied=True,
        mlp_bias=False,
        scales_embedding=True,
        defaults={"head_dim": 256},
    ),
    "gemma2": Family(
        ("Gemma2ForCausalLM",),
        norms=4,
        activations=_GELU,
        tied=True,
        mlp_bias=False,
        windows="even",
        soft_caps=(50.0, 30.0),
        scales_embedding=True,
        defaults={"head_dim": 256, "sliding_window": 4096},
    ),
    "gemma3_text": Family(
        ("Gemma3ForCausalLM",),
        norms=4,
        activations=_GELU,
        tied=True,
        mlp_bias=False,
        normalised=True,
        windows="pattern",
        scales_embedding=True,
        defaults=_GEMMA_3,
    ),
    "phi3": Family(("Phi3ForCausalLM",), windows="all", **_PLAIN),
    "deepseek_v2": Family(("DeepseekV2ForCausalLM",), mlp_bias=False, latent=True, experts="n_routed_experts"),
    "deepseek_v3": Family(
        ("DeepseekV3ForCausalLM",),
        mlp_bias=False,
        latent=True,
        experts="n_routed_experts",
        scoring="sigmoid",
        normalised_experts=True,
    ),
    "gpt2": Family(("GPT2LMHeadModel",), **_BIASED, tied=True, positions=True),
    "gpt_neox": Family(("GPTNeoXForCausalLM",), **_BIASED, parallel=True),
    "falcon": Family(
        ("FalconForCausalLM",),
        **_LAYER,
        norms=1,
        tied=True,
        **_PLAIN,
        parallel=True,
    ),
    "bert": Family(
        ("BertModel", "BertForMaskedLM", "BertForPreTraining", "BertForSequenceClassification"),
        **_BIASED,
        positions=True,
        causal=False,
    ),
    "vit": Family(("ViTForImageClassification", "ViTModel"), **_BIASED, positions=True, causal=False),
}
WRAPPED = {"gemma3": "gemma3_text"}  # multimodal types, and the type of the text_config inside them
