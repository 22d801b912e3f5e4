"""A chip as a network sees it: a core beside each bank of DRAM, tensors that lie over these cores, and programs in turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kernbench.errors import InputError
from kernbench.machine.families.tensix.places import READER_NETWORK, WRITER_NETWORK, TensixPlaces
from kernbench.tanto.api import Global, Grid, Kernel, Local, Pipe, Program
from kernbench.tanto.device import Device
from kernbench.tanto.formats import Format, find_format
from kernbench.tanto.tiles import SIDE, TILE, matrix_to_tiles

ACTIVATIONS = "bfloat16"
OWNERS_A_WORD, OWNER_WORDS, OWNER_BITS, Y_BITS = 3, 6, 10, 5  # as kernels unpack the places of cores
PASSES = 4
MOST_OWNERS = OWNERS_A_WORD * OWNER_WORDS
SLOTS_FORMAT = find_format(ACTIVATIONS)
Core = tuple[int, int]
Link = tuple[int, str, int, int]  # of a network: the way it goes from a place


def parts_of(size: int, count: int) -> int:
    """The parts of a size, each of `count` but the last, which may be smaller; or the size of one of `count` parts."""
    return -(-size // count)


class Launch(NamedTuple):
    """A program of a step: its part of the network, its operator, and the fidelity of its products."""

    section: str
    operator: str
    program: Program
    fidelity: str


@dataclass(frozen=True, slots=True)
class Shards:
    """A tensor of one row of tiles, or of 32 rows, whose columns of tiles lie over cores: `own` each, fewer on the last."""

    local: Local
    cores: tuple[Core, ...]
    own: int
    tiles: int

    def count(self, core: int) -> int:
        """The columns of tiles of a core, by its number."""
        return min(self.own, self.tiles - core * self.own)


@dataclass(slots=True)
class Chip:
    """Makes the tensors and programs of a network on a device. `fills` write contents, if numbers are computed."""

    device: Device
    fidelity: str
    launches: list[Launch] = field(default_factory=list[Launch])
    fills: list[Callable[[], object]] = field(default_factory=list[Callable[[], object]])
    section: str = ""
    stream_cores: tuple[Core, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.stream_cores = choose_cores(self.places)

    @property
    def places(self) -> TensixPlaces:
        """The places of the chip."""
        return self.device.places

    @property
    def banks(self) -> int:
        """Banks of DRAM."""
        return self.places.grid.banks

    @property
    def slots(self) -> int:
        """Tiles that a math object holds."""
        return int(self.device.machine.figures["tensix_core.destination_bytes"]) // SLOTS_FORMAT.bytes_of(TILE)

    @property
    def l1_bytes(self) -> int:
        """Bytes of the L1 of a core."""
        return int(self.device.machine.figures["tensix_core.l1_bytes"])

    def every_core(self) -> list[Core]:
        """All cores, row by row."""
        return [(x, y) for y in range(self.places.h) for x in range(self.places.w)]

    def shards(self, tiles: int, room: int = 0) -> Shards:
        """A tensor of some columns of tiles over the cores beside the banks, with room for some more on each."""
        own = parts_of(tiles, self.banks)
        cores = self.stream_cores[: parts_of(tiles, own)]
        local = Local(self.device, grid_of(cores), ACTIVATIONS, (own + room) * TILE)
        return Shards(local, cores, own, tiles)

    def owners(self, cores: Sequence[Core]) -> list[int]:
        """The places of cores as numbers, three in each."""
        words = [0] * OWNER_WORDS
        for number, core in enumerate(cores):
            x, y = self.places.physical(core)
            word, at = divmod(number, OWNERS_A_WORD)
            words[word] |= (x << Y_BITS | y) << OWNER_BITS * at
        return words

    def fill(self, buffer: Global | Local, make: Callable[[], np.ndarray]) -> None:
        """Write a buffer before the programs, if numbers are computed."""
        self.fills.append(lambda: self.device.write(buffer.id, make(), buffer.letter))

    def fill_all(self) -> None:
        """Write all buffers."""
        for fill in self.fills:
            fill()

    def tiles(self, make: Callable[[], np.ndarray], rows: int, columns: int, dtype: str = ACTIVATIONS) -> Global:
        """A matrix of tiles in DRAM, filled up with zeros."""
        found = Global(self.device, dtype, rows * columns * TILE)
        self.fill(found, lambda: matrix_to_tiles(fill_up(make(), rows * SIDE, columns * SIDE)))
        return found

    def launch(self, operator: str, program: Program, fidelity: str = "") -> None:
        """Run a program after those before."""
        self.launches.append(Launch(self.section, operator, program, fidelity or self.fidelity))


def choose_cores(places: TensixPlaces) -> tuple[Core, ...]:
    """A core for each bank: that whose data crosses links which carry the least of other banks', then the nearest.

    Data goes from bank to core on the networks of both kernels. Banks choose in turn, some times over.
    Errors: InputError for more banks than the kernels know places of.
    """
    banks = places.grid.banks
    cores = [(x, y) for y in range(places.h) for x in range(places.w)]
    if banks > min(MOST_OWNERS, len(cores)):
        raise InputError(
            f"the chip has {banks} banks and {len(cores)} cores; networks take {MOST_OWNERS} banks at most, each with a core"
        )
    taken: dict[int, Core] = {}
    load: Counter[Link] = Counter()
    paths = [
        {core: list_links(places, places.bank_place(bank), places.physical(core)) for core in cores}
        for bank in range(banks)
    ]
    for bank in [bank for _ in range(PASSES) for bank in range(banks)]:
        if bank in taken:
            load.subtract(paths[bank][taken.pop(bank)])
        found = paths[bank]
        free = [core for core in cores if core not in taken.values()]
        taken[bank] = min(free, key=lambda core: (_crowd(load, found[core]), len(found[core])))
        load.update(found[taken[bank]])
    return tuple(taken[bank] for bank in range(banks))


def _crowd(load: Counter[Link], path: Sequence[Link]) -> tuple[int, int]:
    """The most streams that a link of a path carries, and all of them."""
    return max((load[link] for link in path), default=0), sum(load[link] for link in path)


def list_links(places: TensixPlaces, src: Core, dst: Core) -> list[Link]:
    """The links from one physical place to another, on both networks.

    The first goes east, then south; the other north, then west.
    """
    (x, y), (to_x, to_y), grid = src, dst, places.grid
    found: list[Link] = []
    across, down = (to_x - x) % grid.width, (to_y - y) % grid.height
    found += [(WRITER_NETWORK, "east", (x + i) % grid.width, y) for i in range(across)]
    found += [(WRITER_NETWORK, "south", to_x, (y + i) % grid.height) for i in range(down)]
    back, up = (x - to_x) % grid.width, (y - to_y) % grid.height
    found += [(READER_NETWORK, "north", x, (y - i) % grid.height) for i in range(up)]
    found += [(READER_NETWORK, "west", (x - i) % grid.width, to_y) for i in range(back)]
    return found


def grid_of(cores: Sequence[Core]) -> Grid:
    """The grid of cores."""
    return Grid(*((x, y, x, y) for x, y in cores))


def fill_up(array: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """float32[rows, columns] with an array in its corner and zeros elsewhere."""
    found = np.zeros((rows, columns), np.float32)
    found[: array.shape[0], : array.shape[1]] = array
    return found


def page_tiles(fmt: Format, packet_bytes: int, most: int) -> int:
    """Tiles of a page: as many as a packet takes, a power of two, at most `most`."""
    fitting = max(1, min(most, packet_bytes // fmt.bytes_of(TILE)))
    return 1 << fitting.bit_length() - 1


@dataclass(slots=True)
class Builder:
    """A program under construction on some cores."""

    chip: Chip
    name: str
    cores: Sequence[Core]
    program: Program = field(init=False)
    grid: Grid = field(init=False)

    def __post_init__(self) -> None:
        self.program, self.grid = Program(self.chip.device, self.name), grid_of(self.cores)

    def pipe(
        self, kind: int, frame: int, frames: int = 1, dtype: str = ACTIVATIONS, local: Local | None = None
    ) -> Pipe:
        """A pipe of some frames of tiles, or over a local."""
        return Pipe(self.program, self.grid, kind, dtype, frame * frames, frame, local)

    def kernel(self, kind: int, file: str, *params: int) -> Kernel:
        """A kernel on all cores."""
        return Kernel(self.program, self.grid, kind, file, params)
