// What a reader can do on the timeline, be it by key, click or button.
import type { TimelineData } from "./timeline";
import type { CriticalPath } from "./timeline_path";
import { groupsAround, groupsIn, withOpen, type Folds, type Row } from "./timeline_rows";
import { lowerBound } from "./timeline_links";
import type { TimelineSettings } from "./timeline_settings";
import type { Everything } from "./timeline_shown";
import type { Hit, Stage } from "./timeline_stage";
import { roomAround } from "./timeline_time";

const LAYER_ROOM = 0.02; // of a layer, beside it
const [SEEN, FILLED, AROUND] = [0.004, 0.9, 12]; // shares of the window: too small to see, too wide; lengths around a slice

export interface Context {
  data: TimelineData;
  path: CriticalPath | null;
  shown: Everything;
  settings: TimelineSettings;
  stage: Stage;
  cursor: string | null; // the row that keys act on
  setCursor: (id: string | null) => void;
  change: (some: Partial<TimelineSettings>) => void;
}

export type Acts = ReturnType<typeof makeActs>;

export function makeActs({ data, path, shown, settings, stage, cursor, setCursor, change }: Context) {
  const { slices, names } = data;
  const { selected, rows, found, row, measure, folds } = shown;

  /** Move to a slice that is out of sight, too small to see or too wide. */
  function showSlice(place: number): void {
    const { from, to } = stage.target;
    const length = slices.end[place]! - slices.start[place]!;
    const share = length / (to - from);
    if (slices.start[place]! >= from && slices.end[place]! <= to && share > SEEN) return;
    const wanted = share < SEEN || share > FILLED ? Math.max(length * AROUND, 1000) : to - from;
    const middle = (slices.start[place]! + slices.end[place]!) / 2;
    stage.look({ from: middle - wanted / 2, to: middle + wanted / 2 }, true);
  }
  function selectRow(next: number, moving = true): void {
    const place = slices.place[next]!;
    change({ row: next, select: names[slices.track[place]!]! });
    if (moving) showSlice(place);
  }
  const setFolds = (next: Folds) => change({ folds: next });
  const toggle = ({ branch, open }: Row, all: boolean) => setFolds(withOpen(folds, all ? groupsIn(branch) : [branch.id], !open));
  return {
    selectRow,
    toggle,
    zoom: (factor: number) => stage.zoom(factor),
    pan: (part: number) => stage.pan(part, true),
    all: () => stage.look(shown.whole, true),
    part: (name: string | null) => change({ select: name }),
    fold: (open: boolean) => setFolds({ all: open, but: new Set() }),
    /** Zoom to the selected slice, or to the measured time. */
    fit(): void {
      const window = selected === null ? measure : { from: slices.start[selected]!, to: slices.end[selected]! };
      if (window) stage.look(roomAround(window, 0.6), true);
      if (selected !== null) stage.reveal(slices.track[selected]!);
    },
    measure(): void {
      if (selected !== null) change({ measure: { from: slices.start[selected]!, to: slices.end[selected]! } });
    },
    /** To the operation before or after in the same lane. */
    step(by: 1 | -1): void {
      const place = selected === null ? -1 : selected + by;
      if (place >= 0 && slices.track[place] === slices.track[selected!]) selectRow(slices.row[place]!);
    },
    /** To the operation before or after, of those that the search finds. */
    find(by: 1 | -1): void {
      if (!found?.length) return;
      const next = shown.at >= 0 ? shown.at + by : lowerBound(found, row ?? 0) - (by > 0 ? 0 : 1);
      selectRow(found[(next + found.length) % found.length]!);
    },
    cursor(by: number): void {
      const from = rows.findIndex(({ branch }) => branch.id === (cursor ?? settings.select));
      const next = rows[Math.min(Math.max(from + by, 0), rows.length - 1)];
      if (!next) return;
      setCursor(next.branch.id);
      stage.revealRow(next);
    },
    enter(all: boolean): void {
      const here = rows.find(({ branch }) => branch.id === cursor);
      if (!here || (here.branch.counter !== undefined && !here.branch.branches.length)) return;
      if (here.branch.track === null) toggle(here, all);
      else change({ select: here.branch.id });
    },
    escape(): void {
      if (measure) change({ measure: null });
      else if (row !== null) change({ row: null });
      else if (settings.select !== null) change({ select: null });
      else if (settings.find || settings.kinds) change({ find: "", kinds: null });
    },
    /** A click on what is under the pointer, or on nothing of a row. */
    click(hit: Hit | null, under: Row | null): void {
      if (under) setCursor(under.branch.id);
      if (hit?.what === "slice") selectRow(slices.row[hit.place]!, false);
      else if (hit?.what === "arrow") selectRow(hit.row);
      else if (hit?.what === "layer") stage.look(roomAround(hit.span, LAYER_ROOM), true);
      else if (hit?.what === "path") {
        const step = path!.steps[path!.slices.row[hit.place]!]!;
        if (step.row >= 0) selectRow(step.row);
        else change({ select: step.part });
      } else if (hit?.what === "group" && under && !under.open) toggle(under, false);
      else change({ row: null });
    },
    /** Open what is around a track, so that it has a row. Returns whether it had one. */
    openAround(track: number): boolean {
      const opened = withOpen(folds, groupsAround(shown.tree, track), true);
      if (opened.but.size === folds.but.size) return true;
      setFolds(opened);
      return false;
    },
  };
}
