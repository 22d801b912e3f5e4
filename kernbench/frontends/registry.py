"""All front-ends, in the order in which they are asked whether a name is theirs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.errors import InputError, KernBenchError
from kernbench.frontends import (
    benches,
    measured_graphs,
    networks,
    tanto_programs,
    task_graphs,
    traffic,
    triton_files,
    triton_kernels,
)
from kernbench.runs.declared_benches import read_declared

if TYPE_CHECKING:
    from kernbench.frontends.frontend import FrontEnd, Name, Values, Workload
    from kernbench.limits.run_options import RunOptions

# The last takes all that no other has, or says that there is no such program.
FRONT_ENDS: dict[str, FrontEnd] = {
    one.name: one
    for one in (
        task_graphs.FRONT_END,
        measured_graphs.FRONT_END,
        networks.FRONT_END,
        tanto_programs.FRONT_END,
        traffic.FRONT_END,
        triton_files.FRONT_END,
        triton_kernels.FRONT_END,
        benches.TANTO,
        benches.FRONT_END,
    )
}
_OPTIONS = {"live": "--live", "device": "--device", "op_limit": "--op-limit"}


def find_front_end(name: Name) -> FrontEnd:
    """The front-end that a name is of."""
    if callable(name) or isinstance(name, int):
        return benches.FRONT_END
    return next((one for one in FRONT_ENDS.values() if one.claims(str(name))), benches.FRONT_END)


def find(name: Name, values: Values | None = None) -> Workload:
    """A program by its name. Errors: InputError for a name of none, with the nearest."""
    return find_front_end(name).find(name, values)


def list_programs() -> dict[str, Mapping[str, tuple[str, ...]]]:
    """The names of all programs that need no path, with the values that parameters are known to take."""
    return {name: values for one in reversed(FRONT_ENDS.values()) for name, values in one.names().items()}


def list_kinds() -> dict[str, FrontEnd]:
    """The front-end of each kind of programs that `list` and `show` know; of two the last that is asked."""
    return {one.kind: one for one in FRONT_ENDS.values()}


def is_program(path: Path) -> bool:
    """Whether a path is a file or folder of a program, and not of kernels alone."""
    front_end = find_front_end(path)
    if front_end is not benches.FRONT_END:
        return True
    with suppress(KernBenchError):
        return path.suffix == ".py" and bool(read_declared(path).benches)
    return False


def check_options(front_end: FrontEnd, options: RunOptions) -> None:
    """Check that a front-end takes what is asked of it. Errors: InputError for an option that means nothing to it."""
    asked = {"live": options.live, "device": options.device != "all", "op_limit": options.limits.ops is not None}
    for name, given in asked.items():
        if given and name not in front_end.options:
            raise InputError(
                f"{_OPTIONS[name]} is for benches whose kernels run on PEs; a {front_end.title} takes none"
            )


def with_numbers(front_end: FrontEnd, options: RunOptions, asked: bool | None) -> RunOptions:
    """The options with numbers computed as they are asked for; None: as the front-end does it unasked."""
    return replace(options, verify=front_end.verifies if asked is None else asked)
