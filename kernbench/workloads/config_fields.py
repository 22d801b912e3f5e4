"""The fields of a config.json, each read as what it must be; a field that is wrong is named with its file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kernbench.errors import InputError, shorten

MOST = 1 << 30  # of a size
_UNSET = object()
# Fields that say nothing of sizes: how to train, to sample, to store or to tokenise, and constants of formulas.
_WORDS = """
_name_or_path architectures model_type transformers_version auto_map use_cache torch_dtype dtype bos_token_id
eos_token_id pad_token_id initializer_range attention_dropout hidden_dropout hidden_dropout_prob embd_pdrop
resid_pdrop attn_pdrop embd_dropout attention_probs_dropout_prob resid_dropout pretraining_tp rms_norm_eps
layer_norm_eps layer_norm_epsilon rope_theta rope_scaling rope_parameters rope_local_base_freq rotary_emb_base
query_pre_attn_scalar attention_multiplier router_aux_loss_coef output_router_logits router_jitter_noise
routed_scaling_factor scoring_func norm_topk_prob n_group topk_group topk_method aux_loss_alpha seq_aux ep_size
max_window_layers original_max_position_embeddings summary_activation summary_first_dropout summary_proj_to_labels
summary_type summary_use_proj task_specific_params id2label label2id num_labels position_embedding_type
gradient_checkpointing classifier_dropout sliding_window_pattern use_sliding_window initializer_factor
scale_attn_weights reorder_and_upcast_attn scale_attn_by_inverse_layer_idx chunk_size_feed_forward output_attentions
output_hidden_states tie_word_embeddings is_decoder num_nextn_predict_layers n_ctx alibi
apply_residual_connection_post_layernorm language encoder_stride qkv_bias cache_implementation interpolate_factor
hidden_activation unsloth_version head_type transformers.js_config
"""
_IGNORED = frozenset(_WORDS.split())


class Fields:
    """A mapping of a config, which remembers what was read of it."""

    def __init__(self, data: Mapping[str, Any], place: str) -> None:
        self.data, self.place = data, place
        self._read: set[str] = set()

    def find(self, names: str) -> Any:
        """The value of the first of some names, separated by spaces, that is there and not null; else None."""
        self._read |= set(names.split())
        return next((self.data[name] for name in names.split() if self.data.get(name) is not None), None)

    def size(self, names: str, default: object = _UNSET) -> Any:
        """A whole number of 1 or more. Errors: InputError."""
        return self._number(names, default, 1)

    def number(self, names: str, default: int) -> int:
        """A whole number of 0 or more. Errors: InputError."""
        return self._number(names, default, 0)

    def flag(self, names: str, default: bool) -> bool:
        """True or false. Errors: InputError."""
        value = self.find(names)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(names, value, "true or false")
        return value

    def word(self, names: str, known: Iterable[str], default: object = _UNSET) -> str:
        """One of some words. Errors: InputError."""
        value = self.find(names)
        if value is None:
            if isinstance(default, str):
                return default
            raise InputError(f"{self.place} has no {names.split()[0]}; known: {', '.join(known)}")
        if not isinstance(value, str) or value not in known:
            raise self.wrong(names, value, f"one of {', '.join(known)}")
        return value

    def layers(self, names: str, known: Mapping[str, bool], count: int) -> list[bool] | None:
        """What a list with an entry for each layer says of each; None: no such list. Errors: InputError."""
        value = self.find(names)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != count or not all(isinstance(one, str) for one in value):
            raise self.wrong(names, value, f"a list of {count} entries, each {' or '.join(known)}")
        if unknown := [one for one in value if one not in known]:
            raise self.wrong(names, unknown[0], f"one of {', '.join(known)} for each layer")
        return [known[one] for one in value]

    def numbers(self, name: str) -> list[int]:
        """A list of whole numbers; none if there is no such field. Errors: InputError."""
        value = self.find(name) or []
        if not isinstance(value, list) or not all(isinstance(one, int) for one in value):
            raise self.wrong(name, value, "a list of whole numbers")
        return value

    def wrong(self, names: str, value: object, would_do: str) -> InputError:
        """That a field has a value that it must not have."""
        name = next((name for name in names.split() if name in self.data), names.split()[0])
        return InputError(f"{self.place} has {name}: {shorten(repr(value))}; give {would_do}")

    def list_unread(self) -> list[str]:
        """Fields that were not read and may mean something."""
        return sorted(name for name in self.data if name not in self._read | _IGNORED and not name.startswith("_"))

    def _number(self, names: str, default: object, least: int) -> Any:
        value = self.find(names)
        if value is None:
            if default is _UNSET:
                raise InputError(f"{self.place} has no {names.split()[0]}; give a whole number of {least} or more")
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST:
            raise self.wrong(names, value, f"a whole number of {least} or more, at most {MOST:,}")
        return value
