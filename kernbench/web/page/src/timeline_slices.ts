// The slices of a run in the order they are drawn in: by track, then by strip, then by time.
//
// Slices of one track that overlap go to lanes of it, each to the first that is free at its start. What lies in a lane is a
// *strip*: sorted and disjoint, so that what a pixel covers is found by two searches, however many slices there are. Slices
// without length take no room: those of a track are a strip of their own, at its first lane. A slice's *place* is its index in
// this order; its *row* is its index in the op log.

/** Texts that are the same in many rows. */
export interface Coded {
  codes: ArrayLike<number>;
  texts: readonly string[];
}

/** Slices in the order of their starts. Times are in fs. */
export interface SliceTable {
  track: ArrayLike<number>;
  start: Float64Array;
  end: Float64Array;
  name: Coded;
  kind: Coded;
}

export interface Slices {
  count: number;
  row: Uint32Array; // of each place
  place: Uint32Array; // of each row
  track: Uint32Array; // from here: of each place
  start: Float64Array;
  end: Float64Array;
  name: Uint32Array;
  kind: Uint8Array;
  busy: Float64Array; // fs that the slices before each place take, and all of them at its end
  names: readonly string[];
  kinds: readonly string[];
  strips: Strips;
}

export interface Strips {
  of: Uint32Array; // the first strip of each track, and their count at its end
  first: Uint32Array; // the first place of each strip, and the count of slices at its end
  lane: Uint16Array; // of each strip
  mixed: Uint8Array; // of each strip: 1 if its slices are of several kinds
  instant: Uint8Array; // 1 if its slices have no length
  lanes: Uint16Array; // of each track
}

/** Of slices by track, then by start. */
type Times = Pick<SliceTable, "start" | "end">;

const MOST_LANES = 65535;
const INSTANT = 0xffffffff;

/** The lanes of a track: the first that is free is found in a tree over the times when each is free again. */
class Lanes {
  private size = 1;
  private free = new Float64Array(2).fill(-Infinity); // of node n the least of 2n and 2n + 1; lanes are the leaves

  take(start: number, end: number): number {
    if (this.free[1]! > start) this.grow();
    let node = 1;
    while (node < this.size) {
      node *= 2;
      if (this.free[node]! > start) node++;
    }
    const lane = node - this.size;
    this.free[node] = end;
    for (node >>= 1; node; node >>= 1) this.free[node] = Math.min(this.free[2 * node]!, this.free[2 * node + 1]!);
    return Math.min(lane, MOST_LANES - 1);
  }

  private grow(): void {
    const before = this.free.subarray(this.size);
    this.size *= 2;
    this.free = new Float64Array(2 * this.size).fill(-Infinity);
    this.free.set(before, this.size);
    for (let node = this.size - 1; node; node--) this.free[node] = Math.min(this.free[2 * node]!, this.free[2 * node + 1]!);
  }
}

/** Put slices in their places. `tracks` is the count of tracks. */
export function placeSlices(table: SliceTable, tracks: number): Slices {
  const count = table.start.length;
  const [byTrack, firstOf] = groupBy(table.track, count, tracks);
  const times: Times = { start: gatherTimes(table.start, byTrack), end: gatherTimes(table.end, byTrack) };
  const strip = new Uint32Array(count); // by position in `byTrack`
  const strips = stack(times, firstOf, strip);
  const [byStrip, first] = groupBy(strip, count, strips.lane.length);
  const row = gatherCodes(new Uint32Array(count), byTrack, byStrip);
  const place = new Uint32Array(count);
  for (let at = 0; at < count; at++) place[row[at]!] = at;
  const start = gatherTimes(times.start, byStrip);
  const end = gatherTimes(times.end, byStrip);
  const busy = new Float64Array(count + 1);
  for (let at = 0; at < count; at++) busy[at + 1] = busy[at]! + (end[at]! - start[at]!);
  const kind = gatherCodes(new Uint8Array(count), table.kind.codes, row);
  const track = new Uint32Array(count);
  for (let of = 0; of < tracks; of++) track.fill(of, firstOf[of]!, firstOf[of + 1]!);
  return {
    count,
    row,
    place,
    track,
    start,
    end,
    name: gatherCodes(new Uint32Array(count), table.name.codes, row),
    kind,
    busy,
    names: table.name.texts,
    kinds: table.kind.texts,
    strips: { ...strips, first, mixed: findMixed(kind, first) },
  };
}

function gatherTimes(from: Float64Array, row: Uint32Array): Float64Array {
  const into = new Float64Array(row.length);
  for (let at = 0; at < row.length; at++) into[at] = from[row[at]!]!;
  return into;
}

function gatherCodes<T extends Uint32Array | Uint8Array>(into: T, from: ArrayLike<number>, row: Uint32Array): T {
  for (let at = 0; at < row.length; at++) into[at] = from[row[at]!]!;
  return into;
}

/** Positions sorted by their group, in order within each, and where each group begins. */
function groupBy(group: ArrayLike<number>, count: number, groups: number): [Uint32Array, Uint32Array] {
  const first = new Uint32Array(groups + 1);
  for (let at = 0; at < count; at++) first[group[at]! + 1]!++;
  for (let of = 0; of < groups; of++) first[of + 1]! += first[of]!;
  const next = first.slice();
  const sorted = new Uint32Array(count);
  for (let at = 0; at < count; at++) sorted[next[group[at]!]!++] = at;
  return [sorted, first];
}

function findMixed(kind: Uint8Array, first: Uint32Array): Uint8Array {
  const mixed = new Uint8Array(first.length - 1);
  for (let strip = 0; strip < mixed.length; strip++) {
    let at = first[strip]! + 1;
    while (at < first[strip + 1]! && kind[at] === kind[at - 1]) at++;
    mixed[strip] = at < first[strip + 1]! ? 1 : 0;
  }
  return mixed;
}

/** Number the strips of all tracks, and say in `strip` to which each slice goes. */
function stack(times: Times, firstOf: Uint32Array, strip: Uint32Array): Omit<Strips, "first" | "mixed"> {
  const tracks = firstOf.length - 1;
  const of = new Uint32Array(tracks + 1);
  const lanes = new Uint16Array(tracks);
  const lane: number[] = [];
  const instant: number[] = [];
  for (let track = 0; track < tracks; track++) {
    of[track] = lane.length;
    const [most, instants] = stackTrack(times, firstOf[track]!, firstOf[track + 1]!, lane.length, strip);
    for (let one = 0; one < most; one++) lane.push(one), instant.push(0);
    if (instants) {
      for (let at = firstOf[track]!; at < firstOf[track + 1]!; at++) if (strip[at] === INSTANT) strip[at] = lane.length;
      lane.push(0), instant.push(1);
    }
    lanes[track] = Math.max(1, most);
  }
  of[tracks] = lane.length;
  return { of, lane: Uint16Array.from(lane), instant: Uint8Array.from(instant), lanes };
}

/** Say in `strip` where the slices [begin, stop) of a track go, INSTANT for those without length. Returns lanes and instants. */
function stackTrack({ start, end }: Times, begin: number, stop: number, base: number, strip: Uint32Array): [number, number] {
  let lanes: Lanes | null = null; // until two overlap, all are in the first
  let last = -Infinity;
  let most = 0;
  let instants = 0;
  for (let at = begin; at < stop; at++) {
    const from = start[at]!;
    const to = end[at]!;
    if (to <= from) {
      strip[at] = INSTANT;
      instants++;
      continue;
    }
    if (!lanes && from < last) {
      lanes = new Lanes();
      lanes.take(-Infinity, last);
    }
    const lane = lanes ? lanes.take(from, to) : 0;
    strip[at] = base + lane;
    last = to;
    if (lane >= most) most = lane + 1;
  }
  return [most, instants];
}

/** The first place in [from, stop) that starts at a time or after it. Steps double, so what is near is found quickly. */
export function seek(start: Float64Array, from: number, stop: number, time: number): number {
  let [low, step] = [from, 1];
  while (low + step < stop && start[low + step - 1]! < time) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step, stop);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (start[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first place of a strip that ends after a time. */
export function firstAfter({ start, end }: Slices, from: number, stop: number, time: number): number {
  const at = seek(start, from, stop, time);
  return at > from && end[at - 1]! > time ? at - 1 : at;
}

/** The slice nearest to a time on one lane of a track, within `near` fs of it; of those that touch it the longest. */
export function sliceAt(slices: Slices, track: number, lane: number, time: number, near: number): number | null {
  const { strips, start, end } = slices;
  let found: number | null = null;
  for (let strip = strips.of[track]!; strip < strips.of[track + 1]!; strip++) {
    if (strips.lane[strip] !== lane) continue;
    const stop = strips.first[strip + 1]!;
    for (let at = firstAfter(slices, strips.first[strip]!, stop, time - near); at < stop && start[at]! <= time + near; at++) {
      const [length, longest] = [end[at]! - start[at]!, found === null ? -1 : end[found]! - start[found]!];
      const holds = start[at]! <= time && time < end[at]!;
      if (holds) return at;
      if (length > longest) found = at;
    }
  }
  return found;
}

/** The kind of a composite in flight: it is no work, its stages are, on other tracks. */
export const IN_FLIGHT = "composite";

/** Whether what a track shows is in flight, not work. It stands apart, and no sum counts it. */
export function isInFlight({ strips, kind, kinds }: Slices, track: number): boolean {
  const first = strips.first[strips.of[track]!]!;
  return first < strips.first[strips.of[track + 1]!]! && kinds[kind[first]!] === IN_FLIGHT;
}

/** The lane that a slice is in, of those of its track. */
export function laneOf({ strips, track }: Slices, place: number): number {
  const of = track[place]!;
  let strip = strips.of[of]!;
  while (strips.first[strip + 1]! <= place) strip++;
  return strips.lane[strip]!;
}
