"""Write a grid to a YAML file that reads as the same grid."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from kernbench.atomic_output import place_file
from kernbench.errors import InputError
from kernbench.library import SUFFIXES, show_path
from kernbench.schema.yaml import scalar

if TYPE_CHECKING:
    from kernbench.sweep.request import RequestedGrid

WIDTH = 120


class _Dumper(yaml.SafeDumper):
    """Writes texts as our reader reads them: what it would take for a number, a truth or a null is quoted."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if scalar(text) == text else "'"
    return dumper.represent_scalar(  # pyright: ignore[reportUnknownMemberType]
        "tag:yaml.org,2002:str", text, style
    )


_Dumper.add_representer(str, _represent_text)


def check_grid_file(file: Path) -> None:
    """Errors: InputError for a file that is not named as grids are."""
    if file.suffix != SUFFIXES["sweeps"]:
        raise InputError(f"--save takes a file such as {file.stem or 'grid'}.yaml, and got {str(file)!r}")


def save_grid(requested: RequestedGrid, file: Path) -> None:
    """Write a grid as YAML, atomically; a file with the same text is left as it is.

    Errors: InputError for a file that holds something else, or that cannot be written.
    """
    text = write_grid(requested.tree.plain()).encode()
    try:
        if not file.exists():
            place_file(file, lambda partial: partial.write_bytes(text))
        same = file.read_bytes() == text
    except OSError as error:
        raise InputError(f"--save cannot write {show_path(file)}: {error.strerror}; give another file") from None
    if not same:
        raise InputError(
            f"--save does not replace {show_path(file)}, which holds something else; remove it, or name another file"
        )


def write_grid(grid: dict[str, Any]) -> str:
    """A grid as YAML: a line for each parameter."""
    return yaml.dump(grid, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=WIDTH, allow_unicode=True)
