// Names of slices, drawn once and then copied: a copy takes a tenth of the time that a text takes.

const MOST = 2000;
const LEAST_LETTERS = 2; // of a name that is cut

export class Labels {
  private readonly made = new Map<string, HTMLCanvasElement>();

  constructor(
    private readonly tone: string,
    private readonly ratio: number,
  ) {}

  /** Draw a text in the middle of a lane, cut with an ellipsis where the room ends. */
  draw(g: CanvasRenderingContext2D, text: string, left: number, top: number, room: number, height: number): void {
    const label = this.fitting(text, room * this.ratio);
    if (!label) return;
    const wide = label.width / this.ratio;
    const high = Math.min(height, label.height / this.ratio);
    const above = label.height - high * this.ratio; // of the text that is cut in a low lane
    const sharp = (px: number) => Math.round(px * this.ratio) / this.ratio;
    g.drawImage(label, 0, above / 2, wide * this.ratio, high * this.ratio, sharp(left), sharp(top + (height - high) / 2), wide, high);
  }

  /** The longest beginning of a text that fits a width in pixels, or none. */
  private fitting(text: string, room: number): HTMLCanvasElement | null {
    const whole = this.label(text);
    if (whole.width <= room) return whole;
    const most = Math.min(Math.floor((room / whole.width) * text.length), text.length - 1);
    for (let letters = most; letters >= LEAST_LETTERS; letters--) {
      const cut = this.label(`${text.slice(0, letters)}…`);
      if (cut.width <= room) return cut;
    }
    return null;
  }

  private label(text: string): HTMLCanvasElement {
    return this.made.get(text) ?? this.make(text);
  }

  private make(text: string): HTMLCanvasElement {
    const canvas = document.createElement("canvas");
    const g = canvas.getContext("2d")!;
    const font = `${11 * this.ratio}px system-ui, sans-serif`;
    g.font = font;
    canvas.width = Math.max(1, Math.ceil(g.measureText(text).width));
    canvas.height = Math.ceil(15 * this.ratio);
    g.font = font;
    g.fillStyle = this.tone;
    g.textBaseline = "middle";
    g.fillText(text, 0, canvas.height / 2);
    if (this.made.size >= MOST) this.made.clear();
    this.made.set(text, canvas);
    return canvas;
  }
}
