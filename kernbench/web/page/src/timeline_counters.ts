// Utilisation, queues and power as rows of the timeline: for each class of parts the highest and the mean of its parts in windows of time.
import { formatPower } from "./busy";
import type { Busy, Parts } from "./run_data";
import { xOf, type Scene } from "./timeline_scene";
import type { Branch, Row } from "./timeline_rows";

export const COUNTERS = ["utilisation", "queues", "power"] as const;
const PAD_PX = 3; // above what a row shows
const IN_ALL = "busiest of all";
const TOGETHER = "power"; // the counter whose row of all parts shows their sum

/** What a row of a class shows: a value of each window. */
export interface Counter {
  most: Float64Array; // of the part that has most
  mean: Float64Array; // of the parts of the class that did something in the run
  full: number; // the value of the full height
  parts: number;
  sums?: boolean; // its values are sums of the parts
  windowFs: number;
  tell: (value: number) => string;
}

const TELLS: Record<(typeof COUNTERS)[number], (value: number) => string> = {
  utilisation: (value) => `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`,
  power: formatPower,
  queues: (value) => `${Number(value.toFixed(1)).toLocaleString("en-US")} waiting`,
};

/** The groups of counters, with a row for each class of parts that has one, highest first. Before the tables are there groups are empty. */
export function growCounters(parts: Parts | null, busy: Busy | null, windowFs: number, endFs: number): Branch[] {
  const windows = Math.max(1, Math.ceil(endFs / windowFs - 1e-9));
  const grown = COUNTERS.map((label) => {
    const group: Branch = { id: label, label, depth: 0, branches: [], track: null, tracks: [], count: 0, counter: null };
    if (!parts || !busy) return group;
    const sums = sumClasses(parts, busy, valuesOf(label, busy, windowFs), windows);
    const full = label === "utilisation" ? 1 : Math.max(...[...sums.values()].map(({ most }) => Math.max(...most)), 0);
    const said = { full, windowFs, tell: TELLS[label] };
    const found = [...sums].map(([name, sum]) => ({ name, highest: Math.max(...sum.most), counter: { ...sum, ...said } }));
    found.sort((a, b) => b.highest - a.highest || (a.name < b.name ? -1 : 1));
    const counters = found.map(({ counter }) => counter);
    const all = label === TOGETHER ? sumOf(counters, windows) : overAll(counters, windows);
    group.counter = found.length ? { ...all, ...said, full: label === TOGETHER ? Math.max(...all.most) : full } : null;
    group.count = found.length;
    for (const { name, counter } of found) {
      group.branches.push({ id: `${label} ${name}`, label: name, depth: 1, branches: [], track: null, tracks: [], count: counter.parts, counter });
    }
    return group;
  });
  return grown.filter(({ branches }) => !busy || branches.length > 0);
}

type Sum = Pick<Counter, "most" | "mean" | "parts" | "sums">;

function sumClasses(parts: Parts, busy: Busy, values: Float32Array, windows: number): Map<string, Sum> {
  const found = new Map<string, Sum>();
  const known = new Set<number>();
  for (let row = 0; row < busy.count; row++) {
    const [part, value, window] = [busy.part[row]!, values[row]!, Math.min(busy.window[row]!, windows - 1)];
    if (!value) continue;
    const kind = parts.kind[part] || parts.name[part]!.replace(/.*\./, "");
    const sum = found.get(kind) ?? { most: new Float64Array(windows), mean: new Float64Array(windows), parts: 0 };
    found.set(kind, sum);
    if (!known.has(part)) sum.parts++;
    known.add(part);
    sum.most[window] = Math.max(sum.most[window]!, value);
    sum.mean[window]! += value;
  }
  for (const { mean, parts: count } of found.values()) mean.forEach((value, window) => (mean[window] = value / count));
  return found;
}

/** The values of the rows of a table, as a counter shows them. */
function valuesOf(label: (typeof COUNTERS)[number], busy: Busy, windowFs: number): Float32Array {
  if (label === "power") return busy.energy.map((aj) => (aj / windowFs) * 1e6); // aJ a ns
  return label === "queues" ? busy.queued : busy.utilisation;
}

/** All parts together. */
function sumOf(counters: readonly Sum[], windows: number): Sum {
  const sum = Float64Array.from({ length: windows }, (_, window) => counters.reduce((found, { mean, parts }) => found + mean[window]! * parts, 0));
  return { most: sum, mean: sum, parts: counters.reduce((found, { parts }) => found + parts, 0), sums: true };
}

function overAll(counters: readonly Sum[], windows: number): Sum {
  const most = Float64Array.from({ length: windows }, (_, window) => Math.max(...counters.map((one) => one.most[window]!)));
  return { most, mean: new Float64Array(windows), parts: counters.reduce((sum, { parts }) => sum + parts, 0) };
}

/** The highest value pale, the mean in front of it in a full tone. */
export function drawCounter(g: CanvasRenderingContext2D, { window, frame, tones }: Scene, row: Row, top: number): void {
  const counter = row.branch.counter;
  if (!counter || !counter.full) return;
  const bottom = top + row.height - 2;
  const high = row.height - PAD_PX - 2;
  const first = Math.max(0, Math.floor(window.from / counter.windowFs));
  const last = Math.min(counter.most.length, Math.ceil(window.to / counter.windowFs));
  for (const [values, shade] of [[counter.most, 0.35], [counter.mean, 1]] as const) {
    g.globalAlpha = shade;
    g.fillStyle = tones.near;
    for (let at = first; at < last; at++) {
      const share = Math.min(values[at]! / counter.full, 1);
      if (!share) continue;
      const [left, right] = [xOf(at * counter.windowFs, window, frame.width), xOf((at + 1) * counter.windowFs, window, frame.width)];
      g.fillRect(left, bottom - share * high, Math.max(right - left, 0.5), share * high);
    }
  }
  g.globalAlpha = 1;
}

/** What a row says of a time. */
export function sayCounter({ branch }: Row, time: number): string[] {
  const counter = branch.counter;
  if (!counter) return ["nothing is known yet"];
  const at = Math.min(Math.max(Math.floor(time / counter.windowFs), 0), counter.most.length - 1);
  const most = `${counter.tell(counter.most[at]!)} at most`;
  const parts = `${counter.parts.toLocaleString("en-US")} parts`;
  if (counter.sums) return [`${counter.tell(counter.most[at]!)}, all ${parts} together`];
  return branch.depth ? [`${most}, ${counter.tell(counter.mean[at]!)} on average of ${parts}`] : [`${most}, ${IN_ALL} ${parts}`];
}
