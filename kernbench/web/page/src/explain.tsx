// Why a run took as long as it did: what its latency was spent on, what bound it, and what would make it shorter.
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { runAbout } from "./api";
import { usePalette } from "./palette";
import { Compare, CompareWith } from "./explain_compare";
import { formatNs, tellRoofline, type ExplainableAbout, type Explained } from "./explain_data";
import { Card } from "./explain_parts";
import { EnergyCards, type Energy } from "./explain_energy";
import { PathCard } from "./explain_path";
import { RooflineChart } from "./explain_roofline";
import { Launches, Lines, Network, Operations, Operators, Queueing, Utilisation } from "./explain_tables";
import { WhatIfCard } from "./explain_what_if";
import { JobBox } from "./job";
import { listCommands, useJob, type Commands } from "./jobs";
import type { RunViewProps } from "./run";

/** What the server says of a run, and how to ask it again. */
function useExplained(name: string, first: ExplainableAbout): [ExplainableAbout, () => void, Commands | null] {
  const [about, setAbout] = useState(first);
  const [commands, setCommands] = useState<Commands | null>(null);
  const look = useCallback(() => {
    runAbout(name).then((found) => setAbout(found as unknown as ExplainableAbout), () => undefined);
  }, [name]);
  useEffect(() => {
    listCommands(name).then(setCommands, (error: Error) => setCommands({ commands: {}, refused: error.message }));
  }, [name]);
  return [about, look, commands];
}

export function Explain({ run, settings, onSettings }: RunViewProps) {
  const [about, look, commands] = useExplained(run.name, run.about as unknown as ExplainableAbout);
  const palette = usePalette();
  const beside = settings.extra["with"] ?? null;
  const onBeside = (name: string | null) => {
    const { with: _, ...rest } = settings.extra;
    onSettings({ ...settings, extra: name ? { ...rest, with: name } : rest });
  };
  const onTime = (start: number, end: number, part: string) => {
    const margin = Math.max((end - start) * 2, 1);
    onSettings({ ...settings, view: "timeline", time: [Math.max(0, start - margin), end + margin], now: start, select: part || settings.select });
  };
  const onPart = (path: string) => onSettings({ ...settings, view: "machine", select: nodeOf(path, names), at: null });
  const names = useMemo(() => new Set(run.machine?.names), [run]);
  const found = about.explain;
  const energy = run.about["energy"] as Energy | undefined;
  return (
    <div class="explain" tabIndex={-1}>
      <CompareWith run={run.name} beside={beside} onBeside={onBeside} />
      {beside && <Compare run={run.name} beside={beside} explained={found !== undefined} />}
      {!found && <Unexplained name={run.name} commands={commands} onDone={look} />}
      {found && <Verdict found={found} about={about} />}
      <PathCard run={run} found={found} palette={palette} onTime={onTime} />
      {found?.roofline && (
        <Card title="Roofline" note={`bound by ${found.roofline.bound}`}>
          <RooflineChart found={found.roofline} launches={found.launches} palette={palette} />
          {tellRoofline(found.roofline).map((sentence) => (
            <p class="note" key={sentence}>
              {sentence}
            </p>
          ))}
        </Card>
      )}
      {found && (
        <>
          <WhatIfCard
            name={run.name}
            table={found.what_if ?? about.what_if ?? null}
            latency={found.critical_path_ns}
            commands={commands}
            onDone={look}
            wide={!found.roofline}
          />
          <Utilisation found={found} onPart={onPart} />
          <Operators found={found} />
          <Operations found={found} />
          <Lines found={found} />
          <Queueing found={found} />
          <Launches found={found} />
          <Network found={found} onPart={onPart} />
        </>
      )}
      {energy?.power !== undefined && <EnergyCards found={energy} savings={found?.savings} palette={palette} />}
      {!found && about.what_if && (
        <WhatIfCard name={run.name} table={about.what_if} latency={about.latency_ns ?? 0} commands={commands} onDone={look} />
      )}
    </div>
  );
}

/** The node of a machine that a part is in: of a channel or a port that which it belongs to, of a link its source. */
function nodeOf(path: string, names: ReadonlySet<string>): string {
  let found = path.split(" -> ")[0]!;
  while (names.size && !names.has(found) && found.includes(".")) found = found.slice(0, found.lastIndexOf("."));
  return found;
}

/** What bound the run, and the advice, in the words of the command line. */
function Verdict({ found, about }: { found: Explained; about: ExplainableAbout }) {
  const [first] = Object.entries(found.critical_path);
  return (
    <section class="card explained wide verdict" aria-label="What bound the run">
      <dl>
        {first && (
          <div>
            <dt>most of the latency</dt>
            <dd>
              <strong>{first[0]}</strong> {formatNs(first[1])} of {formatNs(found.critical_path_ns)} ns
            </dd>
          </div>
        )}
        {found.roofline && (
          <div>
            <dt>needed at least (roofline)</dt>
            <dd>
              <strong>{found.roofline.bound}</strong> {(found.roofline.share * 100).toFixed(1)} % of the kernels' time
            </dd>
          </div>
        )}
        {about.bottleneck && (
          <div>
            <dt>bottleneck</dt>
            <dd>
              <strong>{about.bottleneck}</strong> {((about.bottleneck_utilisation ?? 0) * 100).toFixed(1)} % busy
            </dd>
          </div>
        )}
      </dl>
      {found.advice.length > 0 ? (
        <ul aria-label="Advice">
          {found.advice.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      ) : (
        <p class="note">No advice is certain for this run; the what-if table says what would help.</p>
      )}
    </section>
  );
}

function Unexplained({ name, commands, onDone }: { name: string; commands: Commands | null; onDone: () => void }) {
  const handle = useJob({ kind: "explain", source: name, part: "" }, onDone);
  return (
    <Card title="Not explained yet" wide>
      <p class="note">
        The run was kept without <code>--explain</code>. It can be simulated again from what was asked for, in a process of its own; what is
        found is kept with the run.
      </p>
      <JobBox handle={handle} label="Explain this run" command={commands?.commands.explain} refused={commands?.refused} />
    </Card>
  );
}
