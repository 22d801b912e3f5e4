"""Launches of Triton kernels by benches: what runs, and what is refused in one sentence."""

import json
import re
import warnings

import numpy as np
import pytest

from kernbench import DPPolicy, InputError, KernelError, bench
from kernbench.errors import LimitError
from kernbench.frontends.run import run_bench
from kernbench.triton.language.modules import importable

with importable():
    import triton
    import triton.language as tl

SPLIT = DPPolicy(cube="row_wise", pe="row_wise")


@triton.jit
def copy(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at))


@triton.jit
def gather(i_ptr, x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(i_ptr + at, mask=at < n, other=0)
    tl.store(y_ptr + at, tl.load(x_ptr + place, mask=at < n), mask=at < n)


@triton.jit
def count_up(count_ptr, y_ptr):
    ticket = tl.atomic_add(count_ptr, 1)
    tl.store(y_ptr + ticket, tl.program_id(0))


@triton.jit
def pass_on(flag_ptr, y_ptr):
    pid = tl.program_id(0)
    while tl.atomic_cas(flag_ptr, pid, pid) != pid:
        pass
    if pid > 0:
        before = tl.load(y_ptr + pid - 1)
        tl.store(y_ptr + pid, before * 2)
    tl.atomic_xchg(flag_ptr, pid + 1)


@triton.jit
def wide(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.exp(tl.load(x_ptr + at).to(tl.float32)))


def run(launch, **options):
    """A run of a bench on the tiny machine, whose function is `launch`."""
    return run_bench(bench("a-launch", "launches a kernel")(launch), "tiny", **options)


def vectors(torch, n, x=SPLIT, y=SPLIT):
    return torch.randn((n,), dp=x, name="x"), torch.zeros((n,), dp=y, name="y")


@pytest.mark.parametrize("dealing", ["cyclic", "blocked"])
def test_a_grid_may_be_a_function_of_the_constants(dealing):
    def launch(torch):
        x, y = vectors(torch, 1024, x=None)
        torch.launch("copy", copy[lambda meta: (1024 // meta["BLOCK"],)], x, y, BLOCK=128, dealing=dealing)
        torch.expect(y, x.initial)

    assert run(launch, verify=True).verified


def test_a_kernel_that_reads_its_addresses_runs_live_without_being_asked():
    order = np.random.default_rng(3).permutation(300).astype(np.int32)

    def launch(torch):
        x, y = vectors(torch, 300)
        places = torch.from_numpy(order, dp=SPLIT, name="places")
        torch.launch("copy", copy[(1,)], x, y, BLOCK=256)  # a recorded launch before it
        torch.launch("gather", gather[(5,)], places, x, y, 300, BLOCK=64)
        torch.expect(y, lambda: x.initial()[order])

    recorded, live = (run(launch, verify=True, live=live) for live in (False, True))
    assert recorded.verified
    assert live.verified
    assert (recorded.latency_ns, recorded.pe_exec_ns) == (live.latency_ns, live.pe_exec_ns)
    with pytest.raises(InputError, match="kernel gather reads data for its control flow or its addresses"):
        run(launch, mode="analytic")


def test_programs_take_tickets_from_an_atomic():
    def launch(torch):
        count, y = torch.zeros((1,), "i32", SPLIT), torch.zeros((8,), "i32", SPLIT)
        torch.launch("count_up", count_up[(8,)], count, y)
        assert sorted(y.numpy().tolist()) == list(range(8))
        torch.expect(count, np.array([8]))

    assert run(launch, verify=True).verified


def test_programs_wait_for_each_other_by_a_flag():
    def launch(torch):
        flag = torch.zeros((1,), "i32", SPLIT)
        y = torch.from_numpy(np.array([3, 0, 0, 0], np.int32), dp=SPLIT, name="y")
        torch.launch("pass_on", pass_on[(4,)], flag, y)
        torch.expect(y, np.array([3, 6, 12, 24]))

    assert run(launch, verify=True).verified


def test_the_op_log_says_what_commands_do():
    def launch(torch):
        x = torch.randn((64,), dp=SPLIT)
        torch.launch("wide", wide[(1,)], x, torch.zeros((64,), dp=SPLIT), BLOCK=64)

    log = run(launch).op_log()
    expected = {"op": "block", "function": "exp", "elements": 64, "bits": 32, "read_bytes": 128, "write_bytes": 256}
    for name in ("exp", "fetch", "store"):
        (params,) = {*log.filter(log["op_name"] == name)["params"]}
        assert json.loads(params) == expected


def test_arguments_without_meaning_are_told_once():
    def launch(torch):
        x, y = vectors(torch, 256)
        for _ in range(2):
            torch.launch("copy", copy[(2,)], x, y, BLOCK=128, num_warps=8)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run(launch)
    assert [str(one.message) for one in told] == [
        "kernel copy: num_warps has no meaning here: a PE has one control CPU, and engines for whole blocks"
    ]


def refused(launch, sentence, kind):
    with pytest.raises(kind) as raised:
        run(launch)
    found = re.sub(r"tests/triton/test_launch\.py:\d+", "FILE:LINE", str(raised.value))
    assert found.partition(" Known: ")[0] == sentence


def test_an_access_outside_of_its_tensor_names_program_element_and_line():
    def launch(torch):
        torch.launch("copy", copy[(4,)], *vectors(torch, 1000), BLOCK=256)

    refused(
        launch,
        "kernel copy: FILE:LINE: program (3, 0, 0) loads from element 1023 of tensor 'x', which has 1000: 24 beyond its last; "
        "mask the access, or check the strides",
        KernelError,
    )


def test_a_store_to_a_tensor_of_many_copies_is_refused():
    def launch(torch):
        torch.launch("copy", copy[(4,)], *vectors(torch, 1024, y=None), BLOCK=256)

    refused(
        launch,
        "kernel copy: FILE:LINE: stores to tensor 'y', which has a copy on each of 4 PEs; make it with "
        "torch.DPPolicy(cube='row_wise', pe='row_wise')",
        KernelError,
    )


@triton.jit
def spin(flag_ptr):
    while tl.atomic_add(flag_ptr, 0) == 0:
        pass


@triton.jit
def endless(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 8))
    while True:
        x = x + 1


@pytest.mark.parametrize("kernel", [spin, endless])
def test_a_kernel_without_an_end_meets_the_limit_of_operations(kernel):
    def launch(torch):
        torch.launch("loops", kernel[(2,)], torch.zeros((8,), "i32", SPLIT))

    with pytest.raises(
        LimitError, match=r"kernel loops, at .*test_launch\.py:\d+: the kernels of this run issue more than 500 op"
    ):
        run(launch, op_limit=500)


def test_a_kernel_without_commands_meets_the_limit_of_time():
    @triton.jit
    def turns(x_ptr):
        while True:
            pass

    def launch(torch):
        torch.launch("turns", turns[(1,)], torch.zeros((8,), "i32", SPLIT))

    with pytest.raises(LimitError, match=r"kernel turns, at .*test_launch\.py:\d+: "):
        run(launch, time_limit=0.5)


def test_a_tensor_that_is_cut_by_columns_is_refused():
    columns = DPPolicy(cube="row_wise", pe="column_wise")

    def launch(torch):
        x = torch.randn((32, 32), dp=columns, name="x")
        torch.launch("copy", copy[(4,)], x, torch.zeros((1024,), dp=SPLIT), BLOCK=256)

    refused(
        launch,
        f"tensor 'x' is cut by columns ({columns}), but kernels of Triton find elements by rows; make it with "
        "torch.DPPolicy(cube='row_wise', pe='row_wise')",
        InputError,
    )


def test_blocks_that_do_not_fit_the_scratch_are_told_by_line():
    def launch(torch):
        torch.launch("wide", wide[(1,)], *vectors(torch, 1 << 18), BLOCK=1 << 18)

    refused(
        launch,
        "kernel wide: FILE:LINE: scratch memory is full: a block of 1,048,576 bytes does not fit beside 524,288 of 1,048,576 "
        f"(524,288 of line {wide.fn.__code__.co_firstlineno + 3}); make blocks smaller, num_stages less, or raise "
        "pe.scratch_bytes",
        KernelError,
    )


@pytest.mark.parametrize(
    ("grid", "options", "sentence"),
    [
        (
            (0,),
            {"BLOCK": 256},
            "kernel copy at FILE:LINE got the grid (0,); give one to three whole numbers, each 1 or more",
        ),
        ((4,), {}, "kernel copy at FILE:LINE: missing a required argument: 'BLOCK'"),
        ((4,), {"BLOCKS": 4}, "kernel copy at FILE:LINE has no parameter 'BLOCKS'; did you mean 'BLOCK'?"),
        ((4,), {"BLOCK": 256, "num_stages": 0}, "kernel copy got num_stages=0; give a whole number, 1 or more"),
    ],
)
def test_launches_that_cannot_be_are_refused(grid, options, sentence):
    refused(lambda torch: torch.launch("copy", copy[grid], *vectors(torch, 1024), **options), sentence, InputError)


def test_only_kernels_of_triton_take_arguments_by_name():
    def kernel(x_ptr, tl):
        tl.cycles(1)

    refused(
        lambda torch: torch.launch("plain", kernel, torch.zeros(8), BLOCK=4),
        "launch of 'plain' got BLOCK, but only kernels of Triton take arguments by name; give the values behind the kernel",
        InputError,
    )


def test_a_kernel_is_not_launched_by_itself():
    refused(
        lambda torch: copy[(4,)](*vectors(torch, 1024), BLOCK=256),
        "kernel copy at FILE:LINE was launched by itself; a bench launches it with torch.launch(name, kernel[grid], arguments)",
        InputError,
    )
