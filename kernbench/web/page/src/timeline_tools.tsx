// What stands above the timeline: the search with how many it finds, the kinds that are kept, and zoom and folds.
import { toneOfKind, type TimelineTones } from "./timeline_tones";

interface ToolsProps {
  kinds: readonly string[];
  kept: readonly string[] | null; // null: all
  find: string;
  found: { count: number; at: number } | null; // how many match, and which is selected; -1: none
  tones: TimelineTones;
  onKinds: (kept: string[] | null) => void;
  onFind: (text: string) => void;
  onStep: (by: 1 | -1) => void;
  onZoom: (factor: number) => void;
  onAll: () => void;
  onFold: (open: boolean) => void;
}

export function Tools({ kinds, kept, find, found, tones, onKinds, onFind, onStep, onZoom, onAll, onFold }: ToolsProps) {
  const toggle = (kind: string) => {
    const now = kept ?? kinds;
    const next = now.includes(kind) ? now.filter((one) => one !== kind) : [...now, kind];
    onKinds(next.length === kinds.length || !next.length ? null : next);
  };
  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === "Enter") onStep(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      onFind("");
      (event.currentTarget as HTMLElement).blur();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
  return (
    <div class="tools">
      <div class="levels" role="toolbar" aria-label="Zoom">
        <button type="button" title="The whole run (0)" onClick={onAll}>
          All
        </button>
        <button type="button" aria-label="Closer (w)" title="Closer (w)" onClick={() => onZoom(0.6)}>
          +
        </button>
        <button type="button" aria-label="Farther (s)" title="Farther (s)" onClick={() => onZoom(1 / 0.6)}>
          −
        </button>
      </div>
      <div class="levels" role="toolbar" aria-label="Groups">
        <button type="button" title="Open all groups (e)" onClick={() => onFold(true)}>
          Unfold
        </button>
        <button type="button" title="Close all groups (Shift e)" onClick={() => onFold(false)}>
          Fold
        </button>
      </div>
      <div class="levels kinds" role="toolbar" aria-label="Kinds that are kept">
        {kinds.map((kind) => (
          <button type="button" key={kind} aria-pressed={(kept ?? kinds).includes(kind)} title={`Keep ${kind}, or let it be pale`} onClick={() => toggle(kind)}>
            <i class="kind" style={{ background: toneOfKind(tones, kind) }} />
            {kind}
          </button>
        ))}
      </div>
      <div class="search find">
        <input
          type="search"
          aria-label="Search operations by part and name"
          placeholder="Search operations: cube3 gemm  ( / )"
          spellcheck={false}
          value={find}
          onInput={(event) => onFind(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        {found && (
          <span class="found" role="status">
            {found.count ? `${found.at >= 0 ? `${(found.at + 1).toLocaleString("en-US")} of ` : ""}${found.count.toLocaleString("en-US")}` : "none"}
          </span>
        )}
        <button type="button" aria-label="The one before (Shift Enter)" title="The one before (Shift Enter)" disabled={!found?.count} onClick={() => onStep(-1)}>
          ↑
        </button>
        <button type="button" aria-label="The next one (Enter)" title="The next one (Enter)" disabled={!found?.count} onClick={() => onStep(1)}>
          ↓
        </button>
      </div>
    </div>
  );
}
