// The panel of a point, or of two beside each other: all that the table has of them, and the command that runs them alone.
import { useState } from "preact/hooks";
import type { SweepState } from "./api";
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
  return (
    <aside class="card detail" aria-label={two ? "Two points beside each other" : "A point"}>
      <header>
        <h2>{two ? "Two points" : "Point"}</h2>
        <button type="button" class="plain" aria-label="Close (Escape)" title="Close (Escape)" onClick={onClose}>
          ✕
        </button>
      </header>
      {!two && <p class="note">Shift-click or Shift-Enter on another point puts it beside this one.</p>}
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
      {chosen.map((row, which) => (
        <Command key={row} text={commandOf(points, state, row)} label={two ? (which ? "B" : "A") : ""} />
      ))}
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

function Command({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  if (!text) return null;
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  }
  return (
    <div class="command">
      <span>Run {label || "it"} alone, and say why it takes that long:</span>
      <button type="button" onClick={copy}>
        {copied ? "Copied" : "Copy"}
      </button>
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
}
