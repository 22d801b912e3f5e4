"""Configs of published models, with the fields that give their sizes, and their parameter counts."""

from __future__ import annotations

from typing import Any


def decoder(kind: str, sizes: str, **others: Any) -> dict[str, Any]:
    """A config of a type, with sizes d/L/h/k/e/f/V."""
    d, layers, h, k, e, f, vocabulary = (int(size) for size in sizes.split("/"))
    return {
        "model_type": kind,
        "hidden_size": d,
        "num_hidden_layers": layers,
        "num_attention_heads": h,
        "num_key_value_heads": k,
        "head_dim": e,
        "intermediate_size": f,
        "vocab_size": vocabulary,
        "torch_dtype": "bfloat16",
        "max_position_embeddings": 131072,
        **others,
    }


TIED = {"tie_word_embeddings": True}
GELU = {"hidden_act": "gelu_pytorch_tanh"}
V3 = {
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "n_shared_experts": 1,
    "moe_intermediate_size": 2048,
    "first_k_dense_replace": 3,
}


def latent(q: int | None, **others: Any) -> dict[str, Any]:
    """The sizes of DeepSeek's attention."""
    sizes = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
    return {**sizes, "q_lora_rank": q, "first_k_dense_replace": 1, **others}


def deepseek(count: int, shared: int, inner: int, chosen: int) -> dict[str, Any]:
    """The sizes of DeepSeek's experts."""
    return {
        "n_routed_experts": count,
        "n_shared_experts": shared,
        "moe_intermediate_size": inner,
        "num_experts_per_tok": chosen,
    }


def gpt2(d: int, layers: int, heads: int, positions: int) -> dict[str, Any]:
    """GPT-2 and its larger sister, in its own spellings."""
    return {
        "model_type": "gpt2",
        "n_embd": d,
        "n_layer": layers,
        "n_head": heads,
        "n_positions": positions,
        "n_inner": None,
        "vocab_size": 50257,
        "activation_function": "gelu_new",
    }


def bert(d: int, layers: int, heads: int) -> dict[str, Any]:
    """BERT."""
    return {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_size": d,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": 4 * d,
        "vocab_size": 30522,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "hidden_act": "gelu",
    }


NEOX = {
    **decoder("gpt_neox", "6144/44/64/64/96/24576/50432", rotary_pct=0.25, hidden_act="gelu_fast"),
}
FALCON = {
    "model_type": "falcon",
    "hidden_size": 4544,
    "num_hidden_layers": 32,
    "num_attention_heads": 71,
    "multi_query": True,
    "parallel_attn": True,
    "bias": False,
    "vocab_size": 65024,
}
VIT = {
    "model_type": "vit",
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_act": "gelu",
    "image_size": 224,
    "patch_size": 16,
}
MOE = {"num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1}
GEMMA_3 = decoder("gemma3_text", "1152/26/4/1/256/6912/262144", sliding_window=512, sliding_window_pattern=6, **GELU)

# name, config, all parameters, those active if others are not
TOTALS: list[tuple[str, dict[str, Any], int, int | None]] = [
    ("Llama-2-7B", decoder("llama", "4096/32/32/32/128/11008/32000"), 6_738_415_616, None),
    ("Llama-2-13B", decoder("llama", "5120/40/40/40/128/13824/32000"), 13_015_864_320, None),
    ("Llama-2-70B", decoder("llama", "8192/80/64/8/128/28672/32000"), 68_976_648_192, None),
    ("Llama-3.1-8B", decoder("llama", "4096/32/32/8/128/14336/128256"), 8_030_261_248, None),
    ("Llama-3.1-70B", decoder("llama", "8192/80/64/8/128/28672/128256"), 70_553_706_496, None),
    ("Llama-3.1-405B", decoder("llama", "16384/126/128/8/128/53248/128256"), 405_853_388_800, None),
    ("Llama-3.2-1B", decoder("llama", "2048/16/32/8/64/8192/128256", **TIED), 1_235_814_400, None),
    ("Llama-3.2-3B", decoder("llama", "3072/28/24/8/128/8192/128256", **TIED), 3_212_749_824, None),
    ("Mistral-7B-v0.1", decoder("mistral", "4096/32/32/8/128/14336/32000"), 7_241_732_096, None),
    ("Mistral-7B-v0.3", decoder("mistral", "4096/32/32/8/128/14336/32768"), 7_248_023_552, None),
    ("Qwen2.5-0.5B", decoder("qwen2", "896/24/14/2/64/4864/151936", **TIED), 494_032_768, None),
    ("Qwen2.5-7B", decoder("qwen2", "3584/28/28/4/128/18944/152064"), 7_615_616_512, None),
    ("Qwen2.5-72B", decoder("qwen2", "8192/80/64/8/128/29568/152064"), 72_706_203_648, None),
    ("Qwen3-0.6B", decoder("qwen3", "1024/28/16/8/128/3072/151936", **TIED), 596_049_920, None),
    ("Qwen3-8B", decoder("qwen3", "4096/36/32/8/128/12288/151936"), 8_190_735_360, None),
    ("Qwen3-32B", decoder("qwen3", "5120/64/64/8/128/25600/151936"), 32_762_123_264, None),
    (
        "Qwen3-30B-A3B",
        decoder("qwen3_moe", "2048/48/32/4/128/6144/151936", moe_intermediate_size=768, **MOE),
        30_532_122_624,
        3_353_032_704,
    ),
    (
        "Qwen3-235B-A22B",
        decoder("qwen3_moe", "4096/94/64/4/128/12288/151936", moe_intermediate_size=1536, **MOE),
        235_093_634_560,
        22_190_763_520,
    ),
    (
        "Mixtral-8x7B",
        decoder("mixtral", "4096/32/32/8/128/14336/32000", num_local_experts=8, num_experts_per_tok=2),
        46_702_792_704,
        12_879_925_248,
    ),
    (
        "Mixtral-8x22B",
        decoder("mixtral", "6144/56/48/8/128/16384/32000", num_local_experts=8, num_experts_per_tok=2),
        140_620_634_112,
        39_152_031_744,
    ),
    ("Gemma-2-2B", decoder("gemma2", "2304/26/8/4/256/9216/256000", **GELU), 2_614_341_888, None),
    ("Gemma-2-9B", decoder("gemma2", "3584/42/16/8/256/14336/256000", **GELU), 9_241_705_984, None),
    ("Gemma-2-27B", decoder("gemma2", "4608/46/32/16/128/36864/256000", **GELU), 27_227_128_320, None),
    ("Gemma-3-1B", GEMMA_3, 999_885_952, None),
    ("Phi-3-mini", decoder("phi3", "3072/32/32/32/96/8192/32064"), 3_821_079_552, None),
    (
        "DeepSeek-V2-Lite",
        decoder("deepseek_v2", "2048/27/16/16/192/10944/102400", **latent(None), **deepseek(64, 2, 1408, 6)),
        15_706_484_224,
        2_661_150_208,
    ),
    (
        "DeepSeek-V2",
        decoder("deepseek_v2", "5120/60/128/128/192/12288/102400", **latent(1536), **deepseek(160, 2, 1536, 6)),
        235_741_434_880,
        21_375_800_320,
    ),
    (
        "DeepSeek-V3",
        decoder("deepseek_v3", "7168/61/128/128/192/18432/129280", **{**latent(1536), **V3}),
        671_026_419_200,
        37_552_297_472,
    ),
    ("GPT-2", gpt2(768, 12, 12, 1024), 124_439_808, None),
    ("GPT-3", gpt2(12288, 96, 96, 2048), 174_604_259_328, None),
    ("GPT-NeoX-20B", NEOX, 20_554_567_680, None),
    ("Falcon-7B", FALCON, 6_921_720_704, None),
    ("BERT-base", bert(768, 12, 12), 109_482_240, None),
    ("BERT-large", bert(1024, 24, 16), 335_141_888, None),
    ("ViT-B/16", VIT, 86_567_656, None),
]
CONFIGS = {name: config for name, config, _, _ in TOTALS}
