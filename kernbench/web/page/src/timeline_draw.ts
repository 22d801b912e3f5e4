// The drawing of the timeline: first the pixels of all slices, then on the canvas what is said and marked of them. A frame
// costs what its pixels cost, however many slices there are.
import { drawArrows } from "./timeline_arrows";
import { drawCounter } from "./timeline_counters";
import { drawStrip, type Line } from "./timeline_density";
import { drawGrid, drawHead, drawTimes, paintHead } from "./timeline_head";
import { lowerBound } from "./timeline_links";
import type { Pixels } from "./timeline_pixels";
import { GROUP_PX, type Row } from "./timeline_rows";
import { drawWaits, drawWide, outline, xOf, type Scene, type Wide } from "./timeline_scene";
import { laneOf } from "./timeline_slices";
import { packed } from "./timeline_tones";

const MARKED_PX = 5; // of a slice that has a name and shows how long it waited
const PAD_PX = 3; // above and below what a group shows

export function drawTimeline(g: CanvasRenderingContext2D, pixels: Pixels, line: Line, scene: Scene): void {
  const { frame, tones } = scene;
  const ratio = frame.ratio;
  pixels.begin(g.canvas.width, g.canvas.height, packed(tones.ground));
  const pathWide = paintHead(pixels, line, scene);
  pixels.keepAbove(Math.round(frame.head * ratio));
  const wide = paintRows(pixels, line, scene);
  pixels.end(g);
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.save();
  g.beginPath();
  g.rect(0, frame.head, frame.width, frame.height);
  g.clip();
  for (const [row, top] of seenRows(scene)) drawCounter(g, scene, row, top);
  drawGrid(g, scene);
  drawWaits(g, scene, wide);
  drawWide(g, scene, wide);
  for (const [row, top] of seenRows(scene)) if (row.branch.track !== null) drawCritical(g, scene, row, top);
  for (const [box, tone] of scene.boxes) outline(g, box, tone, frame);
  drawArrows(g, scene.arrows, scene.arrowHovered, tones);
  g.restore();
  drawHead(g, scene, pathWide);
  drawTimes(g, scene);
}

/** The rows that are seen, each with its top on the canvas. */
function* seenRows({ rows, first, scroll, frame }: Scene): Generator<[Row, number]> {
  for (let index = first; index < rows.length; index++) {
    const row = rows[index]!;
    const top = row.top - scroll + frame.head;
    if (top > frame.height) return;
    yield [row, top];
  }
}

/** Write the pixels of all rows that are seen. Returns the slices that are wide enough to say more of. */
function paintRows(pixels: Pixels, line: Line, scene: Scene): Wide[] {
  const { frame, window, tones, selectedTrack, shades } = scene;
  const device = (px: number) => Math.round(px * frame.ratio);
  const wide: Wide[] = [];
  for (const [row, top] of seenRows(scene)) {
    const bottom = top + row.height;
    const { track, id, tracks, counter } = row.branch;
    if (counter !== undefined) {
      pixels.fill(device(top), device(bottom), packed(row.branch.depth ? tones.ground : tones.group));
    } else if (track === null) {
      pixels.fill(device(top), device(bottom), packed(tones.group));
      const density = scene.density(id, tracks);
      pixels.stack(device(top + PAD_PX), device(top + GROUP_PX - PAD_PX), density.over(window, pixels.width), shades.tints, density.most);
    } else {
      if (track === selectedTrack) pixels.fill(device(top), device(bottom), packed(tones.chosen));
      paintTrack(pixels, line, scene, row, top, wide);
    }
    pixels.fill(device(bottom) - 1, device(bottom), packed(tones.rule));
  }
  return wide;
}

function paintTrack(pixels: Pixels, line: Line, scene: Scene, row: Row, top: number, wide: Wide[]): void {
  const { slices, frame, window, shades } = scene;
  const { of, lane, instant } = slices.strips;
  const track = row.branch.track!;
  const device = (px: number) => Math.round(px * frame.ratio);
  for (let strip = of[track]!; strip < of[track + 1]!; strip++) {
    const at = top + 2 + lane[strip]! * row.laneHeight;
    if (at + row.laneHeight < frame.head || at > frame.height) continue;
    const height = instant[strip] ? Math.min(5, row.laneHeight - 1) : row.laneHeight - 1;
    line.begin(pixels.width);
    drawStrip(line, slices, strip, window, shades, MARKED_PX * frame.ratio, (place, left, right) =>
      wide.push({ place, left: left / frame.ratio, right: right / frame.ratio, top: at, height, slices }),
    );
    pixels.stretch(device(at), device(at + height), line.shares, line.shades, shades.tints);
  }
}

function drawCritical(g: CanvasRenderingContext2D, { slices, critical, window, frame, tones }: Scene, row: Row, top: number): void {
  const { of, first, lane } = slices.strips;
  g.fillStyle = tones.critical;
  for (let strip = of[row.branch.track!]!; strip < of[row.branch.track! + 1]!; strip++) {
    let drawn = -1;
    for (let at = lowerBound(critical, first[strip]!); at < critical.length && critical[at]! < first[strip + 1]!; at++) {
      const place = critical[at]!;
      const left = xOf(slices.start[place]!, window, frame.width);
      const right = xOf(slices.end[place]!, window, frame.width);
      if (left > frame.width) break;
      if (right < drawn + 0.5 || right < 0) continue;
      g.fillRect(Math.max(0, left), top + 1 + lane[strip]! * row.laneHeight, Math.max(2, Math.min(right, frame.width) - Math.max(0, left)), 2.5);
      drawn = right;
    }
  }
}

/** Where a slice is on the canvas, in its row; in a row of a group over all of it. */
export function boxOf({ slices, window, frame, scroll }: Pick<Scene, "slices" | "window" | "frame" | "scroll">, place: number, row: Row): DOMRect {
  const left = xOf(slices.start[place]!, window, frame.width);
  const right = xOf(slices.end[place]!, window, frame.width);
  const top = row.top - scroll + frame.head + 2;
  if (!row.laneHeight) return new DOMRect(left, top, Math.max(right - left, 2), row.height - 5);
  return new DOMRect(left, top + laneOf(slices, place) * row.laneHeight, Math.max(right - left, 2), row.laneHeight - 1);
}
