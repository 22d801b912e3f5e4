// The panel of a point, or of two beside each other: all that the table has of them, and the command that runs them alone.
import { useContext, useEffect, useState } from "preact/hooks";
import type { SweepState } from "./api";
import { CommandLine, JobBox } from "./job";
import { HasServer, listPointRuns, useJob } from "./jobs";
import { formatCell, shortName, type Column, type Points } from "./points";

interface DetailProps {
  points: Points;
  state: SweepState;
  chosen: readonly number[];
  onClose: () => void;
  onDrop: (which: number) => void;
}

export function Detail({ points, state, chosen, onClose, onDrop }: DetailProps) {
  const columns = [...points.columns.values()];
  const parameters = columns.filter((column) => state.parameters.includes(column.name));
  const results = columns.filter((column) => !state.parameters.includes(column.name));
  const two = chosen.length > 1;
  const canRun = useContext(HasServer) && commandOf(points, state, chosen[0]!) !== "";
  const [runs, look] = usePointRuns(canRun ? state.name : null);
  return (
    <aside class="card detail" aria-label={two ? "Two points beside each other" : "A point"}>
      <header>
        <h2>{two ? "Two points" : "Point"}</h2>
        <button type="button" class="plain" aria-label="Close (Escape)" title="Close (Escape)" onClick={onClose}>
          ✕
        </button>
      </header>
      {!two && <p class="note">Shift-click or Shift-Enter on another point puts it beside this one.</p>}
      {canRun &&
        chosen.map((row, which) => (
          <RunOfPoint
            key={points.keys[row]}
            sweep={state.name}
            point={points.keys[row]!}
            label={two ? (which ? "B" : "A") : ""}
            run={runs[points.keys[row]!]}
            onDone={look}
          />
        ))}
      {canRun && two && <BothRuns runs={chosen.map((row) => runs[points.keys[row]!])} />}
      <table>
        {two && (
          <thead>
            <tr>
              <th />
              {chosen.map((row, which) => (
                <th key={row} class={which ? "other" : "one"}>
                  {which ? "B" : "A"}
                  <button type="button" class="plain" aria-label={`Drop ${which ? "B" : "A"}`} onClick={() => onDrop(which)}>
                    ✕
                  </button>
                </th>
              ))}
              <th>B to A</th>
            </tr>
          </thead>
        )}
        <Rows title="parameters" columns={parameters} chosen={chosen} />
        <Rows title="results" columns={results} chosen={chosen} />
      </table>
      {chosen.map((row, which) => {
        const text = commandOf(points, state, row);
        return (
          text && (
            <div class="alone" key={row}>
              <p class="note">Run {two ? (which ? "B" : "A") : "it"} alone, and say why it takes that long:</p>
              <CommandLine text={text} />
            </div>
          )
        );
      })}
    </aside>
  );
}

function Rows({ title, columns, chosen }: { title: string; columns: readonly Column[]; chosen: readonly number[] }) {
  const told = columns.filter((column) => chosen.some((row) => formatCell(column, row) !== "–"));
  return (
    <tbody>
      <tr class="part">
        <th colSpan={chosen.length + 2}>{title}</th>
      </tr>
      {told.map((column) => {
        const cells = chosen.map((row) => formatCell(column, row));
        return (
          <tr key={column.name} class={cells.length > 1 && cells[0] !== cells[1] ? "differs" : ""}>
            <th title={column.name}>{shortName(column.name)}</th>
            {cells.map((text, which) => (
              <td key={which} class={column.kind}>
                {text}
              </td>
            ))}
            {chosen.length > 1 && <td class="change">{changeOf(column, chosen)}</td>}
          </tr>
        );
      })}
    </tbody>
  );
}

function changeOf(column: Column, [one, other]: readonly number[]): string {
  if (column.kind === "text" || one === undefined || other === undefined) return "";
  const [a, b] = [column.values[one]!, column.values[other]!];
  if (a === b || Number.isNaN(a + b) || a === 0) return "";
  const change = b / a - 1;
  return `${change > 0 ? "+" : "−"}${(Math.abs(change) * 100).toFixed(Math.abs(change) < 0.1 ? 2 : 1)} %`;
}

/** The command that runs a point by itself and keeps its op log; "" of traffic, which is run by `kernbench probe`. */
export function commandOf(points: Points, state: SweepState, row: number): string {
  if (!state.bench || !state.topology) return "";
  const mode = state.mode === "auto" ? "hybrid" : (state.mode ?? "hybrid");
  const words = ["kernbench", "run", state.bench, "--topology", state.topology, "--mode", mode];
  for (const name of state.parameters) {
    const column = points.columns.get(name);
    const value = column?.values[row];
    if (value === undefined || value === null || Number.isNaN(value)) continue;
    words.push("--set", `${name}=${value}`);
  }
  return [...words, "--explain"].map(quote).join(" ");
}

function quote(word: string): string {
  return /^[\w.,:=@%+/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The runs that points have by now, and how to look again. */
function usePointRuns(sweep: string | null): [Record<string, string>, () => void] {
  const [runs, setRuns] = useState<Record<string, string>>({});
  const look = () => void (sweep && listPointRuns(sweep).then(setRuns, () => undefined));
  useEffect(look, [sweep]);
  return [runs, look];
}

interface RunOfPointProps {
  sweep: string;
  point: string; // the beginning of its key
  label: string;
  run: string | undefined; // what shows its run, if it has one
  onDone: () => void;
}

function RunOfPoint({ sweep, point, label, run, onDone }: RunOfPointProps) {
  const handle = useJob({ kind: "point", source: sweep, part: point }, ({ result }) => {
    onDone();
    if (result && !label) location.hash = linkToRun(result);
  });
  return (
    <section class="of-point" aria-label={`Run of point ${label}`.trim()}>
      {run ? (
        <a class="open" href={linkToRun(run)}>
          Open the run{label && ` of ${label}`}
        </a>
      ) : (
        <JobBox handle={handle} label={label ? `Run point ${label}` : "Run this point"} note="alone, and explain it" command={undefined} />
      )}
    </section>
  );
}

function BothRuns({ runs: [one, other] }: { runs: (string | undefined)[] }) {
  if (!one || !other) return <p class="note">When both points have been run, their runs can be put beside each other.</p>;
  return (
    <a class="open" href={`${linkToRun(one)}?with=${encodeURIComponent(other)}`}>
      Both runs beside each other
    </a>
  );
}

function linkToRun(name: string): string {
  return `#/run/${encodeURIComponent(name)}/explain`;
}
