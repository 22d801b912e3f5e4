// What the URL says: which source is shown, and how. Everything that a reader sets is in it.
import { useEffect, useState } from "preact/hooks";
import type { Filters } from "./filters";

export interface SweepSettings {
  x: string | null;
  y: string | null;
  colour: string | null;
  axes: string[] | null;
  sort: string | null; // a column, with "-" before it if descending
  points: string[]; // beginnings of keys: the open point, and the one it is compared with
  filters: Filters;
}

export interface Route {
  sweep: string | null;
  settings: SweepSettings;
}

const FILTER = "f.";

export function readRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  const told = new URLSearchParams(query);
  const name = /^\/sweep\/(.+)$/.exec(path)?.[1];
  const filters = [...told].filter(([key, value]) => key.startsWith(FILTER) && value);
  return {
    sweep: name === undefined ? null : decode(name),
    settings: {
      x: told.get("x"),
      y: told.get("y"),
      colour: told.get("colour"),
      axes: told.has("axis") ? told.getAll("axis") : null,
      sort: told.get("sort"),
      points: told.get("points")?.split(",").filter(Boolean).slice(0, 2) ?? [],
      filters: Object.fromEntries(filters.map(([key, value]) => [key.slice(FILTER.length), value])),
    },
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function writeRoute(route: Route): string {
  if (route.sweep === null) return "#/";
  const { x, y, colour, axes, sort, points, filters } = route.settings;
  const told = new URLSearchParams();
  for (const [key, value] of Object.entries({ x, y, colour, sort })) if (value) told.set(key, value);
  for (const axis of axes ?? []) told.append("axis", axis);
  if (points.length) told.set("points", points.join(","));
  for (const [name, text] of Object.entries(filters)) told.set(FILTER + name, text);
  const query = told.toString();
  return `#/sweep/${encodeURIComponent(route.sweep)}${query ? `?${query}` : ""}`;
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
    const hash = writeRoute(next);
    if (next.sweep === readRoute(location.hash).sweep) history.replaceState(null, "", hash);
    else history.pushState(null, "", hash);
    setRoute(next);
  };
  return [route, go];
}
