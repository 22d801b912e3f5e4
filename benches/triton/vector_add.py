"""C = A + B in Triton, a block of elements a program.

The twin in `tl` is `vector-add`: there each PE adds its own part in one command; here a program adds a block, and the grid
has as many programs as there are blocks.
"""

from __future__ import annotations

import triton
import triton.language as tl

from kernbench import DPPolicy, bench
from kernbench.dtypes import widen

SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


@triton.jit
def add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(a_ptr + at, mask=inside)
    b = tl.load(b_ptr + at, mask=inside)
    tl.store(c_ptr + at, a + b, mask=inside)


@bench("triton-vector-add", "A sum of two vectors, a block a program")
def run(torch, *, n=65536, BLOCK=1024, dtype="f16"):
    """A program for each block.

    Parameters:
        n: elements
        BLOCK: elements of a program, a power of two
        dtype: type of elements
    """
    a, b = (torch.randn((n,), dtype, SPLIT, name=name) for name in "ab")
    c = torch.zeros((n,), dtype, SPLIT, name="c")
    torch.launch("add", add_kernel[(triton.cdiv(n, BLOCK),)], a, b, c, n, BLOCK=BLOCK)
    torch.expect(c, lambda: widen(a.initial()) + widen(b.initial()))
