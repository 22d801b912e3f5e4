// The timeline under the hands of the reader: what is seen of it, and what the wheel, a drag and a click do. It draws at most
// once a frame, and only what the page asks of it goes through the page's state.
import { Density, Line, type Shades } from "./timeline_density";
import { arrowAt, type Arrow } from "./timeline_arrows";
import { boxOf, drawTimeline } from "./timeline_draw";
import { OVERVIEW_PX, pathAt, RULER_PX } from "./timeline_head";
import { Labels } from "./timeline_labels";
import { layerAt, LAYERS_PX, type Layers, type LayerSpan } from "./timeline_layers";
import { Pixels } from "./timeline_pixels";
import { rowAt, rowsOf, type Row } from "./timeline_rows";
import { xOf, type Frame, type Scene } from "./timeline_scene";
import { sliceAt, type Slices } from "./timeline_slices";
import { between, keepIn, zoomAt, type Window } from "./timeline_time";
import type { TimelineTones } from "./timeline_tones";

/** What is under the pointer, which is at x and y px of the canvas. */
export type Hit = { x: number; y: number } & (
  | { what: "slice"; place: number }
  | { what: "layer"; span: LayerSpan }
  | { what: "path"; place: number }
  | { what: "group"; row: number; time: number }
  | { what: "arrow"; row: number }
);

/** From one slice or part to another. Times in fs; a lane is null where there is no slice. */
export interface Link {
  from: { track: number; lane: number | null; time: number };
  to: { track: number; lane: number | null; time: number };
  row: number; // of the op log, which a click goes to
  dashed: boolean;
}

export interface Shown {
  rows: readonly Row[];
  issue: Float64Array | null; // of each row of the op log; null until it is known
  shades: Shades;
  layers: Layers | null;
  path: Slices | null;
  pathShades: Shades | null;
  critical: Uint32Array; // places on the critical path
  tones: TimelineTones;
  selected: number | null;
  selectedTrack: number | null;
  links: readonly Link[];
  measure: Window | null;
  now: number | null;
}

export interface Events {
  onHover: (hit: Hit | null, time: number | null) => void; // the time under the pointer
  onClick: (hit: Hit | null, part: Row | null) => void;
  onWindow: (window: Window) => void; // once it stands still
  onMeasure: (measure: Window | null) => void;
  onNow: (time: number) => void;
}

type Drag = { what: "pan" | "measure" | "overview" | "press"; x: number; y: number; moved: boolean; window: Window; scroll: number };

const [NEAR_PX, CLICK_PX, SETTLED_MS, MOVE_MS] = [3, 4, 250, 160];

export class Stage {
  window: Window; // that is seen now
  target: Window; // that is moved to
  private shown: Shown | null = null;
  private readonly pixels = new Pixels();
  private readonly line = new Line();
  private densities = new Map<string, Density>();
  private labels: Labels | null = null;
  private rowOfTrack: Int32Array = new Int32Array(0);
  private arrows: Arrow[] = [];
  private hit: Hit | null = null;
  private pointer: { x: number; y: number } | null = null;
  private drag: Drag | null = null;
  private asked = 0;
  private moving = 0;
  private settling: ReturnType<typeof setTimeout> | undefined;
  private readonly observer: ResizeObserver;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly scroller: HTMLElement,
    private readonly slices: Slices,
    private readonly head: number,
    readonly whole: Window,
    private readonly events: Events,
  ) {
    this.window = this.target = whole;
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(canvas);
    scroller.addEventListener("scroll", this.invalidate);
    canvas.addEventListener("wheel", this.onWheel, { passive: false });
    canvas.addEventListener("pointerdown", this.onDown);
    canvas.addEventListener("pointermove", this.onMove);
    canvas.addEventListener("pointerup", this.onUp);
    canvas.addEventListener("pointerleave", this.onLeave);
    canvas.addEventListener("lostpointercapture", this.onLost);
  }

  close(): void {
    this.observer.disconnect();
    this.scroller.removeEventListener("scroll", this.invalidate);
    cancelAnimationFrame(this.asked);
    cancelAnimationFrame(this.moving);
    clearTimeout(this.settling);
  }

  /** Show something else of the run. */
  show(shown: Shown): void {
    const before = this.shown;
    if (before?.shades !== shown.shades) this.densities.clear();
    if (before?.tones !== shown.tones) this.labels = null;
    if (before?.rows !== shown.rows) this.rowOfTrack = rowsOf(shown.rows, this.slices.strips.lanes.length);
    this.shown = shown;
    this.invalidate();
  }

  /** Look at a window at once, or move there. */
  look(to: Window, moving = false): void {
    cancelAnimationFrame(this.moving);
    const target = (this.target = keepIn(to, this.whole));
    if (!moving || matchMedia("(prefers-reduced-motion: reduce)").matches) return this.setWindow(target);
    const [from, begun] = [this.window, performance.now()];
    const step = (now: number) => {
      const part = Math.min(1, Math.max(0, (now - begun) / MOVE_MS));
      this.setWindow(part === 1 ? target : between(from, target, part * (2 - part)));
      if (part < 1) this.moving = requestAnimationFrame(step);
    };
    this.moving = requestAnimationFrame(step);
  }

  /** Zoom around the pointer, or around the middle. */
  zoom(factor: number, moving = true): void {
    const { from, to } = this.target;
    const part = this.pointer && this.pointer.y > OVERVIEW_PX ? this.pointer.x / this.canvas.clientWidth : 0.5;
    this.look(zoomAt(this.target, from + part * (to - from), factor, this.whole), moving);
  }

  /** Move by a part of what is seen. */
  pan(part: number, moving: boolean): void {
    const { from, to } = this.target;
    const by = (to - from) * part;
    this.look({ from: from + by, to: to + by }, moving);
  }

  /** Scroll so that the row of a track is seen. */
  reveal(track: number): void {
    const row = this.shown?.rows[this.rowOfTrack[track] ?? -1];
    if (row) this.revealRow(row);
  }

  revealRow(row: Row): void {
    const [room, top] = [this.scroller.clientHeight - this.head, this.scroller.scrollTop];
    if (row.top < top || row.top + row.height > top + room) {
      this.scroller.scrollTop = Math.max(0, row.top - (room - row.height) / 2);
    }
  }

  readonly invalidate = (): void => {
    if (!this.asked) this.asked = requestAnimationFrame(this.draw);
  };

  /** The length of a pixel, in fs. */
  get pixel(): number {
    return (this.window.to - this.window.from) / Math.max(1, this.canvas.clientWidth);
  }

  /** How much of a group is busy. */
  densityOf(row: Row): Density {
    return this.density(row.branch.id, row.branch.tracks);
  }

  private setWindow(window: Window): void {
    this.window = window;
    this.invalidate();
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.events.onWindow(this.window), SETTLED_MS);
  }

  private readonly density = (id: string, tracks: readonly number[]): Density => {
    const found = this.densities.get(id) ?? new Density(this.slices, tracks, this.shown!.shades, this.whole);
    this.densities.set(id, found);
    return found;
  };

  private frame(): Frame {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    return { width, height, ratio: this.canvas.width / Math.max(1, width), head: this.head };
  }

  private resize(): void {
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * devicePixelRatio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * devicePixelRatio));
    this.labels = null;
    this.draw();
  }

  private readonly draw = (): void => {
    this.asked = 0;
    const g = this.canvas.getContext("2d", { alpha: false });
    if (!g || !this.shown) return;
    const frame = this.frame();
    this.labels ??= new Labels(this.shown.tones.label, frame.ratio);
    const scroll = this.scroller.scrollTop;
    const { rows, links } = this.shown;
    this.arrows = links.map((link) => this.place(link, scroll));
    const scene: Scene = {
      ...this.shown,
      scroll,
      frame,
      first: rowAt(rows, scroll),
      slices: this.slices,
      window: this.window,
      whole: this.whole,
      density: this.density,
      labels: this.labels,
      arrows: this.arrows,
      boxes: this.boxes(frame, scroll),
      layerHovered: this.hit?.what === "layer" ? this.hit.span : null,
      pathHovered: this.hit?.what === "path" ? this.hit.place : null,
      arrowHovered: this.hit?.what === "arrow" ? this.arrows.findIndex(({ row }) => row === (this.hit as { row: number }).row) : null,
      pointer: this.pointer && !this.drag ? this.timeAt(this.pointer.x) : null,
    };
    drawTimeline(g, this.pixels, this.line, scene);
  };

  /** The slices that are selected and under the pointer. */
  private boxes(frame: Frame, scroll: number): [DOMRect, string][] {
    const { selected, tones, rows } = this.shown!;
    const marked: [number | null, string][] = [
      [this.hit?.what === "slice" ? this.hit.place : null, tones.near],
      [selected, tones.mark],
    ];
    return marked.flatMap(([place, tone]) => {
      const row = place === null ? undefined : rows[this.rowOfTrack[this.slices.track[place]!]!];
      return place === null || !row ? [] : [[boxOf({ slices: this.slices, window: this.window, frame, scroll }, place, row), tone]];
    });
  }

  private place({ from, to, row, dashed }: Link, scroll: number): Arrow {
    const at = ({ track, lane, time }: Link["from"]) => {
      const shown = this.shown!.rows[this.rowOfTrack[track] ?? -1];
      const inside = shown?.laneHeight ? 2 + ((lane ?? 0) + 0.5) * shown.laneHeight : (shown?.height ?? 0) / 2;
      return { x: xOf(time, this.window, this.canvas.clientWidth), y: (shown?.top ?? 0) + inside - scroll + this.head };
    };
    return { from: at(from), to: at(to), row, dashed };
  }

  private timeAt(x: number): number {
    return this.window.from + x * this.pixel;
  }

  /** What is at a place on the canvas. */
  private find(x: number, y: number): Hit | null {
    const shown = this.shown;
    if (!shown || y < OVERVIEW_PX + RULER_PX) return null;
    const time = this.timeAt(x);
    const fromRuler = y - OVERVIEW_PX - RULER_PX;
    if (shown.layers && fromRuler < LAYERS_PX) {
      const span = layerAt(shown.layers, time, fromRuler);
      return span && { x, y, what: "layer", span };
    }
    if (y < this.head) {
      const place = shown.path ? pathAt(shown.path, time) : null;
      return place === null ? null : { x, y, what: "path", place };
    }
    const arrow = arrowAt(this.arrows, x, y);
    if (arrow !== null) return { x, y, what: "arrow", row: this.arrows[arrow]!.row };
    const below = y - this.head + this.scroller.scrollTop;
    const index = rowAt(shown.rows, below);
    const row = shown.rows[index];
    if (!row || below > row.top + row.height) return null;
    if (row.branch.track === null) return { x, y, what: "group", row: index, time };
    const lane = Math.floor((below - row.top - 2) / row.laneHeight);
        const place = sliceAt(this.slices, row.branch.track, lane, time, NEAR_PX * this.pixel);
    return place === null ? null : { x, y, what: "slice", place };
  }

  private hover(): void {
    const hit = this.pointer && !this.drag?.moved ? this.find(this.pointer.x, this.pointer.y) : null;
    this.canvas.style.cursor = this.drag?.moved ? "grabbing" : hit && hit.what !== "group" ? "pointer" : "default";
    this.hit = hit;
    const over = this.pointer && this.pointer.y > OVERVIEW_PX;
    this.events.onHover(hit, over ? this.timeAt(this.pointer!.x) : null);
    this.invalidate();
  }

  private readonly onWheel = (event: WheelEvent): void => {
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const [across, down] = [event.deltaX * unit, event.deltaY * unit];
    this.pointer = { x: event.offsetX, y: event.offsetY };
    if (event.shiftKey) this.scroller.scrollTop += down || across;
    else if (Math.abs(across) > Math.abs(down)) this.pan(across / this.canvas.clientWidth, false);
    else this.zoom(Math.exp(Math.min(Math.max(down, -300), 300) * 0.0018), false);
    this.hover();
  };

  private readonly onDown = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    const [x, y] = [event.offsetX, event.offsetY];
    const ruler = y >= OVERVIEW_PX && y < OVERVIEW_PX + RULER_PX;
    const what = y < OVERVIEW_PX ? "overview" : ruler || event.shiftKey ? "measure" : "pan";
    this.drag = { what, x, y, moved: false, window: this.window, scroll: this.scroller.scrollTop };
    this.canvas.setPointerCapture(event.pointerId);
    if (what === "overview") this.centre(x);
  };

  private readonly onMove = (event: PointerEvent): void => {
    this.pointer = { x: event.offsetX, y: event.offsetY };
    const drag = this.drag;
    if (drag) {
      const [across, down] = [event.offsetX - drag.x, event.offsetY - drag.y];
      drag.moved ||= Math.hypot(across, down) >= CLICK_PX;
      if (drag.moved) this.dragBy(drag, across, down);
    }
    this.hover();
  };

  private dragBy(drag: Drag, across: number, down: number): void {
    const { from, to } = drag.window;
    if (drag.what === "overview") this.centre(drag.x + across);
    else if (drag.what === "pan") {
      const by = (-across / this.canvas.clientWidth) * (to - from);
      this.look({ from: from + by, to: to + by });
      this.scroller.scrollTop = drag.scroll - down;
    } else {
      const [one, other] = [this.timeAt(drag.x), this.timeAt(drag.x + across)];
      this.events.onMeasure({ from: Math.min(one, other), to: Math.max(one, other) });
    }
  }

  private readonly onUp = (event: PointerEvent): void => {
    const drag = this.drag;
    this.drag = null;
    if (drag && !drag.moved && drag.what !== "overview") {
      const [x, y] = [event.offsetX, event.offsetY];
      if (y < OVERVIEW_PX + RULER_PX) this.events.onNow(this.timeAt(x));
      else {
        const row = this.shown?.rows[rowAt(this.shown.rows, y - this.head + this.scroller.scrollTop)];
        this.events.onClick(this.find(x, y), y > this.head ? (row ?? null) : null);
      }
    }
    this.hover();
  };

  private readonly onLeave = (): void => {
    this.pointer = null;
    this.hover();
  };

  private readonly onLost = (): void => {
    this.drag = null;
  };

  private centre(x: number): void {
    const middle = this.whole.from + (x / this.canvas.clientWidth) * (this.whole.to - this.whole.from);
    const half = (this.window.to - this.window.from) / 2;
    this.look({ from: middle - half, to: middle + half });
  }
}
