"""What the start page tells of each source: what it is, what came out, and when its files changed.

Only small files are read, and each once until it changes. A source that cannot be shown is told by the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kernbench.atomic_output import RESULT
from kernbench.errors import InputError, shorten
from kernbench.schema.guards import is_mapping
from kernbench.sealing import load_sealed_json
from kernbench.sweep.results.file_names import MANIFEST
from kernbench.sweep.results.manifest import read_manifest
from kernbench.web.sources import MachineSource, RunSource, Source, SweepSource

LONGEST_NS = 1e15  # of a latency that can be; what is more is no time of a run


class About(NamedTuple):
    """What is told of a source."""

    text: str
    figure: str = ""
    wrong: bool = False  # the text says why it cannot be shown
    changed: int | None = None  # in ms since 1970; None for machines


class Overview:
    """What is told of sources. It is kept by the file that it comes from, until that changes."""

    def __init__(self) -> None:
        self._kept: dict[Path, tuple[int, About]] = {}

    def tell(self, source: Source) -> dict[str, Any]:
        """What is told of a source, in JSON's types."""
        return self._find(source)._asdict()

    def _find(self, source: Source) -> About:
        if isinstance(source, MachineSource):
            return About(source.view.about["description"] or "", f"{len(source.view.machine.node_name):,}")
        try:
            path = source.file(MANIFEST if isinstance(source, SweepSource) else RESULT)
            stamp = path.stat().st_mtime_ns
        except (OSError, InputError) as error:
            return About(str(error), wrong=True)
        if self._kept.get(path, (0,))[0] != stamp:
            self._kept[path] = stamp, _read(source, path)._replace(changed=stamp // 1_000_000)
        return self._kept[path][1]


def _read(source: RunSource | SweepSource, path: Path) -> About:
    try:
        return (
            _tell_sweep(read_manifest(path)) if isinstance(source, SweepSource) else _tell_run(load_sealed_json(path))
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError, InputError) as error:
        return About(f"{path.name} cannot be read: {shorten(str(error))}", wrong=True)


def _tell_run(result: Any) -> About:
    if not is_mapping(result):
        raise TypeError("it is no object")
    names = [str(result[name]) for name in ("bench", "topology") if result.get(name)]
    asked = result.get("request")
    chosen = (asked.get("set") or ()) if is_mapping(asked) else ()
    given = result.get("parameters")
    parameters = {name: value for name, value in given.items() if name in chosen} if is_mapping(given) else {}
    overrides = found if is_mapping(found := result.get("overrides")) else {}
    told = [" on ".join(names), *(f"{name}={value}" for name, value in {**parameters, **overrides}.items())]
    latency_ns = result.get("latency_ns")
    figure = f"{latency_ns:,.1f} ns" if isinstance(latency_ns, int | float) and abs(latency_ns) < LONGEST_NS else ""
    return About(" · ".join(text for text in told if text), figure)


def _tell_sweep(told: Mapping[str, Any]) -> About:
    names = (told.get(name) for name in ("bench", "topology"))
    text = str(told.get("description") or " on ".join(str(name) for name in names if name))
    points = told.get("points")
    return About(text, f"{points:,}" if isinstance(points, int) else "")
