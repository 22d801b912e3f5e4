"""What a run is asked for, and a run that can begin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.machine.overrides import TOPOLOGY, split_settings

if TYPE_CHECKING:
    from kernbench.frontends.frontend import Workload
    from kernbench.limits.run_options import RunOptions
    from kernbench.machine.machine import Machine
    from kernbench.runs.result import RunResult


@dataclass(frozen=True, slots=True)
class Request:
    """What a run is asked for: programs of one front-end, a machine, what is set, and how to run."""

    machine: str
    parameters: Mapping[str, object]
    fields: Mapping[str, object]  # of the topology, by dotted path
    options: RunOptions

    @property
    def settings(self) -> dict[str, object]:
        """What is set, by the names of `--set`."""
        return {**self.parameters, **{TOPOLOGY + path: value for path, value in self.fields.items()}}


def make_request(
    machine: str | Path,
    parameters: Mapping[str, Any] | None,
    overrides: Mapping[str, Any] | None,
    options: RunOptions,
) -> Request:
    """A request; fields may be among the parameters. Errors: InputError as `split_settings`."""
    own, fields = split_settings(parameters, overrides)
    return Request(str(machine), own, fields, options)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that can begin: all that it names was found and checked."""

    workload: Workload
    machine: Machine
    run: Callable[[], RunResult]
