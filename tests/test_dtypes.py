"""Element types: their names, their arrays, and each of them from a tensor through a kernel back to a check."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench import DPPolicy, InputError, RunError, bench, run
from kernbench.dtypes import BITS, HELD, bits, canonical, is_float, itemsize, name_of, numpy_dtype, widen

ONE = DPPolicy(num_cubes=1, num_pes=1)
SHAPE = (16, 16)


@pytest.mark.parametrize("dtype", [*BITS, *HELD])
def test_a_name_and_its_numpy_type(dtype: str) -> None:
    kind = numpy_dtype(dtype)
    assert (8 * kind.itemsize, name_of(kind), canonical(dtype)) == (bits(dtype), dtype, dtype)
    assert is_float(dtype) == (np.asarray([0.5]).astype(kind).astype(float)[0] == 0.5)


def test_fp8_is_the_usual_one() -> None:
    assert canonical("fp8") == "f8e4m3"
    assert (itemsize("fp8"), numpy_dtype("fp8")) == (1, numpy_dtype("f8e4m3"))


def test_unknown_types() -> None:
    known = "bf16, f16, f32, f8e4m3, f8e5m2, i16, i32, i8, u16, u32, u8"
    for ask in (canonical, itemsize, numpy_dtype):
        with pytest.raises(InputError) as error:
            ask("f65")
        assert str(error.value).endswith(f"Known: {known}")
    with pytest.raises(InputError) as error:
        name_of(np.dtype("complex64"))
    assert str(error.value) == f"arrays of complex64 have no device dtype; convert to one of {known}"


def compute(x, y, total, product, tiled, dtype, tl) -> None:
    a, b = tl.load(x, SHAPE, dtype), tl.load(y, SHAPE, dtype)
    tl.store(total, a + b)
    tl.store(product, tl.dot(a, b))
    tl.wait(tl.composite("gemm", tl.ref(x, SHAPE, dtype), b, tiled, epilogue=[{"op": "relu"}]))


@bench("typed", "A sum and two products")
def typed(torch, *, dtype="f16", wrong=0):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 3, SHAPE).astype(numpy_dtype(dtype)) for _ in "xy")
    x, y = torch.from_numpy(a, ONE, "x"), torch.from_numpy(b, ONE, "y")
    total, product, tiled = (torch.empty(SHAPE, dtype, ONE, name) for name in ("total", "product", "tiled"))
    torch.launch("compute", compute, x, y, total, product, tiled, dtype)
    wide_a, wide_b = a.astype(np.int64), b.astype(np.int64)
    torch.expect(total, lambda: wide_a + wide_b + wrong)
    torch.expect(product, lambda: wide_a @ wide_b)
    torch.expect(tiled, lambda: wide_a @ wide_b)


@pytest.mark.parametrize("live", [False, True], ids=["recorded", "live"])
@pytest.mark.parametrize("dtype", [*BITS, "fp8"])
def test_through_tensors_kernels_and_replay(dtype: str, live: bool) -> None:
    result = run(typed, "tiny", parameters={"dtype": dtype}, verify=True, live=live)
    assert (result.verified, result.mismatches) == (True, ())


@pytest.mark.parametrize("dtype", BITS)
def test_a_wrong_number_is_found_in_every_type(dtype: str) -> None:
    (mismatch,) = run(typed, "tiny", parameters={"dtype": dtype, "wrong": 2}, verify=True).mismatches
    assert mismatch.startswith("tensor 'total' at [0, 0]: expected ")
    assert "; 256 of 256 elements differ by at most " in mismatch


@pytest.mark.parametrize("dtype", BITS)
def test_references_compute_in_f32_or_in_the_integers_own_type(dtype: str) -> None:
    own = numpy_dtype(dtype)
    wide = widen(np.full(2, 3, own))
    assert wide.dtype == (np.float32 if is_float(dtype) else own)
    assert wide.tolist() == [3, 3]


def test_narrow_types_take_less_time() -> None:
    times = {dtype: run(typed, "tiny", parameters={"dtype": dtype}).pe_exec_ns for dtype in BITS}
    by_bits = [{times[dtype] for dtype in BITS if BITS[dtype] == bits} for bits in (8, 16, 32)]
    assert [len(found) for found in by_bits] == [1, 1, 1]
    assert sorted(by_bits, key=min) == by_bits


def test_types_of_triton_are_told_to_kernels_of_tl() -> None:
    @bench("doubles", "A tensor of f64")
    def doubles(torch):
        torch.launch("load", lambda x, tl: tl.load(x, (8,), "f32"), torch.from_numpy(np.zeros(8), ONE, "x"))

    with pytest.raises(
        RunError, match="tensor 'x' has elements of f64, which kernels of Triton alone have; make it one of 'f32'"
    ):
        run(doubles, "tiny")
