"""The language against numpy: types, masks, block pointers, reductions, constants of autotune and heuristics."""

import re

import numpy as np
import pytest

from kernbench import DPPolicy, InputError, KernelError, bench
from kernbench.frontends.run import run_bench
from kernbench.triton.language.modules import importable

with importable():
    import triton
    import triton.language as tl

SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


def run(launch, **options):
    return run_bench(bench("a-launch", "launches a kernel")(launch), "tiny", **options)


def on_rows(body, expected, rows=8, columns=24, dtype="f32", tolerance=None):
    """Run `body` on each row of a matrix, in a block of 32, recorded and live, and compare with numpy."""

    @triton.jit
    def kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        row = tl.program_id(0) * columns
        x = tl.load(x_ptr + row + at, mask=at < columns, other=0.0)
        tl.store(y_ptr + row + at, body(x, at < columns), mask=at < columns)

    def launch(torch):
        x, y = torch.randn((rows, columns), dtype, SPLIT), torch.zeros((rows, columns), dtype, SPLIT)
        torch.launch("kernel", kernel[(rows,)], x, y, columns, BLOCK=32)
        torch.expect(y, lambda: expected(x.initial().astype(np.float32)), tolerance)

    recorded, live = (run(launch, verify=True, live=live) for live in (False, True))
    assert recorded.mismatches == live.mismatches == ()
    assert recorded.pe_exec_ns == live.pe_exec_ns


BODIES = {
    "sum": (lambda x, _: x * 0 + tl.sum(x, axis=0), lambda x: np.broadcast_to(x.sum(1, keepdims=True), x.shape)),
    "max": (
        lambda x, inside: x * 0 + tl.max(tl.where(inside, x, -float("inf")), axis=0),
        lambda x: np.broadcast_to(x.max(1, keepdims=True), x.shape),
    ),
    "softmax": (
        lambda x, inside: tl.softmax(tl.where(inside, x, -float("inf"))),
        lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True),
    ),
    "sigmoid": (lambda x, _: x * tl.sigmoid(x), lambda x: x / (1 + np.exp(-x))),
    "clamp": (lambda x, _: tl.clamp(x, -0.5, 0.5), lambda x: np.clip(x, -0.5, 0.5)),
    "cumsum": (lambda x, _: tl.cumsum(x, axis=0), lambda x: x.cumsum(1)),
    "abs": (lambda x, _: tl.abs(-x) + tl.minimum(x, 0), lambda x: np.abs(x) + np.minimum(x, 0)),
    "scalar": (
        lambda x, _: x * tl.rsqrt(tl.sum(x * x, axis=0) / 24 + 1e-5),
        lambda x: x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5),
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_functions_equal_numpy(name):
    on_rows(*BODIES[name])


def test_half_precision_stays_half():
    on_rows(lambda x, _: x * 2.5 + 1, lambda x: x * 2.5 + 1, dtype="f16")


def test_whole_numbers_divide_towards_zero():
    @triton.jit
    def divide(x_ptr, y_ptr, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at)
        shifted = tl.program_id(0) - 2  # of the four programs two are below 0
        tl.store(y_ptr + at, x // 3 * 100 + x % 3 + shifted // 2 * 10000 + shifted % 2 * 20000, mask=shifted == -1)

    numbers = np.arange(-8, 8, dtype=np.int32)

    def launch(torch):
        x, y = torch.from_numpy(numbers, dp=SPLIT), torch.zeros((16,), "i32", SPLIT)
        torch.launch("divide", divide[(4,)], x, y, BLOCK=16)
        torch.expect(y, np.fix(numbers / 3).astype(int) * 100 + np.fmod(numbers, 3) - 20000)

    assert run(launch, verify=True).mismatches == run(launch, verify=True, live=True).mismatches == ()


def test_block_pointers_check_their_boundaries():
    @triton.jit
    def transpose(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
        i, j = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
        x = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (i, 0), (BLOCK, BLOCK), (1, 0))
        x = tl.advance(x, (0, j))
        y = tl.make_block_ptr(y_ptr, (N, M), (M, 1), (j, i), (BLOCK, BLOCK), (1, 0))
        tl.store(y, tl.trans(tl.load(x, boundary_check=(0, 1), padding_option="zero")), boundary_check=(0, 1))

    def launch(torch):
        x, y = torch.randn((50, 70), dp=SPLIT), torch.zeros((70, 50), dp=SPLIT)
        torch.launch("transpose", transpose[(4, 5)], x, y, 50, 70, BLOCK=16)
        torch.expect(y, lambda: x.initial().T)

    recorded, live = (run(launch, verify=True, live=live) for live in (False, True))
    assert recorded.verified
    assert live.verified
    assert recorded.pe_exec_ns == live.pe_exec_ns


@triton.autotune([triton.Config({"BLOCK": 32}, num_stages=1), triton.Config({"BLOCK": 64})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(y_ptr + at, tl.load(x_ptr + at) * 2)
    else:
        tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


@pytest.mark.parametrize("n", [256, 200])
@pytest.mark.parametrize("config", [0, 1])
def test_a_launch_names_the_configuration_of_an_autotuned_kernel(n, config):
    def launch(torch):
        x, y = torch.randn((n,), dp=SPLIT), torch.zeros((n,), dp=SPLIT)
        grid = double[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)]
        torch.launch("double", grid, x, y, n, config=config)
        torch.expect(y, lambda: x.initial() * 2)

    assert run(launch, verify=True).verified


def test_a_configuration_that_is_not_there_is_refused():
    def launch(torch):
        torch.launch("double", double[(1,)], torch.zeros(8, dp=SPLIT), torch.zeros(8, dp=SPLIT), 8, config=2)

    with pytest.raises(InputError, match=r"kernel double at .*:\d+ got config=2; it has 0 to 1"):
        run(launch)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (lambda x: tl.arange(0, 3), "tl.arange got 0 and 3, 3 elements"),
        (lambda x: tl.dot(x, x), "inner sizes"),
        (lambda x: tl.load(x), "tl.load got tensor"),
        (lambda x: x[0], "a block got the index 0"),
        (lambda x: x.nothing(), "a block has no method 'nothing'"),
        (lambda x: x & x, "the operator and got blocks of float16"),
        (lambda x: 1 if x > 0 else 0, "a block of more than one element was used as a condition"),
    ],
)
def test_what_the_language_has_not_is_told_with_its_line(body, sentence):
    @triton.jit
    def kernel(x_ptr):
        x = tl.load(x_ptr + tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :])
        body(x)

    with pytest.raises(KernelError, match=re.escape(sentence)) as raised:
        run(lambda torch: torch.launch("kernel", kernel[(1,)], torch.zeros((32,), dp=SPLIT)))
    assert "test_language.py:" in str(raised.value)
