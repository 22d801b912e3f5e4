"""The swimlane of a run of task graphs: orchestrator, schedulers and cores over time, as SVG.

A lane has one bar a pixel at most: what would end within the pixel of the bar before it is drawn as part of that bar, so the
picture of a long run stays small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kernbench.pto.results.record import ORCHESTRATOR, Phase
from kernbench.pto.results.summary import FS_PER_US, thread_name
from kernbench.report.colours import of_names
from kernbench.report.diagram.svg import Svg, text_width
from kernbench.report.tables.engineering import number

if TYPE_CHECKING:
    from kernbench.frontends.graph_result import GraphResult
    from kernbench.pto.launch import Outcome

WIDTH, LEFT, TOP, LANE, GAP, LEGEND = 1200.0, 120.0, 56.0, 12.0, 3.0, 22.0
LEAST_PX = 1.0
# Pale, so that none is the colour of a task; what holds a thread up is red.
_PHASES = {
    Phase.START_UP: "#BBBBBB",
    Phase.SUBMIT: "#A9D18E",
    Phase.LOOKUP: "#DCEFCF",
    Phase.BLOCKED: "#D62728",
    Phase.SCOPE: "#A8C8E8",
    Phase.COMPLETE: "#C9B8E6",
    Phase.DISPATCH: "#F8CBA0",
    Phase.SCAN: "#BFE3DD",
    Phase.DRAIN: "#EBC1D3",
    Phase.SHUT_DOWN: "#BBBBBB",
}


class _Bar(NamedTuple):
    start_fs: int
    end_fs: int
    name: str
    colour: str


def draw_run(result: GraphResult) -> dict[str, str]:
    """The pictures of a run, as SVG by name."""
    assert result.outcome is not None
    return {"swimlane": draw_swimlane(result.outcome, f"{Path(result.bench).stem} on {result.topology}")}


def draw_swimlane(outcome: Outcome, title: str) -> str:
    """The picture as the text of an SVG file."""
    lanes = [*_thread_lanes(outcome), *_core_lanes(outcome)]
    end_fs = max(outcome.end_fs, 1)
    names = dict.fromkeys(bar.name for _, bars in lanes for bar in bars)
    colours = {bar.name: bar.colour for _, bars in lanes for bar in bars}
    height = TOP + len(lanes) * (LANE + GAP) + 3 * LEGEND + 20 + LEGEND * (len(names) // 8)
    svg = Svg(WIDTH, height, title)
    svg.text(LEFT, 18, title, 14, anchor="start", bold=True)
    scale = (WIDTH - LEFT - 20) / end_fs
    bottom = TOP + len(lanes) * (LANE + GAP)
    _draw_axis(svg, end_fs, scale, bottom)
    for row, (name, bars) in enumerate(lanes):
        y = TOP + row * (LANE + GAP)
        svg.text(LEFT - 6, y + LANE / 2, name, 9, anchor="end")
        for bar in _merged(bars, LEAST_PX / scale):
            width = max((bar.end_fs - bar.start_fs) * scale, LEAST_PX)
            tip = f"{bar.name}: {bar.start_fs / FS_PER_US:,.3f} to {bar.end_fs / FS_PER_US:,.3f} µs"
            svg.rect(LEFT + bar.start_fs * scale, y, width, LANE, bar.colour, "none", tip=tip)
    _draw_legend(svg, colours, bottom + LEGEND)
    return svg.render()


def _thread_lanes(outcome: Outcome) -> Iterable[tuple[str, Sequence[_Bar]]]:
    numbers = [ORCHESTRATOR, *(scheduler.number for scheduler in outcome.device.schedulers)]
    rows: dict[int, list[_Bar]] = {number: [] for number in numbers}
    for row in outcome.record.phases:
        phase = Phase(row.phase)
        rows[row.thread].append(_Bar(row.start_fs, row.end_fs, phase.name.lower(), _PHASES[phase]))
    return [(thread_name(number), bars) for number, bars in rows.items()]


def _core_lanes(outcome: Outcome) -> Iterable[tuple[str, Sequence[_Bar]]]:
    names = {row.task: row.name for row in outcome.record.tasks}
    palette = of_names(names.values())
    rows: dict[int, list[_Bar]] = {}
    for row in outcome.record.blocks:
        name = names[row.task]
        rows.setdefault(row.core, []).append(_Bar(row.start_fs, row.end_fs, name, palette[name]))
    return [(outcome.device.cores[core].place.name, rows[core]) for core in sorted(rows)]


def _merged(bars: Iterable[_Bar], least_fs: float) -> Iterable[_Bar]:
    """The bars in order of time, those together that are of one name and hardly apart, or narrower than can be seen."""
    last: _Bar | None = None
    for bar in sorted(bars):
        near = last is not None and bar.start_fs - last.end_fs < least_fs
        if last is not None and near and (bar.name == last.name or bar.end_fs - last.end_fs < least_fs):
            last = last._replace(end_fs=max(last.end_fs, bar.end_fs))
            continue
        if last is not None:
            yield last
        last = bar
    if last is not None:
        yield last


def _draw_axis(svg: Svg, end_fs: int, scale: float, bottom: float) -> None:
    step = 10.0 ** len(str(int(end_fs / FS_PER_US / 10)))
    step = step / 2 if end_fs / FS_PER_US / step < 4 else step
    tick = 0.0
    while tick * FS_PER_US <= end_fs:
        x = LEFT + tick * FS_PER_US * scale
        svg.polyline([(x, TOP - 4), (x, bottom)], "#DDDDDD", line=0.5)
        svg.text(x, TOP - 12, f"{number(tick)} µs", 9)
        tick += step


def _draw_legend(svg: Svg, colours: dict[str, str], y: float) -> None:
    x = LEFT
    for name, colour in colours.items():
        width = 26 + text_width(name, 10)
        if x + width > WIDTH - 20:
            x, y = LEFT, y + LEGEND
        svg.rect(x, y - 5, 10, 10, colour, "none")
        svg.text(x + 14, y, name, 10, anchor="start")
        x += width
