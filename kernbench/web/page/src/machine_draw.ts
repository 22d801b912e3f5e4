// The drawing of a machine on a canvas. What would be too small to see is left out, so that any zoom draws quickly.
import type { Machine } from "./machine_data";
import type { PathMarks } from "./machine_path";

export interface Camera {
  x: number; // px of the place 0 mm
  y: number;
  k: number; // px in a mm
}

export interface Tones {
  ground: string;
  area: string;
  text: string;
  quiet: string;
  line: string;
  mark: string;
  near: string;
  kinds: Record<string, string>;
}

/** Colours of nodes and links by a value of each. */
export interface Heat {
  node: Float64Array; // 0..1, NaN: none
  link: Float64Array;
  order: readonly number[]; // of nodes as they are drawn: those of high values above others
  ramp: string[];
  none: string;
}

/** What is laid over the drawing. */
export interface Overlay {
  heat: Heat | null;
  path: PathMarks | null;
  pathTone: string;
}

export const FUNCTIONS: Record<string, string[]> = {
  compute: ["pe_gemm", "pe_math", "aic", "aiv"],
  memory: ["pe_tcm", "sram", "hbm_ctrl", "l2", "gm_hbm", "l1", "dram"],
  movement: ["router", "pe_dma", "pe_fetch_store", "pe_mmu", "pe_ipcq", "io_noc", "noc", "endpoint", "interface"],
  control: ["pe_cpu", "pe_scheduler", "m_cpu", "io_cpu", "aicpu"],
  port: ["ucie", "io_ucie", "conn", "sip_link"],
  host: ["switch", "pcie_ep", "npu_host"],
};

export function functionOf(kind: string): string {
  return Object.entries(FUNCTIONS).find(([, kinds]) => kinds.includes(kind))?.[0] ?? "other";
}

const LEAST_PX = 1.4; // of the side of a node that is drawn
const SMALL_PX = 150; // of the height of a die whose name is in its middle
const FLAT = 3; // times as wide as high is a die whose name is never there
const LABEL_PX = 26; // of the side of a node that has a label
const HEAT_PX = 2.6; // of the side of a node that has a value, at least
const [BUSY_SIDE_PX, BUSY_LINK_PX] = [4, 5]; // what a node and a link of the highest value are wider
const IDLE = 0.4; // the opacity of what has no value
const [EDGE_PX, NOW_PX] = [3, 7]; // what the edges of the path add to a link, and where the path is now
const NUMBER_PX = 11; // of the side of a node whose number on the critical path is written

export function draw(
  g: CanvasRenderingContext2D,
  machine: Machine,
  camera: Camera,
  tones: Tones,
  selected: number | null,
  hovered: number | null,
  overlay: Overlay | null = null,
): void {
  const ratio = devicePixelRatio; // not from the size on the page: the canvas may be on none
  const [width, height] = [g.canvas.width / ratio, g.canvas.height / ratio];
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.fillStyle = tones.ground;
  g.fillRect(0, 0, width, height);
  const areas = seenAreas(machine, camera, width, height);
  drawAreas(g, areas, tones);
  const heat = overlay?.heat ?? null;
  if (overlay?.path) drawPathLinks(g, machine, camera, overlay.path, overlay.pathTone, heat);
  if (heat) drawHotLinks(g, machine, camera, heat);
  else drawLinks(g, machine, camera, tones);
  const marked = [hovered, selected].filter((node) => node !== null);
  for (const node of marked) markLinks(g, machine, camera, node === selected ? tones.mark : tones.near, node);
  drawNodes(g, machine, camera, tones, heat, width, height);
  if (overlay?.path) drawPathNodes(g, machine, camera, tones, overlay.path, overlay.pathTone);
  nameAreas(g, areas, tones);
  for (const node of marked) markNode(g, machine, camera, node === selected ? tones.mark : tones.near, node);
}

interface SeenArea {
  level: number;
  name: string;
  left: number; // px
  top: number;
  wide: number;
  high: number;
}

/** The areas that are seen, outer ones first. */
function seenAreas(machine: Machine, { x, y, k }: Camera, width: number, height: number): SeenArea[] {
  const found: SeenArea[] = [];
  for (const area of machine.areas) {
    const [left, top] = [area.left * k + x, area.top * k + y];
    const [wide, high] = [(area.right - area.left) * k, (area.bottom - area.top) * k];
    if (left > width || top > height || left + wide < 0 || top + high < 0 || wide < 4) continue;
    found.push({ level: area.level, name: area.path.slice(area.path.lastIndexOf(".") + 1), left, top, wide, high });
  }
  return found;
}

function drawAreas(g: CanvasRenderingContext2D, areas: readonly SeenArea[], tones: Tones): void {
  g.lineWidth = 1;
  g.fillStyle = tones.area;
  g.strokeStyle = tones.line;
  for (const { left, top, wide, high } of areas) {
    g.fillRect(left, top, wide, high);
    g.strokeRect(left, top, wide, high);
  }
}

/** Names of areas, on plates above all lines: at the top of an area where there is room, and in the middle of a small one. */
function nameAreas(g: CanvasRenderingContext2D, areas: readonly SeenArea[], tones: Tones): void {
  g.font = "600 11px system-ui, sans-serif";
  for (const { level, name, left, top, wide, high } of areas) {
    const length = g.measureText(name).width;
    if (wide <= length + 4) continue;
    const inside = level === 2;
    const small = inside && high < SMALL_PX && wide < FLAT * high;
    g.textAlign = small ? "center" : "left";
    g.textBaseline = small ? "middle" : "bottom";
    const at: [number, number] = small ? [left + wide / 2, top + high / 2] : inside ? [left + 4, top + 15] : [left + 1, top - 1];
    g.beginPath();
    g.roundRect(at[0] - (small ? length / 2 : 0) - PLATE_PX, at[1] - (small ? 7 : 13), length + 2 * PLATE_PX, 14, 3);
    for (const tone of inside ? [tones.ground, tones.area] : [tones.ground]) { // the tone of areas lets through what is below
      g.fillStyle = tone;
      g.fill();
    }
    g.fillStyle = tones.quiet;
    g.fillText(name, ...at);
  }
}

/** The ends of a link on the canvas; null if it is too short to see, or outside. */
function endsOf(machine: Machine, { x, y, k }: Camera, link: number, width: number, height: number): [number, number, number, number] | null {
  const [a, b] = [machine.source[link]!, machine.target[link]!];
  const [x1, y1] = [machine.x[a]! * k + x, machine.y[a]! * k + y];
  const [x2, y2] = [machine.x[b]! * k + x, machine.y[b]! * k + y];
  if (Math.abs(x1 - x2) + Math.abs(y1 - y2) < 4) return null;
  if (Math.max(x1, x2) < 0 || Math.min(x1, x2) > width || Math.max(y1, y2) < 0 || Math.min(y1, y2) > height) return null;
  return [x1, y1, x2, y2];
}

function strokeLinks(g: CanvasRenderingContext2D, machine: Machine, camera: Camera, links: Iterable<number>): void {
  const [width, height] = [g.canvas.width / devicePixelRatio, g.canvas.height / devicePixelRatio];
  g.beginPath();
  for (const link of links) {
    const ends = endsOf(machine, camera, link, width, height);
    if (!ends) continue;
    g.moveTo(ends[0], ends[1]);
    g.lineTo(ends[2], ends[3]);
  }
  g.stroke();
}

function drawLinks(g: CanvasRenderingContext2D, machine: Machine, camera: Camera, tones: Tones): void {
  g.strokeStyle = tones.quiet;
  g.lineWidth = Math.min(1.5, Math.max(0.4, camera.k / 14));
  g.globalAlpha = 0.55;
  strokeLinks(g, machine, camera, machine.source.keys());
  g.globalAlpha = 1;
}

/** Links by their values, those of high ones above and wider; those without fade. */
function drawHotLinks(g: CanvasRenderingContext2D, machine: Machine, camera: Camera, heat: Heat): void {
  const byColour: number[][] = heat.ramp.map(() => []);
  const none: number[] = [];
  heat.link.forEach((value, link) => (Number.isNaN(value) ? none : byColour[colourAt(heat, value)]!).push(link));
  g.strokeStyle = heat.none;
  g.lineWidth = thin(camera);
  g.globalAlpha = IDLE;
  strokeLinks(g, machine, camera, none);
  g.globalAlpha = 1;
  byColour.forEach((links, colour) => {
    g.strokeStyle = heat.ramp[colour]!;
    g.lineWidth = widthOf(camera, colour / (heat.ramp.length - 1));
    if (links.length) strokeLinks(g, machine, camera, links);
  });
}

function thin(camera: Camera): number {
  return Math.min(1.5, Math.max(0.4, camera.k / 14));
}

/** The width of a link by its value, 0 to 1. */
function widthOf(camera: Camera, value: number): number {
  return thin(camera) + (Number.isNaN(value) ? 0 : value * BUSY_LINK_PX);
}

function colourAt(heat: Heat, value: number): number {
  return Math.min(Math.floor(value * heat.ramp.length), heat.ramp.length - 1);
}

/** An edge on both sides of each link of the path, which leaves the link its own colour and width. */
function drawPathLinks(g: CanvasRenderingContext2D, machine: Machine, camera: Camera, path: PathMarks, tone: string, heat: Heat | null): void {
  g.strokeStyle = tone;
  const edge = (links: Iterable<number>, px: number) => {
    for (const link of links) {
      g.lineWidth = widthOf(camera, heat?.link[link] ?? NaN) + px;
      strokeLinks(g, machine, camera, [link]);
    }
  };
  edge(path.links, EDGE_PX);
  if (path.now) edge(path.now.links, NOW_PX);
}

/** A frame around each node of the path, with its number, and a strong one where the path is now. */
function drawPathNodes(g: CanvasRenderingContext2D, machine: Machine, camera: Camera, tones: Tones, path: PathMarks, tone: string): void {
  g.font = "600 11px system-ui, sans-serif";
  g.textAlign = "right";
  g.textBaseline = "bottom";
  for (const [node, number] of path.nodes) {
    const side = Math.max(5, 2 * machine.half[node]! * camera.k + 3);
    const [px, py] = [machine.x[node]! * camera.k + camera.x, machine.y[node]! * camera.k + camera.y];
    g.strokeStyle = tone;
    g.lineWidth = node === path.now?.node ? 4 : 1.5;
    g.strokeRect(px - side / 2, py - side / 2, side, side);
    if (side < NUMBER_PX) continue;
    g.strokeStyle = tones.ground;
    g.lineWidth = 3;
    g.strokeText(String(number), px + side / 2, py - side / 2);
    g.fillStyle = tone;
    g.fillText(String(number), px + side / 2, py - side / 2);
  }
}

function drawNodes(
  g: CanvasRenderingContext2D,
  machine: Machine,
  { x, y, k }: Camera,
  tones: Tones,
  heat: Heat | null,
  width: number,
  height: number,
): void {
  g.textAlign = "center";
  g.textBaseline = "middle";
  for (const node of heat?.order ?? machine.names.keys()) {
    const value = heat ? heat.node[node]! : NaN;
    const side = Math.max(2 * machine.half[node]! * k, Number.isNaN(value) ? 0 : HEAT_PX + value * BUSY_SIDE_PX);
    const [px, py] = [machine.x[node]! * k + x, machine.y[node]! * k + y];
    if (side < LEAST_PX || px + side < 0 || py + side < 0 || px - side > width || py - side > height) continue;
    g.fillStyle = !heat ? tones.kinds[functionOf(machine.kinds[node]!)]! : Number.isNaN(value) ? heat.none : heat.ramp[colourAt(heat, value)]!;
    g.globalAlpha = heat && Number.isNaN(value) ? IDLE : 1;
    g.fillRect(px - side / 2, py - side / 2, side, side);
    g.globalAlpha = 1;
    if (side > LABEL_PX) label(g, machine, tones, node, px, py, side, heat !== null && !Number.isNaN(value));
  }
}

const LEGIBLE_PX = 9;
const PLATE_PX = 3; // of a plate beside its text

/** The last word of a name and its size in px; where that is too small to read, the numbers of its row and column alone. */
function fitting(name: string, side: number): [string, number] {
  const sizeOf = (text: string) => Math.min(14, (side * 1.6) / Math.max(text.length, 4));
  const text = name.slice(name.lastIndexOf(".") + 1);
  const numbers = /\[(\d+)\]\[(\d+)\]/.exec(name);
  const short = numbers && sizeOf(text) < LEGIBLE_PX ? `${numbers[1]},${numbers[2]}` : text;
  return [short, sizeOf(short)];
}

function label(g: CanvasRenderingContext2D, machine: Machine, tones: Tones, node: number, px: number, py: number, side: number, framed: boolean): void {
  const name = machine.names[node]!;
  const [text, size] = fitting(name, side);
  if (size < 6) return;
  g.font = `${size}px system-ui, sans-serif`;
  g.fillStyle = tones.text;
  if (framed) {
    g.strokeStyle = tones.ground; // a text on any colour of the ramp
    g.lineWidth = 3;
    g.lineJoin = "round";
    g.strokeText(text, px, py, side - 4);
  }
  g.fillText(text, px, py, side - 4);
}

/** Draw the links of a node above all others. */
function markLinks(g: CanvasRenderingContext2D, machine: Machine, { x, y, k }: Camera, tone: string, node: number): void {
  g.strokeStyle = tone;
  g.lineWidth = 2;
  g.beginPath();
  for (const link of machine.linksOf[node]!) {
    for (const [end, to] of [[machine.source[link]!, g.moveTo], [machine.target[link]!, g.lineTo]] as const) {
      to.call(g, machine.x[end]! * k + x, machine.y[end]! * k + y);
    }
  }
  g.stroke();
}

function markNode(g: CanvasRenderingContext2D, machine: Machine, { x, y, k }: Camera, tone: string, node: number): void {
  g.strokeStyle = tone;
  g.lineWidth = 2;
  const side = Math.max(9, 2 * machine.half[node]! * k + 4);
  g.strokeRect(machine.x[node]! * k + x - side / 2, machine.y[node]! * k + y - side / 2, side, side);
}

/** The node at a place on the canvas; of several the smallest. */
export function nodeAt(machine: Machine, { x, y, k }: Camera, px: number, py: number): number | null {
  let found: number | null = null;
  for (let node = 0; node < machine.names.length; node++) {
    const half = Math.max(machine.half[node]! * k, 3);
    if (machine.half[node]! * k * 2 < LEAST_PX) continue;
    if (Math.abs(machine.x[node]! * k + x - px) > half || Math.abs(machine.y[node]! * k + y - py) > half) continue;
    if (found === null || machine.half[node]! < machine.half[found]!) found = node;
  }
  return found;
}

const NEAR_PX = 5; // of a link that is found

/** The link near a place on the canvas. */
export function linkAt(machine: Machine, camera: Camera, px: number, py: number): number | null {
  let [found, nearest] = [null as number | null, NEAR_PX];
  for (let link = 0; link < machine.source.length; link++) {
    const ends = endsOf(machine, camera, link, Infinity, Infinity);
    if (!ends) continue;
    const [x1, y1, x2, y2] = ends;
    const along = Math.max(0, Math.min(1, ((px - x1) * (x2 - x1) + (py - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2)));
    const far = Math.hypot(px - x1 - along * (x2 - x1), py - y1 - along * (y2 - y1));
    if (far < nearest) [found, nearest] = [link, far];
  }
  return found;
}
