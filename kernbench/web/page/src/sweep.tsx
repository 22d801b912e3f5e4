// The view of a sweep: parallel coordinates, a plot with the Pareto front, the table. One set of filters holds for all.
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { sweepState, sweepTable, Unreachable, type SweepState } from "./api";
import { axisColumns } from "./axis";
import { usePalette } from "./chart";
import { Detail } from "./detail";
import { applyFilters, type Filters } from "./filters";
import { HasServer } from "./jobs";
import { Parallel } from "./parallel";
import { formatCell, readPoints, shortName, varies, type Column, type Points } from "./points";
import type { SweepSettings } from "./route";
import { Scatter } from "./scatter";
import { Table } from "./table";

const LOOK_MS = 1000; // between two looks at a sweep
const MOST_AXES = 8;
const KEY_DIGITS = 12;

interface SweepProps {
  name: string;
  settings: SweepSettings;
  onSettings: (settings: SweepSettings) => void;
}

interface Loaded {
  state: SweepState;
  points: Points;
}

/** The state and the points of a sweep, looked at again every second while the page is seen. */
function useSweep(name: string): [Loaded | null, string | null] {
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let version: string | null = null;
    let points: Points | null = null;
    let timer = 0;
    let gone = false;
    setLoaded(null);
    setProblem(null);
    async function look(): Promise<void> {
      try {
        if (!document.hidden || !points) {
          const state = await sweepState(name);
          if (!points || state.version !== version) {
            points = readPoints(await sweepTable(name));
            version = state.version;
            if (!gone) setLoaded({ state, points });
          }
          if (!gone) setProblem(null);
        }
      } catch (error) {
        if (!(error instanceof Unreachable)) version = null;
        if (!gone) setProblem(error instanceof Error ? error.message : String(error));
      }
      if (!gone) timer = window.setTimeout(look, LOOK_MS);
    }
    void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [name]);
  return [loaded, problem];
}

export function Sweep({ name, settings, onSettings }: SweepProps) {
  const [loaded, problem] = useSweep(name);
  if (!loaded) {
    return problem ? (
      <p class="message error" role="alert">
        {problem}
      </p>
    ) : (
      <p class="message loading">Reading the table of {name} …</p>
    );
  }
  return (
    <main class="sweep">
      {problem && (
        <p class="banner" role="alert">
          {problem}
        </p>
      )}
      {loaded.points.count ? (
        <HasServer.Provider value={true}>
          <Views {...loaded} settings={settings} onSettings={onSettings} />
        </HasServer.Provider>
      ) : (
        <>
          <Summary state={loaded.state} points={loaded.points} onChoose={() => undefined} />
          <p class="message">No point has finished yet. They appear here as they do.</p>
        </>
      )}
    </main>
  );
}

/** The columns that views show unless told otherwise. */
function useChoices(state: SweepState, points: Points, settings: SweepSettings) {
  return useMemo(() => {
    const drawable = axisColumns(points);
    const named = (name: string | null | undefined) => drawable.find((column) => column.name === name);
    const objectives = state.objectives.map((one) => named(one.column)).filter((column) => column !== undefined);
    const swept = drawable.filter((column) => state.parameters.includes(column.name) && varies(column));
    const y = named(settings.y) ?? objectives[0] ?? drawable[0]!;
    const x = named(settings.x) ?? objectives.find((column) => column !== y) ?? swept.find((column) => column !== y) ?? y;
    const usual = [...new Set([...swept.slice(0, MOST_AXES - 2), ...objectives, ...drawable.filter(isUsual)])];
    const axes = settings.axes?.map(named).filter((column) => column !== undefined) ?? usual.slice(0, MOST_AXES);
    const colour = named(settings.colour) ?? objectives[0] ?? y;
    return { drawable, x, y, colour, axes };
  }, [state, points, settings.x, settings.y, settings.colour, settings.axes?.join("\n")]);
}

function isUsual(column: Column): boolean {
  return column.name === "bottleneck_utilisation" && varies(column);
}

function Views({ state, points, settings, onSettings }: Loaded & Omit<SweepProps, "name">) {
  const palette = usePalette();
  const { drawable, x, y, colour, axes } = useChoices(state, points, settings);
  const { filters } = settings;
  const mask = useMemo(() => applyFilters(points, filters), [points, filters]);
  const chosen = useMemo(() => findRows(points, settings.points), [points, settings.points.join()]);
  const columns = useMemo(() => tableColumns(state, points), [state, points]);
  const change = useCallback((some: Partial<SweepSettings>) => onSettings({ ...settings, ...some }), [settings, onSettings]);
  const onFilters = (next: Filters) => change({ filters: next });
  const choose = (row: number, beside: boolean) => change({ points: choosePoint(points, chosen, row, beside) });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
      if (chosen.length) change({ points: [] });
      else if (Object.keys(filters).length) change({ filters: {} });
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [chosen, filters, change]);
  const shared = { points, parameters: state.parameters, mask, filters, colour, chosen, palette, onFilters, onChoose: choose };
  const pick = (label: string, value: Column, set: (name: string) => void) => (
    <Pick label={label} value={value.name} options={drawable} onPick={set} />
  );
  return (
    <>
      <Summary state={state} points={points} onChoose={(row) => choose(row, false)} />
      <div class="tools" role="toolbar" aria-label="What is shown">
        <AxesMenu drawable={drawable} axes={axes} onAxes={(names) => change({ axes: names })} />
        {pick("Colour", colour, (name) => change({ colour: name }))}
        {pick("Across", x, (name) => change({ x: name }))}
        {pick("Up", y, (name) => change({ y: name }))}
        <FilterChips filters={filters} onFilters={onFilters} count={mask.reduce((sum, keeps) => sum + keeps, 0)} of={points.count} />
      </div>
      <div class={`views${chosen.length ? " with-detail" : ""}`}>
        <Parallel {...shared} axes={axes} />
        <section class="card scatter" aria-label="Plot and Pareto front">
          <Scatter {...shared} x={x} y={y} isFront={spansFront(state, x, y)} />
        </section>
        <section class="card points" aria-label="Table of points">
          <Table
            points={points}
            columns={columns}
            mask={mask}
            filters={filters}
            sort={settings.sort}
            chosen={chosen}
            onFilters={onFilters}
            onSort={(sort) => change({ sort })}
            onChoose={choose}
          />
        </section>
        {chosen.length > 0 && (
          <Detail
            points={points}
            state={state}
            chosen={chosen}
            onClose={() => change({ points: [] })}
            onDrop={(which) => change({ points: settings.points.filter((_, index) => index !== which) })}
          />
        )}
      </div>
    </>
  );
}

/** Whether two columns are the objectives, all of them: then the front is a line over them. */
function spansFront(state: SweepState, x: Column, y: Column): boolean {
  const wanted = state.objectives.map((one) => one.column);
  return wanted.length === 2 && wanted.includes(x.name) && wanted.includes(y.name) && x !== y;
}

function findRows(points: Points, keys: readonly string[]): number[] {
  return keys.map((key) => points.keys.findIndex((one) => one.startsWith(key))).filter((row) => row >= 0);
}

/** The chosen points after a choice: the point alone, or beside the first; a point chosen again is dropped. */
function choosePoint(points: Points, chosen: readonly number[], row: number, beside: boolean): string[] {
  const rest = chosen.filter((one) => one !== row);
  const next = chosen.includes(row) && (beside || chosen.length === 1) ? rest : beside ? [...rest.slice(0, 1), row] : [row];
  return next.map((one) => points.keys[one]!.slice(0, KEY_DIGITS));
}

/** The columns of the table: parameters, objectives, then the other results, as far as they vary. */
function tableColumns(state: SweepState, points: Points): Column[] {
  const all = [...points.columns.values()].filter(varies);
  const objectives = state.objectives.map((one) => one.column);
  const rank = (column: Column) =>
    state.parameters.includes(column.name) ? 0 : objectives.includes(column.name) ? 1 : column.name === "status" ? 2 : 3;
  return all.sort((a, b) => rank(a) - rank(b));
}

function Summary({ state, points, onChoose }: { state: SweepState; points: Points; onChoose: (row: number) => void }) {
  const open = state.points - state.rows;
  const status = points.columns.get("status");
  const failed = status?.kind === "text" ? status.values.filter((value) => value !== "ok").length : 0;
  const bounded = points.bounded.reduce((sum, flag) => sum + flag, 0);
  const best = state.objectives.map((objective) => ({ objective, row: findBest(points, objective) }));
  return (
    <header class="summary">
      <div>
        <h1>{state.name}</h1>
        <p class="note">
          {state.description || [state.workload, state.topology].filter(Boolean).join(" on ")}
          {state.mode ? ` · mode ${state.mode}` : ""}
        </p>
      </div>
      <div class="best">
        {best.map(({ objective, row }) => {
          const column = points.columns.get(objective.column);
          return row < 0 || !column ? null : (
            <button type="button" key={objective.column} onClick={() => onChoose(row)} title="Open this point">
              <span>
                {objective.least ? "least" : "most"} {shortName(objective.column)}
              </span>
              <strong>{formatCell(column, row)}</strong>
            </button>
          );
        })}
      </div>
      <div class="progress" aria-live="polite">
        <span>
          {state.rows.toLocaleString("en-US")} {open ? `of ${state.points.toLocaleString("en-US")} ` : ""}points
          {failed ? `, ${failed} failed` : ""}
          {bounded ? <span title="Hollow in the plot, italic in the table">, {bounded.toLocaleString("en-US")} only bounded</span> : ""}
        </span>
        {open > 0 && <progress value={state.rows} max={state.points} aria-label="Points that are done" />}
      </div>
    </header>
  );
}

function findBest(points: Points, objective: { column: string; least: boolean }): number {
  const column = points.columns.get(objective.column);
  if (column?.kind !== "number") return -1;
  let best = -1;
  points.front.forEach((onFront, row) => {
    if (!onFront || Number.isNaN(column.values[row])) return;
    const better = best < 0 || (objective.least ? column.values[row]! < column.values[best]! : column.values[row]! > column.values[best]!);
    if (better) best = row;
  });
  return best;
}

interface PickProps {
  label: string;
  value: string;
  options: readonly Column[];
  onPick: (name: string) => void;
}

function Pick({ label, value, options, onPick }: PickProps) {
  return (
    <label class="pick">
      {label}
      <select value={value} onChange={(event) => onPick(event.currentTarget.value)}>
        {options.map((column) => (
          <option key={column.name} value={column.name}>
            {shortName(column.name)}
          </option>
        ))}
      </select>
    </label>
  );
}

function AxesMenu({ drawable, axes, onAxes }: { drawable: readonly Column[]; axes: readonly Column[]; onAxes: (names: string[]) => void }) {
  const names = axes.map((column) => column.name);
  const toggle = (name: string) => onAxes(names.includes(name) ? names.filter((one) => one !== name) : [...names, name]);
  return (
    <details
      class="menu"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !event.currentTarget.open) return;
        event.stopPropagation();
        event.currentTarget.open = false;
      }}
    >
      <summary>Axes ({axes.length})</summary>
      <fieldset>
        <legend>Axes of the parallel coordinates</legend>
        {drawable.map((column) => (
          <label key={column.name}>
            <input
              type="checkbox"
              checked={names.includes(column.name)}
              disabled={names.length === 1 && names[0] === column.name}
              onChange={() => toggle(column.name)}
            />
            {shortName(column.name)}
          </label>
        ))}
      </fieldset>
    </details>
  );
}

interface ChipsProps {
  filters: Filters;
  onFilters: (filters: Filters) => void;
  count: number;
  of: number;
}

function FilterChips({ filters, onFilters, count, of }: ChipsProps) {
  const set = Object.entries(filters);
  const without = (name: string) => Object.fromEntries(set.filter(([one]) => one !== name));
  return (
    <div class="chips" aria-live="polite">
      {set.map(([name, text]) => (
        <button type="button" key={name} title={`Remove the filter of ${name}`} onClick={() => onFilters(without(name))}>
          {shortName(name)} {text} ✕
        </button>
      ))}
      {set.length > 0 && (
        <span>
          {count.toLocaleString("en-US")} of {of.toLocaleString("en-US")} points
        </span>
      )}
    </div>
  );
}
