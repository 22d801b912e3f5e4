// The critical path: how much of the latency each class of part took, where in time, and piece by piece.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Palette } from "./palette";
import { formatCount, formatNs, formatShare, type Explained } from "./explain_data";
import { Bar, Card, Figures } from "./explain_parts";
import { PathOverTime, sumClasses, tonesOfClasses, type OnTime } from "./explain_strip";
import type { Path, Run } from "./run_data";

const FS_IN_NS = 1e6;
const MOST_PIECES = 200; // shown in the list
const [MOST_LANES, LANE_PX] = [9, 18];

interface PathCardProps {
  run: Run;
  found: Explained | undefined;
  palette: Palette;
  onTime: OnTime;
}

/** The path as it is kept with the run; a sentence where it is not. */
function usePath(run: Run): [Path | null, string | null] {
  const [path, setPath] = useState<Path | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let gone = false;
    run.load("path").then(
      (loaded) => gone || setPath(loaded),
      (error: Error) => gone || setProblem(error.message),
    );
    return () => {
      gone = true;
    };
  }, [run]);
  return [path, problem];
}

export function PathCard({ run, found, palette, onTime }: PathCardProps) {
  const [path, problem] = usePath(run);
  const [kind, setKind] = useState<string | null>(null);
  const classes = useMemo(() => (found ? Object.entries(found.critical_path) : path ? sumClasses(path) : []), [found, path]);
  const whole = classes.reduce((sum, [, ns]) => sum + ns, 0);
  const toneOf = tonesOfClasses(classes, palette);
  if (problem && !found) {
    return (
      <Card title="Critical path" wide>
        <p class="note">{problem}</p>
      </Card>
    );
  }
  if (!classes.length && !path) {
    return (
      <Card title="Critical path" wide>
        <p class="note">Reading the critical path …</p>
      </Card>
    );
  }
  return (
    <Card title="Critical path" note={`${formatNs(whole)} ns, the chain of waits and work that set the latency`} wide>
      {path && (
        <PathOverTime
          path={path}
          classes={classes}
          palette={palette}
          most={MOST_LANES}
          lane={LANE_PX}
          kind={kind}
          hint="by time; a click shows it in the timeline"
          onTime={onTime}
        />
      )}
      <div class="two">
        <Figures
          headings={[{ text: "spent on", left: true }, { text: "ns" }, { text: "share" }, { text: "" }]}
          rows={classes.map(([name, ns]) => [
            <button type="button" class="plain class" aria-pressed={kind === name} onClick={() => setKind(kind === name ? null : name)}>
              <i style={{ background: toneOf(name) }} />
              {name}
            </button>,
            formatNs(ns),
            formatShare(ns / whole),
            <Bar share={ns / whole} most={classes[0]![1] / whole} label={formatShare(ns / whole)} />,
          ])}
        />
        {path ? <Pieces path={path} kind={kind} onTime={onTime} /> : <p class="note">{problem ?? "Reading the pieces …"}</p>}
      </div>
    </Card>
  );
}

/** A piece has a row for each class that its time was spent on. */
function countPieces(path: Path): number {
  let found = 0;
  for (let row = 0; row < path.count; row++) {
    if (row === 0 || path.start[row] !== path.start[row - 1] || path.end[row] !== path.end[row - 1]) found++;
  }
  return found;
}

function Pieces({ path, kind, onTime }: { path: Path; kind: string | null; onTime: OnTime }) {
  const [longest, setLongest] = useState(true);
  const rows = useMemo(() => {
    const all = Array.from({ length: path.count }, (_, row) => row).filter((row) => kind === null || path.kind[row] === kind);
    return longest ? all.sort((a, b) => path.spent[b]! - path.spent[a]!) : all;
  }, [path, kind, longest]);
  return (
    <div class="pieces">
      <p class="note">
        {kind ? `${formatCount(rows.length)} shares of ${kind}` : `${formatCount(rows.length)} shares of ${formatCount(countPieces(path))} pieces`}
        {rows.length > MOST_PIECES && `, ${MOST_PIECES} shown`}
        <button type="button" class="plain" onClick={() => setLongest(!longest)}>
          {longest ? "the longest first" : "in order of time"} ⇅
        </button>
      </p>
      <ol>
        {rows.slice(0, MOST_PIECES).map((row) => {
          const [start, end] = [path.start[row]! / FS_IN_NS, path.end[row]! / FS_IN_NS];
          return (
            <li key={row}>
              <button type="button" class="plain" title="Show it in the timeline" onClick={() => onTime(start, end, path.part[row]!)}>
                <span class="ns">{formatNs(path.spent[row]! / FS_IN_NS)} ns</span>
                <span>
                  {path.name[row]} <b>{path.part[row] || "host"}</b>
                  {kind === null && <em> {path.kind[row]}</em>}
                </span>
                <span class="ns">at {formatNs(start)}</span>
              </button>
            </li>
          );
        })}
      </ol>
    </div>
  );
}
