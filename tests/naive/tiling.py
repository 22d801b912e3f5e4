"""Tile plans one token at a time, as a reference for the array-built ones."""

from math import ceil


def tokens(m, k, n, tile_m, tile_k, tile_n):
    """(m, n, k) tile indices, (rows, columns, depth) and whether it is the last of its output tile, for each token."""
    count_m, count_k, count_n = (max(1, ceil(dim / tile)) for dim, tile in ((m, tile_m), (k, tile_k), (n, tile_n)))
    for i in range(count_m):
        for j in range(count_n):
            for p in range(count_k):
                rows, columns = min(tile_m, m - i * tile_m), min(tile_n, n - j * tile_n)
                depth = min(tile_k, k - p * tile_k)
                yield (i, j, p), (rows, columns, depth), p == count_k - 1


def gemm_stages(m, k, n, tile, a, b, out, epilogue=(), itemsize=2):
    """The stages of each token of a GEMM, as (name, amount, address) tuples; a and b are addresses, or None if pinned.

    `epilogue` is a list of (op, scope). Matrices are row-major; an amount is bytes, flops or elements.
    """
    tile_m, tile_k, tile_n = tile
    every = list(tokens(m, k, n, *tile))
    for number, ((i, j, p), (rows, columns, depth), last) in enumerate(every):
        stages = []
        a_bytes, b_bytes, area = rows * depth * itemsize, depth * columns * itemsize, rows * columns
        if a is not None:
            stages.append(("dma_read", a_bytes, a + (i * tile_m * k + p * tile_k) * itemsize))
        if b is not None:
            stages.append(("dma_read", b_bytes, b + (p * tile_k * n + j * tile_n) * itemsize))
        stages.append(("fetch", a_bytes + b_bytes, None))
        stages.append(("gemm", 2 * area * depth, None))
        stages += [(op, area, None) for op, scope in epilogue if scope == "k_tile"]
        if last:
            stages += [(op, area, None) for op, scope in epilogue if scope == "output_tile"]
            if number == len(every) - 1:
                stages += [(op, m * n, None) for op, scope in epilogue if scope == "kernel"]
            stages.append(("store", area * itemsize, None))
            stages.append(("dma_write", area * itemsize, out + (i * tile_m * n + j * tile_n) * itemsize))
        yield stages
