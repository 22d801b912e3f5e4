// The keys that lead to a part of a page.
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
