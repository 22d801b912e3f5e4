// The points of a sweep, column by column, from Arrow.
import { DataType, tableFromIPC, type Data } from "apache-arrow";

export interface NumberColumn {
  kind: "number";
  name: string;
  values: Float64Array; // NaN: no figure
  least: number;
  most: number;
  distinct: number[] | null; // ascending, if they are few
  marks: (string | null)[] | null; // before figures that are bounds: "≥ " at least, "≤ " at most
}

export interface TextColumn {
  kind: "text";
  name: string;
  values: (string | null)[];
  distinct: string[];
}

export type Column = NumberColumn | TextColumn;

export interface Points {
  count: number;
  columns: Map<string, Column>;
  keys: string[];
  front: Uint8Array; // 1: on the Pareto front
  bounded: Uint8Array; // 1: bounds in place of results
}

const MARK = "_mark."; // before a column's name in the table: its marks
const FEW = 24; // distinct numbers that are shown as steps of their own

export function readPoints(arrow: Uint8Array): Points {
  const columns = new Map<string, Column>();
  const points: Points = { count: 0, columns, keys: [], front: new Uint8Array(), bounded: new Uint8Array() };
  if (!arrow.length) return points;
  const table = tableFromIPC(arrow);
  points.count = table.numRows;
  for (const field of table.schema.fields) {
    const vector = table.getChild(field.name);
    if (!vector) continue;
    if (field.name === "_key") points.keys = Array.from(vector as Iterable<unknown>, String);
    else if (field.name === "_front") points.front = flags(vector as Iterable<unknown>);
    else if (field.name === "_bounded") points.bounded = flags(vector as Iterable<unknown>);
    else if (field.name.startsWith(MARK)) setMarks(columns.get(field.name.slice(MARK.length)), vector.data);
    else if (DataType.isDictionary(vector.type)) columns.set(field.name, texts(field.name, vector.data));
    else columns.set(field.name, numbers(field.name, vector.toArray() as Float64Array));
  }
  return points;
}

function flags(values: Iterable<unknown>): Uint8Array {
  return Uint8Array.from(values, (value) => (value ? 1 : 0));
}

function numbers(name: string, values: Float64Array): NumberColumn {
  let least = Infinity;
  let most = -Infinity;
  const seen = new Set<number>();
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    if (value < least) least = value;
    if (value > most) most = value;
    if (seen.size <= FEW) seen.add(value);
  }
  const distinct = seen.size <= FEW ? [...seen].sort((a, b) => a - b) : null;
  return { kind: "number", name, values, least, most, distinct, marks: null };
}

function setMarks(column: Column | undefined, chunks: readonly Data[]): void {
  if (column?.kind === "number") column.marks = decode(chunks);
}

function decode(chunks: readonly Data[]): (string | null)[] {
  const values: (string | null)[] = [];
  for (const chunk of chunks) {
    const known = Array.from((chunk.dictionary ?? []) as Iterable<unknown>, String);
    const codes = chunk.values as ArrayLike<number>;
    for (let row = 0; row < chunk.length; row++) values.push(chunk.getValid(row) ? (known[codes[row]!] ?? null) : null);
  }
  return values;
}

function texts(name: string, chunks: readonly Data[]): TextColumn {
  const values = decode(chunks);
  const distinct = [...new Set(values.filter((value) => value !== null))].sort();
  return { kind: "text", name, values, distinct };
}

/** Whether a column has more than one value. */
export function varies(column: Column): boolean {
  if (column.kind === "number") return column.least < column.most || hasGaps(column);
  return column.distinct.length > 1 || (column.distinct.length === 1 && column.values.includes(null));
}

function hasGaps(column: NumberColumn): boolean {
  return column.least <= column.most && column.values.some(Number.isNaN);
}

export function compareRows(column: Column, a: number, b: number): number {
  if (column.kind === "number") {
    const [x, y] = [column.values[a] ?? NaN, column.values[b] ?? NaN];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
    return x - y;
  }
  const [x, y] = [column.values[a] ?? "", column.values[b] ?? ""];
  return x < y ? -1 : x > y ? 1 : 0;
}

const LONG = new Intl.NumberFormat("en-US", { maximumFractionDigits: 3 });

export function formatNumber(value: number): string {
  if (Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e15)) return value.toExponential(3);
  if (size < 1) return String(Number(value.toPrecision(4)));
  return LONG.format(size >= 1000 && !Number.isInteger(value) ? Number(value.toFixed(1)) : value);
}

/** A cell as it is shown, a bound with its mark. */
export function formatCell(column: Column, row: number): string {
  if (column.kind === "text") return column.values[row] ?? "–";
  const value = column.values[row] ?? NaN;
  return (Number.isNaN(value) ? "" : (column.marks?.[row] ?? "")) + formatNumber(value);
}

/** At most so many rows, from all parts of a list. */
export function thin(rows: readonly number[], most: number): readonly number[] {
  const step = Math.ceil(rows.length / most);
  return step > 1 ? rows.filter((_, index) => index % step === 0) : rows;
}

/** A column's name without what all fields of the machine begin with. */
export function shortName(name: string): string {
  return name.replace(/^topology\./, "");
}
