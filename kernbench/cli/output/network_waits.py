"""The tables of what flits waited for, by link and by load, of `--explain` on a machine with credits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernbench.cli.output.screen import say, show, show_first
from kernbench.text_table import Field, figures_table

COLUMNS = {
    "link": Field("link"),
    "waiting_ns": Field("waiting ns", ",.1f"),
    "queueing_ns": Field("queueing", ",.1f", rank=8),
    "no_credit_ns": Field("no credit", ",.1f", rank=7),
    "no_channel_ns": Field("no channel", ",.1f", rank=6),
    "lost_channel_ns": Field("lost channel", ",.1f", rank=5),
    "lost_switch_ns": Field("lost switch", ",.1f", rank=4),
    "link_busy_ns": Field("link busy", ",.1f", rank=3),
    "memory_ns": Field("memory", ",.1f", rank=2),
    "source_ns": Field("source", ",.1f", rank=1),
}
ALL = "all links"


def show_network_waits(found: Mapping[str, Any], most: int, title: str = "waiting in the network by link") -> None:
    """Print the first links of `NetworkWaits.to_dict()` and the sum of all."""
    say(f"\n{title}, summed over flits", bold=True)
    links = found["links"]
    if not links:
        say("no flit waited")
        return
    total = {name: sum(link[name] for link in links) for name in COLUMNS if name != "link"}
    show_first([{"link": ALL, **total}, *links], COLUMNS, most + 1)


def show_load_waits(rows: Sequence[Mapping[str, Any]], first: Mapping[str, Field]) -> None:
    """Print waits a packet, a row for each load; `first` are the columns that say which."""
    causes = {name: column for name, column in COLUMNS.items() if name not in ("link", "waiting_ns")}
    say("\nwaiting in the network by load, ns a packet, summed over its flits", bold=True)
    summed = [{**row, "waiting_ns": sum(row[name] for name in causes)} for row in rows]
    show(figures_table(summed, {**first, "waiting_ns": COLUMNS["waiting_ns"], **causes}))
