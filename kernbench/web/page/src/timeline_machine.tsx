// The machine beside the timeline: pale, but for the parts that are busy at the time under the pointer, in the colours of what
// they do; what is under the pointer, and what is selected, are ringed. A click there selects the part here.
import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomBehavior } from "d3-zoom";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Machine } from "./machine_data";
import { draw, nodeAt, type Camera, type Tones } from "./machine_draw";
import { sliceAt, type Slices } from "./timeline_slices";
import { formatTime } from "./timeline_time";
import { toneOfKind, type TimelineTones } from "./timeline_tones";

/** What is lit: parts by node, in the colour of what they do; and the nodes of the slice under the pointer. */
export interface Lit {
  time: number | null;
  near: readonly number[];
}

interface PaneProps {
  machine: Machine;
  slices: Slices;
  nodeOfTrack: Int32Array;
  lit: Lit;
  selected: number | null; // a node
  tones: TimelineTones;
  onNode: (node: number | null) => void;
}

const LEAST_LIT_PX = 3;

export function MachinePane({ machine, slices, nodeOfTrack, lit, selected, tones, onNode }: PaneProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const ground = useMemo(() => document.createElement("canvas"), []);
  const behaviour = useRef<ZoomBehavior<HTMLCanvasElement, unknown> | null>(null);
  const [camera, setCamera] = useState<Camera>({ x: 0, y: 0, k: 1 });
  const [size, setSize] = useState(0); // changes when the canvas does
  const [hovered, setHovered] = useState<number | null>(null);
  const pale = useMemo(() => paleTones(tones), [tones]);
  const fit = (box: HTMLCanvasElement) => select(box).call(behaviour.current!.transform, fitted(machine, box));
  useLayoutEffect(() => {
    const box = canvas.current!;
    const made = zoom<HTMLCanvasElement, unknown>().scaleExtent([0.01, 1e5]);
    made.on("zoom", ({ transform: { x, y, k } }: D3ZoomEvent<HTMLCanvasElement, unknown>) => setCamera({ x, y, k }));
    behaviour.current = made;
    select(box).call(made).on("dblclick.zoom", null);
    const observer = new ResizeObserver(() => {
      for (const one of [box, ground]) [one.width, one.height] = [box.clientWidth * devicePixelRatio, box.clientHeight * devicePixelRatio];
      fit(box); // the observer may speak once more while the view goes, when the canvas is no longer known
      setSize(box.width * 1e5 + box.height);
    });
    observer.observe(box);
    return () => observer.disconnect();
  }, [machine]);
  const drawn = useRef<unknown[]>([]);
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const box = canvas.current;
      const g = box?.getContext("2d");
      if (!box || !g || !box.width) return;
      const asked = [machine, camera, pale, size];
      if (asked.some((one, at) => one !== drawn.current[at])) {
        draw(ground.getContext("2d")!, machine, camera, pale, null, null);
        drawn.current = asked;
      }
      g.setTransform(1, 0, 0, 1, 0, 0);
      g.drawImage(ground, 0, 0);
      g.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      if (lit.time !== null) drawBusy(g, machine, camera, slices, nodeOfTrack, lit.time, tones);
      drawBetween(g, machine, camera, lit.near, tones.near);
      for (const node of lit.near) ring(g, machine, camera, node, tones.near);
      if (hovered !== null) ring(g, machine, camera, hovered, tones.near);
      if (selected !== null) ring(g, machine, camera, selected, tones.mark);
    });
    return () => cancelAnimationFrame(frame);
  }, [machine, camera, pale, size, lit, selected, hovered, slices]);
  const told = hovered ?? lit.near[0] ?? selected;
  return (
    <section class="card drawing pane">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`Drawing of ${machine.about.name} beside the timeline`}
        onMouseMove={(event) => setHovered(nodeAt(machine, camera, event.offsetX, event.offsetY))}
        onMouseLeave={() => setHovered(null)}
        onDblClick={() => fit(canvas.current!)}
        onClick={(event) => onNode(nodeAt(machine, camera, event.offsetX, event.offsetY))}
      />
      <p class="note">
        {say(told === undefined || told === null ? null : machine.names[told]!, lit.time)}
      </p>
    </section>
  );
}

function say(part: string | null, time: number | null): string {
  const when = time === null ? "" : formatTime(time, 6);
  if (part) return when ? `${part} · ${when}` : part;
  return when ? `Busy at ${when}` : "What is busy under the pointer lights up here.";
}

function fitted(machine: Machine, box: HTMLElement) {
  const { left, right, top, bottom } = machine.extent;
  const k = 0.92 * Math.min(box.clientWidth / (right - left || 1), (box.clientHeight - 22) / (bottom - top || 1));
  return zoomIdentity.translate(box.clientWidth / 2 - ((left + right) / 2) * k, (box.clientHeight - 22) / 2 - ((top + bottom) / 2) * k).scale(k);
}

function paleTones(tones: TimelineTones): Tones {
  const names = ["compute", "memory", "movement", "control", "port", "host", "other"];
  return {
    ground: tones.ground,
    area: tones.group,
    text: tones.quiet,
    quiet: tones.quiet,
    line: tones.line,
    mark: tones.mark,
    near: tones.near,
    kinds: Object.fromEntries(names.map((name) => [name, tones.pale])),
  };
}

function drawBusy(
  g: CanvasRenderingContext2D,
  machine: Machine,
  { x, y, k }: Camera,
  slices: Slices,
  nodeOfTrack: Int32Array,
  time: number,
  tones: TimelineTones,
): void {
  const colours = slices.kinds.map((kind) => toneOfKind(tones, kind));
  for (let track = 0; track < nodeOfTrack.length; track++) {
    const node = nodeOfTrack[track]!;
    if (node < 0) continue;
    const place = busyAt(slices, track, time);
    if (place === null) continue;
    const side = Math.max(LEAST_LIT_PX, 2 * machine.half[node]! * k);
    g.fillStyle = colours[slices.kind[place]!]!;
    g.fillRect(machine.x[node]! * k + x - side / 2, machine.y[node]! * k + y - side / 2, side, side);
  }
}

function busyAt(slices: Slices, track: number, time: number): number | null {
  for (let lane = 0; lane < slices.strips.lanes[track]!; lane++) {
    const place = sliceAt(slices, track, lane, time, 0);
    if (place !== null) return place;
  }
  return null;
}

/** Lines from the first of some nodes to the others: where a transfer goes. */
function drawBetween(g: CanvasRenderingContext2D, machine: Machine, { x, y, k }: Camera, nodes: readonly number[], tone: string): void {
  const [first, ...others] = nodes;
  if (first === undefined) return;
  g.strokeStyle = tone;
  g.lineWidth = 1.5;
  g.beginPath();
  for (const other of others) {
    g.moveTo(machine.x[first]! * k + x, machine.y[first]! * k + y);
    g.lineTo(machine.x[other]! * k + x, machine.y[other]! * k + y);
  }
  g.stroke();
}

/** A ring around a node; where it is out of what is seen, at the edge that it is behind. */
function ring(g: CanvasRenderingContext2D, machine: Machine, { x, y, k }: Camera, node: number, tone: string): void {
  const half = Math.max(5.5, machine.half[node]! * k + 3);
  const [width, height] = [g.canvas.clientWidth, g.canvas.clientHeight];
  const px = Math.min(Math.max(machine.x[node]! * k + x, 0), width);
  const py = Math.min(Math.max(machine.y[node]! * k + y, 0), height);
  g.strokeStyle = tone;
  g.lineWidth = 2;
  g.strokeRect(px - half, py - half, 2 * half, 2 * half);
}
