"""Functions of the language, one by one, on memory alone against numpy: shapes, atomics, operators, control, refusals."""

import numpy as np
import pytest

from kernbench import InputError, KernelError
from kernbench.triton.language.launches import Launcher, launching
from kernbench.triton.language.modules import importable
from kernbench.triton.whole_file import compute

with importable():
    import triton
    import triton.language as tl

X = np.arange(32, dtype=np.float32)
M = X.reshape(4, 8)


@triton.jit
def on_matrix(x_ptr, y_ptr, BODY: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :])
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(y_ptr + at, tl.reshape(BODY(x), (ROWS, COLUMNS)))


def find(body, shape):
    """What a function of the block M gives, of a shape."""
    y = np.zeros(shape, np.float32)
    rows, columns = (1, *shape)[-2:] if len(shape) < 3 else (shape[0], int(np.prod(shape[1:])))
    with launching(Launcher(compute)):
        on_matrix[(1,)](M.copy(), y, body, rows, columns)
    return y


SHAPES = {
    "reshape": (lambda x: tl.reshape(x, (8, 4)), M.reshape(8, 4)),
    "view": (lambda x: x.view(2, 16), M.reshape(2, 16)),
    "trans": (lambda x: tl.trans(x), M.T),
    "trans of named axes": (lambda x: tl.trans(x, 1, 0), M.T),
    "permute": (lambda x: tl.permute(x.reshape(2, 2, 8), (2, 0, 1)), M.reshape(2, 2, 8).transpose(2, 0, 1)),
    "T": (lambda x: x.T, M.T),
    "ravel": (lambda x: tl.ravel(x), M.ravel()),
    "flip": (lambda x: tl.flip(x, 1), M[:, ::-1]),
    "expand_dims": (lambda x: tl.expand_dims(x, 1) + tl.zeros((4, 2, 8), tl.float32), np.repeat(M[:, None], 2, 1)),
    "broadcast_to": (lambda x: tl.broadcast_to(x.sum(1)[:, None], (4, 8)), np.repeat(M.sum(1)[:, None], 8, 1)),
    "join": (lambda x: tl.join(x, -x), np.stack([M, -M], -1)),
    "split": (lambda x: tl.split(x.reshape(4, 4, 2))[1], M.reshape(4, 4, 2)[..., 1]),
    "interleave": (lambda x: tl.interleave(x, -x), np.stack([M, -M], -1).reshape(4, 16)),
    "cat": (lambda x: tl.cat(x, -x), np.concatenate([M, -M])),
    "gather": (lambda x: tl.gather(x, (x % 4).to(tl.int32), 1), np.take_along_axis(M, (M % 4).astype(int), 1)),
    "keep_dims": (lambda x: x - tl.max(x, 0, keep_dims=True), M - M.max(0, keepdims=True)),
    "topk": (lambda x: tl.topk(x, 2), np.sort(M, 1)[:, :-3:-1]),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_and_orders_are_those_of_numpy(name):
    body, expected = SHAPES[name]
    assert np.array_equal(find(body, expected.shape), expected)


@triton.jit
def atomics(x_ptr, old_ptr, NAME: tl.constexpr, mask_ptr):
    at = tl.arange(0, 8)
    holds = tl.load(mask_ptr + at) != 0
    old = getattr(tl, NAME)(x_ptr + at // 2, at + 5, mask=holds)
    tl.store(old_ptr + at, old)


ATOMICS = {
    "atomic_add": lambda a, b: a + b, "atomic_max": max, "atomic_min": min, "atomic_and": lambda a, b: a & b,
    "atomic_or": lambda a, b: a | b, "atomic_xor": lambda a, b: a ^ b, "atomic_xchg": lambda _, b: b,
}  # fmt: skip


@pytest.mark.parametrize("name", ATOMICS)
def test_atomics_of_one_block_are_made_one_by_one(name):
    x, old, mask = (
        np.array([9, 6, 12, 3], np.int32),
        np.zeros(8, np.int32),
        np.array([1, 1, 0, 1, 1, 1, 1, 0], np.int32),
    )
    expected, seen = x.copy(), np.zeros(8, np.int32)
    for at in np.flatnonzero(mask):
        seen[at] = expected[at // 2]
        expected[at // 2] = ATOMICS[name](int(expected[at // 2]), int(at) + 5)
    with launching(Launcher(compute)):
        atomics[(1,)](x, old, NAME=name, mask_ptr=mask)
    assert np.array_equal(x, expected)
    assert np.array_equal(old[mask == 1], seen[mask == 1])


@triton.jit
def exchanged(x_ptr, old_ptr):
    tl.store(old_ptr, tl.atomic_cas(x_ptr, 3, 7, sem="acquire", scope="gpu"))
    tl.store(old_ptr + 1, tl.atomic_cas(x_ptr, 3, 8))


def test_compare_and_swap_replaces_what_is_equal():
    x, old = np.array([3], np.int32), np.zeros(2, np.int32)
    with launching(Launcher(compute)):
        exchanged[(1,)](x, old)
    assert (x[0], *old) == (7, 3, 7)


@triton.jit
def called(x, KIND: tl.constexpr):
    if KIND == "both":
        return x + 1, x - 1
    return -x, +x


@triton.jit
def syntax(x_ptr, y_ptr, n, EVEN: tl.constexpr, bias_ptr=None):
    at = tl.arange(0, 8)
    x = tl.load(x_ptr + at)
    a, b = called(x, "both" if EVEN else "signs")
    total = 0.0
    for step in range(n - 1, 0, -1):
        total += step
    for step in tl.static_range(3):
        total = total * 2 + step
    for step in tl.range(0, n, 2, num_stages=2):
        total -= step
    while total > 100:
        total -= 10
    inside = ((at > 1) and not at == 3) or at == 0  # noqa: SIM201 - `not` of a block
    if bias_ptr is not None:
        total += 1000
    tl.static_assert(n is not None, "no")
    tl.device_assert(at >= 0)
    tl.device_print("at", at)
    tl.debug_barrier()
    tl.assume(n > 0)
    tl.store(y_ptr + at, tl.where(inside, a * b + total, ~at + (at << 2) + (at ^ 5) + (-7 // 2)))


@pytest.mark.parametrize("even", [True, False])
def test_control_operators_and_nested_functions(even):
    x, y, at = np.arange(8, dtype=np.float32) / 2, np.zeros(8, np.float32), np.arange(8)
    with launching(Launcher(compute)):
        syntax[(1,)](x, y, 6, EVEN=even)
    total = sum(range(6))
    for step in range(3):
        total = total * 2 + step
    total -= 0 + 2 + 4
    while total > 100:
        total -= 10
    inside = (at > 1) & ~(at == 3) | (at == 0)
    product = (x + 1) * (x - 1) if even else -x * x
    assert np.array_equal(y, np.where(inside, product + total, ~at + (at << 2) + (at ^ 5) - 4))


@triton.jit
def early(x_ptr, n):
    if tl.program_id(0) >= n:
        return
    tl.store(x_ptr + tl.program_id(0), tl.num_programs(0) * 10 + tl.program_id(1) + tl.program_id(2))


def test_a_program_may_return_early_and_knows_its_grid():
    x = np.zeros(4, np.int32)
    with launching(Launcher(compute)):
        early[lambda _: (4, 1)](x, 3)
    assert x.tolist() == [40, 40, 40, 0]


@triton.jit
def padded(x_ptr, y_ptr, M, N):
    x = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (0, 0), (4, 4), (1, 0))
    x = tl.advance(x, (0, 4))
    y = tl.make_block_ptr(y_ptr, (4, 8), (8, 1), (0, 0), (4, 4), (1, 0))
    tl.store(y, tl.load(x, boundary_check=(0, 1), padding_option="nan"))
    tl.store(tl.advance(y, (0, 4)), tl.load(x, boundary_check=(0, 1)))


def test_block_pointers_pad_with_zeros_or_nan():
    x, y = np.ones((3, 6), np.float32), np.zeros((4, 8), np.float32)
    with launching(Launcher(compute)):
        padded[(1,)](x, y, 3, 6)
    inside = (np.arange(4)[:, None] < 3) & (np.arange(4)[None, :] < 2)
    assert np.array_equal(np.isnan(y[:, :4]), ~inside)
    assert np.array_equal(y[:, 4:], inside.astype(np.float32))


@triton.jit
def products(a_ptr, b_ptr, c_ptr, PRECISION: tl.constexpr):
    b, m, n = tl.arange(0, 2), tl.arange(0, 16), tl.arange(0, 16)
    at = b[:, None, None] * 256 + m[None, :, None] * 16 + n[None, None, :]
    x, y = tl.load(a_ptr + at), tl.load(b_ptr + at)
    tl.store(c_ptr + at, tl.dot(x, y, tl.full((2, 16, 16), 1.0, tl.float32), input_precision=PRECISION))


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_products_have_batches_and_add_to_an_accumulator(kind):
    a, b = (np.random.default_rng(seed).standard_normal((2, 16, 16)).astype(kind) for seed in (1, 2))
    c = np.zeros((2, 16, 16), np.float32)
    with launching(Launcher(compute)):
        products[(1,)](a, b, c, "ieee")
    assert np.allclose(c, a.astype(np.float32) @ b.astype(np.float32) + 1, rtol=1e-5)


REFUSED = {
    "assembly": (lambda x: tl.inline_asm_elementwise("mov", "=r", [x], tl.int32), "assembly of a GPU"),
    "static_assert": (lambda x: tl.static_assert(x.shape[0] == 3, "rows"), r"tl\.static_assert does not hold: rows"),
    "axis": (lambda x: tl.sum(x, 2), r"tl\.sum got axis 2 of a block of 2 dimensions"),
    "precision": (lambda x: tl.dot(x, x.T, input_precision="half"), r"input_precision='half'; give|give \"tf32\""),
    "reshape": (lambda x: tl.reshape(x, (4, 4)), "both have as many elements"),
    "pointers": (lambda x: tl.load(x), r"tl\.load got tensor"),
    "signs": (lambda x: x.to(tl.uint8) / x.to(tl.int32), "blocks of uint8 and int32 are divided, of which one has signs"),
    "sort": (lambda x: tl.sort(x, 0), "it sorts along the last"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_told(name):
    body, sentence = REFUSED[name]
    with pytest.raises(KernelError, match=sentence):
        find(body, (4, 8))


def test_a_constant_that_is_not_given_is_told():
    with launching(Launcher(compute)), pytest.raises(InputError, match="missing a required argument: 'ROWS'"):
        on_matrix[(1,)](M, M, BODY=None, COLUMNS=1)
