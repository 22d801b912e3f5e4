// The table as CSV by RFC 4180: all rows that pass, the columns that are shown, all digits.
import type { Column, Points } from "./points";

const BREAK = "\r\n";

export function writeCsv(points: Points, columns: readonly Column[], rows: readonly number[]): string {
  const told = withFidelity(points, columns, rows);
  const lines = rows.map((row) => told.map((column) => cellOf(column, row)).join(","));
  return [told.map((column) => quote(column.name)).join(","), ...lines].join(BREAK) + BREAK;
}

/** The columns, with the one that tells bounds from results if there are bounds among the rows. */
function withFidelity(points: Points, columns: readonly Column[], rows: readonly number[]): readonly Column[] {
  const fidelity = points.columns.get("fidelity");
  const needed = fidelity && !columns.includes(fidelity) && rows.some((row) => points.bounded[row]);
  return needed ? [...columns, fidelity] : columns;
}

function cellOf(column: Column, row: number): string {
  const value = column.values[row];
  if (value === undefined || value === null || Number.isNaN(value)) return "";
  return typeof value === "number" ? String(value) : quote(value);
}

/** A field; an empty text is quoted, as nothing stands for no value. */
function quote(text: string): string {
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Hand a text over as a file. */
export function download(text: string, name: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
