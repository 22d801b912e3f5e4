"""A Tanto bench whose kernels are Python functions; their twins in the C++-like language take as long."""

import numpy as np

from kernbench.errors import InputError
from kernbench.runs.bench import bench
from kernbench.tanto.api import INPUT, INTERMED, MATH, OUTPUT, READER, WRITER, Global, Grid, Kernel, Pipe, Program
from kernbench.tanto.kernel_functions import T, math, read_barrier, write_barrier
from kernbench.tanto.tiles import TILE

TILES = 4


def read_frames(source, into, start, frames, frame_tiles):
    into.set_frame(frame_tiles)
    elements = frame_tiles * 1024
    for _ in range(frames):
        into.reserve_back()
        into.read(0, source, start, elements)
        read_barrier()
        into.push_back()
        start += elements


def write_frames(target, out, start, frames, frame_tiles):
    out.set_frame(frame_tiles)
    elements = frame_tiles * 1024
    for _ in range(frames):
        out.wait_front()
        out.write(0, target, start, elements)
        write_barrier()
        out.pop_front()
        start += elements


def tile(acc, x, gate, i):
    acc.mul(x, gate, i, i, i)


def swish_tiles(x, gate, y, frames, frame_tiles):
    x.set_frame(frame_tiles)
    gate.set_frame(frame_tiles)
    y.set_frame(frame_tiles)
    for _ in range(frames):
        x.wait_front()
        gate.reserve_back()
        for i in range(0, frame_tiles, TILES):
            with math(T) as acc:
                count = frame_tiles - i if frame_tiles - i < TILES else TILES
                for k in range(count):
                    acc.copy(x, i + k, k)
                    acc.sigmoid(k)
                    acc.pack(k, gate)
        gate.push_back()
        gate.wait_front()
        y.reserve_back()
        for i in range(frame_tiles):
            with math(T) as acc:
                tile(acc, x, gate, i)
                acc.pack(i, y)
        y.push_back()
        gate.pop_front()
        x.pop_front()


KERNELS = {
    "python": (read_frames, write_frames, swish_tiles),
    "c++": ("read_frames.cpp", "write_frames.cpp", "swish.cpp"),
}


@bench(
    "tanto-swish",
    "x times its sigmoid, by kernels in Python or in the C++-like language",
    choices={"language": tuple(KERNELS)},
    system="tanto",
)
def swish(tanto, language="python", cores=4, tiles=16, frame=8):
    """Each core has a stretch of the tensors.

    Parameters:
        language: the language of the kernels
        cores: cores of one row
        tiles: tiles of each core; a multiple of frame
        frame: tiles of a frame of a pipe, 1 to 8
    """
    if not 1 <= frame <= 8 or tiles % frame or not 0 < cores <= tanto.device.places.w:
        raise InputError(
            f"frame is {frame}, tiles {tiles} and cores {cores}; give whole frames of 1 to 8 tiles, and cores of one row"
        )
    program, grid = Program(tanto.device, "swish"), Grid((0, 0, cores - 1, 0))
    x, y = (Global(tanto.device, "bfloat16", cores * tiles * TILE) for _ in range(2))
    into, gate, out = (Pipe(program, grid, kind, "bfloat16", 2 * frame, frame) for kind in (INPUT, INTERMED, OUTPUT))
    reader, writer, kernel = (
        Kernel(program, grid, kind, source)
        for kind, source in zip((READER, WRITER, MATH), KERNELS[language], strict=True)
    )
    kernel.set_args(grid, [into, gate, out, tiles // frame, frame])
    for number, core in enumerate(grid):
        reader.set_args(core, [x, into, number * tiles * TILE, tiles // frame, frame])
        writer.set_args(core, [y, out, number * tiles * TILE, tiles // frame, frame])
    values = tanto.write(x, tanto.random.standard_normal(cores * tiles * TILE))
    tanto.launch(program)
    tanto.expect("y", y, lambda: values / (1 + np.exp(-values)))
