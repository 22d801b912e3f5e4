// How a column is laid along an axis: few values and texts as steps of equal width, numbers over decades by logarithm.
import type { Interval } from "./filters";
import { passes, rangeFilter, readIntervals, stepsFilter } from "./filters";
import { formatNumber, shortName, type Column, type Points } from "./points";

const MOST_STEPS = 24;
const MOST_TICKS = 6;
const FEW_TICKS_RATIO = 5; // a ratio below which a logarithmic axis has the ticks of a linear one
const DECADES = 50; // a ratio above which an axis is logarithmic

export interface AxisScale {
  column: Column;
  title: string;
  type: "steps" | "log" | "linear";
  labels: string[]; // of steps
  low: number;
  high: number;
}

export type Scale = "linear" | "log" | null; // null: as the values suggest

/** The scale of a column. A parameter of few values has a step for each, unless a scale of numbers is asked for. */
export function scaleOf(column: Column, parameters: readonly string[], asked: Scale = null): AxisScale {
  const title = shortName(column.name);
  if (column.kind === "text") return steps(column, title, column.distinct.slice(0, MOST_STEPS));
  if (!asked && column.distinct && column.distinct.length > 0 && parameters.includes(column.name)) {
    return steps(column, title, column.distinct.map(formatNumber));
  }
  const [low, high] = column.least <= column.most ? [column.least, column.most] : [0, 1];
  if (low > 0 && (asked === "log" || (!asked && high / low > DECADES))) {
    const room = Math.max((high / low) ** 0.03, 1.01);
    return { column, title, type: "log", labels: [], low: low / room, high: high * room };
  }
  const room = (high - low || Math.abs(high) || 1) * 0.04;
  return { column, title, type: "linear", labels: [], low: low - room, high: high + room };
}

function steps(column: Column, title: string, labels: string[]): AxisScale {
  return { column, title, type: "steps", labels, low: -0.5, high: Math.max(labels.length, 1) - 0.5 };
}

/** Where a point is along an axis; NaN where it has no value. */
export function placesOf({ column, type }: AxisScale): Float64Array {
  if (column.kind === "number" && type !== "steps") return column.values;
  const place = new Map<unknown, number>((column.distinct ?? []).map((value, index) => [value, index]));
  return Float64Array.from(column.values as ArrayLike<unknown>, (value: unknown) => place.get(value) ?? NaN);
}

/** The filter of a brush from one place of an axis to another. */
export function brushFilter({ column, type }: AxisScale, from: number, to: number): string | null {
  const [low, high] = [Math.min(from, to), Math.max(from, to)];
  return type === "steps" ? stepsFilter(column, low, high) : rangeFilter(low, high);
}

/** The stretches of an axis that a filter leaves; none if there is no filter, or one that is no stretch. */
export function stretchesOf(scale: AxisScale, text: string | undefined): Interval[] {
  if (!text) return [];
  const clip = (value: number) => Math.min(Math.max(value, scale.low), scale.high);
  if (scale.type === "steps") return runs(stepsThatPass(scale, text)).map(([a, b]) => [clip(a - 0.4), clip(b + 0.4)]);
  return (readIntervals(text, scale.column.name) ?? [])
    .filter(([low, high]) => low <= scale.high && high >= scale.low)
    .map(([low, high]) => [clip(low), clip(high)] as const);
}

function stepsThatPass({ column, labels }: AxisScale, text: string): boolean[] {
  if (column.kind === "text") return column.distinct.slice(0, labels.length).map((value) => passes(value, text));
  const intervals = readIntervals(text, column.name) ?? [];
  return (column.distinct ?? []).map((value) => intervals.some(([low, high]) => low <= value && value <= high));
}

/** The runs of truths, as first and last place. */
function runs(truths: boolean[]): Interval[] {
  const found: [number, number][] = [];
  truths.forEach((truth, place) => {
    const last = found.at(-1);
    if (truth && last && last[1] === place - 1) last[1] = place;
    else if (truth) found.push([place, place]);
  });
  return found;
}

/** The part of an axis of ECharts that its scale decides. */
export function axisOption(scale: AxisScale) {
  const isSteps = scale.type === "steps";
  const customValues = isSteps ? scale.labels.map((_, index) => index) : roundTicks(scale);
  return {
    type: scale.type === "log" ? ("log" as const) : ("value" as const),
    min: scale.low,
    max: scale.high,
    axisTick: { customValues },
    axisLabel: {
      customValues,
      formatter: isSteps ? (value: number) => shorten(scale.labels[value] ?? "") : formatTick,
      hideOverlap: !isSteps,
    },
  };
}

/** Round values along an axis of numbers: multiples of 1, 2 or 5 times a power of ten; over decades the powers, or 1, 2 and 5 times them. */
export function roundTicks({ type, low, high }: AxisScale): number[] {
  if (type === "log" && high / low >= FEW_TICKS_RATIO) return decadeTicks(low, high);
  const step = roundStep((high - low) / MOST_TICKS);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

function decadeTicks(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  const factors = decades > 3 ? [1] : [1, 2, 5];
  const every = Math.ceil(decades / MOST_TICKS);
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    if (factors.length === 1 && power % every !== 0) continue;
    found.push(...factors.map((factor) => Number(`${factor}e${power}`)).filter((value) => low <= value && value <= high));
  }
  return found;
}

/** The least of 1, 2, 5, 10, … times a power of ten that is not below a value. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least * (1 - 1e-9)) ?? 10);
}

const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });

function formatTick(value: number): string {
  return Math.abs(value) >= 1000 ? COMPACT.format(value) : String(Number(value.toPrecision(3)));
}

function shorten(text: string): string {
  return text.length > 16 ? `${text.slice(0, 15)}…` : text;
}

/** Columns that can be drawn along an axis. */
export function axisColumns(points: Points): Column[] {
  return [...points.columns.values()].filter((column) =>
    column.kind === "number" ? column.least <= column.most : column.distinct.length > 0 && column.distinct.length <= MOST_STEPS,
  );
}
