// The timeline on the page: tools, names and tracks, the machine beside them, and a panel for what is selected.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useKeys } from "./keys";
import { usePalette } from "./palette";
import type { RunSettings } from "./route";
import type { TimelineData, TimelineMore } from "./timeline";
import { makeActs, type Acts } from "./timeline_acts";
import { headOf } from "./timeline_head";
import { Hover, sayHit } from "./timeline_hover";
import { onTimelineKey } from "./timeline_keys";
import { indexIn, nearNodes } from "./timeline_links";
import { MachinePane, type Lit } from "./timeline_machine";
import { Names } from "./timeline_names";
import { Operation, Summary } from "./timeline_panel";
import { isSameWindow, readSettings, writeSettings, type TimelineSettings } from "./timeline_settings";
import { useShown, type Everything } from "./timeline_shown";
import { Stage, type Hit } from "./timeline_stage";
import type { Window } from "./timeline_time";
import { timelineTones, type TimelineTones } from "./timeline_tones";
import { Tools } from "./timeline_tools";

interface ViewProps {
  data: TimelineData;
  more: TimelineMore;
  settings: RunSettings;
  onSettings: (settings: RunSettings) => void;
}

/** The settings, and how to change some of them; changes of one moment add up. */
function useSettings(given: RunSettings, onSettings: (settings: RunSettings) => void) {
  const latest = useRef(given);
  latest.current = given;
  const settings = useMemo(() => readSettings(given), [given]);
  const change = (some: Partial<TimelineSettings>) => {
    latest.current = writeSettings(latest.current, { ...readSettings(latest.current), ...some });
    onSettings(latest.current);
  };
  return [settings, change] as const;
}

function useTones(): TimelineTones {
  const palette = usePalette();
  return useMemo(() => timelineTones(palette, matchMedia("(prefers-color-scheme: dark)").matches), [palette]);
}

export function TimelineView({ data, more, settings: given, onSettings }: ViewProps) {
  const { run, slices } = data;
  const [settings, change] = useSettings(given, onSettings);
  const tones = useTones();
  const shown = useShown(data, more, settings, tones);
  const [hover, setHover] = useState<{ hit: Hit | null; time: number | null }>({ hit: null, time: null });
  const [cursor, setCursor] = useState<string | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<Stage | null>(null);
  const head = headOf(!run.about.missing["path"], shown.layers !== null);
  const acts = useRef<Acts | null>(null);
  const written = useRef<Window | null>(null); // the window that the address has from here; by now another may be seen

  // before the page is painted, so that rows and slices are seen at once
  useLayoutEffect(() => {
    const made = new Stage(canvas.current!, scroller.current!, slices, head, shown.whole, {
      onHover: (hit, time) => setHover({ hit, time }),
      onClick: (hit, under) => acts.current!.click(hit, under),
      onWindow: (window) => {
        written.current = window;
        change({ time: window });
      },
      onMeasure: (measure) => change({ measure }),
      onNow: (now) => change({ now }),
    });
    stage.current = made;
    if (settings.time) made.look(settings.time);
    scroller.current!.focus({ preventScroll: true });
    return () => made.close();
  }, [data]);
  useLayoutEffect(() => {
    acts.current = makeActs({ data, path: more.path, shown, settings, stage: stage.current!, cursor, setCursor, change });
  });
  useLayoutEffect(() => {
    stage.current!.show(shown);
  }, Object.values(shown));
  useLayoutEffect(() => {
    if (settings.time && !isSameWindow(settings.time, written.current)) stage.current!.look(settings.time);
  }, [settings.time?.from, settings.time?.to]);
  useReveal(data, shown, settings, stage, acts);
  useKeys((event) => {
    if (!event.defaultPrevented && onTimelineKey(event, acts.current!)) event.preventDefault();
  });

  const lit = useMemo<Lit>(
    () => ({ time: hover.time ?? settings.now, near: nearNodes(slices, shown.nodeOfTrack, more.far, hover.hit) }),
    [data, more, hover, settings.now],
  );
  const names = useMemo(
    () => (
      <Names
        rows={shown.rows}
        scroller={scroller}
        head={head}
        selected={shown.selectedTrack}
        cursor={cursor}
        onToggle={(row, all) => acts.current!.toggle(row, all)}
        onPart={({ branch }) => acts.current!.part(branch.id)}
      />
    ),
    [shown.rows, head, shown.selectedTrack, cursor],
  );
  const tip = hover.hit && stage.current && sayHit(data, more, hover.hit, shown.rows, stage.current);
  return (
    <div class="timeline">
      <Tools
        kinds={slices.kinds}
        kept={settings.kinds}
        find={settings.find}
        found={shown.found && { count: shown.found.length, at: shown.at }}
        tones={tones}
        onKinds={(kinds) => change({ kinds })}
        onFind={(find) => change({ find })}
        onStep={(by) => acts.current!.find(by)}
        onZoom={(factor) => acts.current!.zoom(factor)}
        onAll={() => acts.current!.all()}
        onFold={(open) => acts.current!.fold(open)}
      />
      <div class="stage">
        <section class="card tracks">
          <div
            ref={scroller}
            class="scroller"
            tabIndex={0}
            aria-label="Timeline. w, a, s, d zoom and move; arrows up and down go through the rows; ? shows all keys"
            aria-activedescendant={cursor === null ? undefined : `row ${cursor}`}
          >
            {names}
            <canvas ref={canvas} role="img" aria-label={`Timeline of ${run.name}`} />
          </div>
          <div class="corner" aria-hidden="true" style={{ height: `${head}px` }}>
            <span>whole run</span>
            <span>time</span>
            {shown.layers && <span class="layer">layers</span>}
            {shown.layers && <span class="layer">operators</span>}
            {!run.about.missing["path"] && <span class="critical">critical path</span>}
          </div>
          {tip && canvas.current && <Hover {...tip} x={hover.hit!.x} y={hover.hit!.y} box={canvas.current} />}
          {!slices.count && <p class="message no-operations">Nothing happened in this run: its op log has no operation.</p>}
        </section>
        <Side data={data} more={more} shown={shown} lit={lit} change={change} acts={acts} />
      </div>
    </div>
  );
}

/** When a part or a slice is selected, here or in another view, its row is opened and scrolled to. */
function useReveal(
  { slices }: TimelineData,
  { selected, selectedTrack, rows }: Everything,
  { select }: TimelineSettings,
  stage: { current: Stage | null },
  acts: { current: Acts | null },
): void {
  const wanted = useRef<number | null>(null); // a track that has no row yet
  const reveal = (track: number | null) => {
    if (track === null) return;
    if (acts.current!.openAround(track)) stage.current!.reveal(track);
    else wanted.current = track;
  };
  useEffect(() => reveal(selectedTrack), [select]);
  useEffect(() => reveal(selected === null ? null : slices.track[selected]!), [selected]);
  useEffect(() => {
    if (wanted.current !== null) stage.current!.reveal(wanted.current);
    wanted.current = null;
  }, [rows]);
}

interface SideProps {
  data: TimelineData;
  more: TimelineMore;
  shown: Everything;
  lit: Lit;
  change: (some: Partial<TimelineSettings>) => void;
  acts: { current: Acts | null };
}

/** The machine, and under it what is selected. */
function Side({ data, more, shown, lit, change, acts }: SideProps) {
  const { run, slices, names } = data;
  const { selected, measure, tones, whole, critical } = shown;
  const { machine } = run;
  return (
    <div class="side">
      {machine ? (
        <MachinePane
          machine={machine}
          slices={slices}
          nodeOfTrack={shown.nodeOfTrack}
          lit={lit}
          selected={shown.selectedNode}
          tones={tones}
          onNode={(node) => change({ select: node === null ? null : machine.names[node]!, row: null })}
        />
      ) : (
        <p class="card note absent">{run.about.missing["nodes"]}</p>
      )}
      {selected !== null && !measure ? (
        <Operation
          slices={slices}
          tracks={names}
          details={more.details}
          place={selected}
          critical={indexIn(critical, selected) >= 0}
          told={shown.told}
          nodes={machine?.names ?? []}
          problem={shown.problem}
          tones={tones}
          onRow={(row) => acts.current!.selectRow(row)}
          onPart={(part) => change({ select: part })}
          onFit={() => acts.current!.fit()}
          onClose={() => change({ row: null })}
        />
      ) : (
        <Summary
          note={run.about.missing["path"]}
          slices={slices}
          window={measure ?? whole}
          tones={tones}
          measured={measure !== null}
          onName={(find) => change({ find })}
          onClose={() => change({ measure: null })}
        />
      )}
    </div>
  );
}
