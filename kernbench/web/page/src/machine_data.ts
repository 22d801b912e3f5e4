// A machine for the page: nodes at their places in mm, links between them, and the dies and PEs around them.
import { tableFromIPC } from "apache-arrow";
import type { MachineAbout } from "./api";

export interface Area {
  path: string;
  level: number; // how many areas are around it
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Machine {
  about: MachineAbout;
  names: string[];
  kinds: string[];
  parts: string[];
  x: Float64Array; // where it is drawn: parts that stand at one place are drawn beside each other
  y: Float64Array;
  place: [number, number][]; // where it is
  half: Float64Array; // of the side of each node's square, in mm
  areas: Area[]; // outer ones first
  source: Int32Array;
  target: Int32Array;
  linkKind: Int32Array;
  gbs: Float64Array;
  mm: Float64Array;
  ports: string[];
  linksOf: number[][]; // of each node
  extent: Area;
}

const HALF = 0.33; // of the distance to the nearest node

function texts(vector: Iterable<unknown> | null): string[] {
  return Array.from(vector ?? [], String);
}

export function readMachine(about: MachineAbout, nodes: Uint8Array, links: Uint8Array): Machine {
  const [n, l] = [tableFromIPC(nodes), tableFromIPC(links)];
  const names = texts(n.getChild("name"));
  const x = Float64Array.from(n.getChild("x")!.toArray() as Float64Array);
  const y = Float64Array.from(n.getChild("y")!.toArray() as Float64Array);
  const source = l.getChild("source")!.toArray() as Int32Array;
  const target = l.getChild("target")!.toArray() as Int32Array;
  const groups = groupNodes(names);
  const place = names.map((_, node): [number, number] => [x[node]!, y[node]!]);
  const half = sizes(names, x, y);
  spread(x, y, half);
  const linksOf: number[][] = names.map(() => []);
  source.forEach((from, link) => {
    linksOf[from]!.push(link);
    linksOf[target[link]!]!.push(link);
  });
  const all = names.map((_, node) => node);
  const areas = [...groups].map(([path, members]) => around(path, members, x, y, half)).sort((a, b) => a.level - b.level);
  keepOut(names, x, y, half, areas);
  return {
    about,
    names,
    kinds: texts(n.getChild("kind")),
    parts: texts(n.getChild("part")),
    x,
    y,
    half,
    place,
    areas,
    source,
    target,
    linkKind: l.getChild("kind")!.toArray() as Int32Array,
    gbs: l.getChild("gbs")!.toArray() as Float64Array,
    mm: l.getChild("mm")!.toArray() as Float64Array,
    ports: texts(l.getChild("port")),
    linksOf,
    extent: around("", all, x, y, half),
  };
}

/** The nodes inside each die, PE and cluster: those whose path begins with that of the area, such as sip0.cube3. */
function groupNodes(names: readonly string[]): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  names.forEach((name, node) => {
    const words = name.split(".");
    for (let count = 1; count < words.length; count++) {
      if (!/^[a-z]+\d+$/.test(words[count - 1]!)) break;
      const path = words.slice(0, count).join(".");
      const members = groups.get(path);
      if (members) members.push(node);
      else groups.set(path, [node]);
    }
  });
  for (const [path, members] of groups) if (members.length < 2) groups.delete(path);
  return groups;
}

function around(path: string, members: readonly number[], x: Float64Array, y: Float64Array, half: Float64Array): Area {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const node of members) {
    const room = half[node]! * 1.25;
    left = Math.min(left, x[node]! - room);
    right = Math.max(right, x[node]! + room);
    top = Math.min(top, y[node]! - room);
    bottom = Math.max(bottom, y[node]! + room);
  }
  return { path, level: path ? path.split(".").length : 0, left, top, right, bottom };
}

/** Half the side of each node: a third of the way to the nearest node that has the same path but for its last word. */
function sizes(names: readonly string[], x: Float64Array, y: Float64Array): Float64Array {
  const siblings = new Map<string, number[]>();
  names.forEach((name, node) => {
    const parent = name.slice(0, Math.max(0, name.lastIndexOf(".")));
    const found = siblings.get(parent);
    if (found) found.push(node);
    else siblings.set(parent, [node]);
  });
  const half = new Float64Array(names.length);
  for (const members of siblings.values()) {
    for (const one of members) half[one] = HALF * nearest(one, members, x, y);
  }
  const known = half.filter((size) => size > 0).sort();
  const usual = known[Math.floor(known.length / 2)] ?? 1;
  const all = names.map((_, node) => node);
  return half.map((size, node) => Math.min(size || HALF * nearest(node, all, x, y) || usual, usual * 4));
}

/** Draw parts that stand at one place beside each other, in the room of one. */
function spread(x: Float64Array, y: Float64Array, half: Float64Array): void {
  const at = new Map<string, number[]>();
  x.forEach((across, node) => {
    const key = `${across.toFixed(6)} ${y[node]!.toFixed(6)}`;
    const found = at.get(key);
    if (found) found.push(node);
    else at.set(key, [node]);
  });
  for (const members of at.values()) {
    const side = Math.ceil(Math.sqrt(members.length));
    if (side < 2) continue;
    const room = Math.min(...members.map((node) => half[node]!)) * 1.3;
    members.forEach((node, index) => {
      half[node] = (room / side) * 0.85;
      x[node] = x[node]! + ((index % side) - (side - 1) / 2) * ((2 * room) / side);
      y[node] = y[node]! + (Math.floor(index / side) - (side - 1) / 2) * ((2 * room) / side);
    });
  }
}

/** Make nodes small enough to stay out of areas that they are not in. */
function keepOut(names: readonly string[], x: Float64Array, y: Float64Array, half: Float64Array, areas: readonly Area[]): void {
  for (const area of areas) {
    const inside = `${area.path}.`;
    for (let node = 0; node < names.length; node++) {
      const across = Math.max(area.left - x[node]!, x[node]! - area.right);
      const far = Math.max(across, area.top - y[node]!, y[node]! - area.bottom);
      if (far > 0 && far < half[node]! && !names[node]!.startsWith(inside)) half[node] = far * 0.9;
    }
  }
}

function nearest(one: number, members: readonly number[], x: Float64Array, y: Float64Array): number {
  let least = Infinity;
  for (const other of members) {
    const far = Math.max(Math.abs(x[one]! - x[other]!), Math.abs(y[one]! - y[other]!));
    if (far > 1e-6 && far < least) least = far;
  }
  return Number.isFinite(least) ? least : 0;
}

/** The nodes whose names have all words of a search, shorter names first. */
export function search(machine: Machine, text: string, most: number): number[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const found: number[] = [];
  machine.names.forEach((name, node) => {
    const whole = `${name} ${machine.kinds[node]}`.toLowerCase();
    if (words.every((word) => whole.includes(word))) found.push(node);
  });
  return found.sort((a, b) => machine.names[a]!.length - machine.names[b]!.length || a - b).slice(0, most);
}
