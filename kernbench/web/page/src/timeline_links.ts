// What belongs together: tracks and nodes of the machine, a slice and what it waited for, a transfer and its other ends.
import type { Machine } from "./machine_data";
import type { Told } from "./timeline_panel";
import { laneOf, type Slices } from "./timeline_slices";
import type { Hit, Link } from "./timeline_stage";

const MOST_LINKS = 60; // arrows of each kind

/** The node of a part: its own, or that of what it is a piece of, such as a DMA engine of its read channel. -1: none. */
export function nodeOf(nodes: ReadonlyMap<string, number>, part: string): number {
  for (let name = part; name; name = name.slice(0, Math.max(0, name.lastIndexOf(".")))) {
    const found = nodes.get(name);
    if (found !== undefined) return found;
  }
  return -1;
}

export function nodesByName(machine: Machine | null): Map<string, number> {
  return new Map(machine?.names.map((name, node) => [name, node]));
}

/** The track of a part, or the first of what is below it. */
export function trackAt(names: readonly string[], part: string | null): number | null {
  if (part === null) return null;
  const own = names.indexOf(part);
  const found = own >= 0 ? own : names.findIndex((name) => name.startsWith(`${part}.`));
  return found < 0 ? null : found;
}

/** Arrows of a slice: from what it waited for, to what waits for it, and to the other ends of its transfer. */
export function linksOf(slices: Slices, names: readonly string[], selected: number, told: Told): Link[] {
  const own = (time: number) => ({ track: slices.track[selected]!, lane: laneOf(slices, selected), time });
  const other = (row: number, times: Float64Array) => {
    const place = slices.place[row]!;
    return { track: slices.track[place]!, lane: laneOf(slices, place), time: times[place]! };
  };
  const before = told.dependencies.slice(0, MOST_LINKS).map((row) => ({ from: other(row, slices.end), to: own(slices.start[selected]!), row, dashed: false }));
  const after = told.dependents.slice(0, MOST_LINKS).map((row) => ({ from: own(slices.end[selected]!), to: other(row, slices.start), row, dashed: false }));
  const data = told.transfers.slice(0, MOST_LINKS).flatMap(({ far, leave_fs, arrive_fs, inward }) => {
    const track = trackAt(names, far);
    if (track === null) return [];
    const [left, arrived] = inward ? [{ track, lane: null, time: leave_fs }, own(arrive_fs)] : [own(leave_fs), { track, lane: null, time: arrive_fs }];
    return [{ from: left, to: arrived, row: slices.row[selected]!, dashed: true }];
  });
  return [...before, ...after, ...data];
}

/** The nodes of what is under the pointer: its part, and the other ends of its transfer. */
export function nearNodes(slices: Slices, nodeOfTrack: Int32Array, farOf: (row: number) => readonly number[], hit: Hit | null): number[] {
  if (hit?.what !== "slice" && hit?.what !== "arrow") return [];
  const place = hit.what === "slice" ? hit.place : slices.place[hit.row]!;
  const node = nodeOfTrack[slices.track[place]!]!;
  return node < 0 ? [] : [node, ...farOf(slices.row[place]!)];
}

/** Where a value is in a sorted array; -1: it is not there. */
export function indexIn(sorted: Uint32Array, value: number): number {
  const at = lowerBound(sorted, value);
  return sorted[at] === value ? at : -1;
}

/** The index of the first value that is no less than another. */
export function lowerBound(sorted: Uint32Array, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
