// The critical path as slices of one track: its rows that are of one step, each with what it spends time on, become one slice.
import { placeSlices, type Coded, type Slices } from "./timeline_slices";

/** The critical path as the server sends it. Times are in fs; a row is -1 where it is not known. */
export interface PathTable {
  start: Float64Array;
  end: Float64Array;
  spent: Float64Array;
  part: Coded;
  name: Coded;
  kind: Coded; // what the time is spent on
  row: ArrayLike<number>;
}

export interface Step {
  part: string;
  row: number; // of the op log; -1: not known
  spent: [on: string, fs: number][];
}

export interface CriticalPath {
  slices: Slices;
  steps: Step[]; // by row of these slices
  places: Uint32Array; // of the slices of the run that are on it, in order
}

const OTHER = "other";

export function readPath(table: PathTable, run: Slices): CriticalPath | null {
  const count = table.start.length;
  if (!count) return null;
  const firsts: number[] = [];
  const steps: Step[] = [];
  for (let at = 0; at < count; at++) {
    const before = firsts.at(-1);
    const same =
      before !== undefined &&
      [table.start, table.end, table.part.codes, table.name.codes, table.row].every((column) => column[at] === column[before]);
    if (!same) {
      firsts.push(at);
      steps.push({ part: table.part.texts[table.part.codes[at]!]!, row: table.row[at]!, spent: [] });
    }
    if (table.spent[at]! > 0) steps.at(-1)!.spent.push([table.kind.texts[table.kind.codes[at]!]!, table.spent[at]!]);
  }
  const order = firsts.map((_, index) => index).sort((a, b) => table.start[firsts[a]!]! - table.start[firsts[b]!]! || a - b);
  const pick = (from: ArrayLike<number>) => Float64Array.from(order, (index) => from[firsts[index]!]!);
  const kindOf = (row: number) => (row >= 0 && row < run.count ? run.kind[run.place[row]!]! : run.kinds.length);
  const sorted = order.map((index) => steps[index]!);
  const slices = placeSlices(
    {
      track: new Uint8Array(order.length),
      start: pick(table.start),
      end: pick(table.end),
      issue: pick(table.start),
      name: { codes: pick(table.name.codes), texts: table.name.texts },
      kind: { codes: sorted.map(({ row }) => kindOf(row)), texts: [...run.kinds, OTHER] },
    },
    1,
  );
  const known = sorted.filter(({ row }) => row >= 0 && row < run.count);
  const places = Uint32Array.from(new Set(known.map(({ row }) => run.place[row]!))).sort();
  return { slices, steps: sorted, places };
}
