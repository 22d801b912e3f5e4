// Numbers with units, as `--set` takes them; units.json has the units of kernbench/units.py.
import { dimensions, endings } from "./units.json";

type Units = Readonly<Record<string, number>>;

const QUANTITY = /^([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?)(.+)$/i;

/** The unit that the name of a column says, as `unit_of` in Python; "" of a count, null of what has a unit in no table. */
export function unitOf(name: string): string | null {
  const last = name.slice(name.lastIndexOf(".") + 1);
  const per = /([a-z]+)_per_([a-z]+)$/.exec(last);
  if (per && !last.includes("bytes")) return unitsOf(`${per[1]}/${per[2]}`) ? `${per[1]}/${per[2]}` : null;
  const ending = last.slice(last.lastIndexOf("_") + 1);
  if (last.includes("bytes") || ending === "size" || ending === "offset") return "B";
  return (endings as Readonly<Record<string, string>>)[ending.toLowerCase()] ?? "";
}

function unitsOf(unit: string): Units | undefined {
  return Object.values(dimensions as Readonly<Record<string, Units>>).find((units) => unit in units);
}

/** A number in a unit: a plain one as it is, one with another unit of the same dimension converted; NaN if it is neither. */
export function readNumber(text: string, unit: string | null): number {
  const plain = Number(text || NaN);
  const [, digits, got] = QUANTITY.exec(text.replace("\u03bc", "\u00b5")) ?? []; // the Greek letter for the micro sign
  if (!Number.isNaN(plain) || !digits || !got || unit === null) return plain;
  const units = unitsOf(unit);
  const [from, to] = [units?.[got], units?.[unit]];
  return from && to ? scale(Number(digits.replaceAll("_", "")), from, to) : NaN;
}

/** A number of one unit in another, without the rounding errors of the units themselves. */
function scale(value: number, from: number, to: number): number {
  const found = from >= to ? value * nearWhole(from / to) : value / nearWhole(to / from);
  return Number.isInteger(found) ? found : Number(found.toPrecision(15));
}

function nearWhole(value: number): number {
  const whole = Math.round(value);
  return Math.abs(value - whole) < 1e-9 * value ? whole : value;
}

/** The units that a number of a column may have, for a sentence. */
export function tellUnits(name: string): string {
  const unit = unitOf(name);
  const known = unit === null ? [] : Object.keys(unitsOf(unit) ?? {}).filter(Boolean);
  return known.length ? `, alone or in ${known.join(", ")}` : "";
}
