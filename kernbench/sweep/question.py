"""The question of a sweep that is asked without a grid file: which points of what. Each has a directory of its own.

A grid file has the directory of its name, also when it is edited. What is asked on the command line or from Python has no such
name, and the second question to one bench must not take the table of the first. One that asks for more values of the same
parameters goes on in the same directory, and loses no row of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from kernbench.schema.guards import is_list, is_mapping
from kernbench.sweep.grid.grid import Grid
from kernbench.sweep.results.file_names import MANIFEST
from kernbench.sweep.results.manifest import QUESTION, read_manifest

RESULTS = Path("results")


def tell_question(grid: Grid) -> dict[str, Any]:
    """What a grid asks, in JSON's types: what runs where and how, and the values of each parameter."""
    return {
        "workload": grid.workload,
        "topology": grid.topology,
        "mode": grid.mode,
        "method": [grid.method, grid.samples, grid.seed],
        "rules": [[rule.condition.text, rule.keeps] for rule in grid.rules],
        "groups": [
            [[axis.name, str(axis.span), axis.when and axis.when.text] for axis in group] for group in grid.groups
        ],
        "parameters": {axis.name: [str(value) for value in axis.values] for axis in grid.axes},
    }


def find_directory(grid: Grid) -> Path:
    """The first of results/NAME, results/NAME-2, … that has no table of another question."""
    question = tell_question(grid)
    named = (RESULTS / (grid.name if number == 1 else f"{grid.name}-{number}") for number in count(1))
    return next(directory for directory in named if _is_free(directory, question))


def _is_free(directory: Path, question: Mapping[str, Any]) -> bool:
    if not (directory / MANIFEST).exists():
        return True
    before = read_manifest(directory / MANIFEST).get(QUESTION)
    return before is not None and _holds(question, before)


def _holds(question: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether a question asks for all that another one asked for."""
    values, known = question["parameters"], before.get("parameters")
    alike = all(before.get(name) == what for name, what in question.items() if name != "parameters")
    if not alike or not is_mapping(known) or known.keys() != values.keys():
        return False
    if question["method"][0] != "grid":
        return bool(known == values)
    return all(is_list(given) and set(map(str, given)) <= set(values[name]) for name, given in known.items())
