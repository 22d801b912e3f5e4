// The timeline of a run.
import type { RunViewProps } from "./run";

export function Timeline({ run }: RunViewProps) {
  return <p class="message">The timeline of {run.name} is not built into this page.</p>;
}
