"""Fused operators of com.microsoft, which ONNX's own implementation lacks, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from math import erf
from typing import Any

import numpy as np
import pytest

import kernbench
from kernbench.errors import InputError
from kernbench.workloads.onnx_files.file import OnnxFile
from kernbench.workloads.onnx_files.operators import list_operators
from tests.workloads.onnx_files.test_operators import Case, make, weights

CONTRIB = "com.microsoft"
W, V, B = weights(24), weights(24), weights(24)
TABLES = weights(16, 4), weights(16, 4)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normal(x: np.ndarray, mean: bool, eps: float) -> np.ndarray:
    x = x - x.mean(-1, keepdims=True) if mean else x
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.vectorize(erf)(x * 0.5**0.5))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))


def heads(x: np.ndarray, count: int) -> np.ndarray:
    b, s, wide = x.shape
    return x.reshape(b, s, count, wide // count).transpose(0, 2, 1, 3)


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, before: int | None) -> np.ndarray:
    """(b, s, h x e) of (b, h, s, e); `before` tokens precede the first query, None: all are seen."""
    share = q.shape[1] // k.shape[1]
    k, v = (np.repeat(one, share, axis=1) for one in (k, v))
    scores = q @ k.swapaxes(2, 3) / q.shape[3] ** 0.5
    if before is not None:
        scores = np.where(np.tri(*scores.shape[2:], before) > 0, scores, -np.inf)
    y = softmax(scores) @ v
    return y.transpose(0, 2, 1, 3).reshape(q.shape[0], q.shape[2], -1)


def turn(x: np.ndarray, first: int) -> np.ndarray:
    """(b, h, s, e) turned by its places from `first` on, halves against each other."""
    cos, sin = (one[first : first + x.shape[2]] for one in TABLES)
    left, right = np.split(x, 2, axis=-1)
    return np.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)


def group_query(x0: np.ndarray, x1: np.ndarray, x2: np.ndarray, x3: np.ndarray, x4: np.ndarray) -> np.ndarray:
    before = x3.shape[2]
    k = np.concatenate([x3, turn(heads(x1, 2), before)], axis=2)
    return attend(turn(heads(x0, 4), before), k, np.concatenate([x4, heads(x2, 2)], axis=2), before)


def packed(x0: np.ndarray) -> np.ndarray:
    q, k, v = np.split(x0 @ PACKED[0] + PACKED[1], 3, axis=2)
    return attend(*(heads(one, 2) for one in (q, k, v)), before=0)


PACKED = weights(16, 48) / 4, weights(48)
ONE = np.array([5], np.int32)
CASES: list[tuple[Case, Callable[..., np.ndarray]]] = [
    (
        Case("SkipLayerNormalization", ((2, 3, 24), (2, 3, 24), W, V, B), {"epsilon": 1e-5}),
        lambda x0, x1: normal(x0 + x1 + B, True, 1e-5) * W + V,
    ),
    (
        Case("SkipSimplifiedLayerNormalization", ((2, 3, 24), (2, 3, 24), W), {"epsilon": 1e-5}),
        lambda x0, x1: normal(x0 + x1, False, 1e-5) * W,
    ),
    (Case("BiasGelu", ((2, 24), B)), lambda x0: gelu(x0 + B)),
    (Case("FastGelu", ((2, 24), B)), lambda x0: gelu_tanh(x0 + B)),
    (Case("Gelu", ((2, 24),)), lambda x0: gelu(x0)),
    (Case("QuickGelu", ((2, 24),)), lambda x0: x0 / (1 + np.exp(-1.702 * x0))),
    (
        Case("FusedMatMul", ((2, 5, 8), (2, 6, 8)), {"transB": 1, "alpha": 0.5}),
        lambda x0, x1: 0.5 * x0 @ x1.swapaxes(1, 2),
    ),
    (
        Case("FusedConv", ((1, 8, 5, 5), np.eye(8, dtype=np.float32)[:, :, None, None], B[:8]), {"activation": "Relu"}),
        lambda x0: np.maximum(x0 + B[:8, None, None], 0),
    ),
    (
        Case("RotaryEmbedding", ((2, 2, 5, 8), np.array([[3, 4, 5, 6, 7]] * 2), *TABLES)),
        lambda x0: turn(x0, 3),
    ),
    (
        Case(
            "GroupQueryAttention",
            ((1, 3, 32), (1, 3, 16), (1, 3, 16), (1, 2, 5, 8), (1, 2, 5, 8), ONE, ONE, *TABLES),
            {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1},
        ),
        group_query,
    ),
    (
        Case("MultiHeadAttention", ((2, 3, 16), (2, 6, 16), (2, 6, 16)), {"num_heads": 2}),
        lambda x0, x1, x2: attend(heads(x0, 2), heads(x1, 2), heads(x2, 2), None),
    ),
    (Case("Attention", ((2, 4, 16), *PACKED), {"num_heads": 2, "unidirectional": 1}), packed),
]


@pytest.mark.parametrize(("case", "reference"), CASES, ids=[case.op for case, _ in CASES])
def test_a_fused_operator_gives_the_numbers_of_numpy(case, reference, tmp_path, monkeypatch):
    path = make(case, tmp_path / "one.onnx", CONTRIB)

    def compute(_: OnnxFile, __: Any, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"y0.out": -reference(**{name: np.asarray(array, np.float64) for name, array in given.items()})}

    monkeypatch.setattr(OnnxFile, "compute", compute)
    monkeypatch.setattr(OnnxFile, "refuse_numbers", lambda _: None)
    result = kernbench.run(str(path), "tiny", parameters={"batch": case.inputs[0][0]}, verify=True)
    assert result.mismatches == ()


def test_each_fused_operator_has_a_case():
    assert set(list_operators()[CONTRIB]) == {case.op for case, _ in CASES}


def test_numbers_of_what_the_reference_lacks_are_refused(tmp_path):
    path = make(Case("QuickGelu", ((2, 24),)), tmp_path / "one.onnx", CONTRIB)
    with pytest.raises(InputError, match="one has operator 'QuickGelu' of domain"):
        kernbench.run(str(path), "tiny", parameters={"batch": 2}, verify=True)
