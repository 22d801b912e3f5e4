// Two runs beside each other: settings, figures, critical paths and utilisation, with the differences.
import { useEffect, useState } from "preact/hooks";
import { listSources } from "./api";
import { formatChange, formatNs, formatShare } from "./explain_data";
import { formatJoules, NO_PART } from "./explain_energy";
import { Bar, Card, Figures } from "./explain_parts";
import { useKeys } from "./keys";
import { formatNumber } from "./points";

interface Comparison {
  a: string;
  b: string;
  settings: { name: string; a: string | null; b: string | null }[];
  figures: { name: string; a: number | null; b: number | null; change: number | null }[];
  critical_path: { kind: string; a_ns: number; b_ns: number }[];
  energy: { part: string; kind: string; a_aj: number; b_aj: number }[]; // where it differs, the largest difference first
  utilisation: { kind: string; a: { most: number; busiest: string } | null; b: { most: number; busiest: string } | null }[];
  unexplained: string[];
}

const AS_IT_STANDS = "as it stands"; // a field of a topology
const UNKNOWN = "–"; // a parameter that the other bench does not have
const LITTLE = 1.1; // times, below which a difference is told in percent
const SHARES = ["tflops_of_peak", "gbs_of_peak", "bottleneck_utilisation"];

/** The choice of another run to put beside this one. */
export function CompareWith({ run, beside, onBeside }: { run: string; beside: string | null; onBeside: (name: string | null) => void }) {
  useKeys((event) => {
    if (event.key === "Escape" && beside && !document.querySelector("dialog[open]")) onBeside(null);
  });
  const [others, setOthers] = useState<string[]>([]);
  useEffect(() => {
    listSources().then(
      ({ sources }) => setOthers(sources.filter((one) => one.kind === "run" && one.name !== run).map((one) => one.name)),
      () => undefined,
    );
  }, [run]);
  if (!others.length && !beside) return null;
  return (
    <div class="tools wide">
      <label class="pick">
        Beside it
        <select value={beside ?? ""} onChange={(event) => onBeside(event.currentTarget.value || null)}>
          <option value="">no other run</option>
          {[...new Set([...others, ...(beside ? [beside] : [])])].map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

/** Asked for again when this run has been explained. */
export function Compare({ run, beside, explained }: { run: string; beside: string; explained: boolean }) {
  const [found, setFound] = useState<Comparison | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let gone = false;
    setProblem(null);
    fetch(`/api/compare/${encodeURIComponent(run)}/${encodeURIComponent(beside)}`)
      .then(async (response) => {
        const told = (await response.json()) as Comparison & { error?: string };
        if (gone) return;
        if (response.ok) setFound(told);
        else setProblem(told.error ?? "the runs cannot be compared");
      })
      .catch(() => gone || setProblem("The viewer's server does not answer. Is `kernbench web` still running?"));
    return () => {
      gone = true;
    };
  }, [run, beside, explained]);
  if (problem) return <p class="banner wide" role="alert">{problem}</p>;
  if (!found) return <p class="note wide">Comparing …</p>;
  return (
    <Card title="Two runs" note={`A: ${found.a}, B: ${found.b}`} wide>
      <p class="ratio">{tellRatio(found)}</p>
      <div class="two">
        <div>
          <Settings found={found} />
          <FiguresOf found={found} />
        </div>
        <div>
          <Paths found={found} />
          <Usages found={found} />
          <Energies found={found} />
        </div>
      </div>
    </Card>
  );
}

function tellRatio({ figures, settings }: Comparison): string {
  const latency = figures.find((one) => one.name === "latency_ns");
  if (!latency?.a || !latency.b) return "";
  if (latency.a === latency.b) return "Both have the same latency.";
  const times = Math.max(latency.a, latency.b) / Math.min(latency.a, latency.b);
  const size = times < LITTLE ? formatShare(times - 1) : `${times.toFixed(2)} times`;
  if (settings.some(({ name }) => name === "bench")) return "The runs are of different benches.";
  return `B is ${size} ${latency.b < latency.a ? "faster" : "slower"} than A.`;
}

function Settings({ found }: { found: Comparison }) {
  const none = found.settings.some(({ name }) => name === "bench" || name === "topology") ? UNKNOWN : AS_IT_STANDS;
  if (!found.settings.length) return <p class="note">Both have the same settings.</p>;
  return (
    <Figures
      headings={[{ text: "setting", left: true }, { text: "A" }, { text: "B" }]}
      rows={found.settings.map((one) => [one.name, one.a ?? none, one.b ?? none])}
    />
  );
}

function FiguresOf({ found }: { found: Comparison }) {
  const write = (name: string, value: number | null) =>
    value === null ? "–" : SHARES.includes(name) ? formatShare(value) : formatNumber(value);
  return (
    <Figures
      headings={[{ text: "figure", left: true }, { text: "A" }, { text: "B" }, { text: "B to A" }]}
      rows={found.figures.map(({ name, a, b, change }) => [name, write(name, a), write(name, b), change ? formatChange(change) : ""])}
    />
  );
}

function Energies({ found }: { found: Comparison }) {
  if (!found.energy.length) return null;
  return (
    <Figures
      headings={[{ text: "energy", left: true }, { text: "A" }, { text: "B" }, { text: "B − A" }]}
      rows={found.energy.map(({ part, kind, a_aj: a, b_aj: b }) => [
        `${part || NO_PART}, ${kind}`,
        formatJoules(a),
        formatJoules(b),
        `${b > a ? "+" : "−"}${formatJoules(Math.abs(b - a))}`,
      ])}
    />
  );
}

function Paths({ found }: { found: Comparison }) {
  if (found.unexplained.length) {
    return <p class="note">Critical paths and utilisation of both are shown when {found.unexplained.join(" and ")} has been explained.</p>;
  }
  const most = Math.max(...found.critical_path.map((one) => Math.abs(one.b_ns - one.a_ns)));
  return (
    <Figures
      headings={[{ text: "spent on", left: true }, { text: "A ns" }, { text: "B ns" }, { text: "B − A ns" }, { text: "" }]}
      rows={found.critical_path.map(({ kind, a_ns, b_ns }) => [
        kind,
        formatNs(a_ns),
        formatNs(b_ns),
        b_ns === a_ns ? "" : `${b_ns > a_ns ? "+" : "−"}${formatNs(Math.abs(b_ns - a_ns))}`,
        <Bar share={b_ns - a_ns} most={most} tone={b_ns < a_ns ? "better" : "worse"} label={`${formatNs(b_ns - a_ns)} ns`} />,
      ])}
    />
  );
}

function Usages({ found }: { found: Comparison }) {
  if (!found.utilisation.length) return null;
  const write = (one: { most: number } | null) => (one ? formatShare(one.most) : "–");
  return (
    <Figures
      headings={[{ text: "busiest of a class", left: true }, { text: "A" }, { text: "B" }, { text: "B − A" }]}
      rows={found.utilisation.map(({ kind, a, b }) => [
        kind,
        write(a),
        write(b),
        a && b && a.most !== b.most ? formatChange(b.most - a.most) : "",
      ])}
    />
  );
}
