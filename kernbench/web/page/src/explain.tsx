// Why a run took as long as it did.
import type { RunViewProps } from "./run";

export function Explain({ run }: RunViewProps) {
  return <p class="message">The explanation of {run.name} is not built into this page.</p>;
}
