"""The host's side in Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.tanto.api import READER, Grid, Kernel, Local, Program, Queue
from kernbench.tanto.loading import LIBRARY, KernelFiles
from kernbench.tanto.program_file import KernelSpec
from tests.tanto.support import device

SWAP = """
void kernel(local<T> a, uint32 x, uint32 y) {
    a.read(0, a, 4, 4, x, y);
    read_barrier();
}
"""


def test_the_host_writes_and_reads_locals_of_the_device(tmp_path: Path) -> None:
    """The elements of the cores, one after the other: here each of two gets the upper half of the other."""
    (tmp_path / "swap.cpp").write_text(SWAP)
    chip, grid = device(), Grid((0, 0, 1, 0))
    local, program = Local(chip, grid, "bfloat16", 8), Program(chip)
    kernel = Kernel(program, grid, READER, tmp_path / "swap.cpp")
    kernel.set_args((0, 0), [local, *chip.places.physical((1, 0))])
    kernel.set_args((1, 0), [local, *chip.places.physical((0, 0))])
    queue, found = Queue(chip), np.zeros(16, np.float32)
    queue.enqueue_write(local, np.arange(16, dtype=np.float32))
    queue.enqueue_program(program)
    queue.enqueue_read(local, found)
    (result,) = queue.finish()
    assert result.status == "ok"
    assert found.tolist() == [12, 13, 14, 15, 4, 5, 6, 7, 4, 5, 6, 7, 12, 13, 14, 15]


def test_a_local_is_written_whole() -> None:
    chip = device()
    local, queue = Local(chip, Grid((0, 0, 1, 0)), "bfloat16", 8), Queue(chip)
    queue.enqueue_write(local, np.zeros(8, np.float32))
    with pytest.raises(InputError) as raised:
        queue.finish()
    assert str(raised.value) == f"local {local.id} has 16 elements; got 8"


def test_a_kernel_that_the_folder_lacks_is_one_of_the_library(tmp_path: Path) -> None:
    spec = KernelSpec(kind=0, path="push_shards.cpp", compile_args=[0], ranges=[(0, 0, 0, 0)], args={})
    assert KernelFiles(tmp_path).find(spec) == (LIBRARY / "push_shards.cpp", (0,))
    own = tmp_path / "push_shards.cpp"
    own.write_text("void kernel() {}\n")
    assert KernelFiles(tmp_path).find(spec) == (own, (0,))
    missing = KernelSpec(kind=0, path="none.cpp", compile_args=[], ranges=[(0, 0, 0, 0)], args={})
    with pytest.raises(InputError, match=r"no kernel file 'none\.cpp' in "):
        KernelFiles(tmp_path).find(missing)
