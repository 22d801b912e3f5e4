// What a frame of the timeline is drawn from, and marks that its rows and its head have in common.
import type { Arrow } from "./timeline_arrows";
import type { Density, Shades } from "./timeline_density";
import type { Labels } from "./timeline_labels";
import type { Layers, LayerSpan } from "./timeline_layers";
import type { Row } from "./timeline_rows";
import { IN_FLIGHT, type Slices } from "./timeline_slices";
import type { Window } from "./timeline_time";
import type { TimelineTones } from "./timeline_tones";

const [LABEL_PX, LABEL_LANE_PX] = [22, 11]; // of a slice that has a label, and of its lane

/** Where the parts of the canvas are, in px from its top. */
export interface Frame {
  width: number;
  height: number;
  ratio: number; // device pixels in a px
  head: number; // height of overview, ruler, layers and path
}

export interface Scene {
  slices: Slices;
  issue: Float64Array | null; // of each row of the op log; null until it is known
  layers: Layers | null;
  path: Slices | null;
  critical: Uint32Array; // places on the critical path
  rows: readonly Row[];
  first: number; // of the rows that are seen
  scroll: number;
  window: Window;
  whole: Window;
  shades: Shades;
  pathShades: Shades | null;
  density: (id: string, tracks: readonly number[]) => Density;
  tones: TimelineTones;
  labels: Labels;
  frame: Frame;
  boxes: readonly [DOMRect, string][]; // slices that are marked, each with its tone
  selectedTrack: number | null;
  layerHovered: LayerSpan | null;
  pathHovered: number | null;
  arrows: readonly Arrow[];
  arrowHovered: number | null;
  measure: Window | null;
  pointer: number | null; // times
  now: number | null;
}

export interface Wide {
  place: number;
  left: number;
  right: number;
  top: number;
  height: number;
  slices: Slices;
}

export function xOf(time: number, { from, to }: Window, width: number): number {
  return ((time - from) / (to - from)) * width;
}

/** How long each of some slices of the run waited, as a line before it. */
export function drawWaits(g: CanvasRenderingContext2D, { slices, issue, window, frame, tones }: Scene, wide: readonly Wide[]): void {
  if (!issue) return;
  g.fillStyle = tones.quiet;
  g.globalAlpha = 0.55;
  for (const { place, left, top, height } of wide) {
    const issued = issue[slices.row[place]!]!;
    if (issued >= slices.start[place]! || left < 0) continue;
    const from = Math.max(0, xOf(issued, window, frame.width));
    g.fillRect(from, top + height - 1.5, left - from, 2);
  }
  g.globalAlpha = 1;
}

/** Names of slices that are wide enough, and an outline of what is in flight. */
export function drawWide(g: CanvasRenderingContext2D, { labels, frame, tones }: Scene, wide: readonly Wide[]): void {
  for (const { place, left, right, top, height, slices } of wide) {
    const from = Math.max(0, left);
    const room = Math.min(frame.width, right) - from;
    if (slices.kinds[slices.kind[place]!] === IN_FLIGHT) {
      g.strokeStyle = tones.quiet;
      g.lineWidth = 1;
      g.strokeRect(from + 0.5, top + 0.5, room - 2, height - 1);
    }
    if (room >= LABEL_PX && height >= LABEL_LANE_PX - 1) labels.draw(g, slices.names[slices.name[place]!]!, from + 4, top, room - 7, height);
  }
}

export function outline(g: CanvasRenderingContext2D, box: DOMRect, tone: string, frame: Frame): void {
  if (box.bottom < frame.head || box.top > frame.height) return;
  const [left, right] = [Math.max(-3, box.left), Math.min(frame.width + 3, box.right)];
  g.strokeStyle = tone;
  g.lineWidth = 2;
  g.strokeRect(left - 0.5, box.top - 0.5, right - left + 1, box.height + 1);
}
