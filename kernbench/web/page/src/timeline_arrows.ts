// Arrows between slices: what waited for what, and where a transfer went.
import type { TimelineTones } from "./timeline_tones";

export interface Arrow {
  from: { x: number; y: number };
  to: { x: number; y: number };
  row: number; // what is at its other end
  dashed: boolean;
}

const NEAR_PX = 5;

export function drawArrows(g: CanvasRenderingContext2D, arrows: readonly Arrow[], hovered: number | null, tones: TimelineTones): void {
  arrows.forEach((arrow, index) => {
    g.strokeStyle = index === hovered ? tones.mark : arrow.dashed ? tones.near : tones.text;
    g.lineWidth = index === hovered ? 2.5 : 1.5;
    g.globalAlpha = index === hovered ? 1 : 0.75;
    g.setLineDash(arrow.dashed ? [5, 4] : []);
    g.beginPath();
    g.moveTo(arrow.from.x, arrow.from.y);
    const [one, other] = handles(arrow);
    g.bezierCurveTo(one.x, one.y, other.x, other.y, arrow.to.x, arrow.to.y);
    g.stroke();
    g.setLineDash([]);
    g.fillStyle = g.strokeStyle;
    g.beginPath();
    g.moveTo(arrow.to.x, arrow.to.y);
    g.lineTo(arrow.to.x - 7, arrow.to.y - 4);
    g.lineTo(arrow.to.x - 7, arrow.to.y + 4);
    g.fill();
    g.globalAlpha = 1;
  });
}

function handles({ from, to }: Arrow): [{ x: number; y: number }, { x: number; y: number }] {
  const reach = Math.min(90, Math.max(24, Math.abs(to.x - from.x) / 2));
  return [
    { x: from.x + reach, y: from.y },
    { x: to.x - reach, y: to.y },
  ];
}

/** The arrow near a place on the canvas. */
export function arrowAt(arrows: readonly Arrow[], x: number, y: number): number | null {
  let [found, least] = [null as number | null, NEAR_PX];
  arrows.forEach((arrow, index) => {
    const [one, other] = handles(arrow);
    for (let step = 1; step < 32; step++) {
      const t = step / 32;
      const at = (a: number, b: number, c: number, d: number) => (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t * t * c + t ** 3 * d;
      const far = Math.hypot(at(arrow.from.x, one.x, other.x, arrow.to.x) - x, at(arrow.from.y, one.y, other.y, arrow.to.y) - y);
      if (far < least) [found, least] = [index, far];
    }
  });
  return found;
}
