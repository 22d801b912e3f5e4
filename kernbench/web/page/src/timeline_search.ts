// Which slices are looked for: by words of their part and name, and by kind. The others are pale.
import type { Shades } from "./timeline_density";
import type { Slices } from "./timeline_slices";
import { mixed, toneOfKind, type TimelineTones } from "./timeline_tones";

/** The words of a search that each track and each name has, as bits. */
export interface Search {
  ofTrack: Uint32Array;
  ofName: Uint32Array;
  all: number;
}

const MOST_WORDS = 30;

/** Every word must be in the part or in the name of a slice. Null for no words. */
export function readSearch(text: string, tracks: readonly string[], names: readonly string[]): Search | null {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean).slice(0, MOST_WORDS);
  if (!words.length) return null;
  const bits = (said: string) => words.reduce((sum, word, bit) => sum | (said.toLowerCase().includes(word) ? 1 << bit : 0), 0);
  return { ofTrack: Uint32Array.from(tracks, bits), ofName: Uint32Array.from(names, bits), all: 2 ** words.length - 1 };
}

/** The rows of the op log that a search and the kept kinds leave, in order. */
export function findRows(slices: Slices, search: Search, kept: (kind: number) => boolean): Uint32Array {
  const wanted = slices.kinds.map((_, kind) => kept(kind));
  const found = new Uint32Array(slices.count);
  let count = 0;
  for (let row = 0; row < slices.count; row++) {
    const place = slices.place[row]!;
    if (!wanted[slices.kind[place]!]) continue;
    if ((search.ofTrack[slices.track[place]!]! | search.ofName[slices.name[place]!]!) === search.all) found[count++] = row;
  }
  return found.slice(0, count);
}

/** The shade of each slice: that of its kind, or pale if it is not looked for. */
export function shade(slices: Slices, search: Search | null, kept: (kind: number) => boolean, tones: TimelineTones): Shades {
  const pale = slices.kinds.length;
  const tints = mixed([...slices.kinds.map((kind) => toneOfKind(tones, kind)), tones.pale], tones.ground);
  const { kind, track, name } = slices;
  const ofKind = Uint8Array.from(slices.kinds, (_, one) => (kept(one) ? one : pale));
  if (!search) return { count: pale + 1, tints, byKind: true, of: (place) => ofKind[kind[place]!]! };
  const { ofTrack, ofName, all } = search;
  const of = (place: number) => ((ofTrack[track[place]!]! | ofName[name[place]!]!) === all ? ofKind[kind[place]!]! : pale);
  return { count: pale + 1, tints, byKind: false, of };
}
