// What the page tells of an operation, of a measured time, and of the run while nothing is selected.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RunRow } from "./api";
import type { Details } from "./run_data";
import { firstAfter, IN_FLIGHT, type Slices } from "./timeline_slices";
import { formatExact, formatTime, type Window } from "./timeline_time";
import { toneOfKind, type TimelineTones } from "./timeline_tones";

const MOST_LISTED = 40;

interface PanelProps {
  title: ComponentChildren;
  label: string;
  onClose: () => void;
  children: ComponentChildren;
}

function Panel({ title, label, onClose, children }: PanelProps) {
  return (
    <aside class="card detail" aria-label={label}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="plain" aria-label="Close (Escape)" title="Close (Escape)" onClick={onClose}>
          ✕
        </button>
      </header>
      {children}
    </aside>
  );
}

function Figures({ figures }: { figures: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface OperationProps {
  slices: Slices;
  tracks: readonly string[];
  details: Details | null;
  place: number;
  critical: boolean;
  told: RunRow | null;
  nodes: readonly string[];
  problem: string | null;
  tones: TimelineTones;
  onRow: (row: number) => void;
  onPart: (part: string) => void;
  onFit: () => void;
  onClose: () => void;
}

export function Operation({ slices, tracks, details, place, critical, told, nodes, problem, tones, onRow, onPart, onFit, onClose }: OperationProps) {
  const row = slices.row[place]!;
  const part = tracks[slices.track[place]!]!;
  const [start, end] = [slices.start[place]!, slices.end[place]!];
  const listed = (rows: readonly number[]) => <Rows rows={rows} slices={slices} tracks={tracks} tones={tones} onRow={onRow} />;
  return (
    <Panel title={slices.names[slices.name[place]!]} label="An operation" onClose={onClose}>
      <p class="note">
        <i class="kind" style={{ background: toneOfKind(tones, slices.kinds[slices.kind[place]!]!) }} />
        {slices.kinds[slices.kind[place]!]} · row {row.toLocaleString("en-US")} of the op log
        {critical && <strong class="critical"> · on the critical path</strong>}
      </p>
      <Figures
        figures={[
          ["part", <button type="button" class="plain link" onClick={() => onPart(part)}>{part}</button>],
          ["start", formatExact(start)],
          ["duration", <strong>{formatTime(end - start, 7)}</strong>],
          ["end", formatExact(end)],
          ...(details ? sayDetails(details, row, start, end) : []),
          ...(told ? [["thread", told.thread] as const, ...Object.entries(told.params).map(([name, value]) => [name, sayValue(value)] as const)] : []),
        ]}
      />
      <p>
        <button type="button" title="Zoom to it (f)" onClick={onFit}>
          Zoom to it
        </button>
      </p>
      {problem && <p class="message error">{problem}</p>}
      {told && told.transfers.length > 0 && (
        <>
          <h3>Data</h3>
          <ul class="links">
            {told.transfers.slice(0, MOST_LISTED).map(({ far, leave_fs, arrive_fs, inward }, index) => (
              <li key={index}>
                <button type="button" class="plain" onClick={() => onPart(nodes[far] ?? "")}>
                  {nodes[far] ?? `node ${far}`}
                </button>
                <span>
                  {inward ? "from there" : "to there"}: the first byte leaves at {formatExact(leave_fs)}, the last arrives {formatTime(arrive_fs - leave_fs, 7)} later
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
      {told && (
        <>
          <h3>It waits for</h3>
          {told.dependencies.length ? listed(told.dependencies) : <p class="note">Nothing.</p>}
          <h3>What waits for it</h3>
          {told.dependents.length ? listed(told.dependents) : <p class="note">Nothing.</p>}
        </>
      )}
    </Panel>
  );
}

function sayDetails({ issue, bytes }: Details, row: number, start: number, end: number): (readonly [string, string])[] {
  const [issued, moved] = [issue[row]!, bytes[row]!];
  const waited = issued < start ? `${formatTime(start - issued, 7)} since ${formatExact(issued)}` : "nothing";
  return [["waited before", waited], ...(moved ? [["bytes", `${moved.toLocaleString("en-US")} (${rateOf(moved, end - start)})`] as const] : [])];
}

function rateOf(bytes: number, fs: number): string {
  return fs > 0 ? `${Number(((bytes / fs) * 1e6).toPrecision(4)).toLocaleString("en-US")} GB/s` : "at once";
}

function sayValue(value: unknown): string {
  return typeof value === "number" ? value.toLocaleString("en-US") : typeof value === "string" ? value : JSON.stringify(value);
}

interface RowsProps extends Pick<OperationProps, "slices" | "tracks" | "tones" | "onRow"> {
  rows: readonly number[];
}

function Rows({ rows, slices, tracks, tones, onRow }: RowsProps) {
  return (
    <ul class="links">
      {rows.slice(0, MOST_LISTED).map((row) => {
        const place = slices.place[row]!;
        return (
          <li key={row}>
            <button type="button" class="plain" onClick={() => onRow(row)}>
              <i class="kind" style={{ background: toneOfKind(tones, slices.kinds[slices.kind[place]!]!) }} />
              {slices.names[slices.name[place]!]}
            </button>
            <span>
              {tracks[slices.track[place]!]} · {formatTime(slices.end[place]! - slices.start[place]!)} from {formatExact(slices.start[place]!)}
            </span>
          </li>
        );
      })}
      {rows.length > MOST_LISTED && <li class="note">and {(rows.length - MOST_LISTED).toLocaleString("en-US")} more</li>}
    </ul>
  );
}

interface SummaryProps {
  note: string | undefined; // what is missing in the run
  slices: Slices;
  window: Window;
  tones: TimelineTones;
  measured: boolean;
  onName: (name: string) => void;
  onClose: () => void;
}

/** What happens in a window of time, by name. */
export function Summary({ note, slices, window, tones, measured, onName, onClose }: SummaryProps) {
  const [sums, setSums] = useState<readonly Sum[] | null>(null);
  useEffect(() => setSums(sumUp(slices, window)), [slices, window.from, window.to]); // after the frame: it reads all slices
  const table = (
    <table>
      <thead>
        <tr>
          <th />
          <th>count</th>
          <th>busy</th>
          <th>mean</th>
        </tr>
      </thead>
      <tbody>
        {sums?.map(({ name, kind, count, busy }) => (
          <tr key={`${name} ${kind}`}>
            <th>
              <button type="button" class="plain link" title={`Search ${slices.names[name]}`} onClick={() => onName(slices.names[name]!)}>
                <i class="kind" style={{ background: toneOfKind(tones, slices.kinds[kind]!) }} />
                {slices.names[name]}
              </button>
            </th>
            <td>{count.toLocaleString("en-US")}</td>
            {slices.kinds[kind] === IN_FLIGHT ? <td title="Its stages are busy, each in its own row">in flight</td> : <td>{formatTime(busy, 4)}</td>}
            <td>{formatTime(busy / count, 4)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
  if (!measured) {
    return (
      <aside class="card detail" aria-label="Operations of the run">
        <h2>Operations</h2>
        <p class="note">Click on one for all that the op log has of it. Shift-drag, or drag along the ruler, to measure a time.</p>
        {table}
        {note && <p class="note">{note}</p>}
      </aside>
    );
  }
  return (
    <Panel title={formatTime(window.to - window.from, 7)} label="A measured time" onClose={onClose}>
      <p class="note">
        {formatExact(window.from)} to {formatExact(window.to)}
      </p>
      {!sums || sums.length ? table : <p class="note">Nothing happens in this time.</p>}
    </Panel>
  );
}

interface Sum {
  name: number;
  kind: number;
  count: number;
  busy: number; // fs within the window
}

function sumUp(slices: Slices, { from, to }: Window): Sum[] {
  const { start, end, name, kind, strips } = slices;
  const found = new Map<number, Sum>();
  for (let strip = 0; strip < strips.lane.length; strip++) {
    const stop = strips.first[strip + 1]!;
    for (let at = firstAfter(slices, strips.first[strip]!, stop, from); at < stop && start[at]! < to; at++) {
      const key = name[at]! * 256 + kind[at]!;
      let sum = found.get(key);
      if (!sum) found.set(key, (sum = { name: name[at]!, kind: kind[at]!, count: 0, busy: 0 }));
      sum.count++;
      sum.busy += Math.min(end[at]!, to) - Math.max(start[at]!, from);
    }
  }
  const last = (sum: Sum) => Number(slices.kinds[sum.kind] === IN_FLIGHT);
  return [...found.values()].sort((a, b) => last(a) - last(b) || b.busy - a.busy);
}
