"""Options that several commands take: one spelling of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

AS_JSON: Option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
TOPOLOGY: Option = click.option(
    "--topology", "-t", default="sip_2x4x4", show_default=True, help="The machine: a name or a YAML file."
)


def mode(more: str = "") -> Option:
    """How times are found; `more` tells of modes beyond the two that find them all."""
    told = f"hybrid or flit: the same times, found in two ways{more}."
    return click.option("--mode", default="hybrid", show_default=True, help=told)


def assignments(told: str) -> Option:
    """What `split_assignments` reads; `told` is what may be set."""
    return click.option("--set", "assignments", multiple=True, metavar="PATH=VALUE", help=f"{told}; may be repeated.")


def out(told: str) -> Option:
    """The directory for files, if one is given; `told` is what is put there."""
    return click.option("--out", "--output", "out", type=click.Path(path_type=Path), help=told)
