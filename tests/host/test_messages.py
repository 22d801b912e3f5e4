"""What the host refuses to send."""

from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.host.messages import KernelLaunch, MemoryRead, MemoryWrite, Shard, TensorArg


def test_a_launch_with_a_shard_without_a_place() -> None:
    arg = TensorArg("a", 0x1000, (Shard(0, 0, 0, 7, 0, 64), Shard(0, None, None, 7, 64, 64)))
    with pytest.raises(InputError) as error:
        KernelLaunch("k", (arg,), 0, (0,), (0,))
    assert str(error.value) == (
        "launch of 'k': tensor 'a' has a shard without cube, pe; every shard names its sip, cube, pe"
    )


def test_a_launch_with_a_tensor_of_another_sip() -> None:
    arg = TensorArg("a", 0x1000, (Shard(1, 0, 0, 7, 0, 64),))
    with pytest.raises(InputError) as error:
        KernelLaunch("k", (arg,), 0, (0,), (0,))
    assert str(error.value) == (
        "launch of 'k' on sip0 got tensor 'a', which is on sip1; make the tensor and launch under the same "
        "torch.device(...)"
    )


@pytest.mark.parametrize("message", [MemoryWrite, MemoryRead])
def test_a_memory_message_without_a_place(message: type[MemoryWrite]) -> None:
    with pytest.raises(InputError) as error:
        message("a", Shard(None, 0, 0, 7, 0, 64))
    assert str(error.value) == (
        f"{message.__name__} of tensor 'a' has a shard without sip; every shard names its sip, cube, pe"
    )
