// A run for the page: what is told of it, and its tables, each fetched once, when a view first asks for it.
import { DataType, tableFromIPC, type Table } from "apache-arrow";
import { runAbout, runArrow, runRow, type RunAbout, type RunRow } from "./api";
import { readMachine, type Machine } from "./machine_data";

/** A column of few distinct texts. */
export interface Texts {
  codes: ArrayLike<number>;
  texts: string[];
}

/** What is drawn of the rows of the op log, by start. Times are in fs. */
export interface Slices {
  track: ArrayLike<number>;
  start: Float64Array;
  end: Float64Array;
  name: Texts;
  kind: Texts;
}

/** What is told of the rows of the op log. */
export interface Details {
  issue: Float64Array; // in fs
  bytes: Float64Array;
}

/** The parts that have rows in the op log, in the order of the machine. */
export interface Tracks {
  name: string[]; // path of the part
  process: string[];
  part: string[]; // the path within the process
}

/** Transfers, one for each destination. Times are in fs, of data. */
export interface Transfers {
  count: number;
  row: Int32Array; // of the op log
  leave: Float64Array;
  arrive: Float64Array;
  far: Int32Array; // the node at the other end
  inward: Uint8Array; // 1: data come from there to the part of the row
}

/** The critical path in the order of time, a row for each class that a piece is spent on. Times are in fs. */
export interface Path {
  count: number;
  start: Float64Array;
  end: Float64Array;
  part: string[];
  name: string[];
  kind: string[];
  spent: Float64Array;
  row: Int32Array; // of the op log, -1 for none
}

/** The links and memory channels that transfers on the critical path passed. */
export interface PathParts {
  row: Int32Array; // of the op log
  part: Int32Array;
}

/** Parts that can be busy, and where each is drawn. */
export interface Parts {
  name: string[];
  kind: string[]; // the class of each; none in runs of earlier versions
  slots: Int32Array;
  node: Int32Array; // -1: not in a node
  link: Int32Array; // -1: not a link
}

/** How busy parts were in windows of time of one length; a part that was idle in a window has no row. */
export interface Busy {
  count: number;
  part: Int32Array;
  window: Int32Array;
  utilisation: Float32Array; // of all slots
  queued: Float32Array; // how many jobs and transfers waited, on average
  bytes: Float32Array;
  energy: Float32Array; // in aJ; 0 in runs of earlier versions
}

const make = {
  slices: (table: Table): Slices => ({
    track: numbers(table, "track"),
    start: floats(table, "start_fs"),
    end: floats(table, "end_fs"),
    name: texts(table, "name"),
    kind: texts(table, "kind"),
  }),
  details: (table: Table): Details => ({ issue: floats(table, "issue_fs"), bytes: floats(table, "bytes") }),
  tracks: (table: Table): Tracks => ({ name: strings(table, "name"), process: strings(table, "process"), part: strings(table, "part") }),
  transfers: (table: Table): Transfers => ({
    count: table.numRows,
    row: ints(table, "row"),
    leave: floats(table, "leave_fs"),
    arrive: floats(table, "arrive_fs"),
    far: ints(table, "far"),
    inward: Uint8Array.from(ints(table, "inward")),
  }),
  path: (table: Table): Path => ({
    count: table.numRows,
    start: floats(table, "start_fs"),
    end: floats(table, "end_fs"),
    part: strings(table, "part"),
    name: strings(table, "name"),
    kind: strings(table, "kind"),
    spent: floats(table, "spent_fs"),
    row: ints(table, "row"),
  }),
  path_parts: (table: Table): PathParts => ({ row: ints(table, "row"), part: ints(table, "part") }),
  parts: (table: Table): Parts => ({
    name: strings(table, "name"),
    kind: strings(table, "kind"),
    slots: ints(table, "slots"),
    node: ints(table, "node"),
    link: ints(table, "link"),
  }),
  busy: (table: Table): Busy => ({
    count: table.numRows,
    part: ints(table, "part"),
    window: ints(table, "window"),
    utilisation: singles(table, "utilisation"),
    queued: singles(table, "queued"),
    bytes: singles(table, "bytes"),
    energy: singles(table, "energy"),
  }),
};

type Made = { [Name in keyof typeof make]: ReturnType<(typeof make)[Name]> };

/** A run, as every view of it gets it. */
export class Run {
  machine: Machine | null = null; // null: the directory does not have it; `about.missing.nodes` says why
  private kept = new Map<string, Promise<unknown>>();

  constructor(
    readonly name: string,
    readonly about: RunAbout,
  ) {}

  /** A table, fetched once. The promise fails with a sentence for readers. */
  load<Name extends keyof Made>(what: Name): Promise<Made[Name]> {
    const kept = this.kept.get(what) as Promise<Made[Name]> | undefined;
    if (kept) return kept;
    const missing = this.about.missing[what];
    if (missing) return Promise.reject(new Error(missing));
    const made = runArrow(this.name, what).then((arrow) => make[what](tableFromIPC(arrow)) as Made[Name]);
    made.catch(() => this.kept.delete(what));
    this.kept.set(what, made);
    return made;
  }

  row(row: number): Promise<RunRow> {
    return runRow(this.name, row);
  }
}

/** A run with its machine. The tables that the open view needs are fetched meanwhile. */
export async function loadRun(name: string, wanted: readonly (keyof Made)[]): Promise<Run> {
  const run = new Run(name, await runAbout(name));
  for (const what of wanted) run.load(what).catch(() => undefined); // the view asks again, and says what is wrong
  if (run.about.machine) {
    const [nodes, links] = await Promise.all([runArrow(name, "nodes"), runArrow(name, "links")]);
    run.machine = readMachine(run.about.machine, nodes, links);
  }
  return run;
}

/** A column of numbers, as wide as they came. */
function numbers(table: Table, name: string): ArrayLike<number> {
  return (table.getChild(name)?.toArray() ?? []) as ArrayLike<number>;
}

function floats(table: Table, name: string): Float64Array {
  const found = numbers(table, name);
  return found instanceof Float64Array ? found : Float64Array.from(found);
}

function singles(table: Table, name: string): Float32Array {
  const found = numbers(table, name);
  return found instanceof Float32Array ? found : Float32Array.from(found);
}

function ints(table: Table, name: string): Int32Array {
  const found = numbers(table, name);
  return found instanceof Int32Array ? found : Int32Array.from(found);
}

function texts(table: Table, name: string): Texts {
  const found = table.getChild(name);
  if (!found || !DataType.isDictionary(found.type) || !found.data[0]) return { codes: new Int32Array(), texts: [] };
  const [data] = found.data;
  return { codes: data.values as ArrayLike<number>, texts: Array.from(data.dictionary ?? [], String) };
}

function strings(table: Table, name: string): string[] {
  const found = texts(table, name);
  if (found.codes.length) return Array.from(found.codes, (code) => found.texts[code]!);
  return Array.from((table.getChild(name) as Iterable<unknown> | null) ?? [], String);
}
