// The tables of an explanation: utilisation, operations, lines, launches, queueing, waiting in the network.
import { formatCount, formatNs, formatShare, formatTenths, type Explained } from "./explain_data";
import { Bar, Card, Figures } from "./explain_parts";

interface FoundProps {
  found: Explained;
}

const CLASSES = 3; // of parts that a line of an operator names
const NO_LINE = "(no kernel: host and launches)";
const NO_OPERATION = "(between operations)";
const CAUSES: [string, string][] = [
  ["queueing_ns", "queueing"],
  ["no_credit_ns", "no credit"],
  ["no_channel_ns", "no channel"],
  ["lost_channel_ns", "lost channel"],
  ["lost_switch_ns", "lost switch"],
  ["link_busy_ns", "link busy"],
  ["memory_ns", "memory"],
  ["source_ns", "source"],
];

function PartButton({ path, onPart }: { path: string; onPart: (path: string) => void }) {
  return (
    <button type="button" class="plain part" title="Show it in the machine" onClick={() => onPart(path)}>
      {path}
    </button>
  );
}

export function Utilisation({ found, onPart }: FoundProps & { onPart: (path: string) => void }) {
  return (
    <Card title="Utilisation" note={`over ${formatNs(found.window_ns)} ns, the busiest of each class`} wide>
      <Figures
        headings={[
          { text: "class", left: true },
          { text: "used", title: "parts that worked, of all of the class" },
          { text: "mean", title: "over all parts of the class" },
          { text: "most", title: "of the busiest part" },
          { text: "" },
          { text: "busiest part", left: true },
        ]}
        rows={found.utilisation.map((one) => [
          one.kind,
          `${formatCount(one.used)} of ${formatCount(one.parts)}`,
          formatShare(one.mean),
          formatShare(one.most),
          <Bar share={one.most} label={formatShare(one.most)} />,
          <PartButton path={one.busiest} onPart={onPart} />,
        ])}
      />
    </Card>
  );
}

export function Operations({ found }: FoundProps) {
  const whole = found.critical_path_ns;
  return (
    <Card title="Critical path by operation">
      <Figures
        headings={[{ text: "operation", left: true }, { text: "ns" }, { text: "share" }, { text: "" }]}
        rows={Object.entries(found.operations).map(([name, ns]) => [
          name || NO_OPERATION,
          formatNs(ns),
          formatShare(ns / whole),
          <Bar share={ns / whole} label={formatShare(ns / whole)} />,
        ])}
      />
    </Card>
  );
}

export function Lines({ found }: FoundProps) {
  if (!found.lines.length) return null;
  const whole = found.critical_path_ns;
  return (
    <Card title="Critical path by line of the kernels">
      <Figures
        headings={[{ text: "line", left: true }, { text: "ns" }, { text: "share" }]}
        rows={found.lines.map((line) => [
          <>
            {line.place || NO_LINE}
            {line.text && <code>{line.text}</code>}
          </>,
          formatNs(line.path_ns),
          formatShare(line.path_ns / whole),
        ])}
      />
    </Card>
  );
}

export function Queueing({ found }: FoundProps) {
  const most = Math.max(...found.queueing.map((one) => one.queued_ns + one.contention_ns + one.served_ns));
  return (
    <Card title="Queueing against service" note="summed over operations, ns" wide>
      <Figures
        headings={[
          { text: "operation", left: true },
          { text: "count" },
          { text: "queued", title: "in queues for an engine or a DMA channel" },
          { text: "contention", title: "lost by transfers because links and memory channels were shared" },
          { text: "served" },
          { text: "longest queue" },
          { text: "queued, contention, served", left: true },
        ]}
        rows={found.queueing.map((one) => [
          one.name,
          formatCount(one.count),
          formatTenths(one.queued_ns),
          formatTenths(one.contention_ns),
          formatTenths(one.served_ns),
          formatTenths(one.longest_queue_ns),
          <span class="share three" role="img" aria-label={`${formatShare(one.queued_ns / (one.queued_ns + one.contention_ns + one.served_ns || 1))} queued`}>
            <i class="queued" style={{ width: `${(one.queued_ns / most) * 100}%` }} />
            <i class="contention" style={{ width: `${(one.contention_ns / most) * 100}%` }} />
            <i class="served" style={{ width: `${(one.served_ns / most) * 100}%` }} />
          </span>,
        ])}
      />
    </Card>
  );
}

export function Operators({ found }: FoundProps) {
  if (!found.operators?.length) return null;
  const whole = found.critical_path_ns;
  return (
    <Card title="Operators" note="and what the critical path through each is spent on" wide>
      <Figures
        headings={[{ text: "part", left: true }, { text: "operator", left: true }, { text: "on path ns" }, { text: "share" }, { text: "" }, { text: "spent on", left: true }]}
        rows={found.operators.map((one) => [
          one.section,
          one.operator,
          formatNs(one.path_ns),
          formatShare(one.path_ns / whole),
          <Bar share={one.path_ns / whole} label={formatShare(one.path_ns / whole)} />,
          Object.entries(one.spent_ns)
            .slice(0, CLASSES)
            .map(([kind, ns]) => `${kind} ${formatShare(ns / one.path_ns)}`)
            .join(", "),
        ])}
      />
    </Card>
  );
}

export function Launches({ found }: FoundProps) {
  if (!found.launches.length) return null;
  const whole = found.critical_path_ns;
  const rate = (value: number | null, write: (value: number) => string) => (value === null ? "–" : write(value));
  return (
    <Card title="Launches" wide>
      <Figures
        headings={[
          { text: "kernel", left: true },
          { text: "launched at", left: true },
          { text: "launches" },
          { text: "kernel ns", title: "from barrier to last PE" },
          { text: "on path ns", title: "of the critical path on its PEs" },
          { text: "share" },
          { text: "TFLOPS" },
          { text: "of the engines' peak" },
          { text: "GB/s" },
          { text: "of the HBM's peak" },
        ]}
        rows={found.launches.map((one) => [
          one.kernel,
          one.place,
          formatCount(one.launches),
          formatNs(one.kernel_ns),
          formatNs(one.path_ns),
          formatShare(one.path_ns / whole),
          rate(one.achieved_tflops, formatNs),
          rate(one.tflops_of_peak, formatShare),
          rate(one.achieved_gbs, formatTenths),
          rate(one.gbs_of_peak, formatShare),
        ])}
      />
    </Card>
  );
}

export function Network({ found, onPart }: FoundProps & { onPart: (path: string) => void }) {
  if (!found.network) return null;
  const { links } = found.network;
  const waits = ["waiting_ns", ...CAUSES.map(([name]) => name)];
  const sum = (name: string) => links.reduce((total, link) => total + Number(link[name]), 0);
  return (
    <Card title="Waiting in the network by link" note="summed over flits, ns" wide>
      {links.length ? (
        <Figures
          headings={[{ text: "link", left: true }, { text: "waiting" }, ...CAUSES.map(([, text]) => ({ text }))]}
          rows={[
            ["all links", ...waits.map((name) => formatTenths(sum(name)))],
            ...links.map((link) => [
              <PartButton path={String(link["link"])} onPart={onPart} />,
              ...waits.map((name) => formatTenths(Number(link[name]))),
            ]),
          ]}
        />
      ) : (
        <p class="note">No flit waited.</p>
      )}
    </Card>
  );
}
