// The drawing of a machine on a canvas. What would be too small to see is left out, so that any zoom draws quickly.
import type { Machine } from "./machine_data";

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
const LABEL_PX = 34; // of the side of a node that has a label

export function draw(
  g: CanvasRenderingContext2D,
  machine: Machine,
  camera: Camera,
  tones: Tones,
  selected: number | null,
  hovered: number | null,
): void {
  const ratio = devicePixelRatio; // not from the size on the page: the canvas may be on none
  const [width, height] = [g.canvas.width / ratio, g.canvas.height / ratio];
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.fillStyle = tones.ground;
  g.fillRect(0, 0, width, height);
  drawAreas(g, machine, camera, tones, width, height);
  drawLinks(g, machine, camera, tones, width, height);
  const marked = [hovered, selected].filter((node) => node !== null);
  for (const node of marked) markLinks(g, machine, camera, node === selected ? tones.mark : tones.near, node);
  drawNodes(g, machine, camera, tones, width, height);
  for (const node of marked) markNode(g, machine, camera, node === selected ? tones.mark : tones.near, node);
}

function drawAreas(g: CanvasRenderingContext2D, machine: Machine, { x, y, k }: Camera, tones: Tones, width: number, height: number): void {
  g.font = "600 11px system-ui, sans-serif";
  g.textAlign = "left";
  g.textBaseline = "bottom";
  g.lineWidth = 1;
  for (const area of machine.areas) {
    const [left, top] = [area.left * k + x, area.top * k + y];
    const [wide, high] = [(area.right - area.left) * k, (area.bottom - area.top) * k];
    if (left > width || top > height || left + wide < 0 || top + high < 0 || wide < 4) continue;
    g.fillStyle = tones.area;
    g.strokeStyle = tones.line;
    g.fillRect(left, top, wide, high);
    g.strokeRect(left, top, wide, high);
    const label = area.path.slice(area.path.lastIndexOf(".") + 1);
    if (wide > g.measureText(label).width + 4) {
      g.fillStyle = tones.quiet;
      const [at, under] = area.level === 2 ? [left + 4, top + 15] : [left + 1, top - 1];
      g.strokeStyle = tones.ground;
      g.lineWidth = 3;
      g.strokeText(label, at, under);
      g.lineWidth = 1;
      g.fillText(label, at, under);
    }
  }
}

function drawLinks(g: CanvasRenderingContext2D, machine: Machine, { x, y, k }: Camera, tones: Tones, width: number, height: number): void {
  g.strokeStyle = tones.quiet;
  g.lineWidth = Math.min(1.5, Math.max(0.4, k / 14));
  g.globalAlpha = 0.55;
  g.beginPath();
  for (let link = 0; link < machine.source.length; link++) {
    const [a, b] = [machine.source[link]!, machine.target[link]!];
    const [x1, y1] = [machine.x[a]! * k + x, machine.y[a]! * k + y];
    const [x2, y2] = [machine.x[b]! * k + x, machine.y[b]! * k + y];
    if (Math.abs(x1 - x2) + Math.abs(y1 - y2) < 4) continue;
    if (Math.max(x1, x2) < 0 || Math.min(x1, x2) > width || Math.max(y1, y2) < 0 || Math.min(y1, y2) > height) continue;
    g.moveTo(x1, y1);
    g.lineTo(x2, y2);
  }
  g.stroke();
  g.globalAlpha = 1;
}

function drawNodes(g: CanvasRenderingContext2D, machine: Machine, { x, y, k }: Camera, tones: Tones, width: number, height: number): void {
  g.textAlign = "center";
  g.textBaseline = "middle";
  for (let node = 0; node < machine.names.length; node++) {
    const side = 2 * machine.half[node]! * k;
    const [px, py] = [machine.x[node]! * k + x, machine.y[node]! * k + y];
    if (side < LEAST_PX || px + side < 0 || py + side < 0 || px - side > width || py - side > height) continue;
    g.fillStyle = tones.kinds[functionOf(machine.kinds[node]!)]!;
    g.fillRect(px - side / 2, py - side / 2, side, side);
    if (side > LABEL_PX) label(g, machine, tones, node, px, py, side);
  }
}

function label(g: CanvasRenderingContext2D, machine: Machine, tones: Tones, node: number, px: number, py: number, side: number): void {
  const name = machine.names[node]!;
  const text = name.slice(name.lastIndexOf(".") + 1);
  const size = Math.min(14, (side * 1.6) / Math.max(text.length, 4));
  if (size < 6) return;
  g.font = `${size}px system-ui, sans-serif`;
  g.fillStyle = tones.text;
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
