// The machine of a run over time: coloured by how busy its parts were, played, with the critical path laid over.
import { useEffect, useMemo, useState } from "preact/hooks";
import { BusiestParts } from "./machine_busiest";
import { BusyTime, MEASURES, rampOf, type Measure, type Scale, type Span } from "./busy";
import { formatTenths } from "./explain_data";
import { PathOverTime, sumClasses } from "./explain_strip";
import { usePalette, type Palette } from "./palette";
import { MachineViews } from "./machine";
import type { Machine } from "./machine_data";
import type { Heat, Overlay } from "./machine_draw";
import { markPath, readPieces, type PathPiece } from "./machine_path";
import { Legend, Playback, Told, usePlaying } from "./machine_tools";
import type { RunViewProps } from "./run";
import type { Path, Run } from "./run_data";

const RAMP_STEPS = 24;
const FS_IN_NS = 1e6;
const [MOST_LANES, LANE_PX] = [5, 14]; // of the critical path by time

/** What the address says of this view alone. */
export interface Look {
  by: Measure | "function";
  width: number; // windows
  path: boolean;
}

function readLook({ by, width, path }: Record<string, string>): Look {
  const windows = Math.round(Number(width));
  return {
    by: by === "function" ? by : (MEASURES.find((measure) => measure === by) ?? "utilisation"),
    width: windows >= 1 ? windows : 1,
    path: path !== "no",
  };
}

function writeLook(extra: Record<string, string>, { by, width, path }: Look): Record<string, string> {
  return { ...extra, by: by === "utilisation" ? "" : by, width: width === 1 ? "" : String(width), path: path ? "" : "no" };
}

export function MachineTime({ run, settings, onSettings }: RunViewProps) {
  if (!run.machine) return <p class="message error" role="alert">{run.about.missing["nodes"]}</p>;
  return <TimedMachine run={run} machine={run.machine} settings={settings} onSettings={onSettings} />;
}

interface Tables {
  busy: BusyTime | null;
  pieces: PathPiece[];
  path: Path | null;
  problem: string | null; // what cannot be shown, and why
}

/** What the colours and the path are made of, fetched after the drawing is there. */
function useTables(run: Run, machine: Machine): Tables {
  const [found, setFound] = useState<Tables>({ busy: null, pieces: [], path: null, problem: null });
  useEffect(() => {
    let gone = false;
    const fail = (error: unknown) => {
      const problem = error instanceof Error ? error.message : String(error);
      if (!gone) setFound((before) => ({ ...before, problem }));
    };
    const spanNs = run.about.span_fs[1] / FS_IN_NS;
    Promise.all([run.load("parts"), run.load("busy")])
      .then(([parts, busy]) => new BusyTime(machine, parts, busy, run.about.window_fs / FS_IN_NS, spanNs))
      .then((busy) => gone || setFound((before) => ({ ...before, busy })))
      .catch(fail);
    Promise.all([run.load("path"), run.load("parts"), run.load("path_parts")])
      .then(([path, parts, passed]) => ({ path, pieces: readPieces(machine, path, parts, passed) }))
      .then((read) => gone || setFound((before) => ({ ...before, ...read })))
      .catch(fail);
    return () => {
      gone = true;
    };
  }, [run, machine]);
  return found;
}

function TimedMachine({ run, machine, settings, onSettings }: RunViewProps & { machine: Machine }) {
  const { busy, pieces, path, problem } = useTables(run, machine);
  const palette = usePalette();
  const classes = useMemo(() => (path ? sumClasses(path) : []), [path]);
  const look = readLook(settings.extra);
  const setLook = (change: Partial<Look>) => onSettings({ ...settings, extra: writeLook(settings.extra, { ...look, ...change }) });
  const playing = usePlaying(busy, settings, (now) => onSettings({ ...settings, now }));
  const span = busy ? busy.span(playing.now, look.width, settings.time) : null;
  const measure = look.by === "function" ? null : look.by;
  const scale = useMemo(() => (busy && measure ? busy.scale(measure) : null), [busy, measure]);
  const overlay = useOverlay(busy, pieces, look, span, scale, playing.now, palette);
  const tell = (where: "node" | "link", at: number) =>
    busy && measure && scale && span && <Told busy={busy} measure={measure} scale={scale} span={span} where={where} at={at} />;
  return (
    <>
      <Playback busy={busy} failed={problem !== null} look={look} span={span} playing={playing} settings={settings} onLook={setLook} onSettings={onSettings} />
      {problem && <p class="banner">{problem}</p>}
      {look.path && !run.about.missing["path"] && (
        <section class="card path-by-time" aria-label="The critical path by time">
          {path && (
            <PathOverTime
              path={path}
              classes={classes}
              palette={palette}
              most={MOST_LANES}
              lane={LANE_PX}
              now={playing.now}
              hint="critical path by time; a click shows where it is then"
              onTime={(start) => playing.set(start)}
            />
          )}
        </section>
      )}
      <MachineViews
        data={machine}
        settings={{ select: settings.select, at: settings.at }}
        onSettings={({ select, at }) => onSettings({ ...settings, select, at })}
        added={{
          overlay,
          title: <Title look={look} piece={overlay.path?.now ?? null} pieces={pieces} now={playing.now} />,
          legend: measure && scale && <Legend measure={measure} scale={scale} ramp={overlay.heat?.ramp ?? []} />,
          beside: (goTo) => measure && scale && span && busy && <BusiestParts busy={busy} measure={measure} scale={scale} span={span} onNode={goTo} />,
          onNode: (node) => tell("node", node),
          onLink: (link) => tell("link", link),
        }}
      />
    </>
  );
}

function useOverlay(
  busy: BusyTime | null,
  pieces: PathPiece[],
  look: Look,
  span: Span | null,
  scale: Scale | null,
  now: number | null,
  palette: Palette,
): Overlay {
  const ramp = useMemo(() => rampOf(palette.busy, RAMP_STEPS), [palette]);
  const heat = useMemo((): Heat | null => {
    if (!busy || look.by === "function" || !span || !scale) return null;
    const values = busy.means(look.by, span);
    const place = (value: number) => (Number.isNaN(value) ? NaN : scale.place(value));
    const node = values.node.map(place);
    const height = (at: number) => (Number.isNaN(node[at]!) ? -1 : node[at]!);
    const order = [...node.keys()].sort((a, b) => height(a) - height(b));
    return { node, link: values.link.map(place), order, ramp, none: palette.faint };
  }, [busy, look.by, span?.first, span?.last, scale, ramp, palette]);
  const path = useMemo(() => (look.path && pieces.length ? markPath(pieces, now) : null), [look.path, pieces, now]);
  return useMemo(() => ({ heat, path, pathTone: palette.one }), [heat, path, palette]);
}

interface TitleProps {
  look: Look;
  piece: PathPiece | null;
  pieces: readonly PathPiece[];
  now: number | null;
}

/** Where the critical path is now. */
function Title({ look, piece, pieces, now }: TitleProps) {
  if (!look.path || !pieces.length) return <div />;
  const [start, end] = [pieces[0]!.start, pieces.at(-1)!.end];
  return (
    <div class="now">
      <strong>Critical path</strong>{" "}
      {piece ? (
        <>
          {piece.name || "other work"} at {piece.part || "no part"}, {formatTenths(piece.start)}–{formatTenths(piece.end)} ns
        </>
      ) : (
        <span class="note">
          {pieces.length.toLocaleString("en-US")} pieces, {formatTenths(start)}–{formatTenths(end)} ns
          {now === null ? "; move the time to see where it is" : "; this time is not on it"}
        </span>
      )}
    </div>
  );
}
