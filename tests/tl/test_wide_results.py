"""Products whose result is wider than their operands, and what is added to them."""

import numpy as np
import pytest

from kernbench import DPPolicy, bench, run
from kernbench.errors import KernelError
from tests.tl.rig import BASE, Rig, commands

ONE = DPPolicy(num_cubes=1, num_pes=1)
RANDOM = np.random.default_rng(47)
A8, B8 = (RANDOM.integers(-128, 128, shape).astype(np.int8) for shape in ((40, 96), (96, 40)))
A16, B16 = (RANDOM.normal(size=shape).astype(np.float16) for shape in ((40, 96), (96, 40)))
WHOLE = A8.astype(np.int64) @ B8.astype(np.int64)
SUMS = A16.astype(np.float32) @ B16.astype(np.float32)
PLUS = RANDOM.integers(-(2**20), 2**20, (40, 40)).astype(np.int32)
SCALE = RANDOM.uniform(0.0001, 0.001, (1, 40)).astype(np.float32)


def check(kernel, a, b, dtype, expected, *more, tolerance=None):
    """Recorded and live, a kernel's result has these numbers, to the last bit the same in both."""

    @bench("wide", "A product")
    def work(torch):
        tensors = [torch.from_numpy(array, ONE) for array in (a, b, *more)]
        y = torch.empty(expected.shape, dtype, ONE, name="y")
        torch.launch("kernel", kernel, *tensors, y)
        torch.expect(y, expected, tolerance=tolerance)
        found.append(y)

    found, numbers, times = [], [], []
    for live in (False, True):
        result = run(work, "tiny", live=live, verify=True)
        assert result.mismatches == ()
        times.append(result.latency_ns)
        shard = found[-1].shards[0]
        numbers.append(bytes(result.read_memory(shard.pa, shard.nbytes)))
    assert times[0] == times[1]
    assert numbers[0] == numbers[1]


def test_a_dot_of_bytes_in_i32():
    def kernel(a, b, y, tl):
        tl.store(y, tl.dot(tl.load(a, (40, 96), "i8"), tl.load(b, (96, 40), "i8"), out_dtype="i32"))

    check(kernel, A8, B8, "i32", WHOLE)


def test_a_dot_of_halves_in_f32():
    def kernel(a, b, y, tl):
        tl.store(y, tl.dot(tl.load(a, (40, 96)), tl.load(b, (96, 40)), out_dtype="f32"))

    check(kernel, A16, B16, "f32", SUMS, tolerance=1e-5)


def test_a_dot_is_added_to_acc():
    def kernel(a, b, plus, y, tl):
        sums = tl.load(plus, (40, 40), "i32")
        for k in tl.range(0, 96, 48):
            sums = tl.dot(tl.load(a + 40 * k, (40, 48), "i8"), tl.load(b + 40 * k, (48, 40), "i8"), sums)
        tl.store(y, sums)

    parts = np.concatenate([A8[:, :48].reshape(-1), A8[:, 48:].reshape(-1)])
    check(kernel, parts, B8, "i32", WHOLE + PLUS, PLUS)


@pytest.mark.parametrize("out", [False, True])
@pytest.mark.parametrize(
    ("dtype", "a", "b", "wide", "expected"), [("i8", A8, B8, "i32", WHOLE), ("f16", A16, B16, "f32", SUMS)]
)
def test_a_composite_with_a_wide_result(dtype, a, b, wide, expected, out):
    def kernel(a, b, y, tl):
        done = tl.composite(
            "gemm", tl.ref(a, (40, 96), dtype), tl.ref(b, (96, 40), dtype), y if out else 0, out_dtype=wide
        )
        tl.wait(done)
        if not out:
            tl.store(y, done.out)

    check(kernel, a, b, wide, expected, tolerance=1e-5 if wide == "f32" else None)


@pytest.mark.parametrize("scope", ["k_tile", "output_tile", "kernel"])
@pytest.mark.parametrize(("acc", "out", "dtype"), [(None, None, "f16"), ("i32", None, "f16"), ("f32", "f32", "f32")])
def test_whole_numbers_are_dequantised_to_floats(scope, acc, out, dtype):
    def kernel(a, b, scale, y, tl):
        steps = [{"op": "dequant", "scale": tl.load(scale, (1, 40), "f32"), "scope": scope}, {"op": "relu"}][
            : 1 + (scope != "k_tile")
        ]
        how = {"epilogue": steps, "acc_dtype": acc, "out_dtype": out}
        tl.wait(tl.composite("gemm", tl.ref(a, (40, 96), "i8"), tl.ref(b, (96, 40), "i8"), y, **how))

    expected = WHOLE * SCALE
    check(kernel, A8, B8, dtype, expected if scope == "k_tile" else np.maximum(expected, 0), SCALE)


def test_sums_of_whole_numbers_are_exact_before_they_are_dequantised():
    """Beyond 2 to the 24 sums of f32 lose their last bits."""
    a, b = (RANDOM.integers(100, 128, shape).astype(np.int8) for shape in ((8, 2048), (2048, 8)))
    exact, middle = a.astype(np.int64) @ b.astype(np.int64), 26_000_000
    rounded = sum(a[:, k : k + 64].astype(np.float32) @ b[k : k + 64].astype(np.float32) for k in range(0, 2048, 64))
    assert (rounded != exact.astype(np.float32)).any()

    def kernel(a, b, y, tl):
        steps = [{"op": "sub", "operand": middle}, {"op": "dequant", "scale": 1.0}]
        tl.wait(
            tl.composite(
                "gemm", tl.ref(a, (8, 2048), "i8"), tl.ref(b, (2048, 8), "i8"), y, epilogue=steps, out_dtype="f32"
            )
        )

    check(kernel, a, b, "f32", exact.astype(np.float32) - np.float32(middle), tolerance=0.0)


def test_the_engine_is_charged_for_the_operands_and_the_store_for_the_result():
    def product(dtype, out_dtype):
        def kernel(*, tl):
            tl.dot(tl.zeros((64, 64), dtype), tl.zeros((64, 64), dtype), out_dtype=out_dtype)

        rig = Rig()
        rig.record(kernel)
        busy = rig.session.server_busy_fs
        return [int(busy[server]) for server in (rig.place.gemm_server, rig.place.tcm_write)]

    engine, store = product("i8", None)
    assert product("i8", "i32") == [engine, 4 * store]
    assert product("i32", None) == [4 * engine, 4 * store]


def test_acc_is_fetched():
    def kernel(*, tl, acc):
        x = tl.zeros((64, 64))
        tl.dot(x, x, tl.zeros((64, 64), "f32") if acc else None, "f32")

    fetched = []
    for acc in (False, True):
        rig = Rig()
        rig.record(lambda *, tl: kernel(tl=tl, acc=acc))  # noqa: B023
        fetched.append(int(rig.session.server_busy_fs[rig.place.tcm_read]))
    assert fetched[1] == 2 * fetched[0]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda tl, x: tl.dot(x, x, out_dtype="i32"), "tl.dot got out_dtype='i32' for operands of f16; give a floating-point type"),  # noqa: E501
        (lambda tl, x: tl.composite("gemm", x, x, out_dtype="i8"), "tl.composite got out_dtype='i8' for operands of f16; give a floating-point type"),  # noqa: E501
        (lambda tl, x: tl.dot(x, x, tl.zeros(4)), "tl.dot got acc of shape (4,) for a product of shape (4, 4); give it the shape of the product"),  # noqa: E501
        (lambda tl, x: tl.dot(x, x, tl.zeros((4, 4), "i32")), "tl.dot got acc of i32 for a product of f16; give acc the type f32"),  # noqa: E501
        (lambda tl, x: tl.dot(x, x, 1), "tl.dot got 1, a number or a pointer, where a tensor is meant; load what is at a pointer with tl.load"),  # noqa: E501
    ],
)  # fmt: skip
def test_results_of_no_sense_are_refused(call, sentence):
    with pytest.raises(KernelError) as caught:
        commands(lambda *, tl: call(tl, tl.load(BASE, (4, 4))))
    assert (
        str(caught.value).replace(f", at tests/tl/test_wide_results.py:{call.__code__.co_firstlineno}", "") == sentence
    )


def test_an_unknown_type_of_a_result_is_told():
    with pytest.raises(KernelError, match=r"tl\.dot got the dtype 'int32'"):
        commands(lambda *, tl: tl.dot(tl.zeros((4, 4)), tl.zeros((4, 4)), out_dtype="int32"))
