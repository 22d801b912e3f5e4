// The critical path: how much of the latency each class of part took, where in time, and piece by piece.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Palette } from "./chart";
import { formatNs, formatShare, type Explained } from "./explain_data";
import { Bar, Card, Figures } from "./explain_parts";
import type { Path, Run } from "./run_data";

const FS_IN_NS = 1e6;
const TONES = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#eeca3b", "#9d755d", "#ff9da6", "#79706e"];
const MOST_PIECES = 200; // shown in the list

type OnTime = (start: number, end: number, part: string) => void;

interface PathCardProps {
  run: Run;
  found: Explained | undefined;
  palette: Palette;
  onTime: OnTime;
}

/** The path as it is kept with the run; a sentence where it is not. */
function usePath(run: Run): [Path | null, string | null] {
  const [path, setPath] = useState<Path | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let gone = false;
    run.load("path").then(
      (loaded) => gone || setPath(loaded),
      (error: Error) => gone || setProblem(error.message),
    );
    return () => {
      gone = true;
    };
  }, [run]);
  return [path, problem];
}

/** ns by class, the longest first: of the explanation, or else summed over the pieces. */
function sumClasses(found: Explained | undefined, path: Path | null): [string, number][] {
  if (found) return Object.entries(found.critical_path);
  const sums = new Map<string, number>();
  for (let row = 0; row < (path?.count ?? 0); row++) {
    sums.set(path!.kind[row]!, (sums.get(path!.kind[row]!) ?? 0) + path!.spent[row]! / FS_IN_NS);
  }
  return [...sums].sort((a, b) => b[1] - a[1]);
}

export function PathCard({ run, found, palette, onTime }: PathCardProps) {
  const [path, problem] = usePath(run);
  const [kind, setKind] = useState<string | null>(null);
  const classes = useMemo(() => sumClasses(found, path), [found, path]);
  const whole = classes.reduce((sum, [, ns]) => sum + ns, 0);
  const toneOf = (name: string) => {
    const at = classes.findIndex(([one]) => one === name);
    return at >= 0 && at < TONES.length ? TONES[at]! : palette.faint;
  };
  if (problem && !found) {
    return (
      <Card title="Critical path" wide>
        <p class="note">{problem}</p>
      </Card>
    );
  }
  if (!classes.length && !path) {
    return (
      <Card title="Critical path" wide>
        <p class="note">Reading the critical path …</p>
      </Card>
    );
  }
  return (
    <Card title="Critical path" note={`${formatNs(whole)} ns, the chain of waits and work that set the latency`} wide>
      <div class="stack" role="img" aria-label="Shares of the classes of parts">
        {classes.map(([name, ns]) => (
          <i key={name} style={{ flexGrow: ns, background: toneOf(name) }} title={`${name}: ${formatNs(ns)} ns, ${formatShare(ns / whole)}`} />
        ))}
      </div>
      {path && <Strip path={path} kind={kind} toneOf={toneOf} faint={palette.faint} onTime={onTime} />}
      <div class="two">
        <Figures
          headings={[{ text: "spent on", left: true }, { text: "ns" }, { text: "share" }, { text: "" }]}
          rows={classes.map(([name, ns]) => [
            <button type="button" class="plain class" aria-pressed={kind === name} onClick={() => setKind(kind === name ? null : name)}>
              <i style={{ background: toneOf(name) }} />
              {name}
            </button>,
            formatNs(ns),
            formatShare(ns / whole),
            <Bar share={ns / whole} most={classes[0]![1] / whole} label={formatShare(ns / whole)} />,
          ])}
        />
        {path ? <Pieces path={path} kind={kind} onTime={onTime} /> : <p class="note">{problem ?? "Reading the pieces …"}</p>}
      </div>
    </Card>
  );
}

function Pieces({ path, kind, onTime }: { path: Path; kind: string | null; onTime: OnTime }) {
  const [longest, setLongest] = useState(true);
  const rows = useMemo(() => {
    const all = Array.from({ length: path.count }, (_, row) => row).filter((row) => kind === null || path.kind[row] === kind);
    return longest ? all.sort((a, b) => path.spent[b]! - path.spent[a]!) : all;
  }, [path, kind, longest]);
  return (
    <div class="pieces">
      <p class="note">
        {rows.length.toLocaleString("en-US")} pieces{kind && ` of ${kind}`}
        {rows.length > MOST_PIECES && `, ${MOST_PIECES} shown`}
        <button type="button" class="plain" onClick={() => setLongest(!longest)}>
          {longest ? "the longest first" : "in order of time"} ⇅
        </button>
      </p>
      <ol>
        {rows.slice(0, MOST_PIECES).map((row) => {
          const [start, end] = [path.start[row]! / FS_IN_NS, path.end[row]! / FS_IN_NS];
          return (
            <li key={row}>
              <button type="button" class="plain" title="Show it in the timeline" onClick={() => onTime(start, end, path.part[row]!)}>
                <span class="ns">{formatNs(path.spent[row]! / FS_IN_NS)} ns</span>
                <span>
                  {path.name[row]} <b>{path.part[row] || "host"}</b>
                  {kind === null && <em> {path.kind[row]}</em>}
                </span>
                <span class="ns">at {formatNs(start)}</span>
              </button>
            </li>
          );
        })}
      </ol>
    </div>
  );
}

interface StripProps {
  path: Path;
  kind: string | null;
  toneOf: (kind: string) => string;
  faint: string;
  onTime: OnTime;
}

/** The pieces along the time of the run, in the colours of their classes. A click shows that time in the timeline. */
function Strip({ path, kind, toneOf, faint, onTime }: StripProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [hover, setHover] = useState<number | null>(null);
  const [first, last] = useMemo(() => spanOf(path), [path]);
  useEffect(() => {
    const drawn = canvas.current!;
    const draw = () => drawStrip(drawn, path, first, last, (name) => (kind === null || kind === name ? toneOf(name) : faint));
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

function drawStrip(canvas: HTMLCanvasElement, path: Path, first: number, last: number, toneOf: (kind: string) => string): void {
  const { clientWidth: wide, clientHeight: high } = canvas;
  canvas.width = wide * devicePixelRatio;
  canvas.height = high * devicePixelRatio;
  const context = canvas.getContext("2d")!;
  context.scale(devicePixelRatio, devicePixelRatio);
  const x = (fs: number) => ((fs - first) / (last - first)) * wide;
  for (let row = 0; row < path.count; ) {
    const start = row;
    let from = path.start[row]!;
    while (row < path.count && path.start[row] === path.start[start] && path.end[row] === path.end[start]) {
      const to = from + path.spent[row]!;
      context.fillStyle = toneOf(path.kind[row]!);
      context.fillRect(x(from), 0, Math.max(x(to) - x(from), 0.5), high);
      from = to;
      row++;
    }
  }
}
