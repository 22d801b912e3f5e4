// What the timeline shows for what the address says: rows, shades, what a search finds, what is selected.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { RunRow } from "./api";
import type { TimelineData, TimelineMore } from "./timeline";
import { COUNTERS } from "./timeline_counters";
import { indexIn, linksOf, nodeOf, nodesByName, trackAt } from "./timeline_links";
import { readLayers } from "./timeline_layers";
import { growTree, layOut, writeFolds, type Branch, type Folds } from "./timeline_rows";
import { findRows, readSearch, shade } from "./timeline_search";
import type { TimelineSettings } from "./timeline_settings";
import type { Shown } from "./timeline_stage";
import { isInFlight } from "./timeline_slices";
import { roomAround, type Window } from "./timeline_time";
import type { TimelineTones } from "./timeline_tones";

const MOST_OPEN = 60; // tracks that are shown unfolded from the start
const ROOM = 0.01; // of the run, beside it
const NONE = new Uint32Array(0);

export interface Everything extends Shown {
  whole: Window;
  tree: readonly Branch[];
  folds: Folds;
  found: Uint32Array | null; // the rows that a search finds
  at: number; // the index of the selected one among them; -1: it is not
  row: number | null; // that is selected
  told: RunRow | null;
  problem: string | null;
  nodeOfTrack: Int32Array;
  selectedNode: number | null;
}

/** A row of the op log as the server tells it, and what went wrong. */
function useRow({ run }: TimelineData, row: number | null): { told: RunRow | null; problem: string | null } {
  const [found, setFound] = useState<{ row: number; told: RunRow | null; problem: string | null } | null>(null);
  useEffect(() => {
    let gone = false;
    if (row === null) return;
    const fail = (error: unknown) => setFound({ row, told: null, problem: error instanceof Error ? error.message : String(error) });
    run
      .row(row)
      .then((told) => gone || setFound({ row, told, problem: null }))
      .catch((error: unknown) => gone || fail(error));
    return () => {
      gone = true;
    };
  }, [run, row]);
  return found && found.row === row ? found : { told: null, problem: null };
}

function useRows(data: TimelineData, { counters }: TimelineMore, { folds: said, kinds }: TimelineSettings) {
  const grown = useMemo(() => growTree(data.tracks, data.slices), [data]);
  const tree = useMemo(() => [...counters, ...grown], [counters, grown]);
  const usual = useMemo<Folds>(() => {
    const all = grown.reduce((sum, { tracks }) => sum + tracks.length, 0) <= MOST_OPEN;
    return { all, but: new Set(all ? COUNTERS : []) };
  }, [grown]);
  const folds = useMemo(() => said ?? usual, [said && writeFolds(said), usual]);
  const kept = useKept(data, kinds);
  const rows = useMemo(() => layOut(tree, folds, data.slices, kept), [tree, folds, kept]);
  return { tree, folds, rows };
}

/** Whether a kind of operations is kept. */
function useKept({ slices }: TimelineData, kinds: string[] | null): (kind: number) => boolean {
  return useMemo(() => {
    const said = kinds && new Set(kinds);
    return (kind: number) => !said || said.has(slices.kinds[kind] ?? "");
  }, [kinds?.join(), slices]);
}

function useShades(data: TimelineData, { path }: TimelineMore, { find, kinds }: TimelineSettings, tones: TimelineTones) {
  const { slices, names } = data;
  const kept = useKept(data, kinds);
  const search = useMemo(() => readSearch(find, names, slices.names), [find, names]);
  const shades = useMemo(() => shade(slices, search, kept, tones), [slices, search, kept, tones]);
  const pathShades = useMemo(() => path && shade(path.slices, null, () => true, tones), [path, tones]);
  const found = useMemo(() => search && findRows(slices, search, kept), [slices, search, kept]);
  return { shades, pathShades, found };
}

export function useShown(data: TimelineData, more: TimelineMore, settings: TimelineSettings, tones: TimelineTones): Everything {
  const { run, slices, names } = data;
  const row = settings.row !== null && settings.row < slices.count ? settings.row : null;
  const selected = row === null ? null : slices.place[row]!;
  const told = useRow(data, row);
  const { tree, folds, rows } = useRows(data, more, settings);
  const { shades, pathShades, found } = useShades(data, more, settings, tones);
  const nodes = useMemo(() => nodesByName(run.machine), [run]);
  const nodeOfTrack = useMemo(() => Int32Array.from(names, (name, track) => (isInFlight(slices, track) ? -1 : nodeOf(nodes, name))), [nodes, names, slices]);
  const node = settings.select === null ? -1 : nodeOf(nodes, settings.select);
  const links = useMemo(
    () => (selected === null || !told.told ? [] : linksOf(slices, names, run.machine?.names ?? [], selected, told.told)),
    [data, selected, told.told],
  );
  return {
    whole: useMemo(() => roomAround({ from: run.about.span_fs[0], to: Math.max(run.about.span_fs[1], 1) }, ROOM), [run]),
    tree,
    folds,
    rows,
    shades,
    issue: more.details?.issue ?? null,
    layers: useMemo(() => readLayers(run.about), [run]),
    path: more.path?.slices ?? null,
    pathShades,
    critical: more.path?.places ?? NONE,
    tones,
    found,
    at: found && row !== null ? indexIn(found, row) : -1,
    row,
    ...told,
    selected,
    selectedTrack: useMemo(() => trackAt(names, settings.select), [names, settings.select]),
    links,
    measure: settings.measure,
    now: settings.now,
    nodeOfTrack,
    selectedNode: node < 0 ? null : node,
  };
}
