// The pixels of a frame. Slices are written here and copied to the canvas once, under all that the canvas itself draws.

export class Pixels {
  private image = new ImageData(1, 1);
  data = new Uint32Array(this.image.data.buffer); // 0xAABBGGRR by line
  width = 1;
  height = 1;
  private top = 0; // lines above it are not written

  /** Begin a frame of one colour. */
  begin(width: number, height: number, ground: number): void {
    if (this.width !== width || this.height !== height) {
      this.image = new ImageData(width, height);
      this.data = new Uint32Array(this.image.data.buffer);
      [this.width, this.height] = [width, height];
    }
    this.top = 0;
    this.data.fill(ground);
  }

  /** Leave all lines above one as they are from now on. */
  keepAbove(line: number): void {
    this.top = line;
  }

  /** The lines from `top` to `bottom` that may be written. */
  clip(top: number, bottom: number): [number, number] {
    return [Math.max(top, this.top), Math.min(bottom, this.height)];
  }

  /** Fill lines with a colour. */
  fill(top: number, bottom: number, colour: number): void {
    const [first, last] = this.clip(top, bottom);
    if (first < last) this.data.fill(colour, first * this.width, last * this.width);
  }

  /** Write one line to all lines from `top` to `bottom`: where `shares` has 0, nothing is written. */
  stretch(top: number, bottom: number, shares: Uint8Array, shades: Uint8Array, tints: Uint32Array): void {
    const [first, last] = this.clip(top, bottom);
    if (first >= last) return;
    const { data, width } = this;
    const from = first * width;
    for (let column = 0; column < width; column++) {
      const share = shares[column]!;
      if (share) data[from + column] = tints[shades[column]! * 256 + share]!;
    }
    for (let line = first + 1; line < last; line++) data.copyWithin(line * width, from, from + width);
  }

  /** Draw a group over the lines from `top` to `bottom`: shades stand on each other, and `most` operations fill the height. */
  stack(top: number, bottom: number, over: readonly Float32Array[], tints: Uint32Array, most: number): void {
    const [first, last] = this.clip(top, bottom);
    const { data, width } = this;
    const height = bottom - top;
    for (let column = 0; column < width; column++) {
      let sum = 0;
      let line = bottom;
      for (let shade = 0; shade < over.length; shade++) {
        const value = over[shade]![column]!;
        if (value <= 0) continue;
        sum += value;
        const end = bottom - Math.min(height, Math.max(1, Math.round((sum / most) * height)));
        const colour = tints[shade * 256 + 255]!;
        for (; line > end; line--) if (line <= last && line > first) data[(line - 1) * width + column] = colour;
      }
    }
  }

  end(g: CanvasRenderingContext2D): void {
    g.putImageData(this.image, 0, 0);
  }
}
