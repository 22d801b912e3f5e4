"""Which benches run on machines of which family, without what runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.errors import InputError, shorten
from kernbench.library import DEFAULT_TOPOLOGY, TANTO_TOPOLOGY
from kernbench.runs.bench import TANTO

if TYPE_CHECKING:
    from pathlib import Path

    from kernbench.runs.bench import Bench

FAMILY = "tensix"


def refuse_family(found: Bench, topology: str | Path, family: str, command: str = "") -> str | None:
    """Why a bench cannot run on a machine of a family, if so: benches of Tanto programs take chips, and no others do.

    It ends with what would do: a chip, or the command that runs the bench on one.
    """
    if found.is_tanto and family != FAMILY:
        remedy = f"{command} runs it" if command else f"--topology {TANTO_TOPOLOGY} would do"
        return (
            f"bench {found.name!r} is one of Tanto programs, which run on family {FAMILY!r}, and topology "
            f"{shorten(str(topology))!r} is of family {family!r}; {remedy}"
        )
    if family == FAMILY and not found.is_tanto:
        return (
            f"topology {shorten(str(topology))!r} is of family {FAMILY!r}, which runs Tanto programs, and bench {found.name!r} "
            f"is none; give one whose name begins with {TANTO!r}, or a topology of family 'sip', such as {DEFAULT_TOPOLOGY}"
        )
    return None


def check_family(found: Bench, topology: str | Path, family: str, command: str = "") -> None:
    """Check that a bench can run on a machine of a family. Errors: InputError with what `refuse_family` says."""
    if refusal := refuse_family(found, topology, family, command):
        raise InputError(refusal)
