// The head of a sweep: its name, the best points, how far it has come, what failed and why, and what made it.
import type { SweepState } from "./api";
import { formatCell, shortName, type Points } from "./points";

const MOST_REASONS = 3;

interface SummaryProps {
  state: SweepState;
  points: Points;
  titled: boolean; // with the name of the sweep and what made it, which a report has as text
  onChoose: (row: number) => void;
}

export function Summary({ state, points, titled, onChoose }: SummaryProps) {
  const open = state.points - state.rows;
  const failed = statusOf(points).filter((status) => status !== "ok").length;
  const bounded = points.bounded.reduce((sum, flag) => sum + flag, 0);
  return (
    <header class="summary">
      {titled && (
        <div class="title">
          <h1>{state.name}</h1>
          <p class="note">
            {state.description || [state.workload, state.topology].filter(Boolean).join(" on ")}
            {state.mode ? ` · mode ${state.mode}` : ""}
          </p>
        </div>
      )}
      <Best state={state} points={points} onChoose={onChoose} />
      {titled && state.about.length > 0 && <About about={state.about} />}
      <div class="progress" aria-live="polite">
        <span>
          {state.rows.toLocaleString("en-US")} {open ? `of ${state.points.toLocaleString("en-US")} ` : ""}
          {state.points === 1 ? "point" : "points"}
          {failed ? `, ${failed.toLocaleString("en-US")} failed` : ""}
          {bounded ? <span title="Hollow in the plot, italic in the table">, {bounded.toLocaleString("en-US")} only bounded</span> : ""}
        </span>
        {open > 0 && state.running && <progress value={state.rows} max={state.points} aria-label="Points that are done" />}
      </div>
    </header>
  );
}

function Best({ state, points, onChoose }: Pick<SummaryProps, "state" | "points" | "onChoose">) {
  return (
    <div class="best">
      {state.objectives.map((objective) => {
        const row = findBest(points, objective);
        const column = points.columns.get(objective.column);
        return row < 0 || !column ? null : (
          <button type="button" key={objective.column} onClick={() => onChoose(row)} title="Open this point">
            <span>
              {objective.least ? "least" : "most"} {shortName(objective.column)}
            </span>
            <strong>{formatCell(column, row)}</strong>
          </button>
        );
      })}
    </div>
  );
}

function findBest(points: Points, objective: { column: string; least: boolean }): number {
  const column = points.columns.get(objective.column);
  if (column?.kind !== "number") return -1;
  let best = -1;
  points.front.forEach((onFront, row) => {
    if (!onFront || Number.isNaN(column.values[row])) return;
    const better = best < 0 || (objective.least ? column.values[row]! < column.values[best]! : column.values[row]! > column.values[best]!);
    if (better) best = row;
  });
  return best;
}

function About({ about }: { about: readonly [string, string][] }) {
  return (
    <details class="menu about">
      <summary>About</summary>
      <fieldset>
        <legend>What made this sweep</legend>
        <dl class="origin">
          {about.map(([name, text]) => (
            <>
              <dt key={name}>{name}</dt>
              <dd>{text}</dd>
            </>
          ))}
        </dl>
      </fieldset>
    </details>
  );
}

function statusOf(points: Points): readonly (string | null)[] {
  const status = points.columns.get("status");
  return status?.kind === "text" ? status.values : [];
}

interface FailuresProps {
  points: Points;
  onShow: (filter: string) => void; // a filter of the column error
}

/** Why points failed: the most frequent reasons, each with how often, and a way to the points. */
export function Failures({ points, onShow }: FailuresProps) {
  const error = points.columns.get("error");
  if (error?.kind !== "text") return null;
  const counts = new Map<string, number>();
  statusOf(points).forEach((status, row) => {
    if (status === "ok") return;
    const reason = error.values[row] ?? `status ${status}`;
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  });
  if (!counts.size) return null;
  const failed = [...counts.values()].reduce((sum, times) => sum + times, 0);
  const reasons = [...counts].sort((a, b) => b[1] - a[1]);
  return (
    <div class="banner failures" role="alert">
      <strong>
        {failed === points.count ? (failed === 1 ? "The only point failed:" : `All ${failed.toLocaleString("en-US")} points failed:`) : `${failed.toLocaleString("en-US")} of ${points.count.toLocaleString("en-US")} points failed:`}
      </strong>
      <ul>
        {reasons.slice(0, MOST_REASONS).map(([reason, times]) => (
          <li key={reason}>
            {reason}{" "}
            <button type="button" class="plain" onClick={() => onShow(`=${reason.replaceAll(",", "\\,")}`)}>
              show {times === 1 ? "the point" : `${times.toLocaleString("en-US")} points`}
            </button>
          </li>
        ))}
        {reasons.length > MOST_REASONS && <li>and {reasons.length - MOST_REASONS} other reasons, in the column error</li>}
      </ul>
    </div>
  );
}
