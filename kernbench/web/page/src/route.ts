// What the URL says: which source is shown, and how. Everything that a reader sets is in it.
import { useEffect, useState } from "preact/hooks";
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

export interface Route {
  source: SourceName | null;
  sweep: SweepSettings;
  machine: MachineSettings;
}

const FILTER = "f.";
const SCALES = ["linear", "log"] as const;

export function readRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  const told = new URLSearchParams(query);
  const found = /^\/(sweep|machine)\/(.+)$/.exec(path);
  const filters = [...told].filter(([key, value]) => key.startsWith(FILTER) && value);
  return {
    source: found ? { kind: found[1] as SourceName["kind"], name: decode(found[2]!) } : null,
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
  };
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

export function writeRoute({ source, sweep, machine }: Route): string {
  if (!source) return "#/";
  const told = new URLSearchParams();
  if (source.kind === "sweep") writeSweep(sweep, told);
  else {
    if (machine.select) told.set("select", machine.select);
    if (machine.at) told.set("at", machine.at.join(","));
  }
  const query = told.toString();
  return `#/${source.kind}/${encodeURIComponent(source.name)}${query ? `?${query}` : ""}`;
}

/** The route, and how to change it: a step in the history for another source, none for another setting. */
export function useRoute(): [Route, (route: Route) => void] {
  const [route, setRoute] = useState(() => readRoute(location.hash));
  useEffect(() => {
    const follow = () => setRoute(readRoute(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const go = (next: Route) => {
    history.replaceState(null, "", writeRoute(next));
    setRoute(next);
  };
  return [route, go];
}
