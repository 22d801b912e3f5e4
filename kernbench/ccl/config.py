"""`ccl.yaml`: the algorithm of each collective, and its queues.

The file is `./ccl.yaml`, else `./benches/ccl/ccl.yaml`, else that of KernBench. An algorithm's own entry overrides `defaults`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from kernbench import library
from kernbench.ccl.choice import AUTO, SHIPPED
from kernbench.ccl.module import FOLDER, Algorithm, load_algorithm
from kernbench.errors import InputError, suggest
from kernbench.schema.fields import Bytes, BytesOrZero, Count
from kernbench.schema.model import Model, check
from kernbench.schema.yaml import Mark, load, mark_tree
from kernbench.text import plural

FILE = "ccl.yaml"
OTHERS: dict[str, str] = {  # the default algorithms of all collectives but all_reduce
    "all_gather": "ring_all_gather",
    "reduce_scatter": "ring_reduce_scatter",
    "broadcast": "ring_broadcast",
    "reduce": "ring_reduce",
    "all_to_all": AUTO,
    "barrier": "tree_barrier",
}
BufferKind = Literal["tcm", "sram", "hbm"]
BUFFER_KINDS = ("tcm", "sram", "hbm")
Root = Literal["centre", "corner"]
Intra = Literal["mesh", "all"]  # the neighbours of a PE in its cube: those beside it in a mesh, or all PEs besides
CopyMethodName = Literal["auto", "mesh", "multicast"]  # by the estimates, or by name: see `broadcast_in_sip`


Other = Literal["all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "barrier"]


OF_ALL = ("intra", "copies")  # settings that no algorithm has for itself


class Defaults(Model):
    """The defaults of all algorithms; those of the queues are from the documents."""

    algorithm: str = AUTO  # of all_reduce
    collectives: dict[Other, str] = Field(default_factory=dict[Other, str])  # the algorithm of each other collective
    buffer_kind: BufferKind = "tcm"
    backpressure: Literal["poll", "sleep"] = "sleep"  # how a CPU waits for a slot; does not change times
    n_slots: Count = 4
    slot_size: Bytes | None = None  # by latency and bandwidth of the machine: `slot_size.py`
    vc_chunk_size: Bytes = 256  # of a virtual channel; on the fabric a message goes in flits of the machine
    ipcq_credit_size_bytes: BytesOrZero = 16
    world_size: Count | None = None
    root: Root = "centre"  # the cube to which a hierarchy reduces
    intra: Intra = "mesh"
    copies: CopyMethodName = AUTO  # how a result comes to the other copies of a replicated tensor


class Entry(Model):
    """The settings of one algorithm."""

    module: str | None = None  # the entry's name
    topology: str | None = None  # the machine's
    buffer_kind: BufferKind | None = None
    backpressure: Literal["poll", "sleep"] | None = None
    n_slots: Count | None = None
    slot_size: Bytes | None = None
    n_elem: Count = 2048  # of a PE, if the bench does not set it
    world_size: Count | None = None
    root: Root | None = None


class CclFile(Model):
    """The schema of a `ccl.yaml`."""

    defaults: Defaults = Defaults()
    algorithms: dict[str, Entry] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Queues:
    """The slot rings between two neighbours: number of slots, bytes of each (None: not given), and their memory."""

    kind: BufferKind
    n_slots: int
    slot_bytes: int | None
    credit_bytes: int
    backpressure: str


@dataclass(frozen=True, slots=True)
class Config:
    """A `ccl.yaml` with the settings of a run applied."""

    file: Path | None
    spec: CclFile

    def algorithm(self, collective: str = "all_reduce") -> tuple[str, Entry]:
        """The name and entry of the algorithm of a collective."""
        defaults = self.spec.defaults
        others = {**OTHERS, **defaults.collectives}
        name = defaults.algorithm if collective == "all_reduce" else others[collective]
        return name, self.spec.algorithms.get(name, Entry())

    def candidates(self, collective: str = "all_reduce") -> list[Algorithm]:
        """The algorithms among which the choice is: that of the file, or for `auto` all that are shipped. Errors: as `load`."""
        if self.algorithm(collective)[0] == AUTO:
            return [load_algorithm(name) for name in SHIPPED[collective]]
        return [self.load(collective)]

    def load(self, collective: str = "all_reduce") -> Algorithm:
        """The module that does a collective. Errors: InputError for one that cannot be loaded or does another."""
        name, entry = self.algorithm(collective)
        module = entry.module or name
        try:
            found = load_algorithm(module)
        except InputError as error:
            modules = library.list_names(FOLDER)
            if str(error).startswith("unknown") and entry.module:
                raise InputError(
                    f"{self.where}: algorithm {name!r} has the unknown module {module!r}{suggest(module, modules)}"
                ) from None
            if str(error).startswith("unknown"):
                known = [AUTO, *(entry for entry in self.spec.algorithms if entry != name), *modules]
                raise InputError(
                    f"{self.where}: unknown algorithm {name!r} for {collective}{suggest(name, known)}"
                ) from None
            raise
        if found.collective != collective:
            raise InputError(
                f"{self.where}: algorithm {name!r} does {found.collective}, but is configured for {collective}"
            )
        return found

    def world_size(self, sips: int) -> int:
        """The number of ranks: the algorithm's, else the defaults', else that of SIPs. Errors: InputError for too many."""
        name, entry = self.algorithm()
        asked, by = entry.world_size, f"algorithms.{name}.world_size"
        if asked is None:
            asked, by = self.spec.defaults.world_size, "defaults.world_size"
        if asked is None:
            return sips
        if asked > sips:
            raise InputError(
                f"{self.where}: {by} is {asked}, but this run has {plural(sips, 'SIP')}; "
                "lower it or give the topology more with sips.count"
            )
        return asked

    def topology(self, machine: str) -> str:
        """The SIP topology: of the entry, else the machine's."""
        return self.algorithm()[1].topology or machine

    def queues(self, collective: str = "all_reduce") -> Queues:
        """The queues of an algorithm."""
        defaults, (_, entry) = self.spec.defaults, self.algorithm(collective)
        return Queues(
            kind=entry.buffer_kind or defaults.buffer_kind,
            n_slots=entry.n_slots or defaults.n_slots,
            slot_bytes=entry.slot_size or defaults.slot_size,
            credit_bytes=defaults.ipcq_credit_size_bytes,
            backpressure=entry.backpressure or defaults.backpressure,
        )

    def root(self, cube_w: int, cube_h: int) -> int:
        """The root cube of a mesh: its centre, or the corner where rows and columns end."""
        chosen = self.algorithm()[1].root or self.spec.defaults.root
        return cube_h // 2 * cube_w + cube_w // 2 if chosen == "centre" else cube_w * cube_h - 1

    @property
    def copies(self) -> CopyMethodName:
        """How a result comes to the other copies; without sizes of pieces to choose nothing is chosen: it is `mesh`."""
        asked = self.spec.defaults.copies
        return "mesh" if asked == AUTO and self.queues().slot_bytes is not None else asked

    @property
    def where(self) -> str:
        """The name of the file in messages."""
        return "the defaults of ccl.yaml" if self.file is None else library.show_path(self.file)


class Settings(Model):
    """The settings with which a run may override the file."""

    algorithm: str | None = None
    topology: str | None = None
    buffer_kind: BufferKind | None = None
    backpressure: Literal["poll", "sleep"] | None = None
    n_slots: Count | None = None
    slot_size: Bytes | None = None
    world_size: Count | None = None
    root: Root | None = None
    intra: Intra | None = None
    copies: CopyMethodName | None = None


def find_file() -> Path | None:
    """The `ccl.yaml` in effect, or None."""
    candidates = [Path.cwd() / FILE, *(folder / FILE for folder in library.folders(FOLDER))]
    return next((path for path in candidates if path.is_file()), None)


def list_files() -> list[Path]:
    """Every file that a collective may depend on: the `ccl.yaml` in effect and all algorithm modules."""
    settings = find_file()
    modules = [path for folder in library.folders(FOLDER) for path in sorted(folder.glob("*.py"))]
    return [*([settings] if settings else []), *modules]


def load_config(file: str | Path | None = None, settings: Mapping[str, object] | None = None) -> Config:
    """Read `ccl.yaml` (or another file) and apply `Settings`, which override every entry.

    Errors: InputError for an invalid file or setting, with file:line:col.
    """
    if file is not None and not Path(file).is_file():
        raise InputError(f"no such file: {file}; give the path of a ccl.yaml, or nothing for {find_file() or FILE}")
    path = Path(file) if file is not None else find_file()
    spec = CclFile() if path is None else check(CclFile, load(path))
    given = {name: value for name, value in (settings or {}).items() if value is not None}
    check(Settings, mark_tree(given, Mark("the settings of collectives")))
    return Config(path, _set(spec, given) if given else spec)


def _set(spec: CclFile, given: Mapping[str, object]) -> CclFile:
    """A file with settings applied: the algorithm to all_reduce, the rest to the defaults and every entry."""
    tree = spec.model_dump(exclude_none=True)
    rest = {name: value for name, value in given.items() if name != "algorithm"}
    if "algorithm" in given:
        tree["defaults"]["algorithm"] = given["algorithm"]
    chosen = tree["algorithms"].setdefault(tree["defaults"]["algorithm"], {})
    chosen |= {name: value for name, value in rest.items() if name not in OF_ALL}
    for entry in tree["algorithms"].values():
        entry |= {name: value for name, value in rest.items() if name not in ("world_size", "topology", *OF_ALL)}
    tree["defaults"] |= {name: value for name, value in rest.items() if name != "topology"}
    return check(CclFile, mark_tree(tree, Mark("the settings of collectives")))
