"""Addresses of tensors and the integers that kernels add to them."""

import numpy as np
import pytest

from kernbench.host.memory.physical_pointers import Extent, PhysicalPointer
from kernbench.host.memory.pointer import Pointer
from kernbench.host.messages import MapEntry, Shard

FAR = 1 << 40
X = Extent.of("x", 0, 64, (MapEntry(0, Shard(0, 0, 0, FAR, 64)),))


@pytest.mark.parametrize("pointer", [Pointer(FAR), PhysicalPointer(X)])
@pytest.mark.parametrize("whole", [int, np.int32, np.int64, np.uint8, np.uint64])
def test_integers_of_numpy_are_added_as_those_of_python(pointer, whole):
    assert [pointer + whole(8), whole(8) + pointer, pointer + whole(8) - whole(4)] == [FAR + 8, FAR + 8, FAR + 4]


def test_a_distance_is_a_plain_integer():
    assert type(Pointer(FAR) - Pointer(FAR - 4)) is int
    assert type(Pointer(FAR) - 4) is Pointer


def test_what_is_no_integer_is_refused():
    with pytest.raises(TypeError):
        Pointer(FAR) + "4"
    with pytest.raises(TypeError):
        Pointer(FAR) - None
