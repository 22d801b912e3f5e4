// The busiest parts of a machine in the time that is shown, beside its drawing.
import { useMemo } from "preact/hooks";
import type { Busiest, BusyTime, Measure, Scale, Span } from "./busy";
import { Bar } from "./explain_parts";

const MOST = 10;
const TITLES: Record<Measure, string> = { utilisation: "Busiest", queueing: "Longest queues", bytes: "Most bytes", power: "Most power" };

interface BusiestProps {
  busy: BusyTime;
  measure: Measure;
  scale: Scale;
  span: Span;
  onNode: (node: number) => void;
}

export function BusiestParts({ busy, measure, scale, span, onNode }: BusiestProps) {
  const found = useMemo(() => busy.busiest(measure, span, MOST, scale.format), [busy, measure, scale, span.first, span.last]);
  const most = Math.max(scale.value(1), ...[...found.working, ...found.taken].map(({ value }) => value));
  return (
    <section class="busiest" aria-label="The busiest parts">
      <h2>{TITLES[measure]}</h2>
      {found.working.length ? <List rows={found.working} most={most} onNode={onNode} /> : <p class="note">Nothing in this time.</p>}
      {found.taken.length > 0 && (
        <>
          <h3 title="A DMA channel is taken for the whole round trip of a transfer, while links and memories work">Taken, while others work</h3>
          <List rows={found.taken} most={most} onNode={onNode} />
        </>
      )}
    </section>
  );
}

function List({ rows, most, onNode }: { rows: readonly Busiest[]; most: number; onNode: (node: number) => void }) {
  return (
    <ol>
      {rows.map(({ part, node, value, told, alike }) => (
        <li key={part}>
          <span>
            <button type="button" class="plain link" disabled={node < 0} title="Show it on the drawing" onClick={() => onNode(node)}>
              {part}
            </button>
            {alike > 0 && <span class="note"> and {alike.toLocaleString("en-US")} alike</span>}
          </span>
          <strong>{told}</strong>
          <Bar share={value} most={most} label={told} />
        </li>
      ))}
    </ol>
  );
}
