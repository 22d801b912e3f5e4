// What-if: the latency if a field of the topology were twice as fast, each row a simulation; made on demand.
import { formatChange, formatNs, tellFields, type WhatIf } from "./explain_data";
import { Bar, Card, Figures } from "./explain_parts";
import { JobBox } from "./job";
import { useJob, type Commands } from "./jobs";

const LEAST_CHANGE = 0.001; // of the latency: what is less is not worth a line

interface WhatIfProps {
  name: string;
  table: WhatIf | null;
  latency: number;
  commands: Commands | null;
  onDone: () => void;
  wide?: boolean | undefined; // where no roofline stands beside it
}

export function WhatIfCard({ name, table, latency, commands, onDone, wide }: WhatIfProps) {
  const handle = useJob({ kind: "what_if", source: name, part: "" }, onDone);
  const told = table?.alternatives.filter((one) => Math.abs(one.change) >= LEAST_CHANGE) ?? [];
  const most = Math.max(...told.map((one) => Math.abs(one.change)));
  return (
    <Card title="What if" note={`each field ${table && table.factor !== 2 ? `${table.factor} times` : "twice"} as fast, simulated`} wide={wide}>
      {table && !told.length && <p class="note">No field changes the latency by 0.1 % or more.</p>}
      {told.length > 0 && (
        <Figures
          headings={[{ text: "field", left: true }, { text: "latency ns" }, { text: "change" }, { text: "" }]}
          rows={told.map((one) => [
            tellFields(one).map((text, at) => (
              <div key={text}>
                {at > 0 && "+ "}
                {text}
              </div>
            )),
            formatNs(one.latency_ns),
            <span class={one.change < 0 ? "better" : "worse"}>{formatChange(one.change)}</span>,
            <Bar share={one.change} most={most} tone={one.change < 0 ? "better" : "worse"} label={formatChange(one.change)} />,
          ])}
        />
      )}
      {!table && (
        <>
          <p class="note">
            Not simulated yet: a table takes some thirty runs like this one of {formatNs(latency)} ns. It stays with the run. A run whose host
            waits for results in between has none.
          </p>
          {handle.job?.state === "done" && <p class="note">It cannot be repeated without its host, which waited for results in between.</p>}
          <JobBox handle={handle} label="Simulate each field twice as fast" command={commands?.commands.what_if} refused={commands?.refused} />
        </>
      )}
    </Card>
  );
}
