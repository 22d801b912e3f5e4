// What stands beside the pointer on the timeline.
import type { Details } from "./run_data";
import type { TimelineData, TimelineMore } from "./timeline";
import { sayCounter } from "./timeline_counters";
import type { Density } from "./timeline_density";
import { sayLayer } from "./timeline_layers";
import type { CriticalPath } from "./timeline_path";
import type { Row } from "./timeline_rows";
import type { Slices } from "./timeline_slices";
import type { Hit, Stage } from "./timeline_stage";
import { formatExact, formatTime } from "./timeline_time";

interface HoverProps {
  x: number;
  y: number;
  box: HTMLElement; // that it stands in
  title: string;
  lines: readonly string[];
}

export function Hover({ x, y, box, title, lines }: HoverProps) {
  const right = x > box.clientWidth / 2;
  const above = y > box.clientHeight - 130;
  const place = { left: `${box.offsetLeft + (right ? x - 14 : x + 14)}px`, top: `${above ? y - 12 : y + 16}px` };
  return (
    <div class="hover tip" style={{ ...place, transform: `translate(${right ? "-100%" : "0"}, ${above ? "-100%" : "0"})` }}>
      <strong>{title}</strong>
      {lines.map((line) => (
        <span key={line}>{line}</span>
      ))}
    </div>
  );
}

/** The title and the lines for what is under the pointer. */
export function sayHit({ slices, names: tracks }: TimelineData, { path, details }: TimelineMore, hit: Hit, rows: readonly Row[], stage: Stage): Pick<HoverProps, "title" | "lines"> | null {
  if (hit.what === "slice") return { title: slices.names[slices.name[hit.place]!]!, lines: sayOperation(slices, tracks, details, hit.place) };
  if (hit.what === "arrow") {
    const place = slices.place[hit.row]!;
    return { title: `to ${slices.names[slices.name[place]!]}`, lines: sayOperation(slices, tracks, details, place) };
  }
  if (hit.what === "layer") return { title: hit.span.name, lines: sayLayer(hit.span) };
  if (hit.what === "path") return path && { title: path.slices.names[path.slices.name[hit.place]!]!, lines: sayStep(path, hit.place) };
  const row = rows[hit.row];
  if (!row) return null;
  if (row.branch.counter !== undefined) return { title: row.branch.id, lines: sayCounter(row, hit.time) };
  return { title: row.branch.id, lines: sayGroup(row, stage.densityOf(row), slices.kinds, hit.time, stage.pixel) };
}

/** The lines of a step of the critical path: where it is, and what its time is spent on. */
function sayStep({ slices, steps }: CriticalPath, place: number): string[] {
  const { part, spent } = steps[slices.row[place]!]!;
  const length = slices.end[place]! - slices.start[place]!;
  return [part, `${formatTime(length, 6)} from ${formatExact(slices.start[place]!)}`, ...spent.map(([on, fs]) => `${formatTime(fs, 4)} on ${on}`)];
}

/** The lines of a slice. */
function sayOperation(slices: Slices, tracks: readonly string[], details: Details | null, place: number): string[] {
  const [start, end, row] = [slices.start[place]!, slices.end[place]!, slices.row[place]!];
  const waited = details ? start - details.issue[row]! : 0;
  return [
    tracks[slices.track[place]!]!,
    `${formatTime(end - start, 6)} from ${formatExact(start)}`,
    ...(waited > 0 ? [`waited ${formatTime(waited, 6)} before`] : []),
    ...(details?.bytes[row] ? [`${details.bytes[row].toLocaleString("en-US")} bytes`] : []),
  ];
}

/** The lines of a group at a time: how many operations are in progress in the pixel there, by kind. */
function sayGroup(row: Row, density: Density, kinds: readonly string[], time: number, pixel: number): string[] {
  const over = density.over({ from: time, to: time + pixel }, 1).map((shade) => shade[0]!);
  const sum = over.reduce((total, value) => total + value, 0);
  const say = (value: number) => Number(value.toPrecision(3)).toLocaleString("en-US");
  return [
    `${row.branch.tracks.length} parts, ${row.branch.count.toLocaleString("en-US")} operations`,
    `${say(sum)} in progress here${sum ? ": " : ""}${kinds.flatMap((kind, shade) => (over[shade]! > 0 ? [`${kind} ${say(over[shade]!)}`] : [])).join(", ")}`,
    `at most ${say(density.most)} at once`,
  ];
}
