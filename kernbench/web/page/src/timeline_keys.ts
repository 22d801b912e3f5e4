// The keys of the timeline. They work wherever the focus is, but for fields that take text and the drawing of the machine.
import type { Acts } from "./timeline_acts";

const [ZOOM, PAN] = [0.7, 0.2];

/** Do what a key says; false if it says nothing. */
export function onTimelineKey(event: KeyboardEvent, acts: Acts): boolean {
  const target = event.target as HTMLElement;
  const takesText = target.matches("input, select, textarea, dialog *");
  if (takesText || event.ctrlKey || event.metaKey || event.altKey) return false;
  const presses = target.matches("button, a, summary");
  const act: Record<string, () => void> = {
    w: () => acts.zoom(ZOOM),
    s: () => acts.zoom(1 / ZOOM),
    "+": () => acts.zoom(ZOOM),
    "=": () => acts.zoom(ZOOM),
    "-": () => acts.zoom(1 / ZOOM),
    a: () => acts.pan(-PAN),
    d: () => acts.pan(PAN),
    ArrowLeft: () => acts.pan(-PAN),
    ArrowRight: () => acts.pan(PAN),
    ArrowUp: () => acts.cursor(-1),
    ArrowDown: () => acts.cursor(1),
    PageUp: () => acts.cursor(-15),
    PageDown: () => acts.cursor(15),
    "0": acts.all,
    Home: acts.all,
    f: acts.fit,
    m: acts.measure,
    ".": () => acts.step(1),
    ",": () => acts.step(-1),
    n: () => acts.find(1),
    N: () => acts.find(-1),
    e: () => acts.fold(true),
    E: () => acts.fold(false),
    Escape: acts.escape,
  };
  if (!presses) Object.assign(act, { Enter: () => acts.enter(event.shiftKey), " ": () => acts.enter(event.shiftKey) });
  const found = act[event.key] ?? (event.key.length === 1 && event.key !== "N" && event.key !== "E" ? act[event.key.toLowerCase()] : undefined);
  found?.();
  return found !== undefined;
}
