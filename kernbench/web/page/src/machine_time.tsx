// The machine of a run.
import { MachineViews } from "./machine";
import type { RunViewProps } from "./run";

export function MachineTime({ run, settings, onSettings }: RunViewProps) {
  if (!run.machine) return <p class="message error" role="alert">{run.about.missing["nodes"]}</p>;
  return (
    <MachineViews
      data={run.machine}
      settings={{ select: settings.select, at: settings.at }}
      onSettings={({ select, at }) => onSettings({ ...settings, select, at })}
    />
  );
}
