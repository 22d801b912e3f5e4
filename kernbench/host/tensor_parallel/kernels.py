"""Device kernels of parallel layers. Each PE computes its own block of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernbench.dtypes import itemsize
from kernbench.host.tensor_parallel.blocks import Block, Blocks

CUBES, PES = 1, 0  # axes of `tl.program_id`


def linear(
    x_ptr: int,
    w_ptr: int,
    bias_ptr: int,
    y_ptr: int,
    x: Blocks,
    y: Blocks,
    dtype: str,
    activation: str,
    *,
    tl: Any,
) -> None:
    """y = x @ w (+ bias), then silu if asked: the product of the blocks of x on this cube with the columns of w on this PE."""
    cube, pe = tl.program_id(CUBES), tl.program_id(PES)
    out = y.at(cube, pe)
    if not out.rows or not out.cols:
        return
    size, first_col = itemsize(dtype), y.cols(pe)[0]
    total, k = None, 0
    for block in x.row(cube):
        part = tl.load(x_ptr + block.first * size, (out.rows, block.cols), dtype)
        weight = tl.load(w_ptr + (x.features * first_col + k * out.cols) * size, (block.cols, out.cols), dtype)
        product = tl.dot(part, weight)
        total = product if total is None else _into(tl, total, total + product, product)
        k += block.cols
    if bias_ptr:
        total = _into(tl, total, total + tl.load(bias_ptr + first_col * size, out.cols, dtype))
    if activation == "silu":
        total = total * tl.sigmoid(total)
    tl.store(y_ptr + out.first * size, total)


def _into(tl: Any, former: Any, result: Any, *spent: Any) -> Any:
    for tensor in (former, *spent):
        tl.release(tensor)
    return result


def add(a_ptr: int, b_ptr: int, y_ptr: int, y: Blocks, dtype: str, *, tl: Any) -> None:
    """y = a + b, block by block."""
    block = y.at(tl.program_id(CUBES), tl.program_id(PES))
    if block.rows and block.cols:
        offset = block.first * itemsize(dtype)
        shape = (block.rows, block.cols)
        tl.store(y_ptr + offset, tl.load(a_ptr + offset, shape, dtype) + tl.load(b_ptr + offset, shape, dtype))


def add_bias(y_ptr: int, bias_ptr: int, y: Blocks, dtype: str, *, tl: Any) -> None:
    """y += bias, in place."""
    pe = tl.program_id(PES)
    block = y.at(tl.program_id(CUBES), pe)
    if block.rows and block.cols:
        size = itemsize(dtype)
        bias = tl.load(bias_ptr + y.cols(pe)[0] * size, block.cols, dtype)
        tl.store(
            y_ptr + block.first * size, tl.load(y_ptr + block.first * size, (block.rows, block.cols), dtype) + bias
        )


def copy_columns(
    sources: Sequence[int], y_ptr: int, x: Blocks, y: Blocks, starts: Sequence[int], dtype: str, *, tl: Any
) -> None:
    """Copy columns of other activations into y: source i begins at column `starts[i]` of y, which may be negative.

    `x`: the layout of all sources. Blocks of different widths have different rows, so elements are copied run by run.
    """
    cube, pe = tl.program_id(CUBES), tl.program_id(PES)
    block, (col, col_end), size = y.at(cube, pe), y.cols(pe), itemsize(dtype)
    for token in range(*y.rows(cube)):
        for source, start in zip(sources, starts, strict=True):
            at = max(col, start)
            while at < min(col_end, start + x.features):
                place, left = x.find(token, at - start)
                count = min(left, col_end - at)
                to = block.first + (token - y.rows(cube)[0]) * block.cols + at - col
                tl.store(y_ptr + to * size, tl.load(source + place * size, count, dtype))
                at += count


def embed(table_ptr: int, y_ptr: int, ids: Sequence[int], y: Blocks, rows: int, dtype: str, *, tl: Any) -> None:
    """y[t] = table[ids[t]], or zeros where that row is another rank's; `ids` count from this rank's first row."""
    cube, pe = tl.program_id(CUBES), tl.program_id(PES)
    block, size = y.at(cube, pe), itemsize(dtype)
    if not block.cols:
        return
    first, end = y.rows(cube)
    own_columns = rows * y.cols(pe)[0]
    for token in range(first, end):
        place = block.first + (token - first) * block.cols
        if 0 <= ids[token] < rows:
            row = tl.load(table_ptr + (own_columns + ids[token] * block.cols) * size, block.cols, dtype)
        else:
            row = tl.zeros(block.cols, dtype)
        tl.store(y_ptr + place * size, row)


def rms_norm(x_ptr: int, y_ptr: int, x: Blocks, eps: float, dtype: str, *, tl: Any) -> None:
    """y = x / sqrt(mean of the squares of a token's features + eps)."""
    cube, pe = tl.program_id(CUBES), tl.program_id(PES)
    own, size = x.at(cube, pe), itemsize(dtype)
    if not own.rows or not own.cols:
        return
    mean: Any = None
    mine = _load(tl, x_ptr, own, size, dtype)
    for block in x.row(cube):
        part = mine if block == own else _load(tl, x_ptr, block, size, dtype)
        squares = tl.sum(part * part * (1 / x.features), axis=1)
        mean = squares if mean is None else mean + squares
    tl.store(y_ptr + own.first * size, mine / tl.sqrt(mean + eps))


def attend(q_ptr: int, k_ptr: int, v_ptr: int, y_ptr: int, x: Blocks, heads: int, dtype: str, *, tl: Any) -> None:
    """Attention of the tokens of this cube to all tokens; the features are `heads` of equal width, one after the other.

    A head is on several PEs. Each of them computes its own columns of the result, and all scores of the head. Blocks of
    keys are processed one after the other with a running maximum and a running sum, so a whole row of scores is never
    in memory.
    """
    cube, pe = tl.program_id(CUBES), tl.program_id(PES)
    own, size = x.at(cube, pe), itemsize(dtype)
    if not own.rows:
        return
    share = x.pes // heads  # PEs of a head
    fellows = range(pe // share * share, (pe // share + 1) * share)
    scale = (x.features / heads) ** -0.5
    queries = [_load(tl, q_ptr, x.at(cube, fellow), size, dtype) for fellow in fellows]
    top: Any = None
    total: Any = None
    out: Any = None
    for other in range(x.cubes):
        if not x.at(other, pe).rows:
            break
        scores = None
        for query, fellow in zip(queries, fellows, strict=True):
            product = tl.dot(query, tl.trans(_load(tl, k_ptr, x.at(other, fellow), size, dtype)))
            scores = product if scores is None else scores + product
        scores = scores * scale
        values = _load(tl, v_ptr, x.at(other, pe), size, dtype)
        best = tl.max(scores, axis=1)
        if top is None:
            weights = tl.exp(scores - best)
            total, out = tl.sum(weights, axis=1), tl.dot(weights, values)
        else:
            best = tl.maximum(top, best)
            weights, fade = tl.exp(scores - best), tl.exp(top - best)
            total, out = total * fade + tl.sum(weights, axis=1), out * fade + tl.dot(weights, values)
        top = best
    tl.store(y_ptr + own.first * size, out / total)


def _load(tl: Any, ptr: int, block: Block, size: int, dtype: str) -> Any:
    return tl.load(ptr + block.first * size, (block.rows, block.cols), dtype)
