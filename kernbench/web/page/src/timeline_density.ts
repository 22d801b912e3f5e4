// What a pixel of the timeline shows of the slices under it: of a strip how much of the pixel they cover, in the tone of most
// of them; of a group how many of its operations are in progress, by kind.
//
// A strip is sorted and disjoint, so a pixel costs two searches and never a walk over what it covers. A group that has many
// slices keeps sums over BINS windows of the run; where a pixel is shorter than those, few slices are seen, and they are added up.
import { firstAfter, isInFlight, seek, type Slices } from "./timeline_slices";
import type { Window } from "./timeline_time";

const WIDE_PX = 2; // a slice of this width is drawn by itself
const GAP_PX = 4; // and one of this width has a gap behind it
const SAMPLES = 16; // slices of a pixel that are asked for their shade
const [LEAST_SHARE, GAP_SHARE, FULL_SHARE] = [70, 110, 255];
const BINS = 8192;
const FEW = 4096; // slices of a group that need no sums

/** The shade of each slice: that of its kind, or the last one if it is not looked for. */
export interface Shades {
  count: number;
  of: (place: number) => number;
  byKind: boolean; // slices of one kind have one shade
  tints: Uint32Array; // 0xAABBGGRR of each shade at each share of 255, on the ground
}

/** One line of pixels: the share of each that is covered, of 255, and the shade. */
export class Line {
  shares = new Uint8Array(0);
  shades = new Uint8Array(0);

  begin(width: number): void {
    if (this.shares.length !== width) [this.shares, this.shades] = [new Uint8Array(width), new Uint8Array(width)];
    else this.shares.fill(0);
  }

  /** A slice by itself: whole pixels, and a gap before the next. */
  fill(left: number, right: number, shade: number): void {
    const first = Math.max(0, Math.round(left));
    const end = Math.round(right);
    const last = Math.min(this.shares.length, Math.max(first + 1, end));
    this.shares.fill(FULL_SHARE, first, last);
    this.shades.fill(shade, first, last);
    if (right - left >= GAP_PX && last === end) this.shares[last - 1] = GAP_SHARE;
  }

  /** Some of a pixel. */
  cover(column: number, share: number, shade: number): void {
    if (column >= this.shares.length) return;
    this.shares[column] = Math.min(FULL_SHARE, Math.max(LEAST_SHARE, this.shares[column]! + share * FULL_SHARE));
    this.shades[column] = shade;
  }
}

/** Fill a line with the slices of a strip. Slices of `least` pixels and more are told to `wide`. */
export function drawStrip(
  line: Line,
  slices: Slices,
  strip: number,
  { from, to }: Window,
  shades: Shades,
  least: number,
  wide: (place: number, left: number, right: number) => void,
): void {
  const { start, end, busy, strips } = slices;
  const k = line.shares.length / (to - from); // px in a fs
  const stop = strips.first[strip + 1]!;
  const even = shades.byKind && !strips.mixed[strip];
  let at = firstAfter(slices, strips.first[strip]!, stop, from);
  while (at < stop && start[at]! < to) {
    const left = (start[at]! - from) * k;
    const right = (end[at]! - from) * k;
    if (right - left >= WIDE_PX) {
      line.fill(left, right, shades.of(at));
      if (right - left >= least) wide(at, left, right);
      at++;
      continue;
    }
    const column = Math.max(0, Math.floor(left));
    const edge = from + (column + 1) / k;
    let next = seek(start, at + 1, stop, edge);
    if (next > at + 1 && (end[next - 1]! - start[next - 1]!) * k >= WIDE_PX) next--;
    const over = Math.max(0, end[next - 1]! - edge);
    const shade = even ? shades.of(at) : commonShade(shades, at, next);
    line.cover(column, (busy[next]! - busy[at]! - over) * k, shade);
    if (over * k > 0.1) line.cover(column + 1, over * k, shade);
    at = next;
  }
}

const weights = new Uint16Array(257);

/** The shade that most of [from, to) have, or of evenly chosen ones of many. */
function commonShade(shades: Shades, from: number, to: number): number {
  let found = shades.of(from);
  if (to - from === 1) return found;
  const step = Math.max(1, Math.floor((to - from) / SAMPLES));
  const pale = shades.count - 1;
  weights.fill(0, 0, shades.count);
  for (let at = from; at < to; at += step) {
    const shade = shades.of(at);
    weights[shade]!++;
    if (shade !== pale && (found === pale || weights[shade]! > weights[found]!)) found = shade;
  }
  return found;
}

/** How many operations of some tracks are in progress, by shade and pixel; composites in flight are none. */
export class Density {
  readonly most: number; // at once in any bin
  private readonly sums: Float64Array[] | null; // by shade: bins that operations fill before each bin
  private readonly tracks: readonly number[];

  constructor(
    private readonly slices: Slices,
    tracks: readonly number[],
    private readonly shades: Shades,
    private readonly whole: Window,
  ) {
    this.tracks = tracks.filter((track) => !isInFlight(slices, track));
    const bins = this.addUp(whole, BINS);
    this.most = Math.max(1e-9, mostAtOnce(bins));
    this.sums = this.count() > FEW ? bins.map(runningSum) : null;
  }

  private count(): number {
    const { of, first } = this.slices.strips;
    return this.tracks.reduce((sum, track) => sum + first[of[track + 1]!]! - first[of[track]!]!, 0);
  }

  /** Operations in progress in each pixel of a window: float[shade][pixel], until the next call of this or another one. */
  over(window: Window, columns: number): Float32Array[] {
    const binLength = (this.whole.to - this.whole.from) / BINS;
    const pixel = (window.to - window.from) / columns;
    if (!this.sums || pixel < binLength) return this.addUp(window, columns);
    const found = scratch(spare.found, this.shades.count, columns);
    const step = pixel / binLength;
    this.sums.forEach((sums, shade) => {
      const one = found[shade]!;
      let bin = (window.from - this.whole.from) / binLength;
      let before = valueAt(sums, bin);
      for (let column = 0; column < columns; column++) {
        bin += step;
        const after = valueAt(sums, bin);
        one[column] = (after - before) / step;
        before = after;
      }
    });
    return found;
  }

  /** The same from the slices themselves. */
  private addUp({ from, to }: Window, columns: number): Float32Array[] {
    const { slices, shades } = this;
    const { start, end, strips } = slices;
    const found = scratch(spare.found, shades.count, columns + 2);
    const steps = scratch(spare.steps, shades.count, columns + 2);
    const k = columns / (to - from);
    for (const track of this.tracks) {
      for (let strip = strips.of[track]!; strip < strips.of[track + 1]!; strip++) {
        if (strips.instant[strip]) continue;
        const stop = strips.first[strip + 1]!;
        for (let at = firstAfter(slices, strips.first[strip]!, stop, from); at < stop && start[at]! < to; at++) {
          const left = Math.max(0, (start[at]! - from) * k);
          const right = Math.min(columns, (end[at]! - from) * k);
          const first = Math.floor(left);
          const last = Math.floor(right);
          const shade = shades.of(at);
          const one = found[shade]!;
          if (first === last) one[first]! += right - left;
          else {
            const step = steps[shade]!;
            one[first]! += first + 1 - left;
            one[last]! += right - last;
            step[first + 1]!++;
            step[last]!--;
          }
        }
      }
    }
    found.forEach((one, shade) => addSteps(one, steps[shade]!, columns));
    return found;
  }
}

const spare: Record<"found" | "steps", Float32Array[]> = { found: [], steps: [] };

/** Arrays of zeros, the same ones at each call. */
function scratch(kept: Float32Array[], count: number, length: number): Float32Array[] {
  for (let at = 0; at < count; at++) {
    if ((kept[at]?.length ?? 0) < length) kept[at] = new Float32Array(length);
    else kept[at]!.fill(0, 0, length);
  }
  return kept.slice(0, count);
}

/** Add to each pixel what is in progress through all of it. */
function addSteps(found: Float32Array, steps: Float32Array, columns: number): void {
  let through = 0;
  for (let column = 0; column < columns; column++) {
    through += steps[column]!;
    found[column]! += through;
  }
}

function runningSum(values: Float32Array): Float64Array {
  const sums = new Float64Array(BINS + 1);
  for (let bin = 0; bin < BINS; bin++) sums[bin + 1] = sums[bin]! + values[bin]!;
  return sums;
}

function mostAtOnce(bins: readonly Float32Array[]): number {
  let most = 0;
  for (let bin = 0; bin < BINS; bin++) {
    let sum = 0;
    for (const one of bins) sum += one[bin]!;
    most = Math.max(most, sum);
  }
  return most;
}

function valueAt(sums: Float64Array, bin: number): number {
  if (bin <= 0) return 0;
  const low = Math.floor(bin);
  if (low >= BINS) return sums[BINS]!;
  return sums[low]! + (sums[low + 1]! - sums[low]!) * (bin - low);
}
