// Requests to the server. An error it words is raised as it is.
export interface Objective {
  column: string;
  least: boolean;
}

export interface SweepState {
  name: string;
  directory: string;
  description: string | null;
  workload: string | null;
  bench: string | null;
  topology: string | null;
  mode: string | null;
  version: string;
  running: boolean;
  rows: number;
  points: number;
  parameters: string[];
  objectives: Objective[];
  colours: Record<string, string[] | Record<string, string>>; // of each axis: the stops of its ramp, or the colour of each name
  about: [string, string][]; // what made it, with the name of each
}

export interface SourceName {
  kind: "sweep" | "run" | "machine";
  name: string;
}

export interface MachineField {
  name: string;
  value: string;
  source: string;
  place: string; // file:line:column
}

export interface MachineAbout {
  name: string;
  family: string;
  file: string;
  description: string;
  parts: Record<string, { description: string; sheet: string; fields: MachineField[] }>;
  links: string[]; // by kind of link
}

/** `result.json`, and what the server adds. */
export interface RunAbout {
  name: string;
  bench: string;
  topology: string;
  mode: string;
  parameters: Record<string, unknown>;
  overrides: Record<string, string>;
  request?: { set?: string[] } | null; // the parameters that were not left at their defaults
  latency_ns: number;
  pe_exec_ns: number;
  makespan_ns: number;
  events: number;
  verified: boolean | null;
  bottleneck: string | null;
  bottleneck_part: string | null;
  bottleneck_utilisation: number | null;
  explain?: unknown; // of a run with --explain
  what_if?: unknown;
  machine: MachineAbout | null; // as it was, with all overrides
  span_fs: [number, number];
  window_fs: number; // the length of a window of `busy`
  missing: Record<string, string>; // by table that cannot be made, a sentence that says why and what would help
  [key: string]: unknown;
}

/** A row of the op log. */
export interface RunRow {
  row: number;
  start_fs: number;
  end_fs: number;
  issue_fs: number;
  component: string;
  op_kind: string;
  op_name: string;
  params: Record<string, unknown>;
  dependencies: number[];
  dependents: number[];
  thread: string;
  bytes: number;
  transfers: { far: number; leave_fs: number; arrive_fs: number; inward: boolean }[];
}

/** What the start page tells of a source. */
export interface SourceAbout extends SourceName {
  text: string; // what it is
  figure: string; // what came out
  changed: number | null; // ms since 1970
  wrong: boolean; // the text says why it cannot be shown
}

export interface SourceList {
  sources: SourceName[];
  searched: string | null;
}

/** The server did not answer at all. */
export class Unreachable extends Error {}

async function get(path: string): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path);
  } catch {
    throw new Unreachable("The viewer's server does not answer. Is `kernbench web` still running? Trying again …");
  }
  if (!response.ok) {
    const said = (await response.json().catch(() => ({}))) as { error?: string };
    throw new Error(said.error ?? `${path}: ${response.status}`);
  }
  return response;
}

export async function tellSources(): Promise<SourceAbout[]> {
  return ((await (await get("/api/overview")).json()) as { sources: SourceAbout[] }).sources;
}

export async function listSources(): Promise<SourceList> {
  return (await (await get("/api/sources")).json()) as SourceList;
}

export async function sweepState(name: string): Promise<SweepState> {
  return (await (await get(`/api/sweep/${encodeURIComponent(name)}/state`)).json()) as SweepState;
}

export async function sweepTable(name: string): Promise<Uint8Array> {
  return new Uint8Array(await (await get(`/api/sweep/${encodeURIComponent(name)}/table`)).arrayBuffer());
}

export async function machineAbout(name: string): Promise<MachineAbout> {
  return (await (await get(`/api/machine/${encodeURIComponent(name)}/about`)).json()) as MachineAbout;
}

export async function machineArrow(name: string, what: "nodes" | "links"): Promise<Uint8Array> {
  return new Uint8Array(await (await get(`/api/machine/${encodeURIComponent(name)}/${what}`)).arrayBuffer());
}

export async function runAbout(name: string): Promise<RunAbout> {
  return (await (await get(`/api/run/${encodeURIComponent(name)}/about`)).json()) as RunAbout;
}

export async function runArrow(name: string, what: string): Promise<Uint8Array> {
  return new Uint8Array(await (await get(`/api/run/${encodeURIComponent(name)}/${what}`)).arrayBuffer());
}

export async function runRow(name: string, row: number): Promise<RunRow> {
  return (await (await get(`/api/run/${encodeURIComponent(name)}/row/${row}`)).json()) as RunRow;
}
