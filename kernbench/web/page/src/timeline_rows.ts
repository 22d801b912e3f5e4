// The rows of the timeline: processes and groups that fold, and the tracks in them, each with a lane for what overlaps.
import type { Counter } from "./timeline_counters";
import type { Slices } from "./timeline_slices";

export interface Track {
  name: string; // the path of the part
  process: string;
}

/** A process, a group in it such as a PE, or a track. */
export interface Branch {
  id: string; // a path: what the address says of a group, the part of a track
  label: string;
  depth: number;
  branches: Branch[]; // none in a track
  track: number | null;
  tracks: number[]; // it and all below it
  count: number; // of slices
  counter?: Counter | null; // of a row that shows no slices
}

export interface Row {
  branch: Branch;
  open: boolean;
  top: number; // px from the first row
  height: number;
  laneHeight: number; // 0 for a group, which shows how much of it is busy
}

/** Which groups are open: all or none, but for some. */
export interface Folds {
  all: boolean;
  but: ReadonlySet<string>;
}

export const GROUP_PX = 24;
const [PAD_PX, FEW_LANES, SOME_LANES] = [4, 2, 8];

/** Processes with their groups and tracks, in the order of the tracks. Only tracks that have slices are in it. */
export function growTree(tracks: readonly Track[], slices: Slices): Branch[] {
  const roots = new Map<string, Branch>();
  const groups = new Map<string, Branch>();
  tracks.forEach(({ name, process }, track) => {
    const { of, first } = slices.strips;
    const count = first[of[track + 1]!]! - first[of[track]!]!;
    if (!count) return;
    const found = roots.get(process) ?? { id: process, label: process, depth: 0, branches: [], track: null, tracks: [], count: 0 };
    roots.set(process, found);
    const rest = name.startsWith(`${process}.`) ? name.slice(process.length + 1) : name;
    const [piece = "", ...more] = rest.split(".");
    let parent = found;
    let label = rest;
    if (more.length && /^pe\d+$/.test(piece)) {
      const id = `${process}.${piece}`;
      parent = groups.get(id) ?? { id, label: piece, depth: 1, branches: [], track: null, tracks: [], count: 0 };
      if (!groups.has(id)) found.branches.push(parent);
      groups.set(id, parent);
      label = more.join(".");
    }
    parent.branches.push({ id: name, label, depth: parent.depth + 1, branches: [], track, tracks: [track], count });
    for (const above of new Set([found, parent])) {
      above.tracks.push(track);
      above.count += count;
    }
  });
  return [...roots.values()];
}

const kindsOf = new WeakMap<Slices, Uint32Array>(); // of each track, a bit for each kind of its slices

function kindsOfTracks(slices: Slices): Uint32Array {
  const known = kindsOf.get(slices);
  if (known) return known;
  const { of, first } = slices.strips;
  const found = new Uint32Array(of.length - 1);
  for (let track = 0; track < found.length; track++) {
    for (let place = first[of[track]!]!; place < first[of[track + 1]!]!; place++) found[track]! |= 1 << (slices.kind[place]! & 31);
  }
  kindsOf.set(slices, found);
  return found;
}

/** The rows that folds leave, from the top down. What has nothing of the kinds that are kept has none. */
export function layOut(tree: readonly Branch[], folds: Folds, slices: Slices, kept: (kind: number) => boolean): Row[] {
  const rows: Row[] = [];
  const kinds = kindsOfTracks(slices);
  const wanted = slices.kinds.reduce((bits, _, kind) => (kept(kind) ? bits | (1 << (kind & 31)) : bits), 0);
  let top = 0;
  const visit = (branch: Branch): void => {
    if (branch.tracks.length && !branch.tracks.some((track) => kinds[track]! & wanted)) return;
    const lanes = branch.track === null ? 0 : slices.strips.lanes[branch.track]!;
    const laneHeight = lanes === 0 ? 0 : lanes <= FEW_LANES ? 17 : lanes <= SOME_LANES ? 11 : 5;
    const height = lanes ? lanes * laneHeight + PAD_PX : GROUP_PX;
    const open = lanes === 0 && branch.branches.length > 0 && isOpen(folds, branch.id);
    rows.push({ branch, open, top, height, laneHeight });
    top += height;
    if (open) branch.branches.forEach(visit);
  };
  tree.forEach(visit);
  return rows;
}

export function isOpen({ all, but }: Folds, id: string): boolean {
  return all !== but.has(id);
}

/** Folds with some groups opened or closed. */
export function withOpen(folds: Folds, ids: Iterable<string>, open: boolean): Folds {
  const but = new Set(folds.but);
  for (const id of ids) {
    if (open === folds.all) but.delete(id);
    else but.add(id);
  }
  return { all: folds.all, but };
}

/** The groups around a part, outer ones first. */
export function groupsAround(tree: readonly Branch[], track: number): string[] {
  for (const branch of tree) {
    if (branch.track !== null || !branch.tracks.includes(track)) continue;
    return [branch.id, ...groupsAround(branch.branches, track)];
  }
  return [];
}

/** A group and all groups in it. */
export function groupsIn(branch: Branch): string[] {
  return branch.track === null ? [branch.id, ...branch.branches.flatMap(groupsIn)] : [];
}

/** The row at a height, and where none is the nearest. */
export function rowAt(rows: readonly Row[], y: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rows[middle]!.top <= y) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** The row that shows each track: its own, or that of the outermost group around it that is not open. -1: none. */
export function rowsOf(rows: readonly Row[], tracks: number): Int32Array {
  const found = new Int32Array(tracks).fill(-1);
  rows.forEach(({ branch }, index) => {
    for (const track of branch.tracks) found[track] = index;
  });
  return found;
}

export function heightOf(rows: readonly Row[]): number {
  const last = rows.at(-1);
  return last ? last.top + last.height : 0;
}

const NONE = "none";

/** Folds as the address says them: "*" is all open, then groups with a minus are closed; else the open ones, or "none". */
export function writeFolds({ all, but }: Folds): string {
  return all ? ["*", ...[...but].map((id) => `-${id}`)].join(",") : [...but].join(",") || NONE;
}

export function readFolds(text: string | null): Folds | null {
  if (text === null) return null;
  const said = text.split(",").filter(Boolean);
  const all = said[0] === "*";
  return { all, but: new Set(all ? said.slice(1).map((id) => id.replace(/^-/, "")) : said.filter((id) => id !== NONE)) };
}
