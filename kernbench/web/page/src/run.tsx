// A run: what it was, and the tabs of its views, which share the time that is looked at and the selected part.
import { useEffect, useState } from "preact/hooks";
import { useKeys } from "./keys";
import { lazy } from "./lazy";
import { MachineTime } from "./machine_time";
import { formatNumber } from "./points";
import { Problem } from "./problem";
import type { RunSettings, RunView } from "./route";
import { RUN_VIEWS } from "./route";
import { loadRun, type Run as Data } from "./run_data";
import { Timeline } from "./timeline";

const Explain = lazy<RunViewProps>(async () => (await import("./explain")).Explain, "Reading the explanation …");
const TITLES: Record<RunView, string> = { timeline: "Timeline", machine: "Machine", explain: "Explain" };
const FS_IN_NS = 1e6;

interface RunProps {
  name: string;
  settings: RunSettings;
  onSettings: (settings: RunSettings) => void;
}

export interface RunViewProps {
  run: Data;
  settings: RunSettings;
  onSettings: (settings: RunSettings) => void;
}

export function Run({ name, settings, onSettings }: RunProps) {
  const [run, setRun] = useState<Data | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let gone = false;
    loadRun(name, settings.view === "timeline" ? ["slices", "tracks"] : [])
      .then((found) => gone || setRun(found))
      .catch((error: unknown) => gone || setProblem(error instanceof Error ? error.message : String(error)));
    return () => {
      gone = true;
    };
  }, [name]);
  useKeys((event) => {
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.key.toLowerCase() !== "v") return;
    const step = event.key === "v" ? 1 : RUN_VIEWS.length - 1;
    onSettings({ ...settings, view: RUN_VIEWS[(RUN_VIEWS.indexOf(settings.view) + step) % RUN_VIEWS.length]! });
    event.preventDefault();
  });
  if (problem) return <Problem text={problem} />;
  if (!run) return <p class="message loading">Reading run {name} …</p>;
  const View = { timeline: Timeline, machine: MachineTime, explain: Explain }[settings.view];
  return (
    <main class="run">
      <header class="summary">
        <div class="title">
          <h1>{run.about.bench}</h1>
          <p class="note" title={describe(run)}>
            {describe(run)}
          </p>
        </div>
        <div class="latency">
          <strong>{formatNumber(run.about.latency_ns)} ns</strong>
          <span class="note">latency</span>
        </div>
        <div class="tabs" role="tablist" aria-label="Views of the run (v: the next)">
          {RUN_VIEWS.map((view) => (
            <button
              type="button"
              key={view}
              role="tab"
              aria-selected={view === settings.view}
              title={`${TITLES[view]} (v: the next view)`}
              onClick={() => onSettings({ ...settings, view })}
            >
              {TITLES[view]}
            </button>
          ))}
        </div>
      </header>
      <View run={run} settings={settings} onSettings={onSettings} />
    </main>
  );
}

function describe({ about }: Data): string {
  const set = about.request?.set; // an earlier version did not note it
  const parameters = Object.entries(about.parameters).filter(([name]) => set?.includes(name) ?? true);
  const given = [...parameters, ...Object.entries(about.overrides)];
  const makespan = `${formatNumber(about.span_fs[1] / FS_IN_NS)} ns in all`;
  return [about.topology, `${about.mode} mode`, makespan, ...given.map(([key, value]) => `${key}=${value}`)].join(" · ");
}
