// What the address says of the timeline alone, among what all views of a run share.
import type { RunSettings } from "./route";
import { readFolds, writeFolds, type Folds } from "./timeline_rows";
import type { Window } from "./timeline_time";

const NS = 1e6; // fs

export interface TimelineSettings {
  time: Window | null; // from here in fs: the window that is looked at
  now: number | null; // the time that all views look at
  measure: Window | null; // a time that is measured
  select: string | null; // the path of a part
  row: number | null; // of the op log
  folds: Folds | null; // null: as it begins
  kinds: string[] | null; // that are kept; null: all
  find: string;
}

export function readSettings({ time, now, select, extra }: RunSettings): TimelineSettings {
  const row = extra["row"] ? Number(extra["row"]) : NaN;
  const [from = NaN, to = NaN] = (extra["measure"] ?? "").split("..").map((text) => Number(text || NaN));
  return {
    time: time && inFs(time),
    now: now === null ? null : now * NS,
    measure: from < to ? inFs([from, to]) : null,
    select,
    row: Number.isInteger(row) && row >= 0 ? row : null,
    folds: readFolds(extra["open"] ?? null),
    kinds: extra["kinds"]?.split(",") ?? null,
    find: extra["find"] ?? "",
  };
}

export function writeSettings(before: RunSettings, { time, now, measure, select, row, folds, kinds, find }: TimelineSettings): RunSettings {
  const extra = {
    ...before.extra,
    row: row === null ? "" : String(row),
    measure: measure ? inNs(measure).join("..") : "",
    open: folds ? writeFolds(folds) : "",
    kinds: kinds?.join(",") ?? "",
    find,
  };
  const kept = Object.entries(extra).filter(([, text]) => text);
  return { ...before, time: time && inNs(time), now: now === null ? null : round(now / NS), select, extra: Object.fromEntries(kept) };
}

function inFs([from, to]: [number, number]): Window {
  return { from: from * NS, to: to * NS };
}

function inNs({ from, to }: Window): [number, number] {
  return [round(from / NS), round(to / NS)];
}

/** To the femtosecond, which the digits of a number hold up to years. */
function round(ns: number): number {
  return Number(ns.toFixed(6));
}

/** Whether two windows have the same text in the address. */
export function isSameWindow(one: Window | null, other: Window | null): boolean {
  return one && other ? inNs(one).join() === inNs(other).join() : one === other;
}
