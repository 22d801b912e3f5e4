"""Checks of what a run is to leave, before it: its trace, alone and with its directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernbench.cli.output.files import check_directory, check_file, check_forms
from kernbench.errors import InputError
from kernbench.machine.machine import Machine
from kernbench.trace.filters import KINDS, read_filters


def check_outputs(
    out: Path | None,
    forms: Sequence[str],
    trace: Path | None = None,
    filters: Sequence[str] = (),
    kinds: Sequence[str] = (),
) -> None:
    """Check `--out`, `--format`, `--trace` and `--trace-filter` of a command; `kinds` as of `check_trace`.

    Errors: InputError; RunError for a full disk.
    """
    check_forms(forms, out)
    if out is not None:
        check_directory(out)
    check_trace(trace, filters, kinds)


def check_trace(file: Path | None, filters: Sequence[str] = (), kinds: Sequence[str] = ()) -> None:
    """Check the file and the filters, as far as that can be without a machine. Errors: InputError.

    `kinds` are those that filters may name, by default those of an op log.
    """
    if file is None:
        if filters:
            raise InputError("--trace-filter says what of a run a trace holds; give --trace FILE with it")
        return
    check_file(file, "--trace")
    if filters:
        read_filters(filters, kinds or KINDS)


def check_parts(machine: Machine, filters: Sequence[str], kinds: Sequence[str] = ()) -> None:
    """Check that a machine has the parts that filters name; `kinds` as of `check_trace`. Errors: InputError."""
    read_filters(filters, kinds or KINDS).check(machine)
