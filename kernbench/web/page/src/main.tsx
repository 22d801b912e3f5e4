// The page: what there is to show, the view of what is chosen, and the keys.
import { render } from "preact";
import type { ComponentChildren } from "preact";
import { useEffect, useErrorBoundary, useRef, useState } from "preact/hooks";
import { listSources, type SourceList, type SourceName } from "./api";
import "./explain.css";
import "./job.css";
import { focusByKey, useKeys } from "./keys";
import { lazy } from "./lazy";
import { Machine } from "./machine";
import { Problem } from "./problem";
import { linkTo, useRoute } from "./route";
import { Run } from "./run";
import { Start } from "./start";
import "./style.css";

const Sweep = lazy(async () => (await import("./sweep")).Sweep, "Reading the sweep …");
const LOOK_MS = 3000;
const KEYS: [string, string][] = [
  ["t", "to the table, or to the drawing"],
  ["↑ ↓ PgUp PgDn Home End", "move in the table"],
  ["Enter", "open the point"],
  ["Shift Enter", "put it beside the open one"],
  ["/", "to the search"],
  ["← → ↑ ↓ + −", "move and zoom the drawing"],
  ["1 2 3 4", "show all, a SIP, a cube, a PE"],
  ["Escape", "close the panel, then remove all filters"],
  ["v", "to the next view of a run; V to the one before"],
  ["Space , .", "machine of a run: play or pause, a window back, a window on"],
  ["c p", "machine of a run: colour by something else, critical path on or off"],
  ["w s a d", "timeline: closer, farther, earlier, later"],
  ["0 f m", "timeline: the whole run, zoom to the operation, measure it"],
  [", . n N", "timeline: the operation before and after, and of those found"],
  ["↑ ↓ Enter e E", "timeline: go through the rows, fold one; unfold and fold all"],
  ["[ ]", "what stands before in the bar, and next"],
  ["?", "these keys"],
];

function useSources(): [SourceList | null, string | null] {
  const [found, setFound] = useState<SourceList | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let timer = 0;
    async function look(): Promise<void> {
      try {
        const list = await listSources();
        setFound((before) => (JSON.stringify(before) === JSON.stringify(list) ? before : list));
        setProblem(null);
      } catch (error) {
        setProblem(error instanceof Error ? error.message : String(error));
      }
      timer = window.setTimeout(look, LOOK_MS);
    }
    void look();
    return () => clearTimeout(timer);
  }, []);
  return [found, problem];
}

function Page() {
  const [route, go] = useRoute();
  const [found, problem] = useSources();
  const help = useRef<HTMLDialogElement>(null);
  const sources = found?.sources ?? [];
  const open = route.source ?? (sources.length === 1 ? sources[0]! : null);
  const current = useRef<HTMLAnchorElement>(null);
  useEffect(() => current.current?.scrollIntoView({ block: "nearest", inline: "center" }), [open?.kind, open?.name, sources.length]);
  useEffect(() => {
    document.title = open ? `${open.name} · KernBench` : "KernBench";
  }, [open?.name]);
  useKeys((event) => onShortcut(event, help.current, (step) => goBeside(sources, open, step)));
  return (
    <>
      <nav class="bar" aria-label="Runs, sweeps and machines">
        <a class="brand" href="#/">
          KernBench
        </a>
        <ul>
          {sources.map((one) => (
            <li key={linkTo(one)}>
              <a ref={isSame(one, open) ? current : null} href={linkTo(one)} aria-current={isSame(one, open) ? "page" : undefined}>
                {one.name}
              </a>
            </li>
          ))}
        </ul>
        <button type="button" class="plain" title="Keys (?)" onClick={() => help.current?.showModal()}>
          Keys ?
        </button>
      </nav>
      <Guarded key={open && linkTo(open)}>
        {open?.kind === "sweep" && (
          <Sweep
            key={open.name}
            name={open.name}
            settings={route.sweep}
            onSettings={(sweep) => go({ ...route, source: open, sweep })}
          />
        )}
        {open?.kind === "machine" && (
          <Machine
            key={open.name}
            name={open.name}
            settings={route.machine}
            onSettings={(machine) => go({ ...route, source: open, machine })}
          />
        )}
        {open?.kind === "run" && (
          <Run
            key={open.name}
            name={open.name}
            settings={route.run}
            onSettings={(run) => go({ ...route, source: open, run })}
          />
        )}
        {!open && <Start found={found} problem={problem} />}
      </Guarded>
      <dialog ref={help} aria-label="Keys">
        <h2>Keys</h2>
        <dl>
          {KEYS.map(([keys, text]) => (
            <div key={keys}>
              <dt>{keys}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
        <p class="note">
          Drag along an axis or over the plot to filter; a click on a brushed axis, or a double click in the plot, removes its filter.
          All that is set is in the address.
        </p>
        <form method="dialog">
          <button>Close</button>
        </form>
      </dialog>
    </>
  );
}

/** A view, or what went wrong in it: files that others wrote may have what no view expects. */
function Guarded({ children }: { children: ComponentChildren }) {
  const [error] = useErrorBoundary() as [unknown, () => void];
  if (!error) return <>{children}</>;
  return <Problem text={`this cannot be shown (${error instanceof Error ? error.message : String(error)}); its files may be damaged`} />;
}

function isSame(one: SourceName, other: SourceName | null): boolean {
  return one.kind === other?.kind && one.name === other.name;
}

function goBeside(sources: readonly SourceName[], open: SourceName | null, step: number): void {
  const at = sources.findIndex((one) => isSame(one, open));
  const next = sources[(at + step + sources.length) % sources.length];
  if (next !== undefined) location.hash = linkTo(next);
}

function onShortcut(event: KeyboardEvent, help: HTMLDialogElement | null, step: (by: number) => void): void {
  const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  focusByKey(event);
  if (event.key === "?") help?.showModal();
  else if (event.key === "[") step(-1);
  else if (event.key === "]") step(1);
  else return;
  event.preventDefault();
}

render(<Page />, document.getElementById("page")!);
