// The timeline of a run: tracks of all parts, the machine beside them, and a panel for what is selected.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { usePalette } from "./chart";
import type { Machine } from "./machine_data";
import { onTimelineKey } from "./timeline_keys";
import { headOf } from "./timeline_head";
import { Hover, sayHit } from "./timeline_hover";
import { indexIn, linksOf, lowerBound, nearNodes, nodeOf, nodesByName, trackAt } from "./timeline_links";
import { MachinePane, type Lit } from "./timeline_machine";
import { Names } from "./timeline_names";
import { Operation, Summary, type Told } from "./timeline_panel";
import type { CriticalPath } from "./timeline_path";
import { groupsAround, groupsIn, growTree, layOut, readFolds, withOpen, writeFolds, type Folds, type Row, type Track } from "./timeline_rows";
import { findRows, readSearch, shade } from "./timeline_search";
import type { Slices } from "./timeline_slices";
import { Stage, type Hit } from "./timeline_stage";
import { roomAround, type Window } from "./timeline_time";
import { timelineTones } from "./timeline_tones";
import { Tools } from "./timeline_tools";
import "./timeline.css";

const NS = 1e6; // fs
const MOST_OPEN = 60; // tracks that are shown unfolded from the start
const ROOM = 0.01; // of the run, beside it

/** All that the timeline shows of a run; times are in fs. */
export interface TimelineData {
  name: string;
  span: Window;
  tracks: readonly Track[];
  slices: Slices;
  bytes: ArrayLike<number>; // by row
  path: CriticalPath | null;
  machine: Machine | null;
  row: (row: number) => Promise<Told>;
  farOf: (row: number) => readonly number[]; // the nodes at the other ends of a transfer
}

/** What the address says of the timeline; times are in ns. */
export interface TimelineSettings {
  time: [number, number] | null;
  now: number | null;
  select: string | null;
  row: number | null;
  open: string | null;
  kinds: string[] | null;
  find: string | null;
  measure: [number, number] | null;
}

interface TimelineProps {
  data: TimelineData;
  settings: TimelineSettings;
  onSettings: (settings: TimelineSettings) => void;
}

const inFs = ([from, to]: [number, number]): Window => ({ from: from * NS, to: to * NS });
const inNs = ({ from, to }: Window): [number, number] => [round(from / NS), round(to / NS)];
const round = (ns: number) => Number(ns.toFixed(6));

/** The row of the op log that is selected, as the server tells it, and what went wrong. */
function useTold(data: TimelineData, row: number | null): [Told | null, string | null] {
  const [told, setTold] = useState<{ row: number; told: Told | null; problem: string | null } | null>(null);
  useEffect(() => {
    let gone = false;
    if (row === null) return;
    data
      .row(row)
      .then((found) => gone || setTold({ row, told: found, problem: null }))
      .catch((error: unknown) => gone || setTold({ row, told: null, problem: error instanceof Error ? error.message : String(error) }));
    return () => {
      gone = true;
    };
  }, [data, row]);
  return told && told.row === row ? [told.told, told.problem] : [null, null];
}

export function Timeline({ data, settings, onSettings }: TimelineProps) {
  const { slices, path, machine } = data;
  const palette = usePalette();
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const tones = useMemo(() => timelineTones(palette, dark), [palette, dark]);
  const [hit, setHit] = useState<Hit | null>(null);
  const [time, setTime] = useState<number | null>(null);
  const [cursor, setCursor] = useState<string | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<Stage | null>(null);
  const latest = useRef(settings);
  latest.current = settings;
  const change = (some: Partial<TimelineSettings>) => {
    latest.current = { ...latest.current, ...some };
    onSettings(latest.current);
  };

  const names = useMemo(() => data.tracks.map(({ name }) => name), [data]);
  const tree = useMemo(() => growTree(data.tracks, slices), [data]);
  const usual = useMemo<Folds>(() => ({ all: tree.reduce((sum, { tracks }) => sum + tracks.length, 0) <= MOST_OPEN, but: new Set() }), [tree]);
  const folds = useMemo(() => readFolds(settings.open) ?? usual, [settings.open, usual]);
  const rows = useMemo(() => layOut(tree, folds, slices), [tree, folds]);
  const kept = useMemo(() => {
    const said = settings.kinds && new Set(settings.kinds);
    return (kind: number) => !said || said.has(slices.kinds[kind] ?? "");
  }, [settings.kinds?.join(), slices]);
  const search = useMemo(() => readSearch(settings.find ?? "", names, slices.names), [settings.find, names]);
  const shades = useMemo(() => shade(slices, search, kept, tones), [slices, search, kept, tones]);
  const pathShades = useMemo(() => path && shade(path.slices, null, () => true, tones), [path, tones]);
  const found = useMemo(() => (search ? findRows(slices, search, kept) : null), [slices, search, kept]);

  const row = settings.row !== null && settings.row < slices.count ? settings.row : null;
  const selected = row === null ? null : slices.place[row]!;
  const [told, problem] = useTold(data, row);
  const selectedTrack = useMemo(() => trackAt(names, settings.select), [names, settings.select]);
  const byName = useMemo(() => nodesByName(machine), [machine]);
  const nodes = useMemo(() => Int32Array.from(names, (name) => nodeOf(byName, name)), [byName, names]);
  const links = useMemo(() => (selected === null || !told ? [] : linksOf(slices, names, selected, told)), [data, selected, told]);
  const measure = useMemo(() => (settings.measure ? inFs(settings.measure) : null), [settings.measure?.join()]);
  const now = settings.now === null ? null : settings.now * NS;

  useEffect(() => {
    const made = new Stage(canvas.current!, scroller.current!, slices, path?.slices ?? null, path?.places ?? new Uint32Array(0), roomAround(data.span, ROOM), {
      onHover: (at, under) => {
        setHit(at);
        setTime(under);
      },
      onClick: (at, under) => onClick.current(at, under),
      onWindow: (window) => change({ time: inNs(window) }),
      onMeasure: (window) => change({ measure: window && inNs(window) }),
      onNow: (at) => change({ now: round(at / NS) }),
    });
    stage.current = made;
    if (settings.time) made.look(inFs(settings.time));
    scroller.current!.focus({ preventScroll: true });
    return () => made.close();
  }, [data]);
  useEffect(() => {
    stage.current!.show({ rows, shades, pathShades, tones, selected, selectedTrack, links, measure, now });
  }, [data, rows, shades, pathShades, tones, selected, selectedTrack, links, measure, now]);
  useEffect(() => {
    const shown = stage.current!;
    if (settings.time && inNs(shown.window).join() !== settings.time.join()) shown.look(inFs(settings.time));
  }, [settings.time?.join()]);
  useEffect(() => {
    if (selectedTrack !== null) openAround(selectedTrack);
  }, [settings.select]);
  useEffect(() => {
    if (selected !== null) openAround(slices.track[selected]!);
  }, [row]);
  const wanted = useRef<number | null>(null); // the track that is scrolled to once its row is there
  useEffect(() => {
    if (wanted.current !== null) stage.current!.reveal(wanted.current);
    wanted.current = null;
  });

  function openAround(track: number): void {
    const around = groupsAround(tree, track);
    const opened = withOpen(folds, around, true);
    wanted.current = track;
    if (writeFolds(opened) !== writeFolds(folds)) change({ open: writeFolds(opened) });
    else stage.current!.reveal(track);
  }
  const setFolds = (next: Folds) => change({ open: writeFolds(next) });
  const toggle = ({ branch, open }: Row, all: boolean) => setFolds(withOpen(folds, all ? groupsIn(branch) : [branch.id], !open));
  const selectRow = (next: number, moving: boolean) => {
    const place = slices.place[next]!;
    change({ row: next, select: names[slices.track[place]!]! });
    if (moving) showSlice(place);
  };
  /** Move to a slice that is out of sight or too small to see. */
  function showSlice(place: number): void {
    const { from, to } = stage.current!.window;
    const [start, end] = [slices.start[place]!, slices.end[place]!];
    const seen = start >= from && end <= to;
    const share = (end - start) / (to - from);
    if (seen && share > 0.004) return;
    const length = share > 0.9 || share < 0.004 ? Math.max((end - start) * 12, 1000) : to - from;
    const middle = (start + end) / 2;
    stage.current!.look({ from: middle - length / 2, to: middle + length / 2 }, true);
  }
  const at = found && row !== null ? indexIn(found, row) : -1;
  const find = (by: 1 | -1) => {
    if (!found?.length) return;
    const next = at >= 0 ? at + by : lowerBound(found, row ?? 0) - (by > 0 ? 0 : 1);
    selectRow(found[(next + found.length) % found.length]!, true);
  };
  const step = (by: 1 | -1) => {
    if (selected === null) return;
    const place = selected + by; // of the same lane, if its strip goes on
    if (place >= 0 && place < slices.count && slices.track[place] === slices.track[selected]) selectRow(slices.row[place]!, true);
  };
  const fit = () => {
    const window = selected === null ? measure : { from: slices.start[selected]!, to: slices.end[selected]! };
    if (window) stage.current!.look(roomAround(window, 0.6), true);
    if (selected !== null) stage.current!.reveal(slices.track[selected]!);
  };
  const moveCursor = (by: number) => {
    const from = rows.findIndex(({ branch }) => branch.id === (cursor ?? settings.select));
    const next = rows[Math.min(Math.max(from + by, 0), rows.length - 1)];
    if (!next) return;
    setCursor(next.branch.id);
    stage.current!.revealRow(next);
  };
  const enter = (all: boolean) => {
    const here = rows.find(({ branch }) => branch.id === cursor);
    if (!here) return;
    if (here.branch.track === null) toggle(here, all);
    else change({ select: here.branch.id });
  };
  const escape = () => {
    if (settings.measure) change({ measure: null });
    else if (row !== null) change({ row: null });
    else if (settings.select !== null) change({ select: null });
    else if (settings.find || settings.kinds) change({ find: null, kinds: null });
  };
  const acts = {
    zoom: (factor: number) => stage.current!.zoom(factor, true),
    pan: (part: number) => stage.current!.pan(part, true),
    all: () => stage.current!.look(stage.current!.whole, true),
    fit,
    measure: () => selected !== null && change({ measure: inNs({ from: slices.start[selected]!, to: slices.end[selected]! }) }),
    step,
    find,
    cursor: moveCursor,
    enter,
    fold: (open: boolean) => setFolds({ all: open, but: new Set() }),
    escape,
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => !event.defaultPrevented && onTimelineKey(event, acts) && event.preventDefault();
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  const onClick = useRef((_hit: Hit | null, _row: Row | null) => {});
  onClick.current = (under, part) => {
    if (part) setCursor(part.branch.id);
    if (under?.what === "slice") selectRow(slices.row[under.place]!, false);
    else if (under?.what === "arrow") selectRow(under.row, true);
    else if (under?.what === "path") {
      const of = path!.steps[path!.slices.row[under.place]!]!;
      if (of.row >= 0) selectRow(of.row, true);
      else change({ select: of.part });
    } else if (under?.what === "group" && part) toggle(part, false);
    else change({ row: null });
  };

  const lit = useMemo<Lit>(() => ({ time: time ?? now, near: nearNodes(slices, nodes, data.farOf, hit) }), [data, nodes, hit, time, now]);
  const selectedNode = settings.select === null ? -1 : nodeOf(byName, settings.select);
  const onNode = (node: number | null) => change({ select: node === null ? null : machine!.names[node]!, row: null });
  const tip = hit && stage.current ? sayHit(data, names, hit, rows, stage.current) : null;
  const part = (name: string) => change({ select: name });
  return (
    <div class="timeline">
      <Tools
        kinds={slices.kinds}
        kept={settings.kinds}
        find={settings.find ?? ""}
        found={found && { count: found.length, at }}
        tones={tones}
        onKinds={(kinds) => change({ kinds })}
        onFind={(text) => change({ find: text || null })}
        onStep={find}
        onZoom={acts.zoom}
        onAll={acts.all}
        onFold={acts.fold}
      />
      <div class="stage">
        <section class="card tracks">
          <div ref={scroller} class="scroller" tabIndex={0} aria-label="Timeline: w, a, s, d zoom and move; arrows go through the rows; ? has all keys">
            <Names rows={rows} scroller={scroller} head={headOf(path !== null)} selected={selectedTrack} cursor={cursor} onToggle={toggle} onPart={({ branch }) => part(branch.id)} />
            <canvas ref={canvas} role="img" aria-label={`Timeline of ${data.name}`} />
            <div class="corner" style={{ height: `${headOf(path !== null)}px` }}>
              <span>whole run</span>
              <span>time</span>
              {path && <span class="critical">critical path</span>}
            </div>
          </div>
          {tip && canvas.current && <Hover {...tip} x={hit!.x} y={hit!.y} width={canvas.current.clientWidth} height={canvas.current.clientHeight} />}
          {!slices.count && <p class="message nothing">Nothing happened in this run: its op log has no operation.</p>}
        </section>
        <div class="side">
          {machine && (
            <MachinePane machine={machine} slices={slices} nodeOfTrack={nodes} lit={lit} selected={selectedNode < 0 ? null : selectedNode} tones={tones} onNode={onNode} />
          )}
          {selected !== null && !measure ? (
            <Operation
              slices={slices}
              tracks={names}
              bytes={data.bytes}
              place={selected}
              critical={path !== null && indexIn(path.places, selected) >= 0}
              told={told}
              problem={problem}
              tones={tones}
              onRow={(next) => selectRow(next, true)}
              onPart={part}
              onFit={fit}
              onClose={() => change({ row: null })}
            />
          ) : (
            <Summary
              slices={slices}
              window={measure ?? roomAround(data.span, ROOM)}
              tones={tones}
              measured={measure !== null}
              onName={(name) => change({ find: name })}
              onClose={() => change({ measure: null })}
            />
          )}
        </div>
      </div>
    </div>
  );
}
