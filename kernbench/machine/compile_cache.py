"""The compile cache: one file of arrays for each machine, under a hash of everything that it was compiled from.

A file begins with a digest of its key and its content, so a file that is damaged, or is under another key, counts as missing;
so does one that others could have written. If the directory cannot be written, machines are compiled again in each process.
What else is kept from run to run, such as choices of networks, is kept by the same functions.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, fields
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any, cast

import numpy as np

from kernbench.machine.families.registry import FAMILIES
from kernbench.machine.machine import DropIn, Machine, Terminal
from kernbench.machine.network.flow_control import FlowControl
from kernbench.machine.price_list import PriceList
from kernbench.machine.sheets.field_provenance import Provenance, Source
from kernbench.parts.derived import Origin
from kernbench.unfinished import remove_abandoned, unfinished_file
from kernels_jit.compile.ownership import find_stranger, make_private
from kernels_jit.layout.machine_tables import Stations

SUFFIX = ".machine"
SUFFIXES = (SUFFIX, ".choices")
DIGEST_BYTES = 32
PRIVATE = 0o600  # a file that others may write counts as missing
MOST_FILES, MOST_BYTES = 512, 1 << 28  # that are kept; a sweep over topologies makes a file for each, of up to some MB
PRUNED_EVERY = 16  # files that a process writes: to look through hundreds takes a fifth of compiling a small machine
_written = count()
_JSON = (
    "name",
    "family",
    "digest",
    "flit_bytes",
    "packet_flits",
    "figures",
    "node_name",
    "node_kind",
    "station_name",
    "server_name",
    "server_kind",
    "sources",
)
_ARRAYS = tuple(f.name for f in fields(Machine) if f.type == "np.ndarray")
_STATIONS = "stations_"
_PROVENANCE = "provenance_"
_PROVENANCE_ARRAYS = tuple(f.name for f in fields(Provenance) if f.type == "np.ndarray")
_TERMINALS = "terminals"


def directory(kind: str = "machines") -> Path:
    """Where machines, or another kind, are kept: `$KERNBENCH_CACHE/machines`, else `~/.cache/kernbench/machines`."""
    if chosen := os.environ.get("KERNBENCH_CACHE"):
        return Path(chosen) / kind
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernbench" / kind


def load_compiled(key: str) -> Machine | None:
    """The machine kept under a key, or None."""
    content = load_kept(directory() / f"{key}{SUFFIX}")
    if content is None:
        return None
    with np.load(BytesIO(content), allow_pickle=False) as kept:
        return _unpack({name: kept[name] for name in kept.files})


def save_compiled(key: str, machine: Machine) -> None:
    """Write the file of a machine, as `save_kept`."""
    arrays = BytesIO()
    np.savez(arrays, **_pack(machine))
    save_kept(directory() / f"{key}{SUFFIX}", arrays.getvalue())


def load_kept(path: Path) -> bytes | None:
    """What a file was saved with; None for one that is missing, damaged, moved, or that others could have written."""
    try:
        if find_stranger(path):
            return None
        found = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    digest, content = found[:DIGEST_BYTES], found[DIGEST_BYTES:]
    return content if digest == _digest(path.stem, content) else None


def save_kept(path: Path, content: bytes) -> None:
    """Write a file, atomically; do nothing if the directory cannot be written. Now and then old files go."""
    folder = path.parent
    try:
        make_private(folder)
        with unfinished_file(folder, mode=PRIVATE) as unfinished:
            unfinished.write_bytes(_digest(path.stem, content) + content)
            os.replace(unfinished, path)
        if next(_written) % PRUNED_EVERY == 0:
            _prune(folder)
    except OSError:
        return


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.sha256(f"{key}\n".encode() + content).digest()


def _prune(folder: Path) -> None:
    """Remove the files that were not used for longest, if there are too many: half of them stay."""
    remove_abandoned(folder)
    with os.scandir(folder) as entries:
        kept = [(entry.stat(), entry.path) for entry in entries if entry.name.endswith(SUFFIXES)]
    if len(kept) <= MOST_FILES and sum(found.st_size for found, _ in kept) <= MOST_BYTES:
        return
    kept.sort(key=lambda file: file[0].st_mtime_ns, reverse=True)
    size = 0
    for number, (found, path) in enumerate(kept):
        size += found.st_size
        if number >= MOST_FILES // 2 or size > MOST_BYTES // 2:
            Path(path).unlink(missing_ok=True)


def _pack(machine: Machine) -> dict[str, Any]:
    meta = {name: getattr(machine, name) for name in _JSON} | {"shape": asdict(machine.shape)}
    meta["dropins"] = {part: asdict(dropin) for part, dropin in machine.dropins.items()}
    meta["flow_control"] = machine.flow_control and asdict(machine.flow_control)
    found = machine.provenance
    meta["prices"] = asdict(machine.prices)
    meta["times"] = found.sources
    meta["origins"] = dict(found.figures)
    packed: dict[str, Any] = {"meta": np.frombuffer(json.dumps(meta).encode(), np.uint8)}
    packed |= {name: getattr(machine, name) for name in _ARRAYS}
    packed |= {_STATIONS + name: array for name, array in machine.stations._asdict().items()}
    packed |= {_PROVENANCE + name: getattr(found, name) for name in _PROVENANCE_ARRAYS}
    rows = [(node, t.first_station, t.stripes, t.overhead_fs) for node, t in machine.terminals.items()]
    packed[_TERMINALS] = np.array(rows, np.int64).reshape(-1, 4)
    return packed


def _unpack(kept: dict[str, np.ndarray]) -> Machine:
    meta = json.loads(kept["meta"].tobytes())
    shape = FAMILIES[meta["family"]].shape(**_frozen(meta.pop("shape")))
    dropins = {part: DropIn(**dropin) for part, dropin in meta.pop("dropins").items()}
    times = tuple(Source(port, Origin(*origin) if origin else None, links) for port, origin, links in meta.pop("times"))
    origins = {name: Origin(*origin) for name, origin in meta.pop("origins").items()}
    flow_control, prices = meta.pop("flow_control"), PriceList.from_plain(meta.pop("prices"))
    held = _frozen(meta)
    held |= {name: kept[name] for name in _ARRAYS}
    return Machine(
        **held,
        stations=Stations(**{name: kept[_STATIONS + name] for name in Stations._fields}),
        terminals={int(row[0]): Terminal(*(int(x) for x in row[1:])) for row in kept[_TERMINALS].tolist()},
        provenance=Provenance(times, origins, *(kept[_PROVENANCE + name] for name in _PROVENANCE_ARRAYS)),
        shape=shape,
        flow_control=flow_control and FlowControl.from_plain(flow_control),
        dropins=dropins,
        prices=prices,
    )


def _frozen(read: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(cast("list[Any]", value)) if isinstance(value, list) else value for name, value in read.items()}
