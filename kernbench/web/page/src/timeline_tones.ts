// The colours of the timeline, light and dark: those of kinds are those of the functions of parts in a machine.
import type { Palette } from "./palette";

export interface TimelineTones {
  ground: string;
  text: string;
  label: string; // on a slice
  quiet: string;
  line: string;
  rule: string; // between rows
  group: string; // ground of a group
  chosen: string; // ground of the track that is selected
  veil: string; // over what is outside of a measure, and outside of the window in the overview
  critical: string;
  mark: string; // what is selected
  near: string; // what is under the pointer
  now: string;
  rest: string; // kinds without a colour of their own
  pale: string; // slices that are not looked for
  kinds: Record<string, string>;
}

const LIGHT = { gemm: "#f3b562", math: "#e58fb1", memory: "#7fb2e5", control: "#b39ddb", composite: "#ece7dd" };
const DARK = { gemm: "#a8641a", math: "#a83262", memory: "#2f6da8", control: "#6b4fa0", composite: "#2f2c27" };

export function timelineTones(palette: Palette, dark: boolean): TimelineTones {
  return {
    ground: palette.ground,
    text: palette.text,
    label: dark ? "#f4f6fa" : "#1d2430",
    quiet: palette.quiet,
    line: palette.line,
    rule: dark ? "#222933" : "#ebeef3",
    group: dark ? "#1c222b" : "#f5f7fa",
    chosen: dark ? "#1b2836" : "#eaf2fb",
    veil: dark ? "#0f121699" : "#e9edf399",
    critical: palette.one,
    mark: palette.front,
    near: palette.other,
    now: dark ? "#4ac16d" : "#1b8a4b",
    rest: dark ? "#0b7a6b" : "#3aa899",
    pale: dark ? "#2b323d" : "#e3e7ee",
    kinds: dark ? DARK : LIGHT,
  };
}

export function toneOfKind(tones: TimelineTones, kind: string): string {
  return tones.kinds[kind] ?? tones.rest;
}

/** "#rrggbb" as an opaque pixel, 0xAABBGGRR. */
export function packed(tone: string): number {
  const [red, green, blue] = channels(tone);
  return pixel(red, green, blue);
}

/** Tones on a ground, each at 256 shares. */
export function mixed(tones: readonly string[], ground: string): Uint32Array {
  const under = channels(ground);
  const found = new Uint32Array(tones.length * 256);
  tones.forEach((tone, index) => {
    const over = channels(tone);
    for (let share = 0; share < 256; share++) {
      const mix = (at: 0 | 1 | 2) => Math.round(under[at] + ((over[at] - under[at]) * share) / 255);
      found[index * 256 + share] = pixel(mix(0), mix(1), mix(2));
    }
  });
  return found;
}

function channels(tone: string): [number, number, number] {
  const of = (at: number) => parseInt(tone.slice(at, at + 2), 16);
  return [of(1), of(3), of(5)];
}

function pixel(red: number, green: number, blue: number): number {
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}
