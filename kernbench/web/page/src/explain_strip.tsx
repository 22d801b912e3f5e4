// The critical path along the time of a run: for each pixel what its time was spent on, stacked.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatNs } from "./explain_data";
import type { Path } from "./run_data";

const FS_IN_NS = 1e6;

export type OnTime = (start: number, end: number, part: string) => void; // ns

interface StripProps {
  path: Path;
  kinds: readonly string[]; // all classes, in the order in which they are stacked
  kind: string | null;
  toneOf: (kind: string) => string;
  faint: string;
  onTime: OnTime;
}

/** The pieces along the time of the run, in the colours of their classes. A click shows that time in the timeline. */
export function Strip({ path, kinds, kind, toneOf, faint, onTime }: StripProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [hover, setHover] = useState<number | null>(null);
  const [first, last] = useMemo(() => spanOf(path), [path]);
  useEffect(() => {
    const drawn = canvas.current!;
    const draw = () => drawStrip(drawn, path, kinds, first, last, (name) => (kind === null || kind === name ? toneOf(name) : faint));
    const observer = new ResizeObserver(draw);
    observer.observe(drawn);
    draw();
    return () => observer.disconnect();
  }, [path, kind, faint]);
  const rowAt = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const time = first + ((event.clientX - box.left) / box.width) * (last - first);
    for (let row = 0; row < path.count; row++) if (path.start[row]! <= time && time < path.end[row]!) return row;
    return null;
  };
  return (
    <div class="strip">
      <canvas
        ref={canvas}
        role="img"
        aria-label="The critical path along the time of the run"
        onMouseMove={(event) => setHover(rowAt(event))}
        onMouseLeave={() => setHover(null)}
        onClick={(event) => {
          const row = rowAt(event);
          if (row !== null) onTime(path.start[row]! / FS_IN_NS, path.end[row]! / FS_IN_NS, path.part[row]!);
        }}
      />
      <p class="note ends">
        <span>{formatNs(first / FS_IN_NS)} ns</span>
        <span>
          {hover === null
            ? "along the time of the run; a click shows it in the timeline"
            : `${path.name[hover]} ${path.part[hover]}, ${formatNs((path.end[hover]! - path.start[hover]!) / FS_IN_NS)} ns from ${formatNs(path.start[hover]! / FS_IN_NS)}`}
        </span>
        <span>{formatNs(last / FS_IN_NS)} ns</span>
      </p>
    </div>
  );
}

function spanOf(path: Path): [number, number] {
  let [first, last] = [Infinity, -Infinity];
  for (let row = 0; row < path.count; row++) {
    first = Math.min(first, path.start[row]!);
    last = Math.max(last, path.end[row]!);
  }
  return first < last ? [first, last] : [0, 1];
}

/** fs by pixel and class: each piece over the pixels that its time covers. */
function sumPixels(path: Path, kinds: readonly string[], first: number, last: number, wide: number): Float64Array {
  const sums = new Float64Array(wide * kinds.length);
  const places = new Map(kinds.map((kind, at) => [kind, at]));
  const width = (last - first) / wide;
  let from = first;
  for (let row = 0; row < path.count; row++) {
    const follows = row > 0 && path.start[row] === path.start[row - 1] && path.end[row] === path.end[row - 1];
    if (!follows) from = path.start[row]!;
    const to = from + path.spent[row]!;
    const place = places.get(path.kind[row]!) ?? 0;
    for (let pixel = Math.floor((from - first) / width); pixel < wide && first + pixel * width < to; pixel++) {
      const covered = Math.min(to, first + (pixel + 1) * width) - Math.max(from, first + pixel * width);
      sums[pixel * kinds.length + place]! += Math.max(covered, 0);
    }
    from = to;
  }
  return sums;
}

function drawStrip(
  canvas: HTMLCanvasElement,
  path: Path,
  kinds: readonly string[],
  first: number,
  last: number,
  toneOf: (kind: string) => string,
): void {
  const [wide, high] = [Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio)), Math.round(canvas.clientHeight * devicePixelRatio)];
  canvas.width = wide;
  canvas.height = high;
  const context = canvas.getContext("2d")!;
  const sums = sumPixels(path, kinds, first, last, wide);
  for (let pixel = 0; pixel < wide; pixel++) {
    const of = sums.subarray(pixel * kinds.length, (pixel + 1) * kinds.length);
    const whole = of.reduce((sum, fs) => sum + fs, 0);
    let top = 0;
    for (const [at, kind] of kinds.entries()) {
      if (!of[at]) continue;
      context.fillStyle = toneOf(kind);
      context.fillRect(pixel, top, 1, (of[at]! / whole) * high);
      top += (of[at]! / whole) * high;
    }
  }
}
