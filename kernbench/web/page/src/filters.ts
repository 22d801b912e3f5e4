// Filters: one text for each filtered column, the same in brushes, in the table's fields and in the URL.
//   numbers   64   >100   <=5   1..5   1MiB   and several of these with commas between them: any may hold
//   texts     part of the text; =whole text; several with commas; a comma in a text is \,
import type { Column, NumberColumn, Points, TextColumn } from "./points";
import { readNumber, unitOf } from "./units";

export type Filters = Readonly<Record<string, string>>;
export type Interval = readonly [number, number];

/** The closed intervals that a filter of a column of numbers allows; null if it is no such filter. */
export function readIntervals(text: string, name: string): Interval[] | null {
  const found: Interval[] = [];
  const unit = unitOf(name);
  for (const part of text.split(",")) {
    const one = readInterval(part.replace(/\s/g, ""), unit);
    if (!one) return null;
    found.push(one);
  }
  return found;
}

function readInterval(text: string, unit: string | null): Interval | null {
  const range = /^(.+?)\.\.(.+)$/.exec(text);
  if (range) return interval(readNumber(range[1] ?? "", unit), readNumber(range[2] ?? "", unit));
  const bound = /^(<=|>=|<|>|=)?(.+)$/.exec(text);
  const value = readNumber(bound?.[2] ?? "", unit);
  switch (bound?.[1]) {
    case "<":
      return interval(-Infinity, before(value));
    case "<=":
      return interval(-Infinity, value);
    case ">":
      return interval(-before(-value), Infinity);
    case ">=":
      return interval(value, Infinity);
    default:
      return interval(value, value);
  }
}

function interval(low: number, high: number): Interval | null {
  return Number.isNaN(low) || Number.isNaN(high) ? null : [low, high];
}

/** A number just below another. */
function before(value: number): number {
  return value - Math.max(Math.abs(value) * 2 ** -52, Number.MIN_VALUE);
}

/** The filter of a brush over an axis of numbers: a little wider than drawn, in few digits. */
export function rangeFilter(low: number, high: number): string {
  const step = 10 ** (Math.floor(Math.log10(Math.max(high - low, 1e-300))) - 2);
  const [from, to] = [Math.floor(low / step) * step, Math.ceil(high / step) * step];
  return `${Number(from.toPrecision(12))}..${Number(to.toPrecision(12))}`;
}

/** The filter that allows some of the values of a column, as a brush over its steps chooses them; null: none of them. */
export function stepsFilter(column: Column, low: number, high: number): string | null {
  const chosen = (column.distinct ?? []).filter((_, place) => place >= low && place <= high);
  if (!chosen.length) return null;
  const exactly = (value: number | string) => (typeof value === "number" ? `${value}` : `=${value.replaceAll(",", "\\,")}`);
  return chosen.map(exactly).join(",");
}

export function isReadable(column: Column, text: string): boolean {
  return column.kind === "text" || readIntervals(text, column.name) !== null;
}

function keepNumbers(column: NumberColumn, text: string, mask: Uint8Array): void {
  const intervals = readIntervals(text, column.name);
  if (!intervals) return;
  column.values.forEach((value, row) => {
    if (!intervals.some(([low, high]) => low <= value && value <= high)) mask[row] = 0;
  });
}

/** Whether a text passes a filter of texts. */
export function passes(value: string | null, text: string): boolean {
  const shown = value ?? "";
  return text.split(/(?<!\\),/).some((part) => {
    const wanted = part.trim().replaceAll("\\,", ",");
    return wanted.startsWith("=") ? shown === wanted.slice(1) : shown.toLowerCase().includes(wanted.toLowerCase());
  });
}

function keepTexts(column: TextColumn, text: string, mask: Uint8Array): void {
  const passing = new Set<string | null>([null, ...column.distinct].filter((value) => passes(value, text)));
  column.values.forEach((value, row) => {
    if (!passing.has(value)) mask[row] = 0;
  });
}

/** Takes from a mask the rows that do not pass the filter of a column. */
export function keepPassing(column: Column, text: string, mask: Uint8Array): void {
  if (column.kind === "number") keepNumbers(column, text, mask);
  else keepTexts(column, text, mask);
}

/** 1 for each point that passes all filters. */
export function applyFilters(points: Points, filters: Filters): Uint8Array {
  const mask = new Uint8Array(points.count).fill(1);
  for (const [name, text] of Object.entries(filters)) {
    const column = points.columns.get(name);
    if (column) keepPassing(column, text, mask);
  }
  return mask;
}

export function withFilter(filters: Filters, name: string, text: string | null): Filters {
  const { [name]: _, ...rest } = filters;
  return text ? { ...rest, [name]: text } : rest;
}
