"""Cross entropy of rows of logits in Triton: the largest and the sum are kept while blocks of a row go by.

A target is read as a number of the control CPU and is part of an address, so the kernel runs live. `tl` has no twin of it.
"""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from kernbench import DPPolicy, bench
from kernbench.dtypes import widen

SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


@triton.jit
def cross_entropy_kernel(logits_ptr, targets_ptr, losses_ptr, classes, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    first = logits_ptr + row * classes
    largest, total = -float("inf"), 0.0
    for start in range(0, classes, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(first + at, mask=at < classes, other=-float("inf")).to(tl.float32)
        highest = tl.maximum(largest, tl.max(x, axis=0))
        total = total * tl.exp(largest - highest) + tl.sum(tl.exp(x - highest), axis=0)
        largest = highest
    target = tl.load(targets_ptr + row)
    chosen = tl.load(first + target).to(tl.float32)
    tl.store(losses_ptr + row, tl.log(total) + largest - chosen)


@bench("triton-cross-entropy", "The cross entropy of rows of logits", live=True)
def run(torch, *, rows=16, classes=1000, BLOCK=256, dtype="f16"):
    """A program for each row.

    Parameters:
        rows: rows of logits
        classes: elements of a row
        BLOCK: elements of a block, a power of two
        dtype: type of logits; losses are f32
    """
    targets = np.random.default_rng(3).integers(0, classes, rows).astype(np.int32)
    logits = torch.randn((rows, classes), dtype, SPLIT, name="logits")
    losses = torch.zeros((rows, 1), "f32", SPLIT, name="losses")
    of_rows = torch.from_numpy(targets, name="targets")
    torch.launch("cross_entropy", cross_entropy_kernel[(rows,)], logits, of_rows, losses, classes, BLOCK=BLOCK)

    def expected():
        held = widen(logits.initial()).astype(np.float64)
        sums = np.log(np.exp(held).sum(axis=1))
        return (sums - held[np.arange(rows), targets]).astype(np.float32)[:, None]

    torch.expect(losses, expected)
