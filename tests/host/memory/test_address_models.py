"""Virtual, physical and logical addresses, as benches see them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from kernbench.errors import InputError, KernelError, OutOfMemoryError
from kernbench.host.memory.address_models import LOGICAL, MODELS
from kernbench.host.memory.placement import DPPolicy
from kernbench.host.messages import KernelLaunch, TensorArg
from kernbench.host.torch.context import RuntimeContext
from tests.host.conftest import Make

ONE_PE = DPPolicy(num_cubes=1, num_pes=1)
SPLIT = DPPolicy("row_wise", "column_wise")
SLICE = 6 << 30


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Iterator[str]:
    return request.param


def double(x: int, y: int, part_bytes: int, tl: Any) -> None:
    """Each PE its own part, by arithmetic over the whole tensor."""
    start = (tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)) * part_bytes
    tl.store(y + start, tl.load(x + start, part_bytes // 4, "f32") * 2)


@pytest.mark.parametrize("live", [False, True])
def test_one_kernel_does_in_all_models(make: Make, model: str, live: bool) -> None:
    torch = make(live, mmu__model=model)
    assert torch.address_model == model
    x, y = torch.randn((8, 8), "f32", SPLIT), torch.zeros((8, 8), "f32", SPLIT)
    torch.launch("double", double, x, y, 8 * 8 * 4 // 4)
    assert np.allclose(y.numpy(), 2 * x.initial())
    assert torch.driven.unmapped_lookups == 0


def through_a_pipeline(pair: tuple[int, int], c: int, tl: Any) -> None:
    a, b = pair
    tl.wait(tl.composite("gemm", tl.ref(a, (64, 64)), tl.ref(b, (64, 64)), out_ptr=c))


def test_tiles_of_a_pipeline_and_tensors_in_a_tuple(make: Make, model: str) -> None:
    torch = make(mmu__model=model)
    a, b, c = (torch.randn((64, 64), dp=ONE_PE) for _ in range(3))
    message_args = (as_arg(a), as_arg(b)), as_arg(c)
    issue(torch, "gemm", through_a_pipeline, *message_args)
    assert np.allclose(c.numpy(), a.initial().astype(np.float32) @ b.initial().astype(np.float32), atol=0.1)


def as_arg(tensor: Any) -> Any:
    return TensorArg(tensor.name, tensor.data_ptr(), tensor.shards)


def issue(torch: RuntimeContext, name: str, kernel: Any, *args: Any) -> None:
    torch.driven.launch(KernelLaunch(name, args, 0, (0,), (0,)), kernel)


def test_where_tensors_begin(make: Make) -> None:
    begins = {name: make(mmu__model=name).zeros(4, dp=SPLIT).data_ptr() for name in MODELS}
    assert begins == {"va": 1 << 32, "pa": 0, "la": LOGICAL}


def test_virtual_ranges_are_whole_pages(make: Make) -> None:
    torch = make()
    first, second = torch.zeros(4097, "i8"), torch.zeros(1, "i8")
    assert (first.data_ptr() % 4096, second.data_ptr() - first.data_ptr()) == (0, 8192)
    assert torch.zeros(1, "i8").data_ptr() - second.data_ptr() == 4096


def test_a_segment_is_a_tensors_own(make: Make) -> None:
    torch = make(mmu__model="la")
    first, second = torch.zeros(4), torch.zeros(4)
    assert second.data_ptr() - first.data_ptr() == 1 << 40


def test_addresses_and_memory_are_free_again_when_a_tensor_is_deleted(make: Make, model: str) -> None:
    torch = make(mmu__model=model)
    kept, tensor = torch.zeros(4, dp=SPLIT), torch.zeros(4, dp=SPLIT)
    where = tensor.data_ptr(), tensor.shards
    assert where != (kept.data_ptr(), kept.shards)
    del tensor
    gc.collect()
    again = torch.zeros(4, dp=SPLIT)
    assert (again.data_ptr(), again.shards) == where


def test_out_of_memory_leaves_nothing_allocated(make: Make, model: str) -> None:
    torch = make(mmu__model=model)
    with pytest.raises(OutOfMemoryError):
        torch.zeros(SLICE + 1, "i8")
    assert torch.zeros(SLICE, "i8").shards[0].pa == 0


def test_telling_mmus_takes_time_and_only_virtual_addresses_need_it(make: Make) -> None:
    def ready_fs(model: str) -> int:
        torch = make(mmu__model=model)
        torch.zeros(4, dp=SPLIT)
        torch.synchronize()
        return torch.driven.session.now_fs

    assert ready_fs("va") > 80_000_000
    assert ready_fs("pa") == ready_fs("la") == 0


def test_a_launch_brings_the_segments_of_its_tensors(make: Make) -> None:
    def launch_bytes(model: str) -> list[int]:
        torch = make(mmu__model=model)
        x, y = torch.zeros((8, 8), "f32", SPLIT), torch.zeros((8, 8), "f32", SPLIT)
        torch.launch("double", double, x, x, 64)
        torch.launch("double", double, x, y, 64)
        torch.synchronize()
        program = torch.driven.program
        moves = program.op[(program.op[:, 0] == 2) & (program.op_tag == program.tag("launch")), 2]
        return sorted(set(moves.tolist()))

    assert launch_bytes("va") == launch_bytes("pa") == [64]
    assert launch_bytes("la") == [64, 64 + 4 * 16, 64 + 8 * 16]


def exec_fs(torch: RuntimeContext) -> int:
    torch.synchronize()
    (launch,) = torch.runtime.launches
    session = torch.driven.session
    return launch.pe_exec_fs(session.op_issue_fs, session.op_end_fs)


def load_twice(x: int, tl: Any) -> None:
    tl.load(x, 32)
    tl.load(x, 32)


@pytest.mark.parametrize(("model", "lookups"), [("va", 2), ("la", 2), ("pa", 0)])
def test_who_loads_pays_the_look_up(make: Make, model: str, lookups: int) -> None:
    def took(tlb_ns: float) -> int:
        torch = make(mmu__model=model, pe_mmu__tlb_ns=tlb_ns)
        x = torch.zeros(64, dp=ONE_PE)
        torch.launch("load", load_twice, x)
        return exec_fs(torch)

    assert took(8) - took(0) == lookups * 8_000_000


def one_tile(a: int, b: int, c: int, tl: Any) -> None:
    tl.wait(tl.composite("gemm", tl.ref(a, (32, 64)), tl.ref(b, (64, 32)), out_ptr=c))


@pytest.mark.parametrize(("model", "lookups"), [("va", 3), ("la", 3), ("pa", 0)])
def test_tiles_pay_the_look_up_too(make: Make, model: str, lookups: int) -> None:
    def took(tlb_ns: float) -> int:
        torch = make(mmu__model=model, pe_mmu__tlb_ns=tlb_ns)
        a, b, c = torch.zeros((32, 64), dp=ONE_PE), torch.zeros((64, 32), dp=ONE_PE), torch.zeros((32, 32), dp=ONE_PE)
        torch.launch("gemm", one_tile, a, b, c)
        return exec_fs(torch)

    assert took(8) - took(0) == lookups * 8_000_000


def copy(source: int, target: int, tl: Any) -> None:
    tl.store(target, tl.load(source, 8, "f32"))


@pytest.mark.parametrize("live", [False, True])
def test_physical_addresses_reach_any_memory_in_all_models(make: Make, model: str, live: bool) -> None:
    torch = make(live, mmu__model=model)
    x = torch.randn((4, 8), "f32", DPPolicy("row_wise", "row_wise"))
    y = torch.zeros((4, 8), "f32", DPPolicy("row_wise", "row_wise"))
    far, near = x.shards[3], y.shards[0]
    assert (far.cube, far.pe) == (1, 1)
    buffer = torch.reserve("sram", 32, cube=1)
    driven = torch.driven
    issue(torch, "out", copy, far.pa, buffer.data_ptr())
    issue(torch, "back", copy, buffer.data_ptr(), near.pa)
    assert (y.numpy()[0] == x.initial()[3]).all()
    assert driven.unmapped_lookups == (0 if model == "pa" else 4)
    assert driven.machine.places.memory_of(buffer.data_ptr())[:2] == (driven.machine.places.sram(0, 1), buffer.offset)


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("model", ["va", "pa"])
def test_the_other_pes_of_a_cube_see_a_tensor_that_one_of_them_holds(make: Make, live: bool, model: str) -> None:
    def swap(tl: Any) -> None:
        if tl.program_id(1) == 0 and tl.program_id(0) == 1:
            copy(x.data_ptr(), y.data_ptr(), tl)

    torch = make(live, mmu__model=model)
    x, y = torch.randn(8, "f32", ONE_PE), torch.zeros(8, "f32", ONE_PE)
    torch.launch("swap", swap)
    assert (y.numpy() == x.initial()).all()
    assert torch.driven.unmapped_lookups == 0


def launch_and_wait(torch: RuntimeContext, kernel: Any, *args: Any) -> None:
    torch.launch("k", kernel, *args)
    torch.synchronize()


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(
    ("access", "nbytes", "byte"),
    [
        (lambda x, tl: tl.load(x + 32, 1, "f32"), 4, 32),
        (lambda x, tl: tl.store(x + 32, tl.zeros(2, "f32")), 8, 32),
        (lambda x, tl: tl.load(x, 9, "f32"), 36, 0),
        (lambda x, tl: tl.wait(tl.composite("math", tl.ref(x + 16, 5, "f32"), math_op="exp")), 20, 16),
        (lambda x, tl: tl.wait(tl.composite("math", tl.zeros(8, "f32"), out_ptr=x + 4, math_op="exp")), 32, 4),
    ],
)
def test_no_access_runs_out_of_a_tensor_under_physical_addresses(
    make: Make, access: Any, nbytes: int, byte: int, live: bool
) -> None:
    torch = make(live, mmu__model="pa")
    x, _ = torch.zeros(8, "f32", ONE_PE, name="x"), torch.zeros(8, "f32", ONE_PE)
    with pytest.raises(KernelError) as error:
        launch_and_wait(torch, access, x)
    assert (
        f"the access to {nbytes} bytes at byte {byte} of tensor 'x' runs out of it: it has 32; check the shape and the pointer "
        "arithmetic of the kernel"
    ) in str(error.value)


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(
    ("access", "dtype"),
    [
        (lambda x, tl: tl.load(x, 4), "f16"),
        (lambda x, tl: tl.load(x + 4, 4, "i32"), "i32"),
        (lambda x, tl: tl.store(x + 8 - 4, tl.zeros(4, "f16")), "f16"),
        (lambda x, tl: tl.ref(x, 4, "bf16"), "bf16"),
        (lambda x, tl: tl.composite("math", tl.zeros(4), out_ptr=x, math_op="exp"), "f16"),
        (lambda x, tl: tl.send("E", src_addr=x, shape=4, space="hbm"), "f16"),
        (lambda x, tl: tl.send("E", src_addr=x, nbytes=16, space="hbm"), "f16"),
        (lambda x, tl: tl.send("E", src_addr=x, nbytes=4, dtype="u8", space="hbm"), "u8"),
        (lambda x, tl: tl.recv("E", 4, dst_addr=x, dst_space="hbm"), "f16"),
    ],
)
def test_an_access_has_the_type_of_its_tensor(make: Make, model: str, access: Any, dtype: str, live: bool) -> None:
    torch = make(live, mmu__model=model)
    x = torch.zeros(8, "f32", ONE_PE, name="x")
    with pytest.raises(KernelError) as error:
        launch_and_wait(torch, access, x)
    assert (
        f"tensor 'x' has elements of f32, and the access is of {dtype}; make it one of 'f32', or give int(pointer) for the "
        "bytes as they are"
    ) in str(error.value)


def test_the_bytes_of_a_tensor_are_at_its_address_as_a_plain_number(make: Make, model: str) -> None:
    def kernel(x: int, y: int, tl: Any) -> None:
        tl.store(y, tl.load(int(x) + 4, 4, "i32"))

    torch = make(mmu__model=model)
    x, y = torch.randn(8, "f32", ONE_PE), torch.zeros(4, "i32", ONE_PE)
    torch.launch("kernel", kernel, x, y)
    assert y.numpy().tolist() == x.initial()[1:5].view(np.int32).tolist()


def test_an_alias_is_the_type_that_it_names(make: Make, model: str) -> None:
    def kernel(x: int, y: int, tl: Any) -> None:
        tl.store(y, tl.load(x, 8, "fp8"))

    torch = make(mmu__model=model)
    x, y = torch.randn(8, "f8e4m3", ONE_PE), torch.zeros(8, "fp8", ONE_PE)
    torch.launch("kernel", kernel, x, y)
    assert y.numpy().tobytes() == x.initial().tobytes()


def test_a_composite_writes_a_tensor_at_the_physical_address_0(make: Make) -> None:
    def kernel(x: int, tl: Any) -> None:
        tl.wait(tl.composite("math", tl.zeros(8, "f32"), out_ptr=x, math_op="exp"))

    torch = make(mmu__model="pa")
    x = torch.zeros(8, "f32", ONE_PE)
    assert x.data_ptr() == 0
    torch.launch("k", kernel, x)
    assert x.numpy().tolist() == [1] * 8


@pytest.mark.parametrize("tiles", [False, True])
@pytest.mark.parametrize("live", [False, True])
def test_an_address_of_a_tensor_of_other_cubes_is_an_error(make: Make, live: bool, tiles: bool) -> None:
    def reach(tl: Any) -> None:
        if tl.program_id(1) == 1 and tiles:
            one_tile(x.data_ptr(), x.data_ptr(), 0, tl)
        elif tl.program_id(1) == 1:
            tl.load(x.data_ptr() + 32, 8)

    torch = make(live)
    x = torch.randn(2048, dp=ONE_PE, name="x")
    with pytest.raises(KernelError) as error:
        launch_and_wait(torch, reach)
    assert (
        f"address {x.data_ptr() + (0 if tiles else 32):#x} is in tensor 'x', which only the PEs of cube0 map; make the "
        "tensor with a larger num_cubes, or let PEs of these cubes use it"
    ) in str(error.value)


def test_a_buffer_is_free_again_when_it_is_deleted(make: Make) -> None:
    torch = make()
    first = torch.reserve("hbm", 1000, cube=1, pe=1)
    where = first.data_ptr()
    assert repr(first) == f"Buffer(1000 bytes at {where:#x}, sip0.cube1.pe1)"
    assert torch.reserve("hbm", 1000, cube=1, pe=1).data_ptr() == where + 1024
    del first
    gc.collect()
    assert torch.reserve("hbm", 1000, cube=1, pe=1).data_ptr() == where


def test_a_launch_sees_only_its_own_segments(make: Make) -> None:
    torch = make(mmu__model="la")
    x, y = torch.zeros(8, "f32", ONE_PE), torch.zeros(8, "f32", ONE_PE)
    with pytest.raises(KernelError) as error:
        torch.launch("copy", copy, x, y.data_ptr())
    assert "address 0x4000010000000000 is mapped by no tensor" in str(error.value)
    torch.launch("copy", copy, x, y)
    torch.synchronize()


def load_all(x: int, tl: Any) -> None:
    tl.load(x, (8, 8), "f32")


def stream_all(x: int, tl: Any) -> None:
    tl.wait(tl.composite("gemm", tl.load(x, (2, 8), "f32"), tl.ref(x, (8, 8), "f32")))


@pytest.mark.parametrize("kernel", [load_all, stream_all])
def test_physical_parts_lie_apart(make: Make, kernel: Any) -> None:
    for model in ("va", "la"):
        torch = make(mmu__model=model)
        torch.launch("all", kernel, torch.zeros((8, 8), "f32", SPLIT))
    torch = make(mmu__model="pa")
    with pytest.raises(KernelError, match=r"the access to 256 bytes at 0x0 crosses the end of a shard"):
        torch.launch("all", kernel, torch.zeros((8, 8), "f32", SPLIT))


def test_a_tensor_that_is_gone_cannot_be_launched_with(make: Make) -> None:
    torch = make()
    x = torch.zeros(8, "f32", ONE_PE)
    arg = as_arg(x)
    del x
    gc.collect()
    with pytest.raises(InputError) as error:
        issue(torch, "copy", copy, arg, arg)
    assert str(error.value) == "no tensor of sip0 begins at 0x100000000; give one that has not been deleted"


def test_a_tray_of_many_sips(make: Make, model: str) -> None:
    torch = make(mmu__model=model, sips__count=64)
    with torch.device(63):
        x, y = torch.randn(8, "f32", ONE_PE), torch.zeros(8, "f32", ONE_PE)
        torch.launch("copy", copy, x, y)
        assert x.shards[0].pa >> 51 == 3
    z = torch.zeros(8, "f32", ONE_PE)
    issue(torch, "fetch", copy, y.shards[0].pa, z.shards[0].pa)
    torch.synchronize()
    assert (y.numpy() == x.initial()).all()


def test_pes_without_a_part_get_a_pointer_too(make: Make, model: str) -> None:
    torch = make(mmu__model=model)
    x = torch.zeros((1, 8), "f32", DPPolicy("row_wise", "row_wise"))
    y = torch.zeros((1, 8), "f32", DPPolicy("row_wise", "row_wise"))
    assert len(x.shards) == 1
    torch.launch("copy", copy, x, y)
    torch.synchronize()
