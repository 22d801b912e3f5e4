// The critical path by time: a lane for each class of part, and in it when the path was there.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatNs, formatShare } from "./explain_data";
import type { Palette } from "./palette";
import type { Path } from "./run_data";
import { formatTick, stepOf, type Window } from "./timeline_time";

const FS_IN_NS = 1e6;
export const TONES = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#eeca3b", "#9d755d", "#ff9da6", "#79706e"];
const LEAST_SHARE = 0.005; // of the path: a class with less has no lane of its own
const OTHERS = "others";
const AXIS_PX = 18;
const LEAST_TINT = 0.3; // of a pixel that the path is in for a moment

export type OnTime = (start: number, end: number, part: string) => void; // ns

/** ns by class, the longest first. */
export type Classes = readonly (readonly [string, number])[];

/** The tone of each class of a path; the last ones have a faint one together. */
export function tonesOfClasses(classes: Classes, palette: Palette): (name: string) => string {
  const tones = new Map(classes.slice(0, TONES.length).map(([name], at) => [name, TONES[at]!]));
  return (name) => tones.get(name) ?? palette.faint;
}

/** ns by class, summed over the pieces. */
export function sumClasses(path: Path): Classes {
  const sums = new Map<string, number>();
  for (let row = 0; row < path.count; row++) sums.set(path.kind[row]!, (sums.get(path.kind[row]!) ?? 0) + path.spent[row]! / FS_IN_NS);
  return [...sums].sort((a, b) => b[1] - a[1]);
}

interface PathProps {
  path: Path;
  classes: Classes;
  palette: Palette;
  most: number; // lanes
  lane: number; // px of each
  kind?: string | null; // the class that is looked at
  now?: number | null; // ns
  hint: string; // what a click does
  onTime: OnTime;
}

/** When the path was at which class of part: time goes from left to right. */
export function PathOverTime({ path, classes, palette, most, lane, kind = null, now = null, hint, onTime }: PathProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [hover, setHover] = useState<number | null>(null);
  const whole = useMemo(() => spanOf(path), [path]);
  const lanes = useMemo(() => chooseLanes(classes, most), [classes, most]);
  const toneOf = useMemo(() => tonesOfClasses(classes, palette), [classes, palette]);
  useEffect(() => {
    const drawn = canvas.current!;
    const draw = () => drawLanes(drawn, path, lanes, whole, lane, (name) => (kind === null || kind === name ? toneOf(name) : palette.faint), palette, now);
    const observer = new ResizeObserver(draw);
    observer.observe(drawn);
    draw();
    return () => observer.disconnect();
  }, [path, lanes, whole, lane, toneOf, palette, kind, now]);
  const rowAt = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const time = whole.from + ((event.clientX - box.left) / box.width) * (whole.to - whole.from);
    for (let row = 0; row < path.count; row++) if (path.start[row]! <= time && time < path.end[row]!) return row;
    return null;
  };
  const sum = classes.reduce((total, [, ns]) => total + ns, 0);
  return (
    <div class="strip">
      <ul style={{ lineHeight: `${lane}px` }}>
        {lanes.map(({ name, ns }) => (
          <li key={name} class={kind === null || kind === name ? "" : "note"} title={`${name}: ${formatNs(ns)} ns`}>
            <span>{name}</span> {formatShare(ns / (sum || 1))}
          </li>
        ))}
      </ul>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`The critical path by time, a lane for each of ${lanes.map(({ name }) => name).join(", ")}`}
        style={{ height: `${lanes.length * lane + AXIS_PX}px` }}
        onMouseMove={(event) => setHover(rowAt(event))}
        onMouseLeave={() => setHover(null)}
        onClick={(event) => {
          const row = rowAt(event);
          if (row !== null) onTime(path.start[row]! / FS_IN_NS, path.end[row]! / FS_IN_NS, path.part[row]!);
        }}
      />
      <p class="note">{hover === null ? hint : tellPiece(path, hover)}</p>
    </div>
  );
}

function tellPiece(path: Path, row: number): string {
  const [start, end] = [path.start[row]!, path.end[row]!];
  return `${path.name[row]} ${path.part[row]}, ${formatNs((end - start) / FS_IN_NS)} ns from ${formatNs(start / FS_IN_NS)}`;
}

interface Lane {
  name: string;
  ns: number;
  kinds: readonly string[];
}

function chooseLanes(classes: Classes, most: number): Lane[] {
  const least = LEAST_SHARE * classes.reduce((sum, [, ns]) => sum + ns, 0);
  const own = classes.filter(([, ns], at) => at < most - 1 && ns >= least);
  const rest = classes.slice(own.length);
  const lanes = own.map(([name, ns]) => ({ name, ns, kinds: [name] }));
  if (!rest.length) return lanes;
  const ns = rest.reduce((sum, [, one]) => sum + one, 0);
  return [...lanes, { name: rest.length === 1 ? rest[0]![0] : `${rest.length} ${OTHERS}`, ns, kinds: rest.map(([name]) => name) }];
}

function spanOf(path: Path): Window {
  let [from, to] = [Infinity, -Infinity];
  for (let row = 0; row < path.count; row++) {
    from = Math.min(from, path.start[row]!);
    to = Math.max(to, path.end[row]!);
  }
  return from < to ? { from, to } : { from: 0, to: 1 };
}

/** The share of each pixel's time that the path spends in each lane: each piece over the pixels that its time covers. */
function coverPixels(path: Path, lanes: readonly Lane[], { from: first, to: last }: Window, wide: number): Float64Array[] {
  const covered = lanes.map(() => new Float64Array(wide));
  const laneOf = new Map(lanes.flatMap(({ kinds }, at) => kinds.map((kind) => [kind, at] as const)));
  const width = (last - first) / wide;
  let from = first;
  for (let row = 0; row < path.count; row++) {
    const follows = row > 0 && path.start[row] === path.start[row - 1] && path.end[row] === path.end[row - 1];
    if (!follows) from = path.start[row]!;
    const to = from + path.spent[row]!;
    const own = covered[laneOf.get(path.kind[row]!) ?? lanes.length - 1]!;
    for (let pixel = Math.max(0, Math.floor((from - first) / width)); pixel < wide && first + pixel * width < to; pixel++) {
      own[pixel]! += Math.max(0, Math.min(to, first + (pixel + 1) * width) - Math.max(from, first + pixel * width)) / width;
    }
    from = to;
  }
  return covered;
}

function drawLanes(
  canvas: HTMLCanvasElement,
  path: Path,
  lanes: readonly Lane[],
  whole: Window,
  lane: number,
  toneOf: (kind: string) => string,
  palette: Palette,
  now: number | null,
): void {
  const [ratio, width] = [devicePixelRatio, canvas.clientWidth];
  const wide = Math.max(1, Math.round(width * ratio));
  canvas.width = wide;
  canvas.height = Math.round(canvas.clientHeight * ratio);
  const g = canvas.getContext("2d")!;
  const bottom = lanes.length * lane;
  coverPixels(path, lanes, whole, wide).forEach((shares, at) => {
    const [top, high] = [Math.round((at * lane + 2) * ratio), Math.round((lane - 4) * ratio)];
    g.fillStyle = toneOf(lanes[at]!.kinds.length === 1 ? lanes[at]!.name : OTHERS);
    shares.forEach((share, pixel) => {
      if (!share) return;
      g.globalAlpha = LEAST_TINT + (1 - LEAST_TINT) * Math.min(share, 1);
      g.fillRect(pixel, top, 1, high);
    });
  });
  g.globalAlpha = 1;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  const xOf = (fs: number) => ((fs - whole.from) / (whole.to - whole.from)) * width;
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  const step = stepOf(whole, width);
  for (let tick = Math.ceil(whole.from / step) * step; tick <= whole.to; tick += step) {
    g.fillStyle = palette.line;
    g.fillRect(Math.round(xOf(tick)), 0, 1, bottom + 5);
    g.fillStyle = palette.quiet;
    const text = formatTick(tick, step, whole);
    const half = g.measureText(text).width / 2;
    g.textAlign = "center";
    g.fillText(text, Math.min(Math.max(xOf(tick), half), width - half), bottom + AXIS_PX / 2 + 2);
  }
  for (let at = 1; at < lanes.length; at++) {
    g.fillStyle = palette.line;
    g.fillRect(0, at * lane, width, 0.5);
  }
  if (now !== null) {
    g.fillStyle = palette.front;
    g.fillRect(xOf(now * FS_IN_NS) - 0.75, 0, 1.5, bottom + 4);
  }
}
