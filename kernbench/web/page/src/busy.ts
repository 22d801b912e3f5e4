// How busy the nodes and links of a drawing are in a span of time, and the colours of that.
import type { Machine } from "./machine_data";
import { formatNumber } from "./points";
import type { Busy, Parts } from "./run_data";

export const MEASURES = ["utilisation", "queueing", "bytes", "power"] as const;
export type Measure = (typeof MEASURES)[number];

const TAKEN: readonly string[] = ["dma_read", "dma_write"]; // classes of parts that are never the bottleneck
const MOST_TAKEN = 2;
const RATES: readonly Measure[] = ["bytes", "power"]; // amounts of a window over its length

/** A value of each node and link; NaN where there is none. */
export interface Values {
  node: Float64Array;
  link: Float64Array;
}

/** From values to places on a ramp of colours and back. */
export interface Scale {
  most: number;
  place: (value: number) => number; // 0..1
  value: (place: number) => number;
  format: (value: number) => string;
}

/** A part with a high value. */
export interface Busiest {
  part: string;
  node: number; // -1: nowhere on the drawing
  value: number;
  told: string; // the value
  alike: number; // other parts of its class with the same value
}

/** The busiest parts: those that work, and those that are taken while others work. */
export interface BusiestParts {
  working: Busiest[];
  taken: Busiest[];
}

/** Windows of time, by number; the last is not in it. */
export interface Span {
  first: number;
  last: number;
}

/** The parts of a run's machine over windows of time. */
export class BusyTime {
  readonly windows: number;
  private readonly begins: Int32Array; // the first row of each window
  private readonly mosts: Record<Measure, number>;

  constructor(
    private readonly machine: Machine,
    private readonly parts: Parts,
    private readonly busy: Busy,
    readonly windowNs: number,
    readonly spanNs: number,
  ) {
    this.windows = Math.max(1, Math.ceil(spanNs / windowNs - 1e-9));
    this.begins = new Int32Array(this.windows + 1);
    for (let row = 0; row < busy.count; row++) this.begins[Math.min(busy.window[row]!, this.windows - 1) + 1]!++;
    for (let window = 0; window < this.windows; window++) this.begins[window + 1]! += this.begins[window]!;
    this.mosts = { utilisation: 1, queueing: most(busy.queued), bytes: most(busy.bytes) / windowNs, power: most(busy.energy) / windowNs };
  }

  /** Means over a span: of the busiest part of a node or link, or for all but utilisation the sum over its parts. */
  means(measure: Measure, span: Span): Values {
    const parts = this.meansOfParts(measure, span);
    const found = { node: new Float64Array(this.machine.names.length), link: new Float64Array(this.machine.source.length) };
    found.node.fill(NaN);
    found.link.fill(NaN);
    for (let part = 0; part < parts.length; part++) {
      if (!parts[part]) continue;
      const [node, link, value] = [this.parts.node[part]!, this.parts.link[part]!, parts[part]!];
      const [values, at] = node >= 0 ? [found.node, node] : [found.link, link];
      if (at >= 0) values[at] = add(measure, values[at]!, value);
    }
    return found;
  }

  /** The parts of the highest means over a span; those of one class that are alike are one. */
  busiest(measure: Measure, span: Span, most: number, format: (value: number) => string): BusiestParts {
    const values = this.meansOfParts(measure, span);
    const order = [...values.keys()].filter((part) => values[part]).sort((a, b) => values[b]! - values[a]! || a - b);
    const found: BusiestParts = { working: [], taken: [] };
    const known = new Map<string, Busiest>();
    for (const part of order) {
      const [told, kind] = [format(values[part]!), this.parts.kind[part] ?? ""];
      const key = `${kind} ${told}`;
      const same = known.get(key);
      if (same) {
        same.alike++;
        continue;
      }
      const taken = measure === "utilisation" && TAKEN.includes(kind);
      const list = taken ? found.taken : found.working;
      if (list.length >= (taken ? MOST_TAKEN : most)) continue;
      const one = { part: this.parts.name[part]!, node: this.nodeOf(part), told, value: values[part]!, alike: 0 };
      list.push(one);
      if (kind) known.set(key, one);
    }
    return found;
  }

  /** The node that a part is in, of a link its source; -1: none. */
  private nodeOf(part: number): number {
    const [node, link] = [this.parts.node[part]!, this.parts.link[part]!];
    if (node >= 0 || link < 0) return node;
    const [from] = this.parts.name[part]!.split(" -> ");
    const [source, target] = [this.machine.source[link]!, this.machine.target[link]!];
    return this.machine.names[source] === from ? source : target;
  }

  /** The means of one node or link in each window. */
  history(measure: Measure, where: "node" | "link", at: number): Float64Array {
    const column = this.column(measure);
    const found = new Float64Array(this.windows);
    const own = new Uint8Array(this.parts.name.length);
    this.parts[where].forEach((place, part) => (own[part] = place === at ? 1 : 0));
    const unit = RATES.includes(measure) ? this.windowNs : 1;
    for (let window = 0; window < this.windows; window++) {
      for (let row = this.begins[window]!; row < this.begins[window + 1]!; row++) {
        if (own[this.busy.part[row]!]) found[window] = add(measure, found[window]!, column[row]! / unit);
      }
    }
    return found;
  }

  /** One scale for all times, so that colours can be compared as time goes on. Low values have most of the ramp. */
  scale(measure: Measure): Scale {
    const most = this.mosts[measure] || 1;
    if (measure !== "queueing") {
      const format = measure === "bytes" ? formatRate : measure === "power" ? formatPower : formatShare;
      return { most, place: (value) => Math.min(Math.sqrt(value / most), 1), value: (place) => place * place * most, format };
    }
    const whole = Math.log1p(most); // few wait for most parts, and many for some
    return {
      most,
      place: (value) => Math.min(Math.log1p(value) / whole, 1),
      value: (place) => Math.expm1(place * whole),
      format: (value) => (value < 10 ? String(Number(value.toFixed(1))) : Math.round(value).toLocaleString("en-US")),
    };
  }

  /** The windows from a time on, or all that overlap a range of times, in ns. */
  span(now: number | null, width: number, time: readonly [number, number] | null): Span {
    if (now === null) {
      const [start, end] = time ?? [0, this.windows * this.windowNs];
      const first = this.clamp(Math.floor(start / this.windowNs));
      return { first, last: Math.min(Math.max(Math.ceil(end / this.windowNs), first + 1), this.windows) };
    }
    const first = this.clamp(Math.floor(now / this.windowNs));
    return { first, last: Math.min(first + width, this.windows) };
  }

  private meansOfParts(measure: Measure, { first, last }: Span): Float64Array {
    const column = this.column(measure);
    const sums = new Float64Array(this.parts.name.length);
    for (let row = this.begins[first]!; row < this.begins[last]!; row++) sums[this.busy.part[row]!]! += column[row]!;
    const windows = (last - first) * (RATES.includes(measure) ? this.windowNs : 1);
    return sums.map((sum) => sum / windows);
  }

  private clamp(window: number): number {
    return Math.max(0, Math.min(window, this.windows - 1));
  }

  private column(measure: Measure): Float32Array {
    const { utilisation, queued, bytes, energy } = this.busy;
    return { utilisation, queueing: queued, bytes, power: energy }[measure];
  }
}

function formatRate(bytesInNs: number): string {
  return `${formatNumber(Number(bytesInNs.toPrecision(3)))} GB/s`;
}

/** Power in aJ a ns, which are nW. */
export function formatPower(nanowatts: number): string {
  const [unit, size] = ([["W", 1e9], ["mW", 1e6], ["µW", 1e3]] as const).find(([, size]) => nanowatts >= size) ?? (["nW", 1] as const);
  return `${formatNumber(Number((nanowatts / size).toPrecision(3)))} ${unit}`;
}

function formatShare(share: number): string {
  return `${Number((share * 100).toFixed(share < 0.1 ? 1 : 0))} %`;
}

function add(measure: Measure, before: number, value: number): number {
  if (Number.isNaN(before)) return value;
  return measure === "utilisation" ? Math.max(before, value) : before + value;
}

function most(values: Float32Array): number {
  return values.reduce((found, value) => Math.max(found, value), 0);
}

/** Colours along a ramp of a few, from its beginning to its end. */
export function rampOf(stops: readonly string[], steps: number): string[] {
  return Array.from({ length: steps }, (_, step) => {
    const at = (step / (steps - 1)) * (stops.length - 1);
    const below = Math.min(Math.floor(at), stops.length - 2);
    return mix(stops[below]!, stops[below + 1]!, at - below);
  });
}

function mix(one: string, other: string, share: number): string {
  const channel = (colour: string, at: number) => parseInt(colour.slice(1 + 2 * at, 3 + 2 * at), 16);
  const mixed = [0, 1, 2].map((at) => Math.round(channel(one, at) * (1 - share) + channel(other, at) * share));
  return `rgb(${mixed.join(",")})`;
}
