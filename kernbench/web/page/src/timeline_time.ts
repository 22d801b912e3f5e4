// Time on the timeline: the window that is seen, round steps for its ruler, and times in the unit that suits them.

/** What is seen: from and to, in fs. */
export interface Window {
  from: number;
  to: number;
}

export const LEAST_FS = 100; // of a window
const UNITS: [number, string][] = [
  [1e15, "s"],
  [1e12, "ms"],
  [1e9, "µs"],
  [1e6, "ns"],
  [1e3, "ps"],
  [1, "fs"],
];
const TICK_PX = 95; // at least, between two that have a text

/** A length of time, to so many digits. */
export function formatTime(fs: number, digits = 5): string {
  const size = Math.abs(fs);
  const [one, unit] = UNITS.find(([least]) => size >= least) ?? (size === 0 ? [1e6, "ns"] : [1, "fs"]);
  return `${Number((fs / one).toPrecision(digits)).toLocaleString("en-US", { maximumFractionDigits: 6 })} ${unit}`;
}

/** A point in time, exact to the femtosecond. */
export function formatExact(fs: number): string {
  return `${(fs / 1e6).toLocaleString("en-US", { maximumFractionDigits: 6 })} ns`;
}

/** The step between the texts of a ruler of `px` pixels: 1, 2 or 5 times a power of ten, in fs. */
export function stepOf({ from, to }: Window, px: number): number {
  const wanted = Math.max(1, ((to - from) * TICK_PX) / Math.max(px, 1));
  const power = 10 ** Math.floor(Math.log10(wanted));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= wanted) ?? 10 * power;
}

/** The text of a tick: the time in the unit of the window, with the digits that its step needs. */
export function formatTick(fs: number, step: number, { from, to }: Window): string {
  const [one, unit] = UNITS.find(([least]) => Math.max(Math.abs(from), Math.abs(to)) >= least) ?? [1, "fs"];
  const digits = Math.max(0, Math.ceil(Math.log10(one / step) - 1e-9));
  return `${(Math.abs(fs) < step / 2 ? 0 : fs / one).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
}

/** The window zoomed by a factor around a time, within what may be seen. */
export function zoomAt({ from, to }: Window, time: number, factor: number, whole: Window): Window {
  const most = (whole.to - whole.from) * 1.1;
  const length = Math.min(Math.max((to - from) * factor, LEAST_FS), most);
  const part = (time - from) / (to - from);
  return keepIn({ from: time - part * length, to: time + (1 - part) * length }, whole);
}

/** A window moved so that the middle of what is seen stays in the run. */
export function keepIn({ from, to }: Window, whole: Window): Window {
  const middle = (from + to) / 2;
  const by = Math.min(Math.max(middle, whole.from), whole.to) - middle;
  return { from: from + by, to: to + by };
}

/** A whole run with a little room around it. */
export function roomAround({ from, to }: Window, share: number): Window {
  const room = Math.max((to - from) * share, LEAST_FS / 2);
  return { from: from - room, to: to + room };
}

/** The window between two others, `part` of the way; lengths go by their ratio, so that a zoom looks even. */
export function between(one: Window, other: Window, part: number): Window {
  const [a, b] = [one.to - one.from, other.to - other.from];
  if (Math.abs(Math.log(a / b)) < 1e-6) {
    return { from: one.from + (other.from - one.from) * part, to: one.to + (other.to - one.to) * part };
  }
  const length = a * (b / a) ** part;
  const share = (length - a) / (b - a); // of the way of each end that a zoom around one fixed point takes
  const from = one.from + (other.from - one.from) * share;
  return { from, to: from + length };
}
