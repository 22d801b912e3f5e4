"""What the page shows of a run: its figures and its machine, and its op log, transfers and critical path as Arrow.

All of it is read from the directory that `kernbench run --out` leaves; nothing is simulated. A file that is missing is a
sentence that says what would make it, and what does not need it is shown.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kernbench.atomic_output import RESULT, unreadable
from kernbench.errors import InputError, shorten
from kernbench.report.pages.arrow import to_arrow
from kernbench.runs.file_names import ENERGY, HELD, LINKS, MACHINE, NODES, OP_LOG, PARTS, PATH, SERVICES, TRANSFERS
from kernbench.schema.guards import is_list, is_mapping
from kernbench.sealing import load_sealed_json, read_sealed_parquet
from kernbench.trace.parts import list_track_paths, split_path
from kernbench.units import FS_PER_NS
from kernbench.web.busy_view import list_bins, make_busy
from kernbench.web.codes import number_texts
from kernbench.web.sources import RunSource

if TYPE_CHECKING:
    import polars

MOST_ROWS = 6_000_000  # of an op log: the page holds 60 bytes of each
AGAIN = "run it again with this KernBench and --out"
_NEEDED: Mapping[str, tuple[str, ...]] = {  # files by what is made of them
    "slices": (OP_LOG,),
    "details": (OP_LOG,),
    "tracks": (OP_LOG,),
    "nodes": (MACHINE, NODES),
    "links": (MACHINE, LINKS),
    "parts": (PARTS,),
    "transfers": (TRANSFERS,),
    "path": (PATH,),
    "path_parts": (PATH, TRANSFERS, SERVICES),
    "busy": (OP_LOG, PARTS, HELD, TRANSFERS, SERVICES),
}
Found = TypeVar("Found")
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)


class RunView:
    """A run as the page gets it, read when it is asked for and kept. Errors: InputError for a file that cannot be used."""

    def __init__(self, source: RunSource) -> None:
        self._source = source
        self.version = find_run_version(source)
        self._kept: dict[str, bytes] = {}
        self._tracks: tuple[list[str], polars.Series] | None = None
        self._dependents: polars.DataFrame | None = None
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)  # a slow table holds up no other
        self._tables: dict[str, Callable[[], polars.DataFrame]] = {
            "slices": self._make_slices,
            "details": self._make_details,
            "tracks": self._make_tracks,
            "nodes": lambda: self._read(NODES),
            "links": lambda: self._read(LINKS),
            "parts": lambda: self._read(PARTS),
            "transfers": self._make_transfers,
            "path": self._make_path,
            "path_parts": self._make_path_parts,
            "busy": self._make_busy,
        }

    @property
    def names(self) -> Sequence[str]:
        """The tables that there can be."""
        return tuple(self._tables)

    def about(self) -> dict[str, Any]:
        """`result.json`, with the machine, the energy, the time that the run took, and a sentence for each missing table."""
        found = self._read_json(RESULT)
        missing = {name: told for name in self._tables if (told := self._missing(name))}
        machine = None
        if not missing.keys() & {"nodes", "links"}:
            try:
                machine = self._read_machine()
            except InputError as error:
                missing |= {"nodes": str(error), "links": str(error)}
        end_fs = _find_end(found)
        bins = list_bins(end_fs)
        return {
            **found,
            "name": self._source.name,
            "machine": machine,
            "energy": self._read_json(ENERGY) if self._file(ENERGY).is_file() else {},
            "span_fs": [0, end_fs],
            "window_fs": int(bins.length_fs[0]),
            "missing": missing,
        }

    def arrow(self, name: str) -> bytes:
        """A table as Arrow."""
        if told := self._missing(name):
            raise InputError(told)
        with self._locks[name]:
            if name not in self._kept:
                self._kept[name] = to_arrow(self._guarded(name, self._tables[name]))
            return self._kept[name]

    def row(self, number: int) -> dict[str, Any]:
        """A row of the op log, with the rows that depend on it. Errors: InputError if there is none of this number."""
        with self._locks[OP_LOG]:
            return self._guarded(OP_LOG, lambda: self._find_row(number))

    def _find_row(self, number: int) -> dict[str, Any]:
        import polars

        found = polars.scan_parquet(self._file(OP_LOG)).slice(number, 1).collect()
        if len(found) == 0:
            raise InputError(f"the op log has no row {number}")
        dependents = self._index_dependents().filter(polars.col("dependencies") == number)["row"].to_list()
        transfers: list[dict[str, Any]] = []
        if not self._missing("transfers"):
            transfers = self._read(TRANSFERS).filter(polars.col("row") == number).drop("row", "kind").to_dicts()
        told = found.to_dicts()[0]
        params = json.loads(told["params"] or "{}")
        return {**told, "params": params, "row": number, "dependents": dependents, "transfers": transfers}

    def _index_dependents(self) -> polars.DataFrame:
        """Rows of `dependencies`, sorted, and `row`, which depends on it; made once, as all rows have to be read for one."""
        if self._dependents is None:
            log = self._read(OP_LOG, ["dependencies"]).with_row_index("row")
            self._dependents = log.explode("dependencies").drop_nulls().sort("dependencies", maintain_order=True)
        return self._dependents

    def _missing(self, name: str) -> str | None:
        """A sentence on the files that a table needs and that are not there, if so."""
        absent = [file for file in _NEEDED[name] if not self._file(file).is_file()]
        if not absent:
            return None
        verb = "is" if len(absent) == 1 else "are"
        return f"{' and '.join(absent)} {verb} not in {self._source.directory}, so it has no {name}; {AGAIN}"

    def _file(self, name: str) -> Path:
        return self._source.file(name)

    def _read(self, file: str, columns: list[str] | None = None) -> polars.DataFrame:
        return read_sealed_parquet(self._file(file), columns)

    def _read_json(self, file: str) -> dict[str, Any]:
        path = self._file(file)
        try:
            found = load_sealed_json(path)
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{path} cannot be read ({shorten(error)}); {AGAIN}") from None
        if not is_mapping(found):
            raise InputError(f"{path} is no JSON object; {AGAIN}")
        return dict(found)

    def _read_machine(self) -> dict[str, Any]:
        """What `tell_machine` wrote. Errors: InputError for another form, which the page could not show."""
        found = self._read_json(MACHINE)
        texts = all(isinstance(found.get(name), str) for name in ("name", "family", "file", "description"))
        parts, links = found.get("parts"), found.get("links")
        if not (texts and is_mapping(parts) and all(_is_part(part) for part in parts.values()) and is_list(links)):
            raise InputError(f"{self._source.file(MACHINE)} does not describe a machine; {AGAIN}")
        return found

    def _guarded(self, name: str, make: Callable[[], Found]) -> Found:
        try:
            return make()
        except (OSError, *_MALFORMED, *unreadable()) as error:
            why = shorten(str(error).partition("\n")[0])
            raise InputError(
                f"the files of {name} in {self._source.directory} are not those of a run ({why}); {AGAIN}"
            ) from None

    def _make_slices(self) -> polars.DataFrame:
        """What is drawn of each operation; the narrower its columns, the sooner they are on the page."""
        import polars

        log = self._read(OP_LOG, ["start_fs", "end_fs", "op_name", "op_kind"])
        drawn = log.select(
            polars.col("start_fs", "end_fs").cast(polars.Float64),
            polars.col("op_name").cast(polars.Enum(log["op_name"].unique().sort())).alias("name"),
            polars.col("op_kind").cast(polars.Enum(log["op_kind"].unique().sort())).alias("kind"),
        )
        _, track = self._list_tracks()  # last: the page asks for them too, and so they are read meanwhile
        return drawn.with_columns(track.alias("track"))

    def _make_details(self) -> polars.DataFrame:
        """What is told of an operation once it is looked at."""
        import polars

        return self._read(OP_LOG, ["issue_fs", "bytes"]).cast(polars.Float64)

    def _make_tracks(self) -> polars.DataFrame:
        import polars

        names, _ = self._list_tracks()
        machine = self._read_json(MACHINE)["name"] if self._file(MACHINE).is_file() else "machine"
        split = [split_path(name, str(machine)) for name in names]
        return polars.DataFrame(
            {
                "name": names,
                "process": [process for process, _ in split],
                "part": [".".join(rest) for _, rest in split],
            },
            schema={"name": polars.String, "process": polars.String, "part": polars.String},
        )

    def _list_tracks(self) -> tuple[list[str], polars.Series]:
        """The parts of the op log in the order of the machine, and the number of that of each row; read once."""
        with self._locks["components"]:
            if self._tracks is None:
                log = self._read(OP_LOG, ["component", "op_kind"])
                if len(log) > MOST_ROWS:
                    raise InputError(
                        f"{self._source.directory} has {len(log):,} operations, and the viewer shows up to "
                        f"{MOST_ROWS:,}; run a smaller part, or write a trace of some of it with --trace and --trace-filter"
                    )
                self._tracks = number_texts(list_track_paths(log["component"], log["op_kind"]), self._sort_parts)
            return self._tracks

    def _make_transfers(self) -> polars.DataFrame:
        import polars

        times = polars.col("leave_fs", "arrive_fs").cast(polars.Float64)  # the page has no use for 64-bit integers
        return self._read(TRANSFERS).with_columns(times)

    def _make_path(self) -> polars.DataFrame:
        import polars

        path = self._read(PATH)
        row = polars.col("row") if "row" in path.columns else polars.lit(None)
        times = {name: f"{name.removesuffix('fs')}ns" for name in ("start_fs", "end_fs", "spent_fs")}
        return path.select(
            *((polars.col(ns) * FS_PER_NS).round().alias(name) for name, ns in times.items()),
            *(polars.col(name).cast(polars.Categorical) for name in ("part", "kind")),
            polars.col("op_name").cast(polars.Categorical).alias("name"),
            row.fill_null(-1).cast(polars.Int32).alias("row"),
        )

    def _make_path_parts(self) -> polars.DataFrame:
        """The links and memory channels that each transfer on the critical path passed: `row` of the op log, `part`."""
        rows = self._make_path().select("row").unique()
        kinds = self._read(TRANSFERS, ["row", "kind"]).unique().join(rows, on="row", how="semi")
        return kinds.join(self._read(SERVICES, ["kind", "part"]), on="kind").select("row", "part").sort("row", "part")

    def _make_busy(self) -> polars.DataFrame:
        log = self._read(OP_LOG, ["issue_fs", "start_fs", "end_fs", "bytes"])
        bins = list_bins(_find_end(self._read_json(RESULT)))
        held, parts, transfers, services = (self._read(file) for file in (HELD, PARTS, TRANSFERS, SERVICES))
        return make_busy(log, held, parts, transfers, services, bins)

    def _sort_parts(self, names: list[str]) -> list[str]:
        """Parts in the order of the machine, then by name; parts of a part after it."""
        place: dict[str, int] = {}
        if not self._missing("nodes"):
            place = {name: at for at, name in enumerate(self._read(NODES, ["name"])["name"].to_list())}
        return sorted(names, key=lambda name: (_place(name, place), name))


def _is_part(told: object) -> bool:
    """Whether figures of a part are told as the page takes them."""
    fields = told.get("fields") if is_mapping(told) else None
    return is_list(fields) and all(
        is_mapping(field) and {"name", "value", "source", "place"} <= field.keys() for field in fields
    )


def _find_end(result: Mapping[str, Any]) -> int:
    """The end of a run in fs. Errors: InputError if its result does not say it."""
    try:
        return round(float(result["makespan_ns"]) * FS_PER_NS)
    except (*_MALFORMED,) as error:
        raise InputError(f"{RESULT} is not that of a run ({shorten(error)}); {AGAIN}") from None


def _place(name: str, place: Mapping[str, int]) -> int:
    path = name
    while path and path not in place:
        path = path.rpartition(".")[0]
    return place.get(path, len(place))


def find_run_version(source: RunSource) -> str:
    """A text that changes when the run is made again. Errors: InputError if it is gone."""
    try:
        found = source.file(RESULT).stat()
    except OSError:
        raise InputError(f"{source.directory} has no {RESULT} any more") from None
    return f"{found.st_mtime_ns}-{found.st_ino}-{found.st_size}"
