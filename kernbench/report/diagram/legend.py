"""The legend of a diagram: scale, symbols, lines, units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernbench.report.diagram.layout import MARGIN
from kernbench.report.diagram.svg import Svg, text_width
from kernbench.report.diagram.symbols import AREAS, PAINTS, QUIET, RING, STROKES, Stroke, find_symbol
from kernbench.units import FS_PER_NS, format_bytes

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.machine.symbols import Symbol
    from kernbench.report.diagram.layout import DiagramLayout


def find_caption(machine: Machine, view: str, kind: str) -> tuple[str, ...]:
    """The lines for a kind of node in a view."""
    figures, symbol = machine.figures, find_symbol(machine, view, kind)
    size = [format_bytes(figures[symbol.bytes])] if symbol.bytes in figures else []
    lines = (
        text.format(*(figures[name] for name in names))
        for text, names in symbol.captions
        if all(name in figures for name in names)
    )
    return (*size, *lines, *_channels(machine, kind))


def _channels(machine: Machine, kind: str) -> tuple[str, ...]:
    """The bandwidth of a memory."""
    node = next((node for node in machine.terminals if machine.node_kind[node] == kind), None)
    if node is None:
        return ()
    memory = machine.terminals[node]
    gbs = machine.flit_bytes * FS_PER_NS / int(machine.stations.fs_per_flit[memory.first_station])
    return (f"{memory.stripes} × {gbs:,.6g} GB/s",) if memory.stripes > 1 else (f"{gbs:,.6g} GB/s",)


SIZE, ROW, GAP, SAMPLE = 11.0, 24.0, 28.0, 26.0
BAR_PX = 160.0  # of the scale, at most
IN_ROWS = "to scale inside SIPs; these stand in one line, from which the lengths of links between them follow"
_ZONE = "no routers: HBM stands here"

_Entry = tuple[str, "Symbol | Stroke | str"]  # text and sample (an area by its kind)


def legend_height(machine: Machine, layout: DiagramLayout) -> float:
    """The height of the legend in pixels."""
    return 20 + ROW * (1 + len(_rows(_entries(machine, layout), layout.width)))


def draw_legend(svg: Svg, machine: Machine, layout: DiagramLayout, bandwidths: bool) -> None:
    """Draw the legend beneath a diagram; `bandwidths`: whether links are labelled with theirs."""
    x, y = MARGIN, layout.bottom
    notes = ["numbers on links: GB/s each way"] if bandwidths else []
    if layout.view.areas:
        _draw_scale(svg, x, y, layout.px_per_mm)
        notes.append(IN_ROWS if layout.view.in_rows else "everything stands where routing measures it")
        y += ROW
    else:
        notes.append("all links are alike, whatever their length here")
    for row in _rows(_entries(machine, layout), layout.width):
        y += ROW
        left = x
        for text, sample in row:
            _draw_sample(svg, left, y - 8, sample)
            svg.text(left + SAMPLE + 8, y - 8, text, SIZE, anchor="start")
            left += _width(text)
    svg.text(x, y + ROW - 4, "; ".join(notes), SIZE, anchor="start", fill=QUIET)


def _entries(machine: Machine, layout: DiagramLayout) -> list[_Entry]:
    """Each kind of box, line and area once, in the order of appearance; with its figures if the boxes do not show them."""
    view = layout.view
    found: dict[str, Symbol | Stroke | str] = {}
    for box, symbol in zip(view.boxes, layout.symbols, strict=True):
        caption = () if view.name == "pe" else find_caption(machine, view.name, box.kind)
        found.setdefault(": ".join((symbol.title, ", ".join(caption))) if caption else symbol.title, symbol)
    for kind in sorted({wire.kind for wire in view.wires}):
        found.setdefault(STROKES[kind].title, STROKES[kind])
    if any(wire.wraps for wire in view.wires):
        found[RING.title] = RING
    if any(area.kind == "hbm_zone" for area in view.areas):
        found[_ZONE] = "hbm_zone"
    return list(found.items())


def _rows(entries: Sequence[_Entry], width: float) -> list[list[_Entry]]:
    rows: list[list[_Entry]] = [[]]
    used = 0.0
    for entry in entries:
        if used and used + _width(entry[0]) - GAP > width:
            rows.append([])
            used = 0.0
        rows[-1].append(entry)
        used += _width(entry[0])
    return rows


def _width(text: str) -> float:
    return SAMPLE + 8 + text_width(text, SIZE) + GAP


def _draw_sample(svg: Svg, x: float, y: float, sample: Symbol | Stroke | str) -> None:
    if isinstance(sample, Stroke):
        svg.polyline([(x, y), (x + SAMPLE, y)], sample.colour, line=2.5, dash=sample.dash)
    elif isinstance(sample, str):
        fill, edge, dash = AREAS[sample]
        svg.rect(x, y - 7, SAMPLE, 14, fill, edge, dash=dash)
    elif sample.round:
        svg.circle(x + SAMPLE / 2, y, 7, PAINTS[sample.role].fill, PAINTS[sample.role].edge, line=1.5)
    else:
        width = min(sample.width, SAMPLE)
        height, (fill, edge, _) = min(sample.height, 14.0), PAINTS[sample.role]
        svg.rect(x + (SAMPLE - width) / 2, y - height / 2, width, height, fill, edge, radius=2)


def _draw_scale(svg: Svg, x: float, y: float, px_per_mm: float) -> None:
    """Draw a scale bar of a round length."""
    length = max(
        step * 10.0**power for power in range(-3, 4) for step in (1, 2, 5) if step * 10.0**power * px_per_mm <= BAR_PX
    )
    end = x + length * px_per_mm
    svg.polyline([(x, y - 4), (x, y + 4)], "#222222", line=1.5)
    svg.polyline([(end, y - 4), (end, y + 4)], "#222222", line=1.5)
    svg.polyline([(x, y), (end, y)], "#222222", line=1.5)
    svg.text(end + 8, y, f"{length:g} mm", SIZE, anchor="start")
