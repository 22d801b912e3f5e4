"""Regions and how they lie over each other."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.pto.runtime.fatal import FatalCode, InvalidArgsError
from kernbench.pto.tasks.tensors import Overlap, make_tensor, make_tensor_external

WHOLE = make_tensor_external(4096, (8, 6), 2)


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (((2, 3), (0, 0)), ((2, 3), (2, 0)), Overlap.NONE),
        (((2, 3), (0, 0)), ((2, 3), (0, 3)), Overlap.NONE),
        (((4, 6), (0, 0)), ((2, 3), (1, 2)), Overlap.COVERED),
        (((2, 3), (1, 2)), ((4, 6), (0, 0)), Overlap.OTHER),
        (((2, 3), (1, 2)), ((2, 3), (1, 2)), Overlap.COVERED),
        (((3, 3), (0, 0)), ((3, 3), (2, 2)), Overlap.OTHER),
    ],
)
def test_regions_of_one_tensor_overlap_by_dimensions(new, old, expected):
    assert WHOLE.view(*new).overlap(WHOLE.view(*old)) == expected


def test_regions_agree_with_the_elements_that_they_hold():
    rng, numbers = np.random.default_rng(), np.arange(48, dtype=np.float32).view(np.uint8)
    for _ in range(200):
        at = [rng.integers(0, n, 2) for n in (8, 6)]
        n = [[int(rng.integers(1, size - a + 1)) for a in each] for size, each in zip((8, 6), at, strict=True)]
        a, b = (WHOLE.view((n[0][i], n[1][i]), (int(at[0][i]), int(at[1][i]))) for i in (0, 1))
        mine, other = (set(each.array(numbers).ravel().tolist()) for each in (a, b))
        expected = Overlap.NONE if not mine & other else Overlap.COVERED if other <= mine else Overlap.OTHER
        assert a.overlap(b) == expected


def test_another_shape_of_the_same_bytes_overlaps_by_bytes():
    flat = make_tensor_external(4096, (48,), 1)
    assert flat.overlap(WHOLE.view((2, 6), (3, 0))) == Overlap.COVERED
    assert WHOLE.view((2, 2), (0, 0)).overlap(flat.view((2,), (0,))) == Overlap.OTHER
    assert flat.view((6,), (0,)).overlap(WHOLE.view((1, 6), (1, 0))) == Overlap.NONE


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: make_tensor((2, 3), 1),
            "got shapes (2, 3) and ndim 1, expected as many positive whole numbers as ndim says",
        ),
        (
            lambda: make_tensor((0,), 1),
            "got shapes (0,) and ndim 1, expected as many positive whole numbers as ndim says",
        ),
        (lambda: make_tensor_external(0, (2,), 1), "got address 0 for an external tensor; give that of an argument"),
        (lambda: WHOLE.view((9, 1), (0, 0)), "a view of shape (9, 1) at (0, 0) is not inside a tensor of shape (8, 6)"),
    ],
)
def test_what_is_no_region_is_refused(make, sentence):
    with pytest.raises(InvalidArgsError) as error:
        make()
    assert str(error.value) == f"FATAL: invalid arguments: {sentence} (fatal code 5)"
    assert error.value.fatal_code == FatalCode.INVALID_ARGS
    assert error.value.exit_code == 2
