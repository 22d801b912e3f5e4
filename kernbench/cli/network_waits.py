"""The tables of what flits waited for, by link and by load, of `--explain` on a machine with credits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from kernbench.cli.screen import figures_table, show, show_first

COLUMNS = {
    "link": ("link", ""),
    "waiting_ns": ("waiting ns", ",.1f"),
    "queueing_ns": ("queueing", ",.1f"),
    "no_credit_ns": ("no credit", ",.1f"),
    "no_channel_ns": ("no channel", ",.1f"),
    "lost_channel_ns": ("lost channel", ",.1f"),
    "lost_switch_ns": ("lost switch", ",.1f"),
    "link_busy_ns": ("link busy", ",.1f"),
    "memory_ns": ("memory", ",.1f"),
    "source_ns": ("source", ",.1f"),
}
ALL = "all links"


def show_network_waits(found: Mapping[str, Any], most: int, title: str = "waiting in the network by link") -> None:
    """Print the first links of `NetworkWaits.to_dict()` and the sum of all."""
    click.secho(f"\n{title}, summed over flits", bold=True)
    links = found["links"]
    if not links:
        click.echo("no flit waited")
        return
    total = {name: sum(link[name] for link in links) for name in COLUMNS if name != "link"}
    show_first([{"link": ALL, **total}, *links], COLUMNS, most + 1)


def show_load_waits(rows: Sequence[Mapping[str, Any]], first: Mapping[str, tuple[str, str]]) -> None:
    """Print waits a packet, a row for each load; `first` are the columns that say which."""
    causes = {name: column for name, column in COLUMNS.items() if name not in ("link", "waiting_ns")}
    click.secho("\nwaiting in the network by load, ns a packet, summed over its flits", bold=True)
    summed = [{**row, "waiting_ns": sum(row[name] for name in causes)} for row in rows]
    show(figures_table(summed, {**first, "waiting_ns": COLUMNS["waiting_ns"], **causes}))
