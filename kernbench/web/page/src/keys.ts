// Keys that a whole page hears, and those that lead to a part of it.
import { useLayoutEffect, useRef } from "preact/hooks";

const PLACES: Record<string, string> = {
  "/": ".searching, .search input",
  t: ".table, .scroller, .drawing canvas",
};

/** Moves the focus if a key that leads somewhere was pressed, not in a field. */
export function focusByKey(event: KeyboardEvent): void {
  const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  const place = PLACES[event.key];
  if (typing || !place || event.ctrlKey || event.metaKey || event.altKey) return;
  document.querySelector<HTMLElement>(place)?.focus();
  event.preventDefault();
}

/** Whether text is typed where the focus is. */
export function takesText(target: EventTarget | null): boolean {
  return target instanceof HTMLTextAreaElement || (target instanceof HTMLInputElement && !["checkbox", "range", "button", "radio"].includes(target.type));
}

/** Hears all keys of the page while a component is on it: from the moment at which it can be seen, and always as it was last rendered. */
export function useKeys(onKey: (event: KeyboardEvent) => void): void {
  const latest = useRef(onKey);
  useLayoutEffect(() => {
    latest.current = onKey;
  });
  useLayoutEffect(() => {
    const hear = (event: KeyboardEvent) => latest.current(event);
    addEventListener("keydown", hear);
    return () => removeEventListener("keydown", hear);
  }, []);
}
