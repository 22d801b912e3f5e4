// The timeline of a run, from its tables: what is done first, so that it is seen; then the critical path and transfers.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { RunViewProps } from "./run";
import type { Busy, Details, Parts, Run } from "./run_data";
import { growCounters } from "./timeline_counters";
import { readPath, type CriticalPath } from "./timeline_path";
import { readTransfers, type FarEnds } from "./timeline_links";
import { TimelineView } from "./timeline_view";
import { placeSlices, type Slices } from "./timeline_slices";
import type { Branch, Track } from "./timeline_rows";
import "./timeline.css";

/** What is drawn of a run. */
export interface TimelineData {
  run: Run;
  slices: Slices;
  tracks: readonly Track[];
  names: readonly string[]; // of the tracks
}

/** What comes later; null until it is there, or if there is none. */
export interface TimelineMore {
  path: CriticalPath | null;
  far: FarEnds | null;
  details: Details | null; // by row
  counters: readonly Branch[]; // of utilisation and queues; empty before they are known
}

/** Resolves when what is set now has been drawn. */
function afterFrame(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

const placed = new WeakMap<Run, Promise<TimelineData>>(); // so that a reader who comes back does not wait again

function loadData(run: Run): Promise<TimelineData> {
  const found = placed.get(run) ?? placeData(run);
  placed.set(run, found);
  found.catch(() => placed.delete(run));
  return found;
}

async function placeData(run: Run): Promise<TimelineData> {
  const [table, tracks] = await Promise.all([run.load("slices"), run.load("tracks")]);
  const slices = placeSlices(table, tracks.name.length);
  const named = tracks.name.map((name, track) => ({ name, process: tracks.process[track]! }));
  return { run, slices, tracks: named, names: tracks.name };
}

function hasCounters({ about }: Run): boolean {
  return !about.missing["parts"] && !about.missing["busy"];
}

function countersOf(run: Run, parts: Parts | null, busy: Busy | null): readonly Branch[] {
  return hasCounters(run) ? growCounters(parts, busy, run.about.window_fs, run.about.span_fs[1]) : [];
}

export function Timeline({ run, settings, onSettings }: RunViewProps) {
  const [data, setData] = useState<TimelineData | null>(null);
  const [path, setPath] = useState<CriticalPath | null>(null);
  const [far, setFar] = useState<FarEnds | null>(null);
  const [details, setDetails] = useState<Details | null>(null);
  const [counters, setCounters] = useState(() => countersOf(run, null, null));
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let gone = false;
    const fail = (error: unknown) => gone || setProblem(error instanceof Error ? error.message : String(error));
    const load = async () => {
      const found = await loadData(run);
      if (gone) return;
      setData(found);
      await afterFrame();
      const later: Promise<unknown>[] = [run.load("details").then((table) => gone || setDetails(table))];
      if (!run.about.missing["path"]) later.push(run.load("path").then((table) => gone || setPath(readPath(table, found.slices))));
      if (!run.about.missing["transfers"]) later.push(run.load("transfers").then((table) => gone || setFar(readTransfers(table))));
      if (hasCounters(run)) later.push(Promise.all([run.load("parts"), run.load("busy")]).then(([parts, busy]) => gone || setCounters(countersOf(run, parts, busy))));
      await Promise.all(later);
    };
    load().catch(fail);
    return () => {
      gone = true;
    };
  }, [run]);
  const more = useMemo<TimelineMore>(() => ({ path, far, details, counters }), [path, far, details, counters]);
  if (problem && !data) return <p class="message error" role="alert">{problem}</p>;
  if (!data) return <p class="message loading">Reading the operations of {run.name} …</p>;
  return (
    <>
      {problem && <p class="banner" role="alert">{problem}</p>}
      <TimelineView data={data} more={more} settings={settings} onSettings={onSettings} />
    </>
  );
}
