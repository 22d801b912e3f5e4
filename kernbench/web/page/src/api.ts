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
  about: [string, string][]; // what made it, with the name of each
}

export interface SourceName {
  kind: "sweep" | "machine";
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
