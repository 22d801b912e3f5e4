// The critical path on the drawing of a machine: the nodes that did its work, and the links that its transfers passed.
import type { Machine } from "./machine_data";
import type { Path, PathParts, Parts } from "./run_data";

/** A piece of the path. Times are in ns. */
export interface PathPiece {
  start: number;
  end: number;
  part: string;
  name: string;
  node: number; // -1: nowhere on the drawing
  links: number[];
}

export interface PathMarks {
  nodes: Map<number, number>; // of each node on the path, its number in the order of first visits
  links: Set<number>;
  now: PathPiece | null;
}

const FS_IN_NS = 1e6;

export function readPieces(machine: Machine, path: Path, parts: Parts, passed: PathParts): PathPiece[] {
  const nodes = new Map(machine.names.map((name, node) => [name, node]));
  const links = new Map<number, number[]>();
  passed.row.forEach((row, at) => {
    const link = parts.link[passed.part[at]!] ?? -1;
    if (link < 0) return;
    const known = links.get(row);
    if (known) known.push(link);
    else links.set(row, [link]);
  });
  const found: PathPiece[] = [];
  for (let at = 0; at < path.count; at++) {
    const [start, end] = [path.start[at]! / FS_IN_NS, path.end[at]! / FS_IN_NS];
    const before = found.at(-1);
    if (before && before.start === start && before.end === end) continue; // another class of the same piece
    const part = path.part[at]!;
    found.push({ start, end, part, name: path.name[at]!, node: nodeOf(nodes, part), links: links.get(path.row[at]!) ?? [] });
  }
  return found;
}

function nodeOf(nodes: Map<string, number>, part: string): number {
  for (let path = part; path; path = path.slice(0, Math.max(0, path.lastIndexOf(".")))) {
    const node = nodes.get(path);
    if (node !== undefined) return node;
  }
  return -1;
}

/** What is marked: all of the path, and the piece at a time, if it is one of the path. */
export function markPath(pieces: readonly PathPiece[], now: number | null): PathMarks {
  const nodes = new Map<number, number>();
  const links = new Set<number>();
  for (const piece of pieces) {
    if (piece.node >= 0 && !nodes.has(piece.node)) nodes.set(piece.node, nodes.size + 1);
    for (const link of piece.links) links.add(link);
  }
  const at = now === null ? undefined : pieces.find((piece) => piece.start <= now && now < piece.end);
  return { nodes, links, now: at ?? null };
}
