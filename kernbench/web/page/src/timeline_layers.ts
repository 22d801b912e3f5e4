// The layers of a network and the operators in them: two lines between the ruler and the critical path.
import type { RunAbout } from "./api";
import { outline, xOf, type Scene } from "./timeline_scene";
import { formatExact, formatTime, type Window } from "./timeline_time";

const LINE_PX = 18;
const GAP_PX = 3; // between a line and the next one
export const LAYERS_PX = 2 * LINE_PX; // of both lines

/** An operator of a network as `result.json` tells it. */
interface Told {
  section: string; // the layer, or an end of the network
  operator: string;
  times: number; // layers that it stands for
  start_fs: number;
  end_fs: number;
  bound: string | null;
  share_of_peak: number | null;
}

/** A layer or an operator. */
export interface LayerSpan extends Window {
  name: string;
  lines: string[]; // what is told of it beside its time
}

export interface Layers {
  layers: LayerSpan[];
  operators: LayerSpan[];
}

/** The layers of a run, null if it is not one of a network. */
export function readLayers({ network }: RunAbout): Layers | null {
  const told = (network as { operators?: Told[] } | null | undefined)?.operators;
  if (!told?.length || told.some(({ start_fs, end_fs }) => !(end_fs >= start_fs))) return null;
  const operators = told.map(({ section, operator, start_fs, end_fs, bound, share_of_peak: share }) => ({
    name: operator,
    from: start_fs,
    to: end_fs,
    lines: [section, ...(bound && share !== null ? [`${(100 * share).toFixed(1)} % of the peak of ${bound}`] : [])],
  }));
  const layers: LayerSpan[] = [];
  let before: Told | null = null;
  for (const one of told) {
    if (before?.section === one.section) layers.at(-1)!.to = one.end_fs;
    else layers.push({ name: one.section, from: one.start_fs, to: one.end_fs, lines: one.times > 1 ? [`stands for ${one.times} layers`] : [] });
    before = one;
  }
  return { layers, operators };
}

/** Draw both lines from a height on. */
export function drawLayers(g: CanvasRenderingContext2D, layers: Layers, top: number, { window, frame, tones, labels, layerHovered }: Scene): void {
  [layers.layers, layers.operators].forEach((spans, index) => {
    const at = top + index * LINE_PX + GAP_PX;
    spans.forEach((span, place) => {
      const left = Math.max(0, xOf(span.from, window, frame.width));
      const right = Math.min(frame.width, xOf(span.to, window, frame.width));
      if (right < 0 || left > frame.width) return;
      const box = new DOMRect(left, at, Math.max(1, right - left - 1), LINE_PX - GAP_PX);
      g.fillStyle = place % 2 === 1 ? tones.chosen : tones.line;
      g.fillRect(box.x, box.y, box.width, box.height);
      if (span === layerHovered) outline(g, box, tones.near, { ...frame, head: 0 });
      labels.draw(g, span.name, left + 4, at, right - left - 8, LINE_PX - GAP_PX);
    });
  });
}

/** What lies at a time and a height below the ruler. */
export function layerAt(layers: Layers, time: number, y: number): LayerSpan | null {
  const spans = y < LINE_PX ? layers.layers : layers.operators;
  return spans.find(({ from, to }) => from <= time && time < to) ?? null;
}

/** The lines of a layer or an operator. */
export function sayLayer({ from, to, lines }: LayerSpan): string[] {
  return [`${formatTime(to - from, 6)} from ${formatExact(from)}`, ...lines];
}
