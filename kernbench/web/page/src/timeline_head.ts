// What stays above the rows of the timeline: an overview of the whole run, the ruler, the layers of a network and the critical
// path; and times that are marked over all of it.
import { drawStrip, type Line } from "./timeline_density";
import { drawLayers, LAYERS_PX } from "./timeline_layers";
import type { Pixels } from "./timeline_pixels";
import { drawWide, outline, xOf, type Frame, type Scene, type Wide } from "./timeline_scene";
import { seek, type Slices } from "./timeline_slices";
import { formatTick, formatTime, stepOf } from "./timeline_time";

export const [OVERVIEW_PX, RULER_PX, PATH_PX] = [34, 24, 23];
const RULER_END = OVERVIEW_PX + RULER_PX;
const LABEL_PX = 22; // of a step of the path that has a name

/** The height of what stays above the rows. */
export function headOf(path: boolean, layers: boolean): number {
  return RULER_END + (layers ? LAYERS_PX : 0) + (path ? PATH_PX : 0);
}

/** The top of the critical path, which ends what stays above. */
function pathTop({ head }: Frame): number {
  return head - PATH_PX + 2;
}

/** Write the pixels of the overview and the critical path. Returns the steps of the path that have room for a name. */
export function paintHead(pixels: Pixels, line: Line, { frame, whole, window, slices, shades, density, path, pathShades }: Scene): Wide[] {
  const device = (px: number) => Math.round(px * frame.ratio);
  const all = density("", allTracks(slices));
  pixels.stack(device(4), device(OVERVIEW_PX - 2), all.over(whole, pixels.width), shades.tints, all.most);
  if (!path || !pathShades || !path.count) return [];
  const wide: Wide[] = [];
  const top = pathTop(frame);
  line.begin(pixels.width);
  drawStrip(line, path, 0, window, pathShades, LABEL_PX * frame.ratio, (place, left, right) =>
    wide.push({ place, left: left / frame.ratio, right: right / frame.ratio, top, height: PATH_PX - 6, slices: path }),
  );
  pixels.stretch(device(top), device(top + PATH_PX - 6), line.shares, line.shades, pathShades.tints);
  return wide;
}

/** Overview, ruler, layers and critical path, which stay while rows scroll. */
export function drawHead(g: CanvasRenderingContext2D, scene: Scene, pathWide: readonly Wide[]): void {
  const { frame, tones, window, layers, path, pathHovered } = scene;
  if (layers) drawLayers(g, layers, RULER_END, scene);
  drawWide(g, scene, pathWide);
  if (path) {
    g.fillStyle = tones.critical;
    g.fillRect(0, frame.head - 3, frame.width, 1.5);
  }
  if (path && pathHovered !== null) {
    const left = xOf(path.start[pathHovered]!, window, frame.width);
    const right = xOf(path.end[pathHovered]!, window, frame.width);
    outline(g, new DOMRect(left, pathTop(frame), right - left, PATH_PX - 6), tones.near, { ...frame, head: 0 });
  }
  drawOverviewWindow(g, scene);
  drawRuler(g, scene);
}

const everyTrack = new WeakMap<Slices, readonly number[]>();

function allTracks(slices: Slices): readonly number[] {
  let found = everyTrack.get(slices);
  if (!found) everyTrack.set(slices, (found = Array.from(slices.strips.lanes, (_, track) => track)));
  return found;
}

function drawOverviewWindow(g: CanvasRenderingContext2D, { window, whole, frame, tones }: Scene): void {
  const left = Math.max(0, xOf(window.from, whole, frame.width));
  const right = Math.min(frame.width, xOf(window.to, whole, frame.width));
  g.fillStyle = tones.veil;
  g.fillRect(0, 0, left, OVERVIEW_PX);
  g.fillRect(right, 0, frame.width - right, OVERVIEW_PX);
  g.fillStyle = tones.near;
  g.fillRect(left, 0, Math.max(2, right - left), 2);
  g.fillRect(left, 0, 1.5, OVERVIEW_PX);
  g.fillRect(Math.max(left + 1.5, right - 1.5), 0, 1.5, OVERVIEW_PX);
}

function drawRuler(g: CanvasRenderingContext2D, { window, frame, tones }: Scene): void {
  const step = stepOf(window, frame.width);
  g.fillStyle = tones.line;
  g.fillRect(0, OVERVIEW_PX, frame.width, 1);
  g.fillRect(0, frame.head - 1, frame.width, 1);
  g.font = "11px system-ui, sans-serif";
  g.textAlign = "left";
  g.textBaseline = "middle";
  for (let tick = Math.ceil(window.from / step) * step; tick <= window.to; tick += step) {
    const x = Math.round(xOf(tick, window, frame.width)) + 0.5;
    g.fillStyle = tones.line;
    g.fillRect(x, OVERVIEW_PX, 1, RULER_PX);
    g.fillStyle = tones.quiet;
    g.fillText(formatTick(tick, step, window), x + 5, OVERVIEW_PX + RULER_PX / 2 + 1);
  }
}

/** The lines of the ruler through the rows, below the names of slices. */
export function drawGrid(g: CanvasRenderingContext2D, { window, frame, tones }: Scene): void {
  const step = stepOf(window, frame.width);
  g.fillStyle = tones.line;
  g.globalAlpha = 0.45;
  for (let tick = Math.ceil(window.from / step) * step; tick <= window.to; tick += step) {
    g.fillRect(Math.round(xOf(tick, window, frame.width)) + 0.5, frame.head, 1, frame.height - frame.head);
  }
  g.globalAlpha = 1;
}

/** What is measured, the time under the pointer, and the time that all views look at. */
export function drawTimes(g: CanvasRenderingContext2D, { window, frame, tones, measure, pointer, now }: Scene): void {
  if (measure) {
    const [left, right] = [xOf(measure.from, window, frame.width), xOf(measure.to, window, frame.width)];
    g.fillStyle = tones.veil;
    g.fillRect(0, frame.head, Math.max(0, left), frame.height);
    g.fillRect(right, frame.head, Math.max(0, frame.width - right), frame.height);
    g.fillStyle = tones.near;
    for (const x of [left, right]) g.fillRect(x - 0.5, OVERVIEW_PX, 1, frame.height);
    g.fillRect(left, OVERVIEW_PX + RULER_PX - 2, right - left, 2);
    flag(g, formatTime(measure.to - measure.from), (Math.max(0, left) + Math.min(frame.width, right)) / 2, tones.near, tones.ground, frame);
  }
  if (now !== null) {
    const x = xOf(now, window, frame.width);
    g.fillStyle = tones.now;
    g.fillRect(x - 0.75, OVERVIEW_PX, 1.5, frame.height);
    g.beginPath();
    g.moveTo(x - 6, OVERVIEW_PX);
    g.lineTo(x + 6, OVERVIEW_PX);
    g.lineTo(x, OVERVIEW_PX + 8);
    g.fill();
  }
  if (pointer !== null) {
    const x = xOf(pointer, window, frame.width);
    g.fillStyle = tones.quiet;
    g.fillRect(x, OVERVIEW_PX, 1, frame.height);
    if (!measure) flag(g, formatTime(pointer, 8), x, tones.quiet, tones.ground, frame);
  }
}

function flag(g: CanvasRenderingContext2D, text: string, x: number, ground: string, tone: string, frame: Frame): void {
  g.font = "11px system-ui, sans-serif";
  const half = g.measureText(text).width / 2 + 6;
  const at = Math.min(Math.max(x, half), frame.width - half);
  g.fillStyle = ground;
  g.beginPath();
  g.roundRect(at - half, OVERVIEW_PX + 4, 2 * half, 16, 4);
  g.fill();
  g.fillStyle = tone;
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.fillText(text, at, OVERVIEW_PX + 12.5);
}

/** The place on the critical path at a time. */
export function pathAt(path: Slices, time: number): number | null {
  const at = seek(path.start, 0, path.count, time);
  return at > 0 && path.end[at - 1]! > time ? at - 1 : null;
}
