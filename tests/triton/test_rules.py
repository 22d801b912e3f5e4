"""Rules of Triton's language reference, one test a rule, against numpy or published values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernbench.triton.host_arrays import HostMemory
from kernbench.triton.language import types
from kernbench.triton.language.launches import Launcher, launching
from kernbench.triton.language.modules import importable
from kernbench.triton.whole_file import compute

with importable():
    import triton
    import triton.language as tl
    from triton.language.extra import libdevice

N = 32


def run(kernel, *arrays, grid=(1,)):
    with launching(Launcher(compute)):
        kernel[grid](*arrays)


# The table of the reference: kinds first, then widths.
MEETINGS = [
    ("float32", "float16", "float32"), ("float16", "bfloat16", "float16"), ("bfloat16", "bfloat16", "bfloat16"),
    ("bfloat16", "int32", "float32"), ("float16", "int64", "float16"), ("float64", "float32", "float64"),
    ("float8e5", "float8e4nv", "float16"), ("int32", "uint32", "uint32"), ("int64", "uint32", "int64"),
    ("int8", "int16", "int16"), ("int1", "int8", "int8"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "found"), MEETINGS)
def test_types_meet(a, b, found):
    assert types.promote(types.named(a), types.named(b)).name == found
    assert types.promote(types.named(b), types.named(a)).name == found


@pytest.mark.parametrize(
    ("number", "beside", "found"),
    [(2, "float16", "float16"), (2.5, "float16", "float16"), (2.5, "int32", "float32"), (2, "int8", "int8"),
     (True, "int8", "int8"), (2, "int1", "int32"), (1 << 31, None, "uint32"), (1 << 40, None, "int64"),
     (1e300, None, "float64")],
)  # fmt: skip
def test_numbers_beside_blocks(number, beside, found):
    assert types.of_number(number, types.named(beside) if beside else None).name == found


def test_halves_divide_in_f32():
    assert types.promote(types.named("float16"), types.named("float16"), division=True).name == "float32"


@triton.jit
def wrap(x_ptr, y_ptr):
    at = tl.arange(0, 32)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.store(x_ptr + at, x * y + x)


@given(st.sampled_from(["int8", "int16", "int32", "int64", "uint8", "uint32"]), st.integers(0, 1 << 32))
def test_whole_numbers_wrap_around(kind, seed):
    limits = np.iinfo(kind)
    x, y = np.random.default_rng(seed).integers(limits.min, limits.max, (2, N), dtype=kind)
    exact = [
        (int(a) * int(b) + int(a) - limits.min) % (1 << limits.bits) + limits.min for a, b in zip(x, y, strict=True)
    ]
    run(wrap, x, y)
    assert x.tolist() == exact


@triton.jit
def divide(x_ptr, y_ptr, q_ptr, r_ptr):
    at = tl.arange(0, 32)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.store(q_ptr + at, x // y)
    tl.store(r_ptr + at, x % y)


@given(st.integers(0, 1 << 32))
def test_quotients_go_towards_zero_and_rests_have_the_sign_of_the_first(seed):
    draw = np.random.default_rng(seed)
    x, y = (
        draw.integers(-1000, 1000, N, dtype=np.int32),
        draw.integers(1, 50, N, dtype=np.int32) * draw.choice([-1, 1], N),
    )
    y = y.astype(np.int32)
    q, r = np.zeros(N, np.int32), np.zeros(N, np.int32)
    run(divide, x, y, q, r)
    assert q.tolist() == [int(int(a) / int(b)) for a, b in zip(x, y, strict=True)]
    assert (q * y + r == x).all()
    assert (np.sign(r) * np.sign(x) >= 0).all()


@triton.jit
def draws(x_ptr, y_ptr, SEED: tl.constexpr):
    at = tl.arange(0, 4)
    a, b, c, d = tl.randint4x(SEED, at)
    tl.store(x_ptr + at, a)
    tl.store(x_ptr + 4 + at, b)
    tl.store(x_ptr + 8 + at, c)
    tl.store(x_ptr + 12 + at, d)
    tl.store(y_ptr + at, tl.rand(SEED, at))


def test_random_numbers_are_those_of_philox():
    """Words of counter 0 and key 0: the known answers of Salmon et al., file kat_vectors of Random123."""
    x, y = np.zeros(16, np.uint32), np.zeros(4, np.float32)
    with launching(Launcher(compute)):
        draws[(1,)](x, y, SEED=0)
    assert [int(x[place]) for place in (0, 4, 8, 12)] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert ((y >= 0) & (y < 1)).all()


@triton.jit
def along(x_ptr, out_ptr):
    at = tl.arange(0, 32)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.associative_scan(x, 0, larger))
    tl.store(out_ptr + 32 + at, tl.cumsum(x, 0, reverse=True))
    tl.store(out_ptr + 64 + at, tl.sort(x, descending=True))
    value, index = tl.max(x, 0, return_indices=True)
    tl.store(out_ptr + 96, value)
    tl.store(out_ptr + 97, index)
    tl.store(out_ptr + 98, tl.reduce(x, 0, larger))
    tl.store(out_ptr + 100 + tl.arange(0, 8), tl.histogram(at % 5, 8))
    left, right = tl.split(tl.join(x, x * 2))
    tl.store(out_ptr + 128 + tl.arange(0, 64), tl.interleave(right, left))


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@given(st.integers(0, 1 << 32))
def test_functions_along_an_axis(seed):
    x = np.random.default_rng(seed).integers(-50, 50, N).astype(np.float32)
    out = np.zeros(192, np.float32)
    run(along, x, out)
    assert out[:32].tolist() == np.maximum.accumulate(x).tolist()
    assert out[32:64].tolist() == np.cumsum(x[::-1])[::-1].tolist()
    assert out[64:96].tolist() == sorted(x.tolist(), reverse=True)
    assert out[96:99].tolist() == [x.max(), x.argmax(), x.max()]
    assert out[100:108].tolist() == [7, 7, 6, 6, 6, 0, 0, 0]
    assert out[128:].tolist() == np.stack([x * 2, x], axis=1).reshape(-1).tolist()


@triton.jit
def python(x_ptr, n):
    at = tl.arange(0, 32)
    big = 2147483647
    big += n
    inside = at < 3 and not at == 1  # noqa: SIM201 - of each element
    tl.store(x_ptr + at, tl.where(inside or at == 31, big, n))


def test_names_hold_typed_scalars_and_words_join_blocks():
    x = np.zeros(N, np.int64)
    run(python, x, 1)
    assert x[0] == x[2] == x[31] == -(1 << 31)
    assert x[1] == x[5] == 1


@triton.jit
def special(x_ptr, out_ptr):
    at = tl.arange(0, 32)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, libdevice.erf(x) + libdevice.pow(x, 2.0) + tl.math.exp2(x) + libdevice.tanh(x))


def test_functions_of_libdevice():
    from math import erf

    x, out = np.linspace(-2, 2, N).astype(np.float32), np.zeros(N, np.float32)
    run(special, x, out)
    exact = [erf(one) + one**2 + 2.0**one + np.tanh(one) for one in x.tolist()]
    assert np.allclose(out, exact, rtol=1e-5)


def test_views_of_one_array_are_one_memory():
    memory, array = HostMemory(), np.arange(10, dtype=np.float32)
    first, later = memory.pointer_to(array, "a"), memory.pointer_to(array[4:], "b")
    assert first.number == later.number
    assert int(later.offsets) - int(first.offsets) == 4
