"""Tanto benches of images, whose pixels follow each other with their channels: convolution, depthwise convolution, pooling."""

import numpy as np

from kernbench.errors import InputError
from kernbench.runs.bench import bench
from kernbench.tanto.api import (
    INPUT,
    INTERMED,
    MATH,
    OUTPUT,
    READER,
    WRITER,
    Global,
    Grid,
    Kernel,
    Local,
    Pipe,
    Program,
    Semaphore,
)  # fmt: skip
from kernbench.tanto.tiles import SIDE, TILE, matrix_to_tiles

TAPS = 9


def windows(image: np.ndarray) -> np.ndarray:
    """[9, pixel, channel]: the pixels of the 3 x 3 window around each pixel, zero outside of the image."""
    height, width, channels = image.shape
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)))
    taps = [padded[y : y + height, x : x + width] for y in range(3) for x in range(3)]
    return np.stack(taps).reshape(TAPS, height * width, channels)


def split(tanto, pixels: int, channels: int, cores_x: int, cores_y: int) -> tuple[Grid, int]:
    """The grid, and the blocks of 32 pixels of each core. Errors: InputError for sizes that do not split."""
    places = tanto.device.places
    if not (0 < cores_x <= places.w and 0 < cores_y <= places.h):
        raise InputError(f"a grid of {cores_x} x {cores_y} cores does not fit on {places.w} x {places.h}")
    if pixels % (SIDE * cores_x * cores_y) or channels % SIDE or not channels:
        raise InputError(
            f"{pixels} pixels of {channels} channels on {cores_x * cores_y} cores; give multiples of {SIDE} for each core"
        )
    return Grid((0, 0, cores_x - 1, cores_y - 1)), pixels // (SIDE * cores_x * cores_y)


def band_of(first: int, count: int, height: int, width: int) -> tuple[int, int]:
    """The first row, and the number of rows, that windows around some pixels need."""
    low, high = max(first // width - 1, 0), min((first + count - 1) // width + 1, height - 1)
    return low, high - low + 1


def add_transfers(
    tanto, program, grid, image, weights, output, px, pw, py, shape, blocks, keep_band, weight_tiles, out_tiles
):
    """The reader, which gathers windows, and the writer, which multicasts weights, of a convolution."""
    (height, width, channels), places = shape, tanto.device.places
    cores, count = list(grid), blocks * SIDE
    bands = [band_of(number * count, count, height, width) for number in range(len(cores))]
    most = max(rows for _, rows in bands) * width * channels if keep_band else 1
    band, zeros = Local(program, grid, "bfloat16", most), Local(program, grid, "bfloat16", channels)
    ready, valid = Semaphore(program, grid), Semaphore(program, grid)
    reader = Kernel(program, grid, READER, "conv_read.cpp", [int(keep_band)])
    writer = Kernel(program, grid, WRITER, "conv_write.cpp")
    corners = (*places.physical(cores[0]), *places.physical(cores[-1]), len(cores) - 1, *places.physical(cores[0]))
    for number, core in enumerate(cores):
        first, rows = bands[number]
        reader.set_args(
            core,
            [image, band, zeros, px, height, width, channels, number * count, blocks, first, rows if keep_band else 0],
        )
        start = number * blocks * out_tiles * TILE
        sizes = [int(number == 0), weight_tiles, out_tiles, start, blocks]
        writer.set_args(core, [weights, output, pw, py, ready, valid, *sizes, *corners])


@bench(
    "tanto-conv",
    "3 x 3 convolution; windows come from DRAM for each tap, or from a band of rows kept in each core",
    system="tanto",
)
def conv(tanto, height=16, width=16, channels=32, filters=32, cores_x=2, cores_y=2, band=False, relu=True):
    """Pixels are shared by the cores; weights come by multicast.

    Parameters:
        height: rows of the image
        width: columns of the image
        channels: channels of a pixel; a multiple of 32
        filters: channels of the result; a multiple of 32, 256 at most
        cores_x: columns of the grid of cores
        cores_y: rows of the grid of cores
        band: cores keep a band of rows; else windows come from DRAM for each tap
        relu: negative results become 0
    """
    device, pixels = tanto.device, height * width
    if filters % SIDE or not 0 < filters // SIDE <= 8:
        raise InputError(f"filters is {filters}; give a multiple of {SIDE} up to {8 * SIDE}")
    grid, blocks = split(tanto, pixels, channels, cores_x, cores_y)
    in_tiles, out_tiles = channels // SIDE, filters // SIDE
    program, weight_tiles = Program(device, "conv"), TAPS * in_tiles * out_tiles
    image, output = Global(device, "bfloat16", pixels * channels), Global(device, "bfloat16", pixels * filters)
    weights = Global(device, "bfloat16", weight_tiles * TILE)
    px = Pipe(program, grid, INPUT, "bfloat16", 2 * in_tiles, in_tiles)
    pw = Pipe(program, grid, INPUT, "bfloat16", weight_tiles, weight_tiles)
    pt = Pipe(program, grid, INTERMED, "bfloat16", TAPS * in_tiles, in_tiles)
    ps = Pipe(program, grid, INTERMED, "bfloat16", out_tiles, out_tiles)
    py = Pipe(program, grid, OUTPUT, "bfloat16", 2 * out_tiles, out_tiles)
    kernel = Kernel(program, grid, MATH, "conv.cpp", [int(relu)])
    kernel.set_args(grid, [px, pt, pw, ps, py, blocks, in_tiles, out_tiles])
    shape = (height, width, channels)
    add_transfers(
        tanto, program, grid, image, weights, output, px, pw, py, shape, blocks, band, weight_tiles, out_tiles
    )
    values = tanto.random.standard_normal(shape).astype(np.float32)
    filter_values = (tanto.random.standard_normal((TAPS, channels, filters)) / 16).astype(np.float32)
    tanto.write(image, values)
    tanto.write(weights, matrix_to_tiles(filter_values.reshape(TAPS * channels, filters)))
    tanto.launch(program)

    def reference():
        found = np.einsum("tpc,tcf->pf", windows(values), filter_values)
        return np.maximum(found, 0) if relu else found

    tanto.expect("output", output, reference)


@bench("tanto-depthwise", "3 x 3 depthwise convolution: each channel by itself", system="tanto")
def depthwise(tanto, height=16, width=16, channels=32, cores_x=2, cores_y=2, band=True):
    """Pixels are shared by the cores; weights come by multicast.

    Parameters:
        height: rows of the image
        width: columns of the image
        channels: channels of a pixel; a multiple of 32
        cores_x: columns of the grid of cores
        cores_y: rows of the grid of cores
        band: cores keep a band of rows; else windows come from DRAM for each tap
    """
    device, pixels = tanto.device, height * width
    grid, blocks = split(tanto, pixels, channels, cores_x, cores_y)
    tiles = channels // SIDE
    program, weight_tiles = Program(device, "depthwise"), TAPS * tiles
    image, output = (Global(device, "bfloat16", pixels * channels) for _ in range(2))
    weights = Global(device, "bfloat16", weight_tiles * TILE)
    px = Pipe(program, grid, INPUT, "bfloat16", 2 * tiles, tiles)
    pw = Pipe(program, grid, INPUT, "bfloat16", weight_tiles, weight_tiles)
    pt, pm = (Pipe(program, grid, INTERMED, "bfloat16", tiles, tiles) for _ in range(2))
    ps = Pipe(program, grid, INTERMED, "bfloat16", 2 * tiles, tiles)
    py = Pipe(program, grid, OUTPUT, "bfloat16", 2 * tiles, tiles)
    Kernel(program, grid, MATH, "depthwise.cpp").set_args(grid, [px, pt, pw, pm, ps, py, blocks, tiles])
    shape = (height, width, channels)
    add_transfers(tanto, program, grid, image, weights, output, px, pw, py, shape, blocks, band, weight_tiles, tiles)
    values = tanto.random.standard_normal(shape).astype(np.float32)
    taps = tanto.random.standard_normal((TAPS, channels)).astype(np.float32)
    rows = np.zeros((TAPS, SIDE, channels), np.float32)
    rows[:, 0] = taps
    tanto.write(image, values)
    tanto.write(weights, np.concatenate([matrix_to_tiles(one) for one in rows]))
    tanto.launch(program)
    tanto.expect("output", output, lambda: np.einsum("tpc,tc->pc", windows(values), taps))


@bench(
    "tanto-pool", "2 x 2 maximum pooling with stride 2, by a table of offsets that the reader looks up", system="tanto"
)
def pool(tanto, height=16, width=16, channels=32, cores=2):
    """Pixels of the result are shared by the cores.

    Parameters:
        height: rows of the image
        width: columns of the image
        channels: channels of a pixel; a multiple of 32
        cores: cores of one row
    """
    device, pixels = tanto.device, height * width // 4
    grid, blocks = split(tanto, pixels, channels, cores, 1)
    tiles, program = channels // SIDE, Program(device, "pool")
    image, output = Global(device, "bfloat16", 4 * pixels * channels), Global(device, "bfloat16", pixels * channels)
    offsets = Global(device, "uint32", 4 * pixels)
    table = Local(program, grid, "uint32", 4 * SIDE)
    px = Pipe(program, grid, INPUT, "bfloat16", 8 * tiles, tiles)
    py = Pipe(program, grid, OUTPUT, "bfloat16", 2 * tiles, tiles)
    reader = Kernel(program, grid, READER, "pool_read.cpp")
    writer = Kernel(program, grid, WRITER, "write_frames.cpp")
    Kernel(program, grid, MATH, "pool.cpp").set_args(grid, [px, py, blocks, tiles])
    for number, core in enumerate(grid):
        reader.set_args(core, [offsets, image, table, px, number * blocks, blocks, channels])
        writer.set_args(core, [output, py, number * blocks * tiles * TILE, blocks, tiles])
    y, x = np.divmod(np.arange(pixels), width // 2)
    corner = 2 * y * width + 2 * x
    found = np.stack([corner, corner + 1, corner + width, corner + width + 1]).reshape(4, -1, SIDE).transpose(1, 0, 2)
    tanto.write(offsets, (found * channels).astype(np.uint32))
    values = tanto.write(image, tanto.random.standard_normal(4 * pixels * channels)).reshape(height, width, channels)
    tanto.launch(program)
    shape = (height // 2, 2, width // 2, 2, channels)
    tanto.expect("output", output, lambda: values.reshape(shape).max(axis=(1, 3)), exact=True)
