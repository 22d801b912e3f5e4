"""Block formats: what they keep of numbers, what they take of memory and time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernbench.tanto.formats import FORMATS, find_format
from kernbench.tanto.program_file import LocalSpec, PipeSpec
from tests.engine.fresh import run_seed
from tests.tanto.support import COPY, device, through


@pytest.mark.parametrize(("name", "tile"), [("bfp8", 1024 + 64), ("bfp4", 512 + 64), ("bf16", 2048), ("float32", 4096)])
def test_the_bytes_of_a_tile(name: str, tile: int) -> None:
    assert find_format(name).bytes_of(1024) == tile
    assert find_format(name).bytes_of(0) == 0


def keep(value: float, largest: float, bits: int) -> float:
    """A number beside the largest of its 16, in plain arithmetic: whole units of the last bit of the largest."""
    unit = 2.0 ** (np.floor(np.log2(abs(largest))) - bits + 1)
    return float(np.sign(value) * np.floor(abs(value) / unit) * unit)


@pytest.mark.parametrize(("name", "bits"), [("bfloat8_b", 7), ("bfloat4_b", 3)])
def test_sixteen_elements_share_the_exponent_of_the_largest(name: str, bits: int) -> None:
    values = np.random.default_rng(run_seed()).standard_normal((8, 32)).astype(np.float32) * 2.0 ** np.arange(-16, 16)
    fmt = FORMATS[name]
    found = fmt.to_float(fmt.from_float(values))
    for row, kept in zip(values.reshape(-1, 16), found.reshape(-1, 16), strict=True):
        largest = row[np.abs(row).argmax()]
        assert kept.tolist() == [keep(value, largest, bits) for value in row]
    assert np.array_equal(fmt.to_float(fmt.from_float(found)), found)  # what it holds it keeps


def test_rounding_to_nearest_stays_in_range() -> None:
    fmt, values = FORMATS["bfloat4_b"], np.array([1.99, 1.2, -0.9, 0.13] + [0] * 12, np.float32)
    assert fmt.to_float(fmt.from_float(values))[:4].tolist() == [1.75, 1.0, -0.75, 0.0]
    assert fmt.to_float(fmt.from_float(values, nearest=True))[:4].tolist() == [1.75, 1.25, -1.0, 0.25]
    found = fmt.to_float(fmt.from_float(np.array([1, -np.inf, np.nan, 3e38] + [0] * 12, np.float32)))
    assert found[0] == 0
    assert found[1] == -np.inf
    assert np.isnan(found[2])
    assert fmt.from_float(np.zeros(5, np.float32)).tolist() == [0] * 5
    assert fmt.to_float(fmt.from_float(np.full(16, 1e-40, np.float32))).tolist() == [0] * 16


@pytest.mark.parametrize("name", ["bfloat8_b", "bfloat4_b"])
def test_tiles_of_a_block_format_go_through_a_core(tmp_path: Path, name: str) -> None:
    values = np.random.default_rng(run_seed()).standard_normal(2048).astype(np.float32)
    fmt = FORMATS[name]
    assert np.array_equal(through(tmp_path, COPY, values, fmt=name), fmt.to_float(fmt.from_float(values)))


def test_a_pipe_of_a_block_format_lies_over_a_local_of_it(tmp_path: Path) -> None:
    from kernbench.errors import InputError
    from kernbench.tanto.loading import KernelFiles
    from kernbench.tanto.program_file import KernelSpec, ProgramSpec
    from kernbench.tanto.run import run_program

    one = [(0, 0, 0, 0)]
    (tmp_path / "k.cpp").write_text("void kernel(pipe<T> p) { p.set_frame(1); }")
    spec = ProgramSpec(
        locals=[LocalSpec(id=0, fmt="bfloat16", size=1024, ranges=one)],
        pipes=[PipeSpec(id=1, kind=0, fmt="bfloat8_b", tiles=1, frame=1, local=0, ranges=one)],
        kernels=[KernelSpec(kind=0, path="k.cpp", ranges=one, args={"0,0": [{"p": 1}]})],
    )
    with pytest.raises(InputError) as raised:
        run_program(device(), spec, KernelFiles(tmp_path))
    assert str(raised.value) == (
        "pipe 1 of bfloat8_b lies over local 0 of bfloat16; one of a block format lies over a local of the same format"
    )
