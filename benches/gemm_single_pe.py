"""The smallest GEMM: one PE loads both operands, multiplies them, stores the result."""

from __future__ import annotations

from kernbench import DPPolicy, InputError, bench
from kernbench.dtypes import widen


def gemm(a_ptr, b_ptr, c_ptr, m, k, n, dtype, tl):
    """Load, multiply, store; each waits for the one before."""
    a = tl.load(a_ptr, (m, k), dtype)
    b = tl.load(b_ptr, (k, n), dtype)
    tl.store(c_ptr, tl.dot(a, b))


@bench("gemm-single-pe", "A GEMM on one PE: load, dot, store")
def run(torch, *, M=128, K=128, N=128, dtype="f16"):
    """Everything lies in the PE's own memory.

    Parameters:
        M: rows of A and C
        K: columns of A, rows of B
        N: columns of B and C
        dtype: type of elements, such as f16, bf16, f32 or f8e4m3
    """
    if min(M, K, N) < 1:
        raise InputError(f"gemm-single-pe got M={M}, K={K}, N={N}; each must be 1 or more")
    one = DPPolicy(num_cubes=1, num_pes=1)
    a = torch.draw((M, K), dtype, one, name="a")
    b = torch.draw((K, N), dtype, one, name="b")
    c = torch.empty((M, N), dtype, one, name="c")
    torch.launch("gemm", gemm, a, b, c, M, K, N, dtype)
    torch.expect(c, lambda: widen(a.initial()) @ widen(b.initial()))
