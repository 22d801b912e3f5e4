// The explanation of a run, as `--explain` keeps it in result.json, and how its figures are written.
export interface Alternative {
  name?: string; // of all that the fields are about
  fields: Record<string, { from: number; to: number }>;
  latency_ns: number;
  change: number;
}

export interface WhatIf {
  factor: number;
  alternatives: Alternative[]; // the fastest first
}

export interface Roofline {
  pes: number;
  compute_ns: number;
  memory_ns: number;
  kernel_ns: number;
  bound: string; // the class that needs longest, with all that need as long
  intensity: number | null; // flops a byte
  attainable_tflops: number;
  achieved_tflops: number;
  attainable_gbs: number;
  achieved_gbs: number;
  share: number;
  least_ns?: number;
  ceilings?: Ceiling[]; // the highest first; none in runs of earlier versions
}

/** The least time that the work needs at a class of parts. */
export interface Ceiling {
  kind: string;
  part: string; // the busiest
  least_ns: number;
  mean_ns: number | null; // of the PEs
  is_uneven: boolean; // one PE has far more to do than the mean
}

export interface Launch {
  kernel: string;
  place: string;
  launches: number;
  kernel_ns: number;
  path_ns: number;
  achieved_tflops: number | null;
  tflops_of_peak: number | null;
  achieved_gbs: number | null;
  gbs_of_peak: number | null;
}

/** An operator of a network, and what the critical path through it is spent on, by class of part. */
export interface OperatorTime {
  section: string;
  operator: string;
  path_ns: number;
  spent_ns: Record<string, number>; // the longest first
}

export interface Usage {
  kind: string;
  parts: number;
  used: number;
  mean: number;
  most: number;
  busiest: string;
}

export interface Explained {
  critical_path_ns: number;
  critical_path: Record<string, number>; // ns by class, the longest first
  operations: Record<string, number>;
  lines: { place: string; text: string; path_ns: number; pieces: number }[];
  launches: Launch[];
  operators?: OperatorTime[]; // none in runs of earlier versions
  what_if: WhatIf | null;
  window_ns: number;
  utilisation: Usage[];
  queueing: { name: string; count: number; queued_ns: number; contention_ns: number; served_ns: number; longest_queue_ns: number }[];
  roofline: Roofline | null;
  advice: string[];
  network: { links: Record<string, number | string>[] } | null;
  savings?: { field: string; saves_aj: number; share: number }[]; // what half of each price would save, the most first
}

/** What is told of a run beside its explanation. */
export interface ExplainableAbout {
  explain?: Explained;
  what_if?: WhatIf | null;
  latency_ns: number | null;
  mode: string;
  bottleneck: string | null;
  bottleneck_utilisation: number | null;
}

const NS = new Intl.NumberFormat("en-US", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
const SHORT = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export const formatNs = (ns: number): string => NS.format(ns);
export const formatTenths = (value: number): string => SHORT.format(value);
export const formatCount = (value: number): string => WHOLE.format(value);
export const formatShare = (share: number): string => `${(share * 100).toFixed(1)} %`;

export function formatChange(change: number): string {
  return `${change > 0 ? "+" : change < 0 ? "−" : ""}${(Math.abs(change) * 100).toFixed(1)} %`;
}

export function tellFields({ name, fields }: Alternative): string[] {
  if (name) return [name];
  return Object.entries(fields).map(([name, { from, to }]) => `${name} ${short(from)} → ${short(to)}`);
}

/** A number as Python's %g writes it, without an exponent. */
function short(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** The roofline in words, as the command line says it. */
export function tellRoofline(found: Roofline): string[] {
  const work = found.pes === 1 ? "1 PE" : `${formatCount(found.pes)} PEs`;
  const least = found.least_ns ?? Math.max(found.compute_ns, found.memory_ns);
  const uneven = (found.ceilings ?? []).filter((one) => one.is_uneven);
  return [
    `The work of ${work} needs ${formatNs(least)} ns at ${found.bound} at least; kernels took ${formatNs(found.kernel_ns)} ns, so ${formatShare(found.share)} of what is possible.`,
    ...uneven.map(({ kind, part, least_ns: longest, mean_ns: mean }) => `${kind} is uneven: ${part} needs ${formatNs(longest)} ns, the mean of the PEs ${formatNs(mean ?? 0)} ns.`),
  ];
}

/** The rates that all GEMM engines and all slices of HBM of the PEs used have together: TFLOPS and GB/s, 0 where nothing asked for them. */
export function peaksOf(found: Roofline): { tflops: number; gbs: number } {
  return {
    tflops: found.compute_ns ? (found.achieved_tflops * found.kernel_ns) / found.compute_ns : 0,
    gbs: found.memory_ns ? (found.achieved_gbs * found.kernel_ns) / found.memory_ns : 0,
  };
}
