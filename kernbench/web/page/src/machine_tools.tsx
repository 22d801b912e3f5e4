// The time that the machine of a run is shown at: playback, the legend of colours, and what is told of a part over time.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { MEASURES, type BusyTime, type Measure, type Scale, type Span } from "./busy";
import { takesText, useKeys } from "./keys";
import type { Look } from "./machine_time";
import { formatNumber } from "./points";
import type { RunSettings } from "./route";

const STEP_MS = 80;
const SETTLE_MS = 250; // browsers allow few changes of the address in a second
const WIDTHS = [1, 4, 16, 64];
const WORDS: Record<Look["by"], string> = { utilisation: "utilisation", queueing: "queueing", bytes: "bytes", power: "power", function: "function of parts" };
const TELLS: Record<Measure, string> = {
  utilisation: "busy, of the busiest of a node or link",
  queueing: "jobs and transfers that wait for a part",
  bytes: "data through a part or link",
  power: "dynamic power of a part or link",
};

export interface Playing {
  now: number | null;
  on: boolean;
  toggle: () => void;
  set: (now: number | null) => void;
  move: (now: number) => void; // one of many
  step: (windows: number) => void;
}

/** The time that is shown. While it plays or is moved the address stays as it is; it takes the time when that has stopped. */
export function usePlaying(busy: BusyTime | null, settings: RunSettings, onNow: (now: number | null) => void): Playing {
  const [on, setOn] = useState(false);
  const [moved, setMoved] = useState<number | null>(null);
  const tell = useRef(onNow);
  tell.current = onNow;
  const at = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const window = busy?.windowNs ?? 1;
  const [first, last] = settings.time ?? [0, (busy?.windows ?? 1) * window];
  const now = moved ?? settings.now;
  at.current = now ?? first;
  const end = (to: number | null) => {
    clearTimeout(timer.current);
    setOn(false);
    setMoved(null);
    tell.current(to);
  };
  const move = (to: number) => {
    setOn(false);
    setMoved(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => end(to), SETTLE_MS);
  };
  const clamp = (to: number) => round(Math.max(0, Math.min(to, ((busy?.windows ?? 1) - 1) * window)));
  useEffect(() => {
    if (!on) return;
    const ticks = setInterval(() => {
      if (at.current + 1.5 * window > last) end(at.current);
      else setMoved(round(at.current + window));
    }, STEP_MS);
    return () => clearInterval(ticks);
  }, [on, window, last]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return {
    now,
    on,
    toggle: () => {
      if (!busy) return;
      if (on) return end(at.current);
      clearTimeout(timer.current);
      setMoved(at.current + 2.5 * window > last ? first : at.current);
      setOn(true);
    },
    set: end,
    move: (to) => move(clamp(to)),
    step: (windows) => move(clamp((Math.floor(at.current / window + 1e-6) + windows) * window)),
  };
}

function round(ns: number): number {
  return Number(ns.toFixed(3));
}

interface PlaybackProps {
  busy: BusyTime | null;
  failed: boolean; // there will be none
  look: Look;
  span: Span | null;
  playing: Playing;
  settings: RunSettings;
  onLook: (change: Partial<Look>) => void;
  onSettings: (settings: RunSettings) => void;
}

export function Playback({ busy, failed, look, span, playing, settings, onLook, onSettings }: PlaybackProps) {
  useLookKeys(playing, look, onLook);
  const window = busy?.windowNs ?? 1;
  const [first, last] = span ? [span.first * window, Math.min(span.last * window, busy?.spanNs ?? 0)] : [0, 0];
  const ranged = settings.time && playing.now === null;
  return (
    <div class="tools playback" role="toolbar" aria-label="Time and colours">
      <button type="button" disabled={!busy} aria-label={playing.on ? "Pause (Space)" : "Play (Space)"} title={playing.on ? "Pause (Space)" : "Play (Space)"} onClick={playing.toggle}>
        {playing.on ? "❚❚" : "▶"}
      </button>
      <input
        type="range"
        aria-label="Time"
        title="Time (, and . step by a window)"
        min={0}
        max={Math.max((busy?.windows ?? 1) - 1, 0)}
        step={1}
        disabled={!busy}
        value={span?.first ?? 0}
        onInput={(event) => playing.move(Number(event.currentTarget.value) * window)}
      />
      <output class={playing.now === null ? "note" : ""}>
        {busy ? `${formatNumber(Math.round(first))}–${formatNumber(Math.round(last))} ns` : failed ? "no times" : "reading …"}
      </output>
      <button
        type="button"
        disabled={!busy || (playing.now === null && !settings.time)}
        title={ranged ? "Mean over the whole run" : "Mean over the time that is looked at, or all of it"}
        onClick={() => (ranged ? onSettings({ ...settings, time: null }) : playing.set(null))}
      >
        {ranged || !settings.time ? "Whole run" : "Whole range"}
      </button>
      <label class="pick">
        Window
        <select aria-label="Window" disabled={!busy} value={look.width} onChange={(event) => onLook({ width: Number(event.currentTarget.value) })}>
          {[...new Set([...WIDTHS, look.width])].sort((a, b) => a - b).map((width) => (
            <option key={width} value={width}>
              {(width * window).toLocaleString("en-US")} ns
            </option>
          ))}
        </select>
      </label>
      <label class="pick" title="Colour of parts and links (c: the next)">
        Colour
        <select aria-label="Colour by" value={look.by} onChange={(event) => onLook({ by: event.currentTarget.value as Look["by"] })}>
          {([...MEASURES, "function"] as const).map((by) => (
            <option key={by} value={by}>
              {WORDS[by]}
            </option>
          ))}
        </select>
      </label>
      <label class="pick" title="Lay the critical path over the drawing (p)">
        <input type="checkbox" checked={look.path} onChange={(event) => onLook({ path: event.currentTarget.checked })} />
        Critical path
      </label>
    </div>
  );
}

function useLookKeys(playing: Playing, look: Look, onLook: (change: Partial<Look>) => void): void {
  useKeys((event) => {
    const { target } = event;
    if (takesText(target) || event.ctrlKey || event.metaKey || event.altKey || (target instanceof Element && target.closest("dialog"))) return;
    const measures = [...MEASURES, "function"] as const;
    if (event.key === " ") playing.toggle(); // wherever the focus is: also on a button, which a space would press
    else if (target instanceof HTMLSelectElement || target instanceof HTMLButtonElement) return;
    else if (event.key === ",") playing.step(-1);
    else if (event.key === ".") playing.step(1);
    else if (event.key === "p") onLook({ path: !look.path });
    else if (event.key === "c") onLook({ by: measures[(measures.indexOf(look.by) + 1) % measures.length]! });
    else return;
    event.preventDefault();
  });
}

/** What the colours mean, with values along the ramp. */
export function Legend({ measure, scale, ramp }: { measure: Measure; scale: Scale; ramp: readonly string[] }) {
  return (
    <div class="key ramp">
      <i style={{ background: `linear-gradient(to right, ${ramp.join(",")})` }} />
      <div>
        {[0, 0.5, 1].map((place) => (
          <span key={place}>{scale.format(scale.value(place))}</span>
        ))}
      </div>
      <p>{TELLS[measure]}</p>
    </div>
  );
}

interface ToldProps {
  busy: BusyTime;
  measure: Measure;
  scale: Scale;
  span: Span;
  where: "node" | "link";
  at: number;
}

const [WIDE, HIGH] = [240, 40];

/** A value in the time that is shown, and all its values over time. */
export function Told({ busy, measure, scale, span, where, at }: ToldProps) {
  const history = useMemo(() => busy.history(measure, where, at), [busy, measure, where, at]);
  const value = busy.means(measure, span)[where][at]!;
  const most = history.reduce((found, one) => Math.max(found, one), 0);
  if (!most) return <span class="note">{measure === "queueing" ? "nothing was counted that waits for it" : "not busy in this run"}</span>;
  const x = (window: number) => (window / busy.windows) * WIDE;
  const points = Array.from(history, (one, window) => `${x(window).toFixed(1)},${(HIGH - (one / most) * (HIGH - 2)).toFixed(1)} ${x(window + 1).toFixed(1)},${(HIGH - (one / most) * (HIGH - 2)).toFixed(1)}`);
  return (
    <div class="told">
      <span>
        <strong>{scale.format(Number.isNaN(value) ? 0 : value)}</strong> {measure === "utilisation" ? "busy" : measure === "queueing" ? "waiting" : measure === "power" ? "drawn" : "passed"}, at most{" "}
        {scale.format(most)}
      </span>
      <svg viewBox={`0 0 ${WIDE} ${HIGH}`} role="img" aria-label={`${measure} over the run`}>
        <rect x={x(span.first)} y={0} width={Math.max(x(span.last) - x(span.first), 1)} height={HIGH} />
        <polyline points={points.join(" ")} />
      </svg>
    </div>
  );
}
