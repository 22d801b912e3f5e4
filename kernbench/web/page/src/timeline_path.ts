// The critical path as slices of one track: its rows that are of one step, each with what it spends time on, become one slice.
import type { Path } from "./run_data";
import { placeSlices, type Slices } from "./timeline_slices";

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

export function readPath(table: Path, run: Slices): CriticalPath | null {
  if (!table.count) return null;
  const firsts: number[] = []; // the first row of each step
  const steps: Step[] = [];
  const columns = [table.start, table.end, table.part, table.name, table.row];
  for (let at = 0; at < table.count; at++) {
    const before = firsts.at(-1);
    if (before === undefined || columns.some((column) => column[at] !== column[before])) {
      firsts.push(at);
      steps.push({ part: table.part[at]!, row: table.row[at]!, spent: [] });
    }
    if (table.spent[at]! > 0) steps.at(-1)!.spent.push([table.kind[at]!, table.spent[at]!]);
  }
  const texts = [...new Set(table.name)];
  const code = new Map(texts.map((text, index) => [text, index]));
  const known = ({ row }: Step) => row >= 0 && row < run.count;
  const slices = placeSlices(
    {
      track: new Uint8Array(firsts.length),
      start: Float64Array.from(firsts, (at) => table.start[at]!),
      end: Float64Array.from(firsts, (at) => table.end[at]!),
      name: { codes: firsts.map((at) => code.get(table.name[at]!)!), texts },
      kind: { codes: steps.map((step) => (known(step) ? run.kind[run.place[step.row]!]! : run.kinds.length)), texts: [...run.kinds, OTHER] },
    },
    1,
  );
  const places = Uint32Array.from(new Set(steps.filter(known).map(({ row }) => run.place[row]!))).sort();
  return { slices, steps, places };
}
