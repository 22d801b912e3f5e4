"""Tensors and copies, as a bench uses them."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
import pytest

from kernbench.errors import DeadlockError, InputError
from kernbench.host.memory.placement import DPPolicy
from kernbench.host.torch.context import RuntimeContext
from tests.host.conftest import Make


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("dp", [None, DPPolicy("row_wise", "column_wise"), DPPolicy(pe="row_wise", num_cubes=1)])
def test_what_is_written_is_read(make: Make, live: bool, dp: DPPolicy | None) -> None:
    torch = make(live)
    array = np.arange(15, dtype=np.int32).reshape(5, 3)
    tensor = torch.from_numpy(array, dp)
    assert (tensor.numpy() == array).all()
    assert (tensor.copy_(array + 1).cpu() == array + 1).all()
    assert (tensor.initial() == array).all()
    assert (tensor.dtype, tensor.shape, tensor.numel()) == ("i32", (5, 3), 15)


@pytest.mark.parametrize("live", [False, True])
def test_memory_that_is_used_again_holds_what_came_last(make: Make, live: bool) -> None:
    torch = make(live)
    first = torch.ones(8, "f32")
    where = first.layout
    assert first.numpy().sum() == 8
    del first
    gc.collect()
    second = torch.full(8, 2, "f32")
    assert second.layout.va == where.va
    assert second.numpy().sum() == 16


def test_a_copy_takes_the_time_of_its_bytes_and_a_read_waits_for_it(make: Make) -> None:
    torch = make()
    tensor = torch.zeros(1 << 16, "i8", torch.DPPolicy(num_cubes=1, num_pes=1))
    torch.synchronize()
    before = torch.driven.session.now_fs
    tensor.copy_(np.ones(1 << 16, np.int8))
    torch.synchronize()
    written = torch.driven.session.now_fs - before
    assert written >= (1 << 16) / 128 * 1e6
    tensor.numpy()
    assert torch.driven.session.now_fs - before >= 2 * written * 0.9


def test_mapping_messages_grow_with_the_parts_of_a_tensor(make: Make) -> None:
    def map_bytes(policy: DPPolicy) -> int:
        torch = make()
        tensor = torch.zeros((4, 4), dp=policy)
        program = torch.driven.program
        torch.synchronize()
        moves = program.op[(program.op[:, 0] == 2) & (program.op_tag == program.tag("mmu_map"))]
        del tensor
        return int(moves[:, 2].max())

    assert map_bytes(DPPolicy(num_cubes=1, num_pes=1)) == 64 + 16
    assert map_bytes(DPPolicy()) == 64 + 4 * 16
    assert map_bytes(DPPolicy("row_wise", "row_wise")) == 64 + 4 * 16


def test_seeds(make: Make) -> None:
    one, two = make(), make()
    first, second = one.randn(9), one.randn(9)
    assert (first.initial() == two.randn(9).initial()).all()
    assert (first.initial() != second.initial()).any()
    assert (one.randn(9, seed=3).initial() == one.randn(9, seed=3).initial()).all()
    assert (one.draw(9, seed=3).initial() == two.randn(9, seed=3).initial()).all()
    assert (one.draw(9, "i32", seed=3).initial() == two.draw(9, "i32", seed=3).initial()).all()
    two.manual_seed(1)
    assert (two.randn(9).initial() != second.initial()).any()


MISTAKES: list[tuple[Callable[[RuntimeContext], object], str]] = [
    (lambda t: t.zeros((4, 0)), "a tensor cannot have shape (4, 0); give positive whole numbers such as (512, 512)"),
    (lambda t: t.zeros(3.5), "a tensor cannot have shape 3.5; give positive whole numbers such as (512, 512)"),
    (lambda t: t.reserve("hbm", 0), "torch.reserve got nbytes=0; give a whole number of bytes, 1 or more"),
    (lambda t: t.reserve("tcm", "64"), "torch.reserve got nbytes='64'; give a whole number of bytes, 1 or more"),
    (lambda t: t.reserve("dram", 64), "a buffer cannot lie in 'dram'; did you mean 'sram'? Known: hbm, sram, tcm"),
    (lambda t: t.zeros(4, "f61"), "unknown dtype 'f61'; did you mean 'f16'? Known: bf16, f16, f32, f8e4m3, f8e5m2, i16, "
     "i32, i8, u16, u32, u8"),
    (lambda t: t.randn(4, "i32"), "randn makes floating-point numbers, got dtype 'i32'; use draw for integers"),
    (lambda t: t.zeros(4, dp="row_wise"), "tensor 'tensor0' got dp='row_wise'; give a torch.DPPolicy(cube=..., pe=...)"),
    (lambda t: t.from_numpy(np.zeros(2, "F")), "arrays of complex64 have no device dtype; convert to one of bf16, f16, f32, "
     "f8e4m3, f8e5m2, i16, i32, i8, u16, u32, u8"),
    (lambda t: t.zeros((2, 2), name="a").copy_(np.zeros(4)), "tensor 'a' has shape (2, 2), copy_ got an array of shape "
     "(4,); reshape it first"),
    (lambda t: t.set_device(1), "there is no device 1; this run has devices 0 to 0"),
    (lambda t: t.launch("k", print, np.zeros(2)), "launch of 'k' got a numpy array; put it on the device with "
     "torch.from_numpy first"),
    (lambda t: t.launch(len, 3), "torch.launch got <built-in function len>, 3; give a name, the kernel and its arguments"),
    (lambda t: t.expect(3, np.zeros(2)), "torch.expect got 3; give a tensor of this run and its reference"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "sentence"), MISTAKES)
def test_mistakes(make: Make, mistake: Callable[[RuntimeContext], object], sentence: str) -> None:
    with pytest.raises(InputError) as error:
        mistake(make())
    assert str(error.value) == sentence


def test_a_tensor_of_another_sip(make: Make) -> None:
    torch = make(sips__count=2)
    with torch.device(1):
        tensor = torch.zeros(4, name="a")
    assert tensor.sip == 1
    with pytest.raises(InputError, match=r"^launch of 'k' on sip0 got tensor 'a', which is on sip1; "):
        torch.launch("k", print, tensor)


def test_a_wait_for_ever_is_named(make: Make) -> None:
    torch = make()
    thread = torch.driven.program.thread("sip0.cube0.pe0.pe_cpu/stuck")
    thread.wait(torch.driven.program.counter("a message that nobody sends"), 1)
    with pytest.raises(DeadlockError) as error:
        torch.synchronize()
    assert str(error.value) == (
        "deadlock at 0 ns: sip0.cube0.pe0.pe_cpu/stuck waits for a message that nobody sends ≥ 1 (is 0) since 0 ns"
    )
