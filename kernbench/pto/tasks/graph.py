"""Measured task graphs: the schedule file that `kernbench run` replays, and how long each block of a task takes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from sys import float_info
from typing import Any

import numpy as np

from kernbench.errors import InputError, shorten, suggest
from kernbench.library import show_path
from kernbench.pto import MACHINE
from kernbench.pto.tasks.task import MOST_BLOCKS, Shape
from kernbench.schema.guards import is_list, is_mapping

SHAPES = {"aic": Shape.AIC, "aiv": Shape.AIV, "aiv2": Shape.AIV2, "mix": Shape.MIX}
_TASK_KEYS = ("id", "name", "core", "blocks", "duration_us", "deps")
_GRAPH_KEYS = ("machine", "tasks", "runtime")
_DURATION_KEYS = ("mean", "min", "max", "p90")
NS_PER_US = 1e3


@dataclass(frozen=True, slots=True)
class GraphTask:
    """A task of a measured graph; `block_ns` has the time of each block. Errors: InputError for times that are none."""

    id: int
    name: str
    core: str
    block_ns: tuple[float, ...]
    deps: tuple[int, ...]

    def __post_init__(self) -> None:
        if not all(0 <= ns <= float_info.max for ns in self.block_ns):
            raise InputError(
                f"task {self.id}: got times of {shorten(self.block_ns)} ns, expected finite ones of 0 or more"
            )


@dataclass(frozen=True, slots=True)
class Graph:
    """A measured graph: its tasks in an order in which producers come first, and the runtime's constants that it changes."""

    machine: str
    tasks: tuple[GraphTask, ...]
    runtime: Mapping[str, object]


def load_graph(path: Path) -> Graph:
    """Read a schedule file. Errors: InputError for a file that is none, naming the task."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read graph {show_path(path)}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{show_path(path)}: not JSON: {shorten(error)}") from None
    return read_graph(held, show_path(path))


def read_graph(held: Any, where: str) -> Graph:
    """The graph of a schedule file's contents. Errors: InputError."""
    listed: object = held.get("tasks") if is_mapping(held) else None
    if not is_mapping(held) or not is_list(listed) or not listed:
        raise InputError(f"{where}: expected an object with a list of tasks; see docs/pto.md for the schedule file")
    _check_keys(held, _GRAPH_KEYS, where)
    runtime = held.get("runtime", {})
    if not is_mapping(runtime):
        raise InputError(f"{where}: runtime: got {shorten(runtime)}, expected an object of constants")
    machine = held.get("machine", MACHINE)
    if not isinstance(machine, str):
        raise InputError(f"{where}: machine: got {shorten(machine)}, expected the name of a topology")
    tasks = [_read_task(task, f"{where}: task {at}") for at, task in enumerate(listed)]
    return Graph(machine, _ordered(tasks, where), runtime)


def _check_keys(held: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in held:
        if key not in known:
            raise InputError(f"{where}: unknown key {shorten(key)!r}{suggest(key, known)}")


def _read_task(held: Any, where: str) -> GraphTask:
    if not is_mapping(held):
        raise InputError(f"{where}: got {shorten(held)}, expected an object with {', '.join(_TASK_KEYS)}")
    _check_keys(held, _TASK_KEYS, where)
    for key in ("id", "core", "duration_us"):
        if key not in held:
            raise InputError(f"{where}: {key}: missing; give {', '.join(_TASK_KEYS)}")
    number = _whole(held["id"], f"{where}: id", 0)
    where = f"{where} (id {number})"
    core = held["core"]
    if not isinstance(core, str) or core not in SHAPES:
        raise InputError(f"{where}: core: got {shorten(core)!r}, expected one of {', '.join(SHAPES)}")
    deps = held.get("deps", [])
    if not is_list(deps):
        raise InputError(f"{where}: deps: got {shorten(deps)}, expected a list of ids")
    blocks = _whole(held["blocks"], f"{where}: blocks", 1) if "blocks" in held else None
    block_us = _block_us(held["duration_us"], blocks, where)
    name = str(held.get("name", f"task{number}"))
    ids = tuple(dict.fromkeys(_whole(dep, f"{where}: deps", 0) for dep in deps))
    return GraphTask(number, name, core, tuple(NS_PER_US * us for us in block_us), ids)


def _whole(value: Any, where: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{where}: got {shorten(repr(value))}, expected a whole number of {least} or more")
    return value


def _time(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise InputError(f"{where}: got {shorten(repr(value))}, expected a time in microseconds of 0 or more")
    return float(value)


def _block_us(held: Any, blocks: int | None, where: str) -> list[float]:
    """The time of each block: as listed, or spread as the mean, the extremes and the 90th percentile say."""
    where = f"{where}: duration_us"
    if is_list(held):
        if not held or (blocks is not None and len(held) != blocks):
            raise InputError(f"{where}: got {len(held)} times for {blocks or 'no'} blocks; give one for each block")
        return [_time(each, where) for each in held]
    count = blocks or 1
    if count > MOST_BLOCKS:
        raise InputError(f"{where}: {count:,} blocks, expected {MOST_BLOCKS:,} at most")
    if not is_mapping(held):
        return [_time(held, where)] * count
    _check_keys(held, _DURATION_KEYS, where)
    if "mean" not in held:
        raise InputError(f"{where}: mean: missing; give it with min, max and p90 as far as they are known")
    known = {key: _time(value, f"{where}: {key}") for key, value in held.items()}
    mean = known["mean"]
    low, high = known.get("min", mean), known.get("max", mean)
    if not low <= mean <= high or not low <= known.get("p90", high) <= high:
        raise InputError(
            f"{where}: min, mean, p90 and max are out of order: {shorten(held)}; expected min <= mean, p90 <= max"
        )
    return spread_us(mean, low, high, known.get("p90"), count)


def spread_us(mean: float, low: float, high: float, p90: float | None, count: int) -> list[float]:
    """Times of blocks with a mean between two extremes, at even quantiles of a curve of straight pieces.

    The curve goes through the extremes, the 90th percentile and a median that gives it the mean. Long and short blocks take
    turns, in the order of a bit reversal.
    """
    if count == 1 or low == high:
        return [mean] * count
    knots = [0.0, 0.5, 1.0] if p90 is None else [0.0, 0.5, 0.9, 1.0]
    if p90 is None:
        heights = [low, min(max(2 * mean - (low + high) / 2, low), high), high]
    else:
        median = (mean - 0.25 * low - 0.25 * p90 - 0.05 * high) / 0.45
        heights = [low, min(max(median, low), p90), p90, high]
    found = np.interp((np.arange(count) + 0.5) / count, knots, heights)
    found = np.clip(found + (mean - found.mean()), low, high)
    bits = (count - 1).bit_length()
    order = sorted(range(count), key=lambda at: int(f"{at:0{bits}b}"[::-1], 2))
    return found[order].tolist()


def _ordered(tasks: Sequence[GraphTask], where: str) -> tuple[GraphTask, ...]:
    """The tasks with producers first; as they are listed if they stand so. Errors: InputError for ids and cycles."""
    by_id: dict[int, GraphTask] = {}
    for task in tasks:
        if task.id in by_id:
            raise InputError(f"{where}: two tasks have id {task.id}; give each its own")
        by_id[task.id] = task
    for task in tasks:
        for dep in task.deps:
            if dep not in by_id:
                raise InputError(f"{where}: task {task.id} depends on task {dep}, which is not in the graph")
    seen = set[int]()
    for task in tasks:
        if not seen.issuperset(task.deps):
            break
        seen.add(task.id)
    else:
        return tuple(tasks)
    try:
        order = TopologicalSorter({task.id: task.deps for task in tasks}).static_order()
        return tuple(by_id[number] for number in order)
    except CycleError as error:
        ring = " -> ".join(str(number) for number in error.args[1])
        raise InputError(
            f"{where}: tasks wait for each other: {shorten(ring)}; take one of these dependencies away"
        ) from None
