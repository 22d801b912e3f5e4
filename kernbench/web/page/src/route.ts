// What the URL says: which source is shown, and how. Everything that a reader sets is in it.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { SourceName } from "./api";
import type { Filters } from "./filters";

export interface SweepSettings {
  x: string | null;
  y: string | null;
  colour: string | null;
  axes: string[] | null;
  columns: string[] | null; // of the table
  scale: "linear" | "log" | null; // of the plot; null: as the values suggest
  search: string;
  sort: string | null; // a column, with "-" before it if descending
  points: string[]; // beginnings of keys: the open point, and the one it is compared with
  filters: Filters;
}

export interface MachineSettings {
  select: string | null; // the path of a part
  at: [number, number, number] | null; // the middle of what is seen and its width, in mm
}

export const RUN_VIEWS = ["timeline", "machine", "explain"] as const;
export type RunView = (typeof RUN_VIEWS)[number];

export interface RunSettings extends MachineSettings {
  view: RunView;
  time: [number, number] | null; // ns, the time that is looked at
  now: number | null; // ns, the cursor
  extra: Record<string, string>; // what one view alone sets, by keys of its own
}

export interface Route {
  source: SourceName | null;
  sweep: SweepSettings;
  machine: MachineSettings;
  run: RunSettings;
}

const FILTER = "f.";
const SCALES = ["linear", "log"] as const;
const RUN_KEYS = ["select", "at", "time", "now"];

export function readRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  const told = new URLSearchParams(query);
  const found = /^\/(?:(sweep|machine)\/(.+)|(run)\/([^/]+)(?:\/([a-z]+))?)$/.exec(path);
  const filters = [...told].filter(([key, value]) => key.startsWith(FILTER) && value);
  return {
    source: found ? { kind: (found[1] ?? found[3]) as SourceName["kind"], name: decode(found[2] ?? found[4]!) } : null,
    sweep: {
      x: told.get("x"),
      y: told.get("y"),
      colour: told.get("colour"),
      axes: told.has("axis") ? told.getAll("axis") : null,
      columns: told.has("column") ? told.getAll("column") : null,
      scale: SCALES.find((scale) => scale === told.get("scale")) ?? null,
      search: told.get("search") ?? "",
      sort: told.get("sort"),
      points: told.get("points")?.split(",").filter(Boolean).slice(0, 2) ?? [],
      filters: Object.fromEntries(filters.map(([key, value]) => [key.slice(FILTER.length), value])),
    },
    machine: { select: told.get("select"), at: readPlace(told.get("at")) },
    run: {
      view: RUN_VIEWS.find((view) => view === found?.[5]) ?? "timeline",
      select: told.get("select"),
      at: readPlace(told.get("at")),
      time: readTime(told.get("time")),
      now: readNumber(told.get("now")),
      extra: Object.fromEntries([...told].filter(([key]) => !RUN_KEYS.includes(key))),
    },
  };
}

function readNumber(text: string | null): number | null {
  const found = Number(text || NaN);
  return Number.isFinite(found) ? found : null;
}

function readTime(text: string | null): [number, number] | null {
  const [start = NaN, end = NaN] = (text ?? "").split("..").map((part) => Number(part || NaN));
  return Number.isFinite(start + end) && start < end ? [start, end] : null;
}

function readPlace(text: string | null): [number, number, number] | null {
  const [x = NaN, y = NaN, wide = NaN] = (text ?? "").split(",").map(Number);
  return Number.isFinite(x + y + wide) && wide > 0 ? [x, y, wide] : null;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function writeSweep(settings: SweepSettings, told: URLSearchParams): void {
  const { x, y, colour, scale, search, sort, axes, columns, points, filters } = settings;
  for (const [key, value] of Object.entries({ x, y, colour, scale, search, sort })) if (value) told.set(key, value);
  for (const axis of axes ?? []) told.append("axis", axis);
  for (const column of columns ?? []) told.append("column", column);
  if (points.length) told.set("points", points.join(","));
  for (const [name, text] of Object.entries(filters)) told.set(FILTER + name, text);
}

function writeMachine({ select, at }: MachineSettings, told: URLSearchParams): void {
  if (select) told.set("select", select);
  if (at) told.set("at", at.join(","));
}

function writeRun(run: RunSettings, told: URLSearchParams): void {
  if (run.time) told.set("time", run.time.join(".."));
  if (run.now !== null) told.set("now", String(run.now));
  writeMachine(run, told);
  for (const [key, value] of Object.entries(run.extra)) if (value) told.set(key, value);
}

export function writeRoute({ source, sweep, machine, run }: Route): string {
  if (!source) return "#/";
  const told = new URLSearchParams();
  if (source.kind === "sweep") writeSweep(sweep, told);
  else if (source.kind === "machine") writeMachine(machine, told);
  else writeRun(run, told);
  const query = told.toString();
  const view = source.kind === "run" ? `/${run.view}` : "";
  return `#/${source.kind}/${encodeURIComponent(source.name)}${view}${query ? `?${query}` : ""}`;
}

/** The address of a source as it is first shown. */
export function linkTo(source: SourceName): string {
  return writeRoute({ ...readRoute(""), source });
}

/** The route, and how to change it: a step in the history for another source, none for another setting. */
export function useRoute(): [Route, (route: Route) => void] {
  const [route, setRoute] = useState(() => readRoute(location.hash));
  const known = useRef(location.hash); // the address that the route is of
  useLayoutEffect(() => {
    const follow = () => {
      known.current = location.hash;
      setRoute(readRoute(location.hash));
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const go = (next: Route) => {
    if (location.hash !== known.current) return; // the reader has just gone elsewhere, and a view that is left may still settle
    history.replaceState(null, "", writeRoute(next));
    known.current = location.hash;
    setRoute(next);
  };
  return [route, go];
}
