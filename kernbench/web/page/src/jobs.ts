// Jobs of the server: started and cancelled by POST, looked at while one runs.
import { createContext } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { Unreachable } from "./api";

export type JobKind = "explain" | "what_if" | "point";

export interface Job {
  id: string;
  kind: JobKind;
  source: string;
  part: string;
  state: "running" | "done" | "failed" | "cancelled";
  stage: string;
  share: number | null; // of the stage that is done
  error: string | null;
  result: string | null; // the source that shows what came out
  seconds: number;
  command: string;
}

export interface Commands {
  commands: Partial<Record<JobKind, string>>;
  refused?: string;
}

const LOOK_MS = 300;

/** Whether there is a server that runs jobs: a page that stands alone, as a report, has none. */
export const HasServer = createContext(false);

async function ask(path: string, body?: object): Promise<unknown> {
  let response: Response;
  try {
    const json = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    response = await fetch(path, body && json);
  } catch {
    throw new Unreachable("The viewer's server does not answer. Is `kernbench web` still running?");
  }
  const told = (await response.json().catch(() => ({}))) as { error?: string };
  if (!response.ok) throw new Error(told.error ?? `${path}: ${response.status}`);
  return told;
}

export async function listCommands(run: string): Promise<Commands> {
  return (await ask(`/api/run/${encodeURIComponent(run)}/commands`)) as Commands;
}

/** The runs that points of a sweep have, by the beginnings of their keys. */
export async function listPointRuns(sweep: string): Promise<Record<string, string>> {
  return ((await ask(`/api/sweep/${encodeURIComponent(sweep)}/runs`)) as { runs: Record<string, string> }).runs;
}

interface Asked {
  kind: JobKind;
  source: string;
  part: string;
}

export interface JobHandle {
  job: Job | null; // the latest of its kind for the source and the part
  starting: boolean; // it has been asked for, and the server has not answered
  problem: string | null; // why it could not be started, or is not known
  start: () => void;
  cancel: () => void;
}

/** One job of the page. It is found again after a reload; `onDone` is called when one that was seen running has ended well. */
export function useJob({ kind, source, part }: Asked, onDone: (job: Job) => void): JobHandle {
  const [job, setJob] = useState<Job | null>(null);
  const [starting, setStarting] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const told = (error: unknown) => setProblem(error instanceof Error ? error.message : String(error));
  useEffect(() => {
    let gone = false;
    setJob(null);
    setProblem(null);
    ask("/api/jobs")
      .then((found) => {
        const mine = (found as { jobs: Job[] }).jobs.findLast((one) => one.kind === kind && one.source === source && one.part === part);
        if (!gone && mine?.state === "running") setJob(mine);
      })
      .catch((error: unknown) => gone || told(error));
    return () => {
      gone = true;
    };
  }, [kind, source, part]);
  useEffect(() => {
    if (job?.state !== "running") return;
    const timer = setTimeout(async () => {
      try {
        const found = (await ask("/api/jobs")) as { jobs: Job[] };
        const next = found.jobs.find((one) => one.id === job.id) ?? null;
        setJob(next);
        setProblem(null);
        if (next?.state === "done") onDone(next);
      } catch (error) {
        told(error);
        setJob({ ...job });
      }
    }, LOOK_MS);
    return () => clearTimeout(timer);
  }, [job]);
  const start = useCallback(() => {
    setProblem(null);
    setStarting(true);
    ask("/api/jobs/start", { kind, source, part })
      .then((found) => setJob(found as Job))
      .catch(told)
      .finally(() => setStarting(false));
  }, [kind, source, part]);
  const cancel = useCallback(() => {
    if (job) ask("/api/jobs/cancel", { id: job.id }).then((found) => setJob(found as Job), told);
  }, [job]);
  return { job, starting, problem, start, cancel };
}
