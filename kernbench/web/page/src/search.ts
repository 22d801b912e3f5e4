// The search over all columns: words with blanks between them, all of which must hold.
//   name=value  name=1..5  name>100  name<=5    the filter of a column, by its name or the last part of it; numbers may
//                                              have the units of --set: bytes_per_pe=1MiB
//   word                                       part of a text, or a number as it is shown
// A word with blanks in it stands in quotes: variant="two words".
import { isReadable, keepPassing } from "./filters";
import { formatNumber, shortName, type Column, type Points } from "./points";
import { tellUnits } from "./units";

interface Word {
  column: Column | null; // null: any
  text: string; // a filter of the column, or what is looked for
}

export interface Search {
  words: readonly Word[];
  problem: string | null; // why it cannot be read
}

const WORDS = /(?:[^\s"]|"[^"]*"?)+/g;
const FILTER = /^([\w.]+)(<=|>=|=|<|>)(.+)$/s;

export function readSearch(points: Points, text: string): Search {
  const words: Word[] = [];
  for (const found of text.match(WORDS) ?? []) {
    const [, name, sign, value] = FILTER.exec(found.replaceAll('"', "")) ?? [];
    if (!name || !sign || !value) {
      words.push({ column: null, text: found.replaceAll('"', "") });
      continue;
    }
    const column = findColumn(points, name);
    if (typeof column === "string") return { words, problem: column };
    const filter = column.kind === "text" ? textFilter(sign, value) : sign === "=" ? value : sign + value;
    if (filter === null || !isReadable(column, filter)) {
      return { words, problem: `${found}: ${column.name} has ${column.kind === "text" ? "texts; give name=value" : `numbers; give 64, >100, <=5 or 1..5${tellUnits(column.name)}`}` };
    }
    words.push({ column, text: filter });
  }
  return { words, problem: null };
}

/** The filter of texts that are one of several with commas between them. */
function textFilter(sign: string, value: string): string | null {
  return sign === "=" ? value.split(/(?<!\\),/).map((part) => `=${part}`).join(",") : null;
}

/** The column with a name, or without what stands before its last dot; else a sentence. */
function findColumn(points: Points, name: string): Column | string {
  const all = [...points.columns.values()];
  const wanted = name.toLowerCase();
  const exact = all.find((column) => column.name === name) ?? all.find((column) => shortName(column.name).toLowerCase() === wanted);
  if (exact) return exact;
  const ending = all.filter((column) => column.name.toLowerCase().endsWith(`.${wanted}`));
  if (ending.length === 1) return ending[0]!;
  const named = (columns: readonly Column[]) => columns.map((column) => shortName(column.name)).join(", ");
  return ending.length ? `${name} may be ${named(ending)}; give one of them` : `no column is called ${name}; there are ${named(all)}`;
}

/** Takes from a mask what does not pass a search; all of it if the search cannot be read. */
export function applySearch(points: Points, search: Search, mask: Uint8Array): void {
  if (search.problem) mask.fill(0);
  for (const { column, text } of search.words) {
    if (column) keepPassing(column, text, mask);
    else keepWord(points, text, mask);
  }
}

function keepWord(points: Points, word: string, mask: Uint8Array): void {
  const holds = new Uint8Array(points.count);
  const part = word.toLowerCase();
  const digits = word.replaceAll(",", "");
  const number = Number(digits || NaN);
  for (const column of points.columns.values()) {
    if (column.kind === "text") {
      const values = new Set(column.distinct.filter((value) => value.toLowerCase().includes(part)));
      if (values.size) column.values.forEach((value, row) => value !== null && values.has(value) && (holds[row] = 1));
    } else if (!Number.isNaN(number)) {
      const near = Math.abs(number) * 0.01;
      column.values.forEach((value, row) => {
        if (value === number || (Math.abs(value - number) <= near && formatNumber(value).replaceAll(",", "") === digits)) holds[row] = 1;
      });
    }
  }
  mask.forEach((_, row) => holds[row] || (mask[row] = 0));
}
