"""`tl.dot_scaled`: products of operands in small formats, with a power of two for each 32 elements.

The matrix engine takes no scales, so the vector engine makes bf16 of the operands first, and the product is one of bf16.
Formats: Open Compute Project, "Microscaling Formats (MX) Specification", version 1.0, 2023: E8M0 scales, E2M1, E4M3 and E5M2.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from kernbench.tl.language.errors import fail
from kernbench.triton.language.block import tensor
from kernbench.triton.language.functions import dot
from kernbench.triton.language.rearranging import once
from kernbench.triton.language.types import dtype, named

_F32 = named("float32")
_SHARE = 32  # elements of one scale
_BIAS = 127
_SEEN = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
_FORMATS = ("e2m1", "e4m3", "e5m2", "bf16", "fp16")


def _decoded(data: Any, form: str, axis: int) -> Any:
    """Numbers of a format as f32; two of e2m1 in a byte along an axis, the low one first."""
    if form == "e2m1":
        bits = np.asarray(data).view(np.uint8)
        pairs = np.stack([_E2M1[bits & 15], _E2M1[bits >> 4]], axis=axis + 1)
        return pairs.reshape(*(2 * size if at == axis else size for at, size in enumerate(bits.shape)))
    return (data.view(_SEEN[form]) if data.dtype == np.uint8 else data).astype(np.float32)


def _upcast(x: tensor, scale: tensor | None, form: str, axis: int) -> tensor:
    if form not in _FORMATS:
        fail(f"tl.dot_scaled got the format {form!r}", f"give one of {', '.join(_FORMATS)}")

    def scaled(data: Any, *scales: Any) -> Any:
        found = _decoded(np.asarray(data), form, axis)
        for one in scales:
            powers = np.exp2(np.asarray(one).astype(np.float32) - _BIAS).repeat(_SHARE, axis=-1)
            found = found * (powers if axis else powers.T)
        return found.astype(ml_dtypes.bfloat16)

    arrays = [x.data] if scale is None else [x.data, scale.data]
    return tensor(once("upcast", scaled, *arrays), named("bfloat16"))


def dot_scaled(
    lhs: tensor,
    lhs_scale: tensor | None,
    lhs_format: str,
    rhs: tensor,
    rhs_scale: tensor | None,
    rhs_format: str,
    acc: tensor | None = None,
    fast_math: bool = False,  # noqa: ARG001
    lhs_k_pack: bool = True,
    rhs_k_pack: bool = True,
    out_dtype: dtype = _F32,
) -> tensor:
    """(m, k) lhs @ (k, n) rhs, plus `acc`; scales are (m, k / 32) and (n, k / 32). Errors: KernelError for a format."""
    if not (lhs_k_pack and rhs_k_pack):
        fail("tl.dot_scaled got operands that are not packed along k", "pack two elements of e2m1 along k")
    a, b = _upcast(lhs, lhs_scale, lhs_format, 1), _upcast(rhs, rhs_scale, rhs_format, 0)
    return dot(a, b, acc, out_dtype=out_dtype)
