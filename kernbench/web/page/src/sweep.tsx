// The view of a sweep: parallel coordinates, a plot with the Pareto front, the table. One set of filters holds for all.
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { sweepState, sweepTable, Unreachable, type SweepState } from "./api";
import { axisColumns } from "./axis";
import { usePalette } from "./palette";
import { Detail } from "./detail";
import type { Filters } from "./filters";
import { HasServer } from "./jobs";
import { useKeys } from "./keys";
import { Parallel } from "./parallel";
import { readPoints, varies, type Column, type Points } from "./points";
import { Problem } from "./problem";
import type { SweepSettings } from "./route";
import { Scatter } from "./scatter";
import { readSearch } from "./search";
import { Failures, Summary } from "./summary";
import { orderRows, Table } from "./table";
import { ColumnMenu, CsvButton, FilterChips, findMask, Nothing, Pick, ScalePick, SearchField, type Asked } from "./tools";

const LOOK_MS = 1000; // between two looks at a sweep
const MOST_AXES = 8;
const KEY_DIGITS = 12;

interface SweepProps {
  name: string;
  settings: SweepSettings;
  onSettings: (settings: SweepSettings) => void;
}

export interface Loaded {
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
      <Problem text={problem} />
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
          <Views {...loaded} titled settings={settings} onSettings={onSettings} />
        </HasServer.Provider>
      ) : (
        <>
          <Summary state={loaded.state} points={loaded.points} titled onChoose={() => undefined} />
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

interface ViewsProps extends Loaded {
  titled: boolean;
  settings: SweepSettings;
  onSettings: (settings: SweepSettings) => void;
}

/** All views of a sweep with points; `titled` as for `Summary`. */
export function Views({ state, points, titled, settings, onSettings }: ViewsProps) {
  const palette = usePalette();
  const { drawable, x, y, colour, axes } = useChoices(state, points, settings);
  const { filters, search } = settings;
  const mask = useMemo(() => findMask(points, { filters, search }), [points, filters, search]);
  const rows = useMemo(() => orderRows(points, mask, settings.sort), [points, mask, settings.sort]);
  const chosen = useMemo(() => findRows(points, settings.points), [points, settings.points.join()]);
  const all = useMemo(() => tableColumns(state, points), [state, points]);
  const columns = useMemo(() => chooseColumns(all, settings.columns), [all, settings.columns?.join("\n")]);
  const change = useCallback((some: Partial<SweepSettings>) => onSettings({ ...settings, ...some }), [settings, onSettings]);
  const onFilters = (next: Filters) => change({ filters: next });
  const choose = (row: number, beside: boolean) => change({ points: choosePoint(points, chosen, row, beside) });
  useEscape(chosen.length > 0, settings, change);
  const shared = { points, parameters: state.parameters, meaning: state, mask, filters, colour, chosen, palette, onFilters, onChoose: choose };
  const asked = { filters, search, onAsk: (next: Partial<Asked>) => change(next) };
  const pick = (label: string, value: Column, set: (name: string) => void) => (
    <Pick label={label} value={value.name} options={drawable} onPick={set} />
  );
  return (
    <>
      <Summary state={state} points={points} titled={titled} onChoose={(row) => choose(row, false)} />
      <Failures points={points} onShow={(filter) => change({ filters: { error: filter }, search: "" })} />
      <div class="tools" role="toolbar" aria-label="What is shown">
        <ColumnMenu title="Axes" legend="Axes of the parallel coordinates" options={drawable} chosen={axes} onChoose={(names) => change({ axes: names })} />
        {pick("Colour", colour, (name) => change({ colour: name }))}
        {pick("Across", x, (name) => change({ x: name }))}
        {pick("Up", y, (name) => change({ y: name }))}
        <ScalePick scale={settings.scale} onScale={(scale) => change({ scale })} />
        <ColumnMenu title="Columns" legend="Columns of the table" options={all} chosen={columns} onChoose={(names) => change({ columns: names })} />
        <CsvButton points={points} columns={columns} rows={rows} name={state.name} />
      </div>
      <div class="tools" role="search">
        <SearchField text={search} problem={readSearch(points, search).problem} onText={(text) => change({ search: text })} />
        <FilterChips {...asked} count={rows.length} of={points.count} />
      </div>
      {rows.length === 0 && <Nothing points={points} {...asked} />}
      <div class={`views${chosen.length ? " with-detail" : ""}`}>
        <Parallel {...shared} axes={axes} />
        <Scatter {...shared} x={x} y={y} scale={settings.scale} isFront={spansFront(state, x, y)} />
        <section class="card points" aria-label="Table of points">
          <Table
            points={points}
            columns={columns}
            rows={rows}
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

/** Escape closes the panel, then removes all filters. */
function useEscape(isOpen: boolean, { filters, search }: Asked, change: (some: Partial<SweepSettings>) => void): void {
  useKeys((event) => {
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    if (isOpen) change({ points: [] });
    else if (search || Object.keys(filters).length) change({ filters: {}, search: "" });
  });
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

/** All columns of the table: parameters, objectives, the status, then the other results. */
function tableColumns(state: SweepState, points: Points): Column[] {
  const objectives = state.objectives.map((one) => one.column);
  const rank = (column: Column) =>
    state.parameters.includes(column.name) ? 0 : objectives.includes(column.name) ? 1 : column.name === "status" ? 2 : 3;
  return [...points.columns.values()].sort((a, b) => rank(a) - rank(b));
}

/** The columns with some names, in their order; by default those that vary, and why points failed; or else all. */
function chooseColumns(all: readonly Column[], names: readonly string[] | null): readonly Column[] {
  const usual = (column: Column) => varies(column) || column.name === "error"; // without failures there is no column error
  const chosen = all.filter((column) => (names ? names.includes(column.name) : usual(column)));
  return chosen.length ? chosen : all;
}
