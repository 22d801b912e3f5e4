// The start page: all runs, sweeps and machines, with what each is and what came out.
import { useEffect, useState } from "preact/hooks";
import { tellSources, type SourceAbout, type SourceList, type SourceName } from "./api";
import { Problem } from "./problem";
import { linkTo } from "./route";

const TITLES: Record<SourceName["kind"], [title: string, figure: string]> = {
  run: ["Runs", "latency"],
  sweep: ["Sweeps", "points"],
  machine: ["Machines", "parts"],
};
const DATE = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** What is told of the sources, once for each list of them. */
function useAbout(found: SourceList | null): SourceAbout[] | null {
  const [about, setAbout] = useState<SourceAbout[] | null>(null);
  useEffect(() => {
    let gone = false;
    if (!found?.sources.length) return;
    tellSources().then(
      (told) => gone || setAbout(told),
      () => gone || setAbout([]), // the names alone are shown
    );
    return () => {
      gone = true;
    };
  }, [found]);
  return about;
}

export function Start({ found, problem }: { found: SourceList | null; problem: string | null }) {
  const about = useAbout(found);
  if (problem) return <Problem text={problem} />;
  if (!found) return <p class="message loading">Looking for runs and sweeps …</p>;
  if (!found.sources.length) return <Nothing searched={found.searched} />;
  const told = new Map(about?.map((one) => [linkTo(one), one]));
  return (
    <main class="start">
      <h1>Runs, sweeps and machines</h1>
      {(["run", "sweep", "machine"] as const).map((kind) => {
        const those = found.sources.filter((one) => one.kind === kind);
        return those.length > 0 && <Sources key={kind} kind={kind} sources={those} told={told} />;
      })}
    </main>
  );
}

interface SourcesProps {
  kind: SourceName["kind"];
  sources: readonly SourceName[];
  told: ReadonlyMap<string, SourceAbout>; // by address
}

function Sources({ kind, sources, told }: SourcesProps) {
  const [title, figure] = TITLES[kind];
  return (
    <section class="card">
      <table>
        <thead>
          <tr>
            <th>
              {title} <span class="note">{sources.length.toLocaleString("en-US")}</span>
            </th>
            <th>what it is</th>
            <th class="number">{figure}</th>
            <th class="number">{kind !== "machine" && "changed"}</th>
          </tr>
        </thead>
        <tbody>
          {sources.map((source) => {
            const about = told.get(linkTo(source));
            return (
              <tr key={source.name}>
                <td>
                  <a href={linkTo(source)}>{source.name}</a>
                </td>
                <td class={about?.wrong ? "wrong" : ""}>{about?.text}</td>
                <td class="number">{about?.figure}</td>
                <td class="number note">{about?.changed != null && DATE.format(about.changed)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function Nothing({ searched }: { searched: string | null }) {
  return (
    <main class="message">
      <p>There is no run and no sweep in {searched ?? "what was given"} yet. Start one, and it appears here:</p>
      <pre>
        kernbench sweep quickstart{"\n"}
        kernbench run matmul-composite --explain --out results/matmul
      </pre>
    </main>
  );
}
