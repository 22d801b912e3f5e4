"""What the host refuses to send, and what comes back."""

from __future__ import annotations

from typing import Any

import pytest

from kernbench.errors import AddressError, InputError, KernelError
from kernbench.host.messages import (
    KernelLaunch,
    MapEntry,
    MemoryRead,
    MemoryWrite,
    MmuMap,
    MmuUnmap,
    PeDma,
    Response,
    Shard,
    TensorArg,
    distinct,
)

HERE = Shard(0, 0, 0, 0, 64)


def refused(make: Any) -> str:
    with pytest.raises(InputError) as error:
        make()
    return str(error.value)


def test_a_launch_with_a_shard_without_a_place() -> None:
    arg = TensorArg("a", 0x1000, (HERE, Shard(0, None, None, 64, 64)))
    sentence = "launch of 'k': tensor 'a' has a shard without cube, pe; every shard names its sip, cube, pe"
    assert refused(lambda: KernelLaunch("k", (arg,), 0, (0,), (0,))) == sentence
    assert refused(lambda: KernelLaunch("k", ((1, arg),), 0, (0,), (0,))) == sentence


def test_a_launch_with_a_tensor_of_another_sip() -> None:
    arg = TensorArg("a", 0x1000, (Shard(1, 0, 0, 0, 64),))
    assert refused(lambda: KernelLaunch("k", (arg,), 0, (0,), (0,))) == (
        "launch of 'k' on sip0 got tensor 'a', which is on sip1; make the tensor and launch under the same "
        "torch.device(...)"
    )


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"target_cubes": ()}, "has target_cubes (); give each target once, one at least"),
        ({"target_pe": (0, 1, 0)}, "has target_pe (0, 1, 0); give each target once, one at least"),
        ({"target_start_ns": -1.0}, "has target_start_ns -1.0; give 0 or more, below 1e9"),
        ({"target_start_ns": 1e9}, "has target_start_ns 1000000000.0; give 0 or more, below 1e9"),
    ],
)
def test_a_launch_without_targets_or_at_no_time(fields: dict[str, Any], sentence: str) -> None:
    told: dict[str, Any] = {"kernel_ref": "k", "args": (), "sip": 0, "target_cubes": (0,), "target_pe": (0,)}
    assert refused(lambda: KernelLaunch(**told | fields)) == f"launch of 'k' {sentence}"


@pytest.mark.parametrize("message", [MemoryWrite, MemoryRead])
def test_a_memory_message_without_a_place(message: type[MemoryWrite]) -> None:
    assert refused(lambda: message("a", Shard(None, 0, 0, 0, 64))) == (
        f"{message.__name__} of tensor 'a' has a shard without sip; every shard names its sip, cube, pe"
    )


@pytest.mark.parametrize("message", [MmuMap, MmuUnmap])
def test_a_mapping_without_a_place(message: type[MmuMap]) -> None:
    targets = {0: {0: (MapEntry(0x1000, HERE), MapEntry(0x2000, Shard(0, 0, None, 0, 64)))}}
    assert refused(lambda: message("a", 0, targets)) == (
        f"{message.__name__} of tensor 'a' has a shard without pe; every shard names its sip, cube, pe"
    )


@pytest.mark.parametrize(("pa", "nbytes"), [(-1, 64), (0, 0)])
def test_a_shard_that_is_no_memory(pa: int, nbytes: int) -> None:
    assert refused(lambda: PeDma(0, 0, 1, Shard(0, 0, 0, pa, nbytes))) == (
        f"PeDma of sip0.cube0.pe1 has a shard of {nbytes} bytes at {pa:#x}; give a physical address and 1 byte or more"
    )


def test_what_several_are_told_is_told_once() -> None:
    shared, own = (MapEntry(0, HERE),), (MapEntry(64, HERE),)
    assert list(distinct({0: {0: shared, 1: shared}, 1: {0: own, 1: shared}})) == [shared, own]


def test_the_tensors_of_a_launch_are_found_in_tuples_too() -> None:
    a, b = TensorArg("a", 0, (HERE,)), TensorArg("b", 64, (HERE,))
    assert KernelLaunch("k", (a, 3, (b, (a,))), 0, (0,), (0,)).tensors == (a, b, a)


def test_an_answer_carries_the_word_of_what_went_wrong_first() -> None:
    first = AddressError("no memory there")
    kernel = KernelError("kernel k: no memory there")
    kernel.__cause__ = first
    assert Response.of(kernel) == Response(False, "bad_address", "kernel k: no memory there")
    plain = KernelError("kernel k raised ZeroDivisionError")
    plain.__cause__ = ZeroDivisionError()
    assert Response.of(plain) == Response(False, "kernel_failed", "kernel k raised ZeroDivisionError")
    assert Response(ok=True) == Response(True, None, None)


def test_an_error_that_is_raised_again_keeps_its_answer() -> None:
    first = KernelError("kernel k failed")
    assert first.response is None
    first.attach_response(Response.of(first))
    again = KernelError("rank 1: kernel k failed")
    again.__cause__ = first
    assert again.response == Response(False, "kernel_failed", "kernel k failed")
