"""Checks of what a run is to leave, before it: its trace, alone and with its directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.cli.outputs import check_directory, check_file, check_forms
from kernbench.errors import InputError

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


def check_outputs(
    out: Path | None, forms: Sequence[str], trace: Path | None = None, filters: Sequence[str] = ()
) -> None:
    """Check `--out`, `--format`, `--trace` and `--trace-filter` of a command. Errors: InputError; RunError for a full disk."""
    check_forms(forms, out)
    if out is not None:
        check_directory(out)
    check_trace(trace, filters)


def check_trace(file: Path | None, filters: Sequence[str] = ()) -> None:
    """Check the file and the filters, as far as that can be without a machine. Errors: InputError."""
    if file is None:
        if filters:
            raise InputError("--trace-filter says what of a run a trace holds; give --trace FILE with it")
        return
    check_file(file, "--trace")
    if filters:
        from kernbench.trace.filters import read_filters

        read_filters(filters)


def check_parts(machine: Machine, filters: Sequence[str]) -> None:
    """Check that a machine has the parts that filters name. Errors: InputError."""
    from kernbench.trace.filters import read_filters

    read_filters(filters).check(machine)
