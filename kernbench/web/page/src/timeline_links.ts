// What belongs together: tracks and nodes of the machine, a slice and what it waited for, a transfer and its other ends.
import type { RunRow } from "./api";
import type { Machine } from "./machine_data";
import type { Transfers } from "./run_data";
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

/** The nodes at the other ends of transfers: those of a row are at [first, first of the next) of `node`. */
export interface FarEnds {
  row: Int32Array; // sorted
  node: Int32Array;
}

export function readTransfers({ row, far }: Transfers): FarEnds {
  if (row.every((one, at) => at === 0 || row[at - 1]! <= one)) return { row, node: far };
  const order = row.map((_, at) => at).sort((a, b) => row[a]! - row[b]!);
  return { row: order.map((at) => row[at]!), node: order.map((at) => far[at]!) };
}

function farOf({ row, node }: FarEnds, of: number): number[] {
  const found: number[] = [];
  for (let at = lowerBound(row, of); row[at] === of; at++) found.push(node[at]!);
  return found;
}

/** Arrows of a slice: from what it waited for, to what waits for it, and to the other ends of its transfer. */
export function linksOf(slices: Slices, names: readonly string[], nodes: readonly string[], selected: number, told: RunRow): Link[] {
  const own = (time: number) => ({ track: slices.track[selected]!, lane: laneOf(slices, selected), time });
  const other = (row: number, times: Float64Array) => {
    const place = slices.place[row]!;
    return { track: slices.track[place]!, lane: laneOf(slices, place), time: times[place]! };
  };
  const before = told.dependencies.slice(0, MOST_LINKS).map((row) => ({ from: other(row, slices.end), to: own(slices.start[selected]!), row, dashed: false }));
  const after = told.dependents.slice(0, MOST_LINKS).map((row) => ({ from: own(slices.end[selected]!), to: other(row, slices.start), row, dashed: false }));
  const data = told.transfers.slice(0, MOST_LINKS).flatMap(({ far, leave_fs, arrive_fs, inward }) => {
    const track = trackAt(names, nodes[far] ?? null);
    if (track === null) return [];
    const [left, arrived] = inward ? [{ track, lane: null, time: leave_fs }, own(arrive_fs)] : [own(leave_fs), { track, lane: null, time: arrive_fs }];
    return [{ from: left, to: arrived, row: slices.row[selected]!, dashed: true }];
  });
  return [...before, ...after, ...data];
}

/** The nodes of what is under the pointer: its part, and the other ends of its transfer. */
export function nearNodes(slices: Slices, nodeOfTrack: Int32Array, far: FarEnds | null, hit: Hit | null): number[] {
  if (hit?.what !== "slice" && hit?.what !== "arrow") return [];
  const place = hit.what === "slice" ? hit.place : slices.place[hit.row]!;
  const node = nodeOfTrack[slices.track[place]!]!;
  return node < 0 ? [] : [node, ...(far ? farOf(far, slices.row[place]!) : [])];
}

/** Where a value is in a sorted array; -1: it is not there. */
export function indexIn(sorted: Uint32Array, value: number): number {
  const at = lowerBound(sorted, value);
  return sorted[at] === value ? at : -1;
}

/** The index of the first value that is no less than another. */
export function lowerBound(sorted: Uint32Array | Int32Array, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
