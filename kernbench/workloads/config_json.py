"""A config.json of Hugging Face becomes an architecture; weights and the network are not needed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from kernbench.dtypes import BITS
from kernbench.errors import InputError, shorten, suggest
from kernbench.library import show_path
from kernbench.workloads.architecture import Architecture, Experts, Heads, Latent, LayerKind, Mlp, Norms, Patches
from kernbench.workloads.config_fields import Fields
from kernbench.workloads.families import FAMILIES, WRAPPED, Family

MOST_BYTES = 1 << 20  # of a config.json
MOST_LAYERS = 10_000
DTYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}
_INNER = "intermediate_size ffn_hidden_size n_inner"


def load_config(path: Path) -> Architecture:
    """The architecture of a file. Errors: InputError for other files, and for unknown families."""
    place = str(show_path(path))
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{place} has {path.stat().st_size:,} bytes; a config.json has at most {MOST_BYTES:,}")
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InputError(f"{place} is no JSON: {shorten(str(error))}; give a config.json of Hugging Face") from None
    name = path.parent.name if path.stem == "config" and path.parent.name else path.stem
    return read_config(data, place, name)


def read_config(data: object, place: str, name: str) -> Architecture:
    """The architecture of the contents of a config. Errors: InputError."""
    if not isinstance(data, dict):
        raise InputError(f"{place} holds no object; give a config.json of Hugging Face")
    fields, remarks = _unwrap(cast("dict[str, Any]", data), place)
    type_name = fields.find("model_type")
    family = FAMILIES[type_name]
    d, layers = fields.size("hidden_size n_embd"), fields.size("num_hidden_layers n_layer")
    if layers > MOST_LAYERS:
        raise InputError(f"{place} has {layers:,} layers; at most {MOST_LAYERS:,} are taken")
    attention = _read_latent(fields) if family.latent else _read_heads(fields, family, d)
    patches = _read_patches(fields) if type_name == "vit" else None
    experts = _read_experts(fields, family)
    kinds = zip(
        _find_sparse(fields, experts, layers), _find_windows(fields, family, layers), strict=True
    )  # of each layer
    positions = fields.size("max_position_embeddings n_positions seq_length", None)
    network = Architecture(
        name=name,
        family=type_name,
        hidden=d,
        vocabulary=0 if patches else fields.size("vocab_size"),
        attention=attention,
        mlp=_read_mlp(fields, family, d),
        norms=_read_norms(fields, family, type_name),
        layer_kinds=tuple(LayerKind(*kind) for kind in kinds),
        tied=fields.flag("tie_word_embeddings", family.tied),
        dtype=_read_dtype(fields),
        experts=experts,
        context=None if patches else positions,
        positions=patches.tokens if patches else (positions or 0) if family.positions else 0,
        token_types=fields.number("type_vocab_size", 2) if type_name == "bert" else 0,
        rotary=0 if family.positions else _read_rotary(fields, attention),
        parallel=_read_parallel(fields, family, type_name),
        causal=family.causal,
        pooler=type_name == "bert",
        patches=patches,
        soft_caps=_read_soft_caps(fields, family),
        embedding_scale=d**0.5 if family.scales_embedding else 1.0,
        quantised=_read_quantisation(fields),
    )
    unread = fields.list_unread()
    if unread:
        remarks.append(f"fields of the config that are not known: {', '.join(unread)}")
    return replace(network, not_modelled=(*remarks, *_list_not_modelled(fields, network)))


def _unwrap(data: dict[str, Any], place: str) -> tuple[Fields, list[str]]:
    """The fields of the text model. Errors: InputError for no, several or unknown architectures."""
    type_name, classes = data.get("model_type"), data.get("architectures")
    known = [*FAMILIES, *WRAPPED]
    if not isinstance(type_name, str):
        raise InputError(f"{place} has no model_type; known: {', '.join(known)}")
    if type_name not in known:
        raise InputError(f"{place} has model_type {shorten(type_name)!r}{suggest(type_name, known)}")
    names = FAMILIES[WRAPPED.get(type_name, type_name)].classes
    if classes is not None and (not isinstance(classes, list) or len(cast("list[object]", classes)) != 1):
        count = len(cast("list[object]", classes)) if isinstance(classes, list) else "no list"
        raise InputError(f"{place} names {count} architectures; give one, such as {names[0]}")
    remarks: list[str] = []
    if type_name in WRAPPED:
        inner = data.get("text_config")
        if not isinstance(inner, dict):
            raise InputError(f"{place} has no text_config; a {type_name} has one")
        remarks.append("the part of the network that reads images")
        type_name = WRAPPED[type_name]
        outer = {key: data[key] for key in ("torch_dtype", "dtype", "quantization_config") if key in data}
        data, place = {**outer, **cast("dict[str, Any]", inner)}, f"{place}, text_config"
    elif classes and classes[0] not in names:
        raise InputError(f"{place} has architecture {shorten(str(classes[0]))!r}{suggest(str(classes[0]), names)}")
    return Fields({**FAMILIES[type_name].defaults, **data, "model_type": type_name}, place), remarks


def _read_heads(fields: Fields, family: Family, d: int) -> Heads:
    queries = fields.size("num_attention_heads n_head")
    keys = fields.size("num_key_value_heads num_kv_heads", None)
    if fields.flag("multi_query", False) and not fields.flag("new_decoder_architecture", False):
        keys = 1
    keys = keys or queries
    size = fields.size("head_dim", None)
    if size is None and d % queries:
        raise InputError(
            f"{fields.place} has hidden_size {d} and {queries} heads, which do not divide it; give head_dim"
        )
    if queries % keys:
        raise InputError(
            f"{fields.place} has {queries} attention heads and {keys} of keys and values; make those a divisor"
        )
    bias = fields.flag("attention_bias bias", False)
    return Heads(
        queries,
        keys,
        size or d // queries,
        bias if family.qkv_bias is None else family.qkv_bias,
        bias if family.out_bias is None else family.out_bias,
        family.normalised,
    )


def _read_latent(fields: Fields) -> Latent:
    fields.find("num_key_value_heads head_dim attention_bias")  # as many as of queries; said by the sizes below
    return Latent(
        fields.size("num_attention_heads"),
        fields.size("q_lora_rank", None),
        fields.size("kv_lora_rank"),
        fields.size("qk_nope_head_dim"),
        fields.size("qk_rope_head_dim"),
        fields.size("v_head_dim"),
    )


def _read_mlp(fields: Fields, family: Family, d: int) -> Mlp:
    default: object = 4 * d if not family.gated else None
    inner = fields.size(_INNER, default)
    if inner is None:
        inner = fields.size("intermediate_size")
    activation = fields.word(
        "hidden_act hidden_activation activation_function activation", family.activations, family.activations[0]
    )
    bias = fields.flag("mlp_bias", False) if family.mlp_bias is None else family.mlp_bias
    return Mlp(inner, family.gated, activation, bias)


def _read_experts(fields: Fields, family: Family) -> Experts | None:
    if not family.experts:
        return None
    count = fields.number(family.experts, 0)
    if not count:
        return None
    inner = fields.size("moe_intermediate_size intermediate_size")
    chosen = fields.size("num_experts_per_tok num_experts_per_token")
    if chosen > count:
        raise InputError(f"{fields.place} has {count} experts and {chosen} of them a token; give at most {count}")
    shared = fields.number("n_shared_experts", 0) * inner or fields.number("shared_expert_intermediate_size", 0)
    gated = fields.find("shared_expert_intermediate_size") is not None
    biased = fields.find("model_type") == "deepseek_v3"
    experts = Experts(count, chosen, inner, shared, gated, biased, group_best=2 if biased else 1)
    return _read_choice(fields, family, experts)


def _read_choice(fields: Fields, family: Family, experts: Experts) -> Experts:
    """How a router chooses experts and weighs them. Errors: InputError."""
    scoring = fields.word("scoring_func", ("softmax", "sigmoid"), family.scoring)
    normalised = fields.flag("norm_topk_prob", family.normalised_experts)
    factor = fields.find("routed_scaling_factor")
    if factor is not None and (isinstance(factor, bool) or not isinstance(factor, (int, float))):
        raise fields.wrong("routed_scaling_factor", factor, "a number")
    limited = fields.find("topk_method") != "greedy"
    groups = fields.size("n_group", 1) if limited else 1
    kept = fields.size("topk_group", groups) if limited else 1
    if experts.count % groups or kept > groups or experts.chosen > experts.count // groups * kept:
        raise InputError(
            f"{fields.place} has {experts.count} experts in {groups} groups, of which a token takes {experts.chosen} from "
            f"{kept}; give groups that divide them and hold as many"
        )
    return replace(
        experts,
        sigmoid=scoring == "sigmoid",
        normalised=normalised,
        factor=float(1 if factor is None else factor),
        groups=groups,
        groups_chosen=kept,
    )


def _find_sparse(fields: Fields, experts: Experts | None, layers: int) -> list[bool]:
    dense = fields.number("first_k_dense_replace", 0)
    step = fields.size("decoder_sparse_step moe_layer_freq", 1)
    first = step - 1 if fields.find("decoder_sparse_step") is not None else 0
    only = fields.numbers("mlp_only_layers")
    return [
        experts is not None and index >= dense and (index - first) % step == 0 and index not in only
        for index in range(layers)
    ]


def _find_windows(fields: Fields, family: Family, layers: int) -> list[int | None]:
    listed = fields.layers("layer_types", {"full_attention": False, "sliding_attention": True}, layers)
    window = fields.size("sliding_window", None)
    pattern = fields.size("sliding_window_pattern", 6)
    rules = {
        "none": lambda _index: False,
        "all": lambda _index: True,
        "used": lambda index: (
            fields.flag("use_sliding_window", False) and index >= fields.number("max_window_layers", 0)
        ),
        "even": lambda index: index % 2 == 0,
        "pattern": lambda index: (index + 1) % pattern != 0,
    }
    local = listed or [rules[family.windows](index) for index in range(layers)]
    return [window if one else None for one in local]


def _read_norms(fields: Fields, family: Family, type_name: str) -> Norms:
    two = fields.flag("new_decoder_architecture", False) if type_name == "falcon" else False
    return Norms(family.norm, family.norms + two, final=type_name != "bert", embedding=type_name == "bert")


def _read_parallel(fields: Fields, family: Family, type_name: str) -> bool:
    name = {"falcon": "parallel_attn", "gpt_neox": "use_parallel_residual"}.get(type_name)
    return fields.flag(name, family.parallel) if name else family.parallel


def _read_rotary(fields: Fields, attention: Heads | Latent) -> int:
    if isinstance(attention, Latent):
        return attention.rotary
    part = fields.find("partial_rotary_factor rotary_pct")
    if part is None:
        return attention.size
    if isinstance(part, bool) or not isinstance(part, (int, float)) or not 0 <= part <= 1:
        raise fields.wrong("partial_rotary_factor rotary_pct", part, "a number of 0 to 1")
    return int(attention.size * part)


def _read_soft_caps(fields: Fields, family: Family) -> tuple[float, float]:
    """Of scores and of logits; a config that has none of the two fields leaves those of the family."""
    names = ("attn_logit_softcapping", "final_logit_softcapping")
    found = [fields.find(name) for name in names]
    for name, value in zip(names, found, strict=True):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0):
            raise fields.wrong(name, value, "a number above 0")
    if not any(name in fields.data for name in names):
        return family.soft_caps
    return float(found[0] or 0), float(found[1] or 0)


def _read_patches(fields: Fields) -> Patches:
    image, patch = fields.size("image_size", 224), fields.size("patch_size", 16)
    if image % patch:
        raise InputError(f"{fields.place} has image_size {image}, no multiple of patch_size {patch}")
    labels = fields.find("id2label")
    classes = len(labels) if isinstance(labels, Mapping) else fields.size("num_labels", 1000)
    return Patches(image, patch, fields.size("num_channels", 3), classes)


def _read_dtype(fields: Fields) -> str:
    return DTYPES[fields.word("torch_dtype dtype", DTYPES, "float32")]


def _read_quantisation(fields: Fields) -> str | None:
    """The type of quantised weights. Errors: InputError for a format that is not modelled."""
    said = fields.find("quantization_config")
    if said is None:
        return None
    method = said.get("quant_method") if isinstance(said, Mapping) else said
    if method != "fp8":
        raise InputError(
            f"{fields.place} has quantization_config with quant_method {shorten(repr(method))}, which is not modelled; "
            f"give a config without it and --set weights=TYPE, TYPE one of {', '.join(BITS)}"
        )
    return "f8e4m3"


def _list_not_modelled(fields: Fields, network: Architecture) -> list[str]:
    found: list[str] = []
    if network.quantised:
        found.append("scales of the blocks of quantised weights")
    if fields.find("num_nextn_predict_layers"):
        found.append("the layers that predict further tokens")
    classes = fields.find("architectures") or []
    if network.family == "bert" and classes and classes[0] != "BertModel":
        found.append(f"the head of {classes[0]}; the pooler of BertModel is")
    return found
