"""Rotary embedding in Triton: halves of each head turned by an angle of the position.

`tl` has no twin of it, since its functions take whole blocks.
"""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from kernbench import DPPolicy, bench
from kernbench.dtypes import widen

SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


@triton.jit
def rotary_kernel(x_ptr, y_ptr, cos_ptr, sin_ptr, heads, HALF: tl.constexpr):
    position = tl.program_id(0)
    at = tl.arange(0, HALF)
    cos, sin = tl.load(cos_ptr + position * HALF + at), tl.load(sin_ptr + position * HALF + at)
    for head in range(heads):
        first = (position * heads + head) * 2 * HALF
        left = tl.load(x_ptr + first + at).to(tl.float32)
        right = tl.load(x_ptr + first + HALF + at).to(tl.float32)
        tl.store(y_ptr + first + at, (left * cos - right * sin).to(y_ptr.dtype.element_ty))
        tl.store(y_ptr + first + HALF + at, (right * cos + left * sin).to(y_ptr.dtype.element_ty))


@bench("triton-rotary", "A rotary embedding of heads, a position a program")
def run(torch, *, positions=32, heads=4, head_dim=64, base=10000.0, dtype="f16"):
    """A program for each position.

    Parameters:
        positions: positions of the sequence
        heads: heads of a position
        head_dim: elements of a head, twice a power of two
        base: of the wavelengths
        dtype: type of elements
    """
    half = head_dim // 2
    angles = np.outer(np.arange(positions), base ** (-np.arange(half) / half)).astype(np.float32)
    x = torch.randn((positions, heads * head_dim), dtype, SPLIT, name="x")
    y = torch.zeros((positions, heads * head_dim), dtype, SPLIT, name="y")
    cos, sin = torch.from_numpy(np.cos(angles), name="cos"), torch.from_numpy(np.sin(angles), name="sin")
    torch.launch("rotary", rotary_kernel[(positions,)], x, y, cos, sin, heads, HALF=half)

    def expected():
        held = widen(x.initial()).reshape(positions, heads, 2, half)
        turned = (held[:, :, 0] + 1j * held[:, :, 1]) * np.exp(1j * angles)[:, None, :]
        return np.stack([turned.real, turned.imag], axis=2).reshape(positions, -1).astype(np.float32)

    torch.expect(y, expected)
